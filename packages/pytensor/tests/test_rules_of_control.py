"""Loops, conditions, graphs in ops, and random numbers."""

from __future__ import annotations

import unittest

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.ifelse import ifelse
from pytensor.scan.utils import until
from pytensor_values import IN_PYTHON, check

import theano_pytensor as theano_pytensor

S, V, X = pt.dscalar("s"), pt.dvector("v"), pt.dmatrix("x")
VECTOR = np.array([0.5, -1.0, 2.0])


class TestLoops(unittest.TestCase):
    def test_states_of_each_kind(self) -> None:
        start = {"initial": pt.stack([S, S + 1]), "taps": [-2, -1]}
        outputs = pytensor.scan(
            lambda x, far, near, one: (far + near * x, pt.tanh(one + x), one**2),
            sequences=V, outputs_info=[start, S, None], return_updates=False,
        )  # fmt: skip
        cost = sum(output.sum() for output in outputs)
        check([S, V], [*outputs, outputs[0][-1], *pt.grad(cost, [S, V])], 1.5, VECTOR)

    def test_gradients_of_gradients(self) -> None:
        powers = pytensor.scan(lambda before, s: before * pt.sin(s), outputs_info=[S], non_sequences=[S], n_steps=4,
                               return_updates=False)  # fmt: skip
        slope = pt.grad(powers[-1], S)
        check([S], [slope, pt.grad(slope, S)], 0.7)

    def test_a_condition_ends_a_loop(self) -> None:
        outputs = pytensor.scan(lambda x: (x * 2, until(x > 20.0)), outputs_info=[S], n_steps=50, return_updates=False)
        check([S], [outputs, outputs[-1], outputs.shape], 1.0)

    def test_truncated_gradients_are_zero_behind_their_steps(self) -> None:
        u = pt.lscalar("u")
        outputs = pytensor.scan(
            lambda before, now, u: (before * now, until(now > u)),
            sequences={"input": V, "taps": [-2, 0]}, non_sequences=[u], truncate_gradient=3, return_updates=False,
        )  # fmt: skip
        f = pytensor.function([V, u], pt.grad(outputs.sum(), V), mode="THEANO")
        # By hand.
        self.assertEqual([0, 0, 0, 5, 6, 10, 4, 5, 0, 0, 0, 0, 0, 0, 0], f(np.arange(15.0), 6).tolist())

    def test_a_number_of_steps_known_when_it_runs(self) -> None:
        n = pt.lscalar("n")
        outputs = pytensor.scan(lambda x: x + 1, outputs_info=[S], n_steps=n, return_updates=False)
        check([S, n], [outputs, outputs[-1]], 1.0, 3)

    def test_buffers_that_keep_the_last_rows(self) -> None:
        outputs = pytensor.scan(lambda x: x * 2, outputs_info=[S], n_steps=6, return_updates=False)
        mode = pytensor.compile.mode.Mode("theano", "fast_run")
        self.assertEqual(64.0, float(pytensor.function([S], outputs[-1], mode=mode)(1.0)))


class TestGraphs(unittest.TestCase):
    def test_conditions(self) -> None:
        check([S, V], [ifelse(S > 0, V, 2 * V)], -1.0, VECTOR)

    def test_graphs_in_ops(self) -> None:
        twice = OpFromGraph([V], [V * 2, V.sum()])
        check([V], [*twice(V + 1)], VECTOR)

    def test_checks(self) -> None:
        checked = pytensor.raise_op.Assert("must be positive")(S, S > 0)
        f = pytensor.function([S], checked * 2, mode="THEANO")
        self.assertEqual(2.0, f(1.0))
        with self.assertRaisesRegex(AssertionError, "must be positive"):
            f(-1.0)


class TestDraws(unittest.TestCase):
    def test_the_same_numbers_as_pytensor(self) -> None:
        results = []
        # PyMC asks for draws that move their generators.
        in_place = Mode("theano", RewriteDatabaseQuery(include=["minimum_compile", "random_make_inplace"]))
        for mode in (IN_PYTHON, "THEANO", in_place):
            state = pytensor.shared(np.random.default_rng(3))
            following, normal = pt.random.normal(V, 2.0, size=(2, 3), rng=state).owner.outputs
            last, chosen = pt.random.categorical(pt.constant([0.2, 0.8]), size=4, rng=following).owner.outputs
            end, joint = pt.random.multivariate_normal(V, pt.eye(3), rng=last).owner.outputs
            f = pytensor.function([V], [normal, chosen, joint], updates={state: end}, mode=mode)
            results.append([*f(VECTOR), *f(VECTOR)])
        for theirs, *ours in zip(*results, strict=True):
            for numbers in ours:
                np.testing.assert_array_equal(numbers, theirs)

    def test_generators_that_are_not_updated_stay(self) -> None:
        state = pytensor.shared(np.random.default_rng(3))
        f = pytensor.function([], pt.random.uniform(size=3, rng=state), mode="THEANO")
        np.testing.assert_array_equal(f(), f())
