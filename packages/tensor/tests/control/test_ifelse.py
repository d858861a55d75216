"""Choices: values, skipped branches, derivatives, shapes, rewrites and wrong input."""

from __future__ import annotations

import pickle
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Op, ancestors
from theano_linker_c import Mode, function, get_mode, shared
from theano_linker_c.ops import DeepCopyOp
from theano_tensor.builders import OpFromGraph
from theano_tensor.control import IfElse, ifelse
from theano_tensor.linalg import matrix_inverse
from theano_tensor.rewrites._groups import FusedReduce
from theano_testing.tensor import verify_grad

LAZY = (
    Mode("cvm", "fast_run"),
    Mode("vm", "fast_run"),
    Mode("cvm", None),
    Mode("cvm", "fast_compile"),
    get_mode("FAST_COMPILE"),
)
EAGER = (Mode("py", None), Mode("c|py", "fast_run"))


class Counted(Op):
    """The identity, counting how often it runs."""

    __props__ = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label
        self.calls = 0

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        self.calls += 1
        output_storage[0][0] = inputs[0].copy()

    def infer_shape(self, node: Apply, shapes: list[Any]) -> list[Any]:
        return shapes[:1]


class Doubled(Op):
    """Twice its input, in place."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        inputs[0][...] *= 2
        output_storage[0][0] = inputs[0]


def choices(f: Any) -> list[Apply]:
    return [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, IfElse)]


class TestValues(unittest.TestCase):
    def setUp(self) -> None:
        self.c = T.dscalar("c")
        self.x, self.y = T.dvectors("x", "y")
        self.one, self.two = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])

    def test_either_branch_in_each_mode(self) -> None:
        for mode in (*LAZY, *EAGER):
            f = function([self.c, self.x, self.y], ifelse(self.c > 0, self.x, self.y), mode=mode)
            with self.subTest(mode=str(mode)):
                np.testing.assert_array_equal(f(1.0, self.one, self.two), self.one)
                np.testing.assert_array_equal(f(-1.0, self.one, self.two), self.two)
                self.assertFalse(np.shares_memory(f(1.0, self.one, self.two), self.one))

    def test_only_one_branch_is_computed(self) -> None:
        for modes, expected in ((LAZY, (1, 0)), (EAGER, (1, 1))):
            for mode in modes:
                first, second = Counted("first"), Counted("second")
                f = function([self.c, self.x, self.y], ifelse(self.c, first(self.x), second(self.y)), mode=mode)
                f(1.0, self.one, self.two)
                with self.subTest(mode=str(mode)):
                    self.assertEqual((first.calls, second.calls), expected)

    def test_groups(self) -> None:
        outs = ifelse(self.c, [self.x, self.y], (self.y, self.x))
        self.assertIsInstance(outs, list)
        f = function([self.c, self.x, self.y], outs)
        for c, expected in ((1.0, (self.one, self.two)), (0.0, (self.two, self.one))):
            for got, reference in zip(f(c, self.one, self.two), expected, strict=True):
                np.testing.assert_array_equal(got, reference)
        self.assertEqual(len(ifelse(self.c, [self.x], [self.y])), 1)

    def test_plain_values_and_shared_variables(self) -> None:
        s = shared(np.arange(3.0))
        f = function([self.c], ifelse(self.c, s, np.array([7.0])))
        np.testing.assert_array_equal(f(1.0), [0.0, 1.0, 2.0])
        np.testing.assert_array_equal(f(0.0), [7.0])
        step = function([self.c], [], updates=[(s, ifelse(self.c, s + 1, s))])
        for c, expected in ((1.0, [1.0, 2.0, 3.0]), (0.0, [1.0, 2.0, 3.0])):
            step(c)
            np.testing.assert_array_equal(s.get_value(), expected)

    def test_types_that_differ_in_what_is_known(self) -> None:
        wide, narrow = T.dmatrix("m"), T.drow("r")
        result = ifelse(self.c, wide, narrow)
        self.assertEqual(result.type.shape, (None, None))
        f = function([self.c, wide, narrow], result)
        self.assertEqual(f(0.0, np.zeros((2, 3)), np.zeros((1, 5))).shape, (1, 5))

    def test_beside_an_op_that_overwrites(self) -> None:
        for mode in LAZY:
            chosen = ifelse(self.c, self.x, self.y)
            f = function([self.c, self.x, self.y], [Doubled()(chosen), self.x + 0], mode=mode, accept_inplace=True)
            operand = self.one.copy()
            doubled, saved = f(1.0, operand, self.two)
            with self.subTest(mode=str(mode)):
                np.testing.assert_array_equal(doubled, [2.0, 4.0])
                np.testing.assert_array_equal(saved, [1.0, 2.0])
                np.testing.assert_array_equal(operand, [1.0, 2.0])

    def test_pickles(self) -> None:
        f = pickle.loads(pickle.dumps(function([self.c, self.x, self.y], ifelse(self.c, self.x, self.y))))
        np.testing.assert_array_equal(f(0.0, self.one, self.two), self.two)


class TestDerivatives(unittest.TestCase):
    def test_gradients(self) -> None:
        rng = np.random.default_rng(1)
        for value in (0, 1):
            condition = T.constant(value)
            verify_grad(
                lambda a, b, c=condition: ifelse(c, T.tanh(a) * 2, b**2).sum(),
                [rng.random(3), rng.random(3)],
                rng=rng,
            )

    def test_gradients_by_a_condition_known_at_run_time(self) -> None:
        c, (x, y) = T.dscalar("c"), T.dvectors("x", "y")
        first, second = ifelse(c > 0, [x**2, y], [y**3, x])
        result = T.grad(first.sum() + 2 * second.sum(), [x, y])
        for mode in (*LAZY, *EAGER):
            f = function([c, x, y], result, mode=mode, on_unused_input="ignore")
            with self.subTest(mode=str(mode)):
                for value, expected in ((1.0, ([2.0, 4.0], [2.0, 2.0])), (-1.0, ([2.0, 2.0], [27.0, 48.0]))):
                    for got, reference in zip(f(value, [1.0, 2.0], [3.0, 4.0]), expected, strict=True):
                        np.testing.assert_allclose(got, reference)

    def test_r_op(self) -> None:
        c, (x, y, u) = T.dscalar("c"), T.dvectors("x", "y", "u")
        result = T.Rop(ifelse(c, x**2, y), x, u)
        f = function([c, x, y, u], result, on_unused_input="ignore")
        np.testing.assert_allclose(f(1.0, [1.0, 2.0], [3.0, 4.0], [1.0, 1.0]), [2.0, 4.0])
        np.testing.assert_allclose(f(0.0, [1.0, 2.0], [3.0, 4.0], [1.0, 1.0]), [0.0, 0.0])

    def test_shapes(self) -> None:
        c, (x, y) = T.dscalar("c"), T.dvectors("x", "y")
        first, second = Counted("first"), Counted("second")
        f = function([c, x, y], ifelse(c, T.exp(x), T.log(y)).shape, on_unused_input="ignore")
        self.assertEqual((list(f(1.0, [1.0], [1.0, 2.0])), list(f(0.0, [1.0], [1.0, 2.0]))), ([1], [2]))
        self.assertEqual((first.calls, second.calls), (0, 0))


class TestRewrites(unittest.TestCase):
    def setUp(self) -> None:
        self.c = T.dscalar("c")
        self.x, self.y = T.dvectors("x", "y")

    def test_a_constant_condition(self) -> None:
        for value in (0, 1):
            f = function([self.x, self.y], ifelse(T.constant(value), self.x, self.y), on_unused_input="ignore")
            self.assertEqual(choices(f), [])
            np.testing.assert_array_equal(f([1.0], [2.0]), [1.0] if value else [2.0])

    def test_equal_branches(self) -> None:
        first, second = ifelse(self.c, [self.x, self.x], [self.x, self.y])
        f = function([self.c, self.x, self.y], [first, second])
        self.assertEqual([node.op.n_outs for node in choices(f)], [1])
        both = ifelse(self.c, T.exp(self.x), T.exp(self.x))
        self.assertEqual(choices(function([self.c, self.x], both, on_unused_input="ignore")), [])

    def test_a_choice_inside_by_the_same_condition(self) -> None:
        inner = ifelse(self.c, self.x, self.y)
        f = function([self.c, self.x, self.y], ifelse(self.c, inner, inner * 2))
        np.testing.assert_array_equal(f(0.0, [1.0], [5.0]), [10.0])
        self.assertLessEqual(len(choices(f)), 2)

    def test_unused_outputs(self) -> None:
        first, second = Counted("first"), Counted("second")
        chosen = ifelse(self.c, [self.x, first(self.x)], [self.y, second(self.y)])[0]
        f = function([self.c, self.x, self.y], chosen)
        f(1.0, [1.0], [2.0])
        self.assertEqual(([node.op.n_outs for node in choices(f)], first.calls), ([1], 0))


def is_chosen(output: Any) -> bool:
    """Tell whether an output comes from a choice, perhaps copied."""
    node = output.owner
    return isinstance((node.inputs[0].owner if isinstance(node.op, DeepCopyOp) else node).op, IfElse)


class TestBranchesThatAreLeftOut(unittest.TestCase):
    """The branch not chosen cannot fail, even where it shares nodes with the other."""

    def setUp(self) -> None:
        self.c, self.d = T.iscalars("c", "d")
        self.x, self.y = T.dvectors("x", "y")
        self.none, self.two, self.three = np.zeros(0), np.array([3.0, 4.0]), np.array([3.0, 4.0, 5.0])

    def compiled(self, *outputs: Any) -> Any:
        return function([self.c, self.d, self.x, self.y], outputs, mode=LAZY[0], on_unused_input="ignore")

    def test_reductions_of_one_operand(self) -> None:
        for operand in (self.x, T.exp(self.x)):
            f = self.compiled(ifelse(self.c, operand.max(), operand.sum()))
            with self.subTest(operand=str(operand)):
                self.assertEqual(f(0, 0, self.none, self.none), [0.0])
                with self.assertRaises(ValueError):
                    f(1, 0, self.none, self.none)
                value = np.exp(self.two) if operand is not self.x else self.two
                for condition, expected in ((1, value.max()), (0, value.sum())):
                    np.testing.assert_allclose(f(condition, 0, self.two, self.two)[0], expected)

    def test_a_reduction_beside_one_that_every_call_needs(self) -> None:
        f = self.compiled(self.x.sum(), ifelse(self.c, self.x.max(), self.y.sum()))
        np.testing.assert_array_equal(f(0, 0, self.none, self.two), [0.0, 7.0])
        np.testing.assert_array_equal(f(1, 0, self.three, self.two), [12.0, 5.0])

    def test_lengths_that_do_not_fit(self) -> None:
        x, y = self.x, self.y
        f = self.compiled(ifelse(self.c, x + y, x + 1), T.exp(x), ifelse(self.c, (x * y).sum(), x.sum()))
        for got, expected in zip(f(0, 0, self.two, self.three), (self.two + 1, np.exp(self.two), 7.0), strict=True):
            np.testing.assert_allclose(got, expected)
        with self.assertRaises(ValueError):
            f(1, 0, self.two, self.three)
        for got, expected in zip(f(1, 0, self.two, self.two), (self.two * 2, np.exp(self.two), 25.0), strict=True):
            np.testing.assert_allclose(got, expected)

    def test_lengths_that_are_known_to_differ(self) -> None:
        x = self.x
        wrong = x * (T.constant(self.two) - T.constant(self.three))
        for mode in (*LAZY, get_mode("DebugMode")):
            chosen = ifelse(self.c, wrong.sum(), x.sum())
            f = function([self.c, x], [chosen, T.grad(chosen, x), T.Rop(chosen, x, x)], mode=mode)
            with self.subTest(mode=mode):
                for got, expected in zip(f(0, self.two), (7.0, [1.0, 1.0], 7.0), strict=True):
                    np.testing.assert_array_equal(got, expected)
                with self.assertRaisesRegex(T.ShapeError, "sub: the lengths of dimension 0 differ: 2 .* and 3 "):
                    f(1, self.two)

    def test_choices_inside_choices(self) -> None:
        x, c, d = self.x, self.c, self.d
        f = self.compiled(ifelse(c, ifelse(d, x.max(), x.min()), ifelse(d, x.sum(), x.prod())))
        self.assertEqual([f(0, d, self.none, self.none)[0] for d in (1, 0)], [0.0, 1.0])
        results = [f(c, d, self.two, self.two)[0] for c, d in ((1, 1), (1, 0), (0, 1), (0, 0))]
        self.assertEqual(results, [4.0, 3.0, 7.0, 12.0])

    def test_what_is_needed_in_the_same_calls_is_computed_together(self) -> None:
        x, y, c, d = self.x, self.y, self.c, self.d
        for expected, outputs in (
            ([2, 2], (ifelse(c, x.max(), y.max()), ifelse(c, x.sum(), y.min()))),
            ([2], (ifelse(c, x.max() + x.sum(), y.sum()), ifelse(d, y.max(), y.min()))),
            # Both branches need the maximum, and every call the sum.
            ([2], (ifelse(c, x.max() + 1, x.max() - 1), x.sum())),
        ):
            f = self.compiled(*outputs)
            fused = [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, FusedReduce)]
            with self.subTest(outputs=outputs):
                self.assertEqual([len(node.outputs) for node in fused], expected)

    def test_many_choices_take_linear_time(self) -> None:
        x, result = self.x, T.exp(self.x)
        for k in range(300):
            result = ifelse(T.lt(self.c, k), result + x, result * k)
        f = self.compiled(result)
        np.testing.assert_allclose(f(297, 0, self.two, self.two)[0], np.exp(self.two) * 0 + 2 * self.two)


class TestGradientsOfBranches(unittest.TestCase):
    """The gradient by the variables of a branch is computed where the branch is taken, and zeros elsewhere."""

    def setUp(self) -> None:
        self.c, self.d = T.iscalars("c", "d")
        self.m, self.v, self.s = T.dmatrix("m"), T.dvector("v"), T.dscalar("s")
        self.inverse = matrix_inverse(self.m)
        self.singular, self.ones, self.one = np.zeros((2, 2)), np.ones((2, 2)), np.eye(2)

    def check(self, inputs: list[Any], result: Any, *cases: tuple[list[Any], Any]) -> None:
        for mode in LAZY:
            f = function(inputs, result, mode=mode, on_unused_input="ignore")
            for values, expected in cases:
                with self.subTest(mode=str(mode), values=values):
                    np.testing.assert_allclose(f(*values), expected)

    def test_what_the_other_branch_cannot_compute(self) -> None:
        first = ifelse(T.eq(self.v.shape[0], 0), self.s * 2.0, self.v[0] * self.s)
        self.check([self.v, self.s], T.grad(first, self.v), ([[], 2.0], []), ([[1.0, 5.0], 2.0], [2.0, 0.0]))
        self.check([self.v, self.s], T.grad(first, self.s), ([[], 2.0], 2.0), ([[3.0, 5.0], 2.0], 3.0))
        result = T.grad(ifelse(self.c, self.m.sum(), self.inverse.sum()), self.m)
        self.check([self.m, self.c], result, ([self.singular, 1], self.ones), ([self.one, 0], -self.ones))

    def test_what_overflows_in_the_other_branch(self) -> None:
        cost = ifelse(self.s > 0, self.s + 1, T.exp(self.s))
        self.check([self.s], T.grad(cost, self.s), ([1000.0], 1.0), ([0.0], 1.0))
        second = T.grad(T.grad(cost, self.s), self.s, disconnected_inputs="ignore")
        self.check([self.s], second, ([1000.0], 0.0), ([0.0], 1.0))

    def test_a_variable_of_the_other_branch_gets_zeros_without_being_computed(self) -> None:
        result = T.grad(ifelse(self.c, self.m.sum(), self.inverse.sum()), [self.inverse, self.inverse])[1]
        self.check([self.m, self.c], result, ([self.singular, 1], self.singular), ([self.one, 0], self.ones))

    def test_choices_inside_choices(self) -> None:
        inner = ifelse(self.d, self.m.sum(), self.inverse.sum())
        result = T.grad(ifelse(self.c, inner, (self.m**2).sum()), self.m)
        cases = [((1, 1), self.ones), ((0, 0), self.singular), ((0, 1), self.singular)]
        self.check(
            [self.m, self.c, self.d], result, *(([self.singular, *operands], expected) for operands, expected in cases)
        )
        self.check([self.m, self.c, self.d], result, ([self.one, 1, 0], -self.ones))

    def test_a_branch_of_two_choices(self) -> None:
        total, inverse = self.m.sum(), self.inverse.sum()
        result = T.grad(ifelse(self.c, inverse, total) + ifelse(self.d, 2 * inverse, total), self.m)
        cases = [((1, 0), 0.0), ((0, 1), -1.0), ((1, 1), -3.0)]
        self.check([self.m, self.c, self.d], result, ([self.singular, 0, 0], 2 * self.ones))
        self.check([self.m, self.c, self.d], result, *(([self.one, *operands], k * self.ones) for operands, k in cases))

    def test_groups_and_variables_of_both_branches(self) -> None:
        first, second = ifelse(self.c, [self.v * 2, T.exp(self.v)], [T.exp(self.v), self.v * 3])
        value = np.array([0.0, 1.0])
        result = T.grad((first + second).sum(), self.v)
        self.check([self.v, self.c], result, ([value, 1], 2 + np.exp(value)), ([value, 0], 3 + np.exp(value)))
        same = self.v * 3
        self.check([self.v, self.c], T.grad(ifelse(self.c, same, same).sum(), self.v), ([value, 0], [3.0, 3.0]))

    def test_other_ways_to_derivatives(self) -> None:
        u, value = T.dvector("u"), np.array([1000.0, 800.0])
        chosen = ifelse(self.v.sum() > 0, self.v + 1, T.exp(self.v))
        self.check([self.v], T.jacobian(chosen, self.v), ([value], self.one))
        self.check([self.v, u], T.Lop(chosen, self.v, u), ([value, [1.0, 2.0]], [1.0, 2.0]))
        self.check([self.v, u], T.Rop(chosen, self.v, u), ([value, [1.0, 2.0]], [1.0, 2.0]))
        self.check([self.v], T.grad(OpFromGraph([self.v], [chosen])(self.v).sum(), self.v), ([value], [1.0, 1.0]))
        self.check([self.v, u], T.grad(None, self.v, known_grads={chosen: u}), ([value, [1.0, 2.0]], [1.0, 2.0]))

    def test_gradients_of_many_choices_are_of_linear_size(self) -> None:
        sizes = []
        for n in (20, 40):
            result = T.exp(self.v)
            for k in range(n):
                result = ifelse(T.lt(self.c, k), T.tanh(result) + self.v, self.v * k)
            sizes.append(len(list(ancestors([T.grad(result.sum(), self.v)]))))
        self.assertLess(sizes[1], 2.1 * sizes[0])


class TestWorkInsideBranches(unittest.TestCase):
    """Work on zeros is left out: gradients of choices compute the needs of the branch that is taken."""

    def setUp(self) -> None:
        self.c = T.iscalar("c")
        self.x, self.w = T.dmatrices("x", "w")
        rng = np.random.RandomState(0)
        self.values = [rng.randn(3, 3), rng.randn(3, 3)]
        self.first, self.second = Counted("first"), Counted("second")

    def counted(self, f: Any, condition: int) -> tuple[int, int]:
        self.first.calls = self.second.calls = 0
        f(condition, *self.values)
        return self.first.calls, self.second.calls

    def test_the_gradient_of_a_choice_is_lazy(self) -> None:
        x, w = self.x, self.w
        one, two = T.tanh(T.dot(x, w)), T.exp(T.dot(w, x))
        cost = ifelse(self.c, one, two).sum()
        f: Any = function([self.c, x, w], [cost, *T.grad(cost, [x, w])])
        for condition, chosen in ((1, one), (0, two)):
            alone = function([x, w], [chosen.sum(), *T.grad(chosen.sum(), [x, w])])
            for got, expected in zip(f(condition, *self.values), alone(*self.values), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-12)
        graph = f.maker.fgraph
        self.assertTrue(all(map(is_chosen, graph.outputs[1:])))
        names = {type(node.op).__name__ for node in graph.apply_nodes}
        self.assertNotIn("Alloc", names)  # no zeros are made, and none is added
        self.assertEqual(len(choices(f)), 3)

    def test_only_the_branch_that_is_taken_runs(self) -> None:
        x, w = self.x, self.w
        chosen = ifelse(self.c, x * 2, T.zeros_like(x))
        f: Any = function([self.c, x, w], T.dot(chosen * self.first(w), w).sum() + self.second(w).sum())
        self.assertEqual(self.counted(f, 1), (1, 1))
        self.assertEqual(self.counted(f, 0), (0, 1))
        np.testing.assert_allclose(f(0, *self.values), self.values[1].sum())

    def test_each_kind_of_work(self) -> None:
        x, w = self.x, self.w
        chosen = ifelse(self.c, x, T.zeros_like(x))
        for result in (
            T.exp(chosen),
            chosen.T + w,
            chosen.sum(0),
            T.dot(w, chosen),
            chosen.reshape((9,)),
            chosen[1:],
            T.inc_subtensor(chosen[0], w[0]),
            T.batched_dot(chosen.dimshuffle("x", 0, 1), w.dimshuffle("x", 0, 1)),
            chosen + ifelse(self.c, T.ones_like(x), w),
        ):
            f: Any = function([self.c, x, w], result, on_unused_input="ignore")
            plain = function([self.c, x, w], result, mode=Mode("cvm", None), on_unused_input="ignore")
            for condition in (0, 1):
                got, expected = (g(condition, *self.values) for g in (f, plain))
                np.testing.assert_allclose(got, expected, rtol=1e-12)
            with self.subTest(made=str(result)):
                self.assertTrue(is_chosen(f.maker.fgraph.outputs[0]))

    def test_graphs_do_not_grow_with_the_number_of_conditions(self) -> None:
        conditions = [T.iscalar() for _ in range(12)]
        total = self.x
        for c in conditions:
            total = T.tanh(total + ifelse(c, self.w, T.zeros_like(self.w)))
        f: Any = function([*conditions, self.x, self.w], total)
        self.assertLess(len(f.maker.fgraph.apply_nodes), 100)
        both = sum(ifelse(c, self.w, T.zeros_like(self.w)) for c in conditions)
        g: Any = function([*conditions, self.w], both)
        self.assertLess(len(g.maker.fgraph.apply_nodes), 100)
        np.testing.assert_allclose(g(*[1] * 5, *[0] * 7, self.values[1]), 5 * self.values[1])

    def test_branches_without_constants_are_left(self) -> None:
        f: Any = function([self.c, self.x, self.w], T.exp(ifelse(self.c, self.x, self.w)))
        self.assertFalse(is_chosen(f.maker.fgraph.outputs[0]))


class TestWrongInput(unittest.TestCase):
    def test_each_refusal_says_what_to_do(self) -> None:
        c, (x, y), m = T.dscalar("c"), T.dvectors("x", "y"), T.dmatrix("m")
        cases: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "condition is no scalar", lambda: ifelse(x, x, y)),
            (TypeError, "different types for output 0", lambda: ifelse(c, x, m)),
            (TypeError, "different types for output 1", lambda: ifelse(c, [x, x], [y, T.ivector()])),
            (TypeError, "2 variables in one branch and 1", lambda: ifelse(c, [x, y], [x])),
            (TypeError, "0 variables in one branch", lambda: ifelse(c, [], [])),
            (TypeError, "one branch is a list", lambda: ifelse(c, [x], y)),
            (TypeError, "takes a condition and twice 2", lambda: IfElse(2)(c, x, y)),
            (ValueError, "groups of 0", lambda: IfElse(0)),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                call()
