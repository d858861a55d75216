"""Choices, graphs inside of graphs, and checks in exported C."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano.tests.breakpoint import PdbBreakpoint
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(12)


def _normal(*shape: int) -> Any:
    return RNG.normal(size=shape)


class TestChoices(unittest.TestCase):
    """Of two branches one is computed."""

    @slow
    def test_values(self) -> None:
        """Arrays and numbers, of equal and of different shapes, one or several."""
        c, x, y = T.lscalar("c"), T.dmatrix("x"), T.dmatrix("y")
        shared = T.exp(x) * 2
        out = [
            ifelse(c > 0, x.sum(), y.prod()),
            ifelse(c > 1, T.dot(shared, y), shared - 1),
            ifelse(c < 1, x, y * 3),
            *ifelse(c, [x[:1] + 1, x.shape[0]], [y.T[::-1], c * 2]),
            ifelse(c > 0, x, x + 1) + shared,
        ]
        f = theano.function([c, x, y], out)
        for value in (0, 1, 2):
            check(f, (value, _normal(3, 3), _normal(3, 3)), (value, _normal(2, 2), _normal(2, 2)))

    def test_errors(self) -> None:
        """An error in the branch not chosen is none."""
        i, x = T.lscalar("i"), T.dvector("x")
        f = theano.function([i, x], ifelse(i < x.shape[0], x[i], T.constant(-1.0, dtype="float64")))
        check(f, (1, np.arange(3.0)), (7, np.arange(3.0)))
        f = theano.function([i, x], ifelse(T.eq(i, 0), x.max(), T.cast(i, "float64")))
        check(f, (3, np.zeros(0)))
        with self.assertRaisesRegex(ValueError, "no element"):
            Exported(f)(0, np.zeros(0))

    @slow
    def test_nested(self) -> None:
        """Choices in choices and in loops, and their gradients."""
        c, x = T.dscalar("c"), T.dvector("x")
        inner = ifelse(c > 1, T.tanh(x), x**2)
        out = ifelse(c > 0, inner * 3, T.sin(x))
        f = theano.function([c, x], [out, T.grad(out.sum(), x)])
        for value in (-1.0, 0.5, 2.0):
            check(f, (value, _normal(5)))
        steps, _ = theano.scan(lambda v, s: ifelse(v > 0, T.tanh(s) + v, s * v), sequences=x, outputs_info=T.ones((3,)))
        check(theano.function([x], [steps, T.grad(steps.sum(), x)]), (_normal(7),))

    def test_condition_is_known(self) -> None:
        """One branch alone is written."""
        x = T.dmatrix("x")
        f = theano.function([x], ifelse(T.eq(x.shape[0], 2), T.exp(x), x.sum(axis=0, keepdims=True)))
        check(f, (_normal(2, 3),), (_normal(3, 3),))
        self.assertNotIn("exp(", Exported(f, {"x": (3, 3)}).text.split("int exported(")[1])


class TestGraphs(unittest.TestCase):
    """Ops that hold a graph."""

    @slow
    def test_op_from_graph(self) -> None:
        """The graph is written where the op is; results may be its very inputs."""
        a, b = T.dmatrix("a"), T.dvector("b")
        op = theano.OpFromGraph([a, b], [T.dot(a, b) + b.sum(), a.T, a * 2])
        x, y = T.dmatrix("x"), T.dvector("y")
        p, q, r = op(x * 2, y)
        s, t, u = op(r, p)
        out = [p, q, s + 1, t, u + r, T.grad(s.sum(), y)]
        check(theano.function([x, y], out), (_normal(3, 3), _normal(3)))


class TestChecks(unittest.TestCase):
    """Conditions, prints and breakpoints."""

    def test_checks(self) -> None:
        """An error carries the message of the op; a check in a branch that is not chosen is none."""
        x, c = T.dvector("x"), T.lscalar("c")
        y = T.Assert("all have to be positive")(x, (x > 0).all(), x.shape[0] < 4)
        f = theano.function([x, c], ifelse(c > 0, T.log(y), x * 2))
        check(f, ([1.0, 2.0], 1), ([-1.0, 2.0], 0))
        exported = Exported(f)
        for values in ([-1.0, 2.0], [1.0] * 4):
            with self.assertRaisesRegex(ValueError, "AssertionError: all have to be positive"):
                exported(values, 1)

    def test_print(self) -> None:
        """A print hands its value on; a breakpoint is no part of exported code."""
        x = T.dvector("x")
        check(theano.function([x], theano.printing.Print("x")(x) * 2), ([1.0, 2.0],))
        from_debugger = PdbBreakpoint("stop")(x.sum() > 0, x)
        with self.assertRaisesRegex(TypeError, "no debugger"):
            Exported(theano.function([x], from_debugger * 2))


class TestMixtures(unittest.TestCase):
    """Loops in choices, choices in loops, graphs in loops."""

    def test_loop_in_choice(self) -> None:
        """A loop runs where it is chosen, and where it is not its errors are none."""
        c, n, x = T.lscalar("c"), T.lscalar("n"), T.dvector("x")
        rows, _ = theano.scan(lambda v, s: s * 0.5 + v, sequences=x, outputs_info=T.zeros((2,)), n_steps=n)
        f: Any = theano.function([c, n, x], [ifelse(c, rows, T.ones((1, 2)) * n), ifelse(c > 1, rows[-1], rows[0] * 2)])
        check(f, (1, 3, _normal(4)), (2, 2, _normal(2)))
        f = theano.function([c, n, x], ifelse(c, rows.sum(), x.sum()))
        check(f, (1, 2, _normal(3)), (0, 9, _normal(3)))

    def test_lengths_of_inner_loops(self) -> None:
        """The number of inner steps depends on the values, and on an outer step."""
        x, top = T.dvector("x"), T.dscalar("top")

        def outer(v: Any, k: Any, top: Any) -> Any:
            grown, _ = theano.scan(
                lambda s, v: (s * 2 + v, theano.scan_module.until(s > top)), outputs_info=v, non_sequences=v, n_steps=20
            )
            ranks, _ = theano.map(lambda i, v: [i * v, v], T.arange(k + 1), v)
            return grown.sum(), grown[-1] + ranks[0].sum(), T.concatenate([grown, ranks[1]])[:3]

        out, _ = theano.scan(outer, sequences=[x, T.arange(x.shape[0])], non_sequences=top)
        check(theano.function([x, top], out), (np.abs(_normal(4)), 30.0), (np.abs(_normal(2)) + 0.5, 100.0))

    def test_rows_as_they_are(self) -> None:
        """Steps that give rows of their sequences, constants and states."""
        x, y = T.dmatrix("x"), T.dvector("y")
        out, _ = theano.scan(
            lambda row, s, y: [s[::-1], row, y, s], sequences=x, outputs_info=[y, None, None, None], non_sequences=y
        )
        mode = theano.Mode(linker="cvm", optimizer="fast_compile")
        check(theano.function([x, y], out, mode=mode), (_normal(3, 2), _normal(4)))

    def test_graph_in_loop(self) -> None:
        """An op that holds a graph, in a loop, and with a loop in it."""
        a, b = T.dvector("a"), T.dvector("b")
        inner, _ = theano.scan(lambda v, s: s * v + 1, sequences=a, outputs_info=b)
        op = theano.OpFromGraph([a, b], [inner[-1], a[::-1]])
        x = T.dmatrix("x")
        (p, q), _ = theano.scan(lambda row, s, r: op(row, s + r), sequences=x, outputs_info=[T.ones((3,)), x[0]])
        check(theano.function([x], [p, q, T.grad(p.sum(), x)]), (_normal(4, 3),))
