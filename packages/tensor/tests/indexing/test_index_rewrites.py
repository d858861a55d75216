"""Rewrites of indexing: they fire in the full pipeline, and values and errors stay."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import FAST_RUN, Mode, function, shared
from theano_linker_c.modes import optdb
from theano_tensor.indexing import Subtensor
from theano_testing.tiers import examples, slow

from .index_cases import Case, Symbolic, cases

PLAIN = Mode("py", None)


def compiled_ops(inputs: list[Any], output: Any, **kwargs: Any) -> list[str]:
    """Return the classes of the ops of the compiled graph, in order; copies that keep outputs apart do not count."""
    call = function(inputs, output, mode=FAST_RUN, on_unused_input="ignore", **kwargs)
    names = [type(node.op).__name__ for node in call.maker.fgraph.toposort()]
    return [name for name in names if name != "DeepCopyOp"]


class TestFires(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.v, self.n = T.dmatrix("x"), T.dvector("v"), T.lscalar("n")

    def kept(self, output: Any, ops: list[str], *values: Any) -> None:
        """Check the ops that are left, and that the value is that without rewriting."""
        inputs = [self.x, self.v, self.n]
        self.assertEqual(compiled_ops(inputs, output), ops)
        given_values = values or (np.arange(12.0).reshape(4, 3), np.arange(5.0), 2)
        plain = function(inputs, output, mode=PLAIN, on_unused_input="ignore")(*given_values)
        fast = function(inputs, output, mode=FAST_RUN, on_unused_input="ignore")(*given_values)
        np.testing.assert_allclose(fast, plain, rtol=1e-14)

    def test_merge(self) -> None:
        self.kept(self.v[1:][2:], ["Subtensor"])
        self.kept(self.x[1:][1], ["Subtensor"])
        self.kept(self.x[:, 1:][1], ["Subtensor"])
        self.kept(self.v[1:4][:2][::2], ["Subtensor"])
        self.kept(self.x[self.n][1:], ["Subtensor"])

    def test_no_merge_where_errors_would_change(self) -> None:
        for output in (self.v[9:][-1], self.v[:-9][0], self.v[1:3][5]):
            for mode in (PLAIN, FAST_RUN):
                with self.assertRaises(IndexError):
                    function([self.v], output, mode=mode)(np.arange(5.0))

    def test_useless(self) -> None:
        fixed = T.tensor("float64", shape=(3,), name="fixed")
        self.assertEqual(compiled_ops([fixed], fixed[0:3] * 2), ["Elemwise"])
        self.kept((self.v * 2)[0 : self.v.shape[0]], ["Elemwise"])
        self.kept(self.v[: self.v.shape[0]] * 2, ["Elemwise"])
        self.kept(self.x[::1, 1:] + 1, ["Subtensor", "Elemwise"])
        self.assertEqual(compiled_ops([fixed], fixed[[0, 1, 2]] * 2), ["Elemwise"])

    def test_lift(self) -> None:
        self.kept(T.exp(self.x)[0], ["Subtensor", "Elemwise"])
        self.kept((T.exp(self.x) * 2)[:, 1], ["Subtensor", "Elemwise"])
        self.assertEqual(compiled_ops([self.x], [T.exp(self.x)[0], T.exp(self.x)])[0], "Elemwise")

    def test_logarithms_stay_stable(self) -> None:
        output = T.log(1 - T.nnet.sigmoid(self.x))[0]
        result = function([self.x], output, mode=FAST_RUN)(np.array([[0.0, 1000.0]]))
        np.testing.assert_allclose(result, [-np.log(2), -1000.0])

    def test_alloc(self) -> None:
        five = T.specify_shape(self.v, (5,)) * 1
        self.assertNotEqual(compiled_ops([self.v, self.n], T.alloc(five, self.n, 5)[1:, 2])[-1], "Subtensor")
        # The number that may be negative is not the length of the remaining slice.
        checked = ["Elemwise", "Elemwise", "Alloc", "CheckAndRaise"]
        self.kept(T.alloc(1.0, self.n, self.n)[:, 1:][1:], checked)
        self.assertIn("Alloc", compiled_ops([self.v, self.n], T.alloc(self.v, self.n, 5)[self.n]))
        with self.assertRaisesRegex(IndexError, "index 3 is out of bounds"):
            function([self.v, self.n], T.alloc(self.v, self.n, 5)[self.n], mode=FAST_RUN)(np.zeros(5), 3)

    def test_what_is_out_of_range_is_left_for_the_call(self) -> None:
        empty = T.tensor("float64", shape=(0,), name="empty")
        call = function([empty, self.n], T.alloc(empty, self.n)[0], mode=FAST_RUN)
        with self.assertRaisesRegex(IndexError, "index 0 is out of bounds"):
            call(np.zeros(0), 0)

    def test_alloc_of_what_may_have_length_one(self) -> None:
        result = function([self.x], T.alloc(T.addbroadcast(self.x[:, :1], 1), 2, 3)[:, 1:], mode=FAST_RUN)(
            np.ones((2, 3))
        )
        np.testing.assert_array_equal(result, np.ones((2, 2)))

    def test_vector_of_scalars(self) -> None:
        a, b = T.dscalars("a", "b")
        result = T.stack([a, b, a * b])
        self.assertEqual(compiled_ops([a, b], result[2]), ["Elemwise"])
        self.assertEqual(compiled_ops([self.x], self.x.shape[1:][0]), ["ShapeI"])

    def test_product(self) -> None:
        product = T.dot(self.x, self.x.T)
        self.assertEqual(compiled_ops([self.x], product[1, 2]).count("Dot"), 1)
        values = np.arange(12.0).reshape(4, 3), np.arange(3.0), 2
        for output in (
            product[1],
            product[:, 1:],
            product[self.n, 1],
            T.dot(self.x, self.v)[1:],
            T.dot(self.v, self.x.T)[1],
        ):
            plain, fast = (
                function([self.x, self.v, self.n], output, mode=m, on_unused_input="ignore")(*values)
                for m in (PLAIN, FAST_RUN)
            )
            np.testing.assert_allclose(fast, plain)
            dots = compiled_ops([self.x, self.v, self.n], output)
            self.assertNotEqual(dots[-1], "Subtensor")

    def test_parts_that_were_written(self) -> None:
        fixed, y = T.tensor("float64", shape=(4,), name="fixed"), T.tensor("float64", shape=(2,), name="y")
        self.assertEqual(compiled_ops([fixed, y], T.set_subtensor(fixed[1:3], y)[1:3] * 2), ["Elemwise"])
        self.assertNotIn("IncSubtensor", compiled_ops([self.v], T.inc_subtensor(self.v[1:], self.v[1:])[1:]))
        call = function([self.v, self.n], T.set_subtensor(self.v[self.n], 1.0)[self.n], mode=FAST_RUN)
        with self.assertRaises(IndexError):
            call(np.zeros(2), 2)

    def test_set_of_sum(self) -> None:
        output = T.set_subtensor(self.v[1:], self.v[1:] + 5.0)
        self.kept(output, ["IncSubtensor"])

    def test_whole_written(self) -> None:
        self.kept(T.inc_subtensor(self.v[:], self.v), ["Elemwise"])
        self.kept(T.set_subtensor(self.x[:], 3.0), ["ShapeI", "ShapeI", "Alloc"])

    def test_filled_part(self) -> None:
        fixed = T.tensor("float64", shape=(4, 3), name="fixed")
        self.assertEqual(compiled_ops([fixed], T.set_subtensor(fixed[1:3], T.alloc(2.0, 2, 3))), ["IncSubtensor"])

    def test_gradient_of_a_table_is_never_dense(self) -> None:
        table, i, j = shared(np.ones((6, 2)), name="table"), T.lvector("i"), T.lvector("j")
        cost = T.sqr(table[i]).sum() + (table[j] ** 3).sum()
        updates = [(table, table - 0.1 * T.grad(cost, table))]
        ops = compiled_ops([i, j], [], updates=updates)
        self.assertEqual(ops.count("AdvancedIncSubtensor1"), 2)
        self.assertLessEqual(set(ops), {"AdvancedSubtensor1", "Elemwise", "AdvancedIncSubtensor1"})
        call = function([i, j], [], updates=updates, mode=FAST_RUN)
        call([0, 0], [0, 1])
        expected = np.ones((6, 2))
        expected[0] -= 0.1 * (2 + 2 + 3)
        expected[1] -= 0.1 * 3
        np.testing.assert_allclose(table.get_value(), expected)

    def test_zeros_of_another_shape_are_not_dropped(self) -> None:
        i = T.lvector("i")
        for output in (
            self.v + T.inc_subtensor(T.zeros_like(self.x[0])[i], 1.0),
            self.v - T.inc_subtensor(T.zeros_like(self.x[0])[i], 1.0),
        ):
            for mode in (PLAIN, FAST_RUN):
                with self.assertRaises(ValueError):
                    function([self.x, self.v, i], output, mode=mode)(np.zeros((2, 3)), np.zeros(4), [0])

    def test_infinite_factors_keep_their_nan(self) -> None:
        i = T.lvector("i")
        output = np.inf * T.inc_subtensor(T.zeros_like(self.v)[i], 1.0)
        result = function([self.v, i], output, mode=FAST_RUN)(np.zeros(2), [1])
        np.testing.assert_array_equal(result, [np.nan, np.inf])

    def test_documented_names(self) -> None:
        names = optdb.names()
        for name in ("merge", "lift", "of_alloc", "of_dot", "make_vector", "inc_subtensor"):
            self.assertIn(f"local_subtensor_{name}", names)
        for name in ("local_useless_subtensor", "local_useless_inc_subtensor", "local_IncSubtensor_serialize"):
            self.assertIn(name, names)
        mode = FAST_RUN.excluding("local_subtensor_merge")
        call = function([self.v], self.v[1:][2:], mode=mode)
        ops = [type(node.op).__name__ for node in call.maker.fgraph.toposort()]
        self.assertEqual(ops.count("Subtensor"), 2)


@st.composite
def two_indices(draw: st.DrawFn) -> tuple[Case, Case]:
    """Draw a basic index of a tensor, and one of the result."""
    first = draw(cases(advanced=False))
    try:
        inner = np.asarray(first.x[first.numpy_index()])
    except IndexError:
        inner = np.zeros(0)
    second = draw(cases(advanced=False))
    index = tuple(second.index[: inner.ndim]) if inner.ndim else ()
    return first, Case(inner, index)


class TestChains(unittest.TestCase):
    def test_parts_between_elementwise_nodes_go_down_together(self) -> None:
        x = T.dvector("x")
        y: Any = x
        for _ in range(150):
            y = T.cos(y[1:]) * 0.5
        f = function([x], y, mode=FAST_RUN)
        parts = [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, Subtensor)]
        self.assertEqual([n.inputs[0] for n in parts], f.maker.fgraph.inputs)
        expected = np.linspace(0, 1, 200)
        operand = expected
        for _ in range(150):
            expected = np.cos(expected[1:]) * 0.5
        np.testing.assert_allclose(f(operand), expected, rtol=1e-12)

    def test_a_part_that_cannot_pass_does_not_hold_up_those_below(self) -> None:
        x, y = T.dvectors("x", "y")
        f = function([x, y], (T.exp(T.exp(x)[1:]) + y)[2:], mode=FAST_RUN)
        result = f(np.arange(4.0) / 4, np.ones(3))
        np.testing.assert_allclose(result, (np.exp(np.exp(np.arange(4.0) / 4)[1:]) + 1)[2:])
        lowest = [n for n in f.maker.fgraph.apply_nodes if isinstance(n.op, Subtensor) and n.inputs[0].owner is None]
        self.assertGreaterEqual(len(lowest), 1)


class TestValuesStay(unittest.TestCase):
    @slow
    @settings(deadline=None, max_examples=examples(150))
    @given(two_indices(), st.sampled_from(("plain", "square", "fill", "set")), st.booleans())
    def test_parts_of_parts(self, indices: tuple[Case, Case], wrap: str, static: bool) -> None:
        first, second = indices
        x, index, inputs, values = first.symbolic()
        if static:
            x = inputs[0] = T.tensor("float64", shape=first.x.shape, name="x")
        other = Case(second.x, tuple(i for i in second.index if not isinstance(i, Symbolic)))
        _, further, more, extra = other.symbolic()
        full = {"plain": x, "square": T.sqr(x), "fill": T.alloc(x[..., :1], *x.shape), "set": x + 0}[wrap]

        def attempt(mode: Any) -> Any:
            try:
                part = full[index]
                if wrap == "set" and index != () and index != (Ellipsis,):
                    part = T.inc_subtensor(part, 2.0)[index]
                output = part[further]
                call = function([*inputs, *more[1:]], output, mode=mode, on_unused_input="ignore")
                return call(*values, *extra[1:])
            except (IndexError, TypeError, ValueError) as error:
                return error

        plain, fast = attempt(PLAIN), attempt(FAST_RUN)
        if isinstance(plain, Exception):
            # An empty result is not computed, and its index is not looked at.
            if not (isinstance(fast, np.ndarray) and fast.size == 0):
                self.assertEqual(type(fast), type(plain), f"{plain} / {fast}")
        else:
            self.assertNotIsInstance(fast, Exception, str(fast))
            np.testing.assert_array_equal(fast, plain)
