"""Which results are computed in one pass: numbers of nodes of compiled programs, and their values."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply
from theano_linker_c import FAST_RUN, Mode, function, scalar
from theano_linker_c.kernels import ReductionKernel
from theano_linker_c.program import HAS_RUNTIME
from theano_tensor.elemwise import DimShuffle
from theano_tensor.rewrites import FusedReduce
from theano_tensor.rewrites._groups import MAX_OPERANDS
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

RNG = np.random.RandomState(11)


def keeps_results(node: Apply) -> bool:
    """Tell whether a node keeps elements besides its reductions."""
    return isinstance(node.op, FusedReduce) and node.op.n_kept > 0


class OnePassTestCase(unittest.TestCase):
    def compiled(self, inputs: list[Any], outputs: list[Any], *values: Any) -> list[Any]:
        """Return the nodes of a compiled program that do work, after its values have been compared."""
        plain: Any = function(inputs, outputs, mode=Mode("py", None))
        expected = plain(*values)
        for mode in (FAST_RUN, Mode("py", "fast_run"), Mode("cvm", "o2")):
            f: Any = function(inputs, outputs, mode=mode)
            for a, b in zip(f(*values), expected, strict=True):
                self.assertEqual(a.dtype, b.dtype)
                assert_allclose(a, b, rtol=1e-5 if a.dtype == "float32" else 1e-9)
        fast: Any = function(inputs, outputs)
        if HAS_RUNTIME:
            nests = [i for i in fast.fn.program.instructions if isinstance(i.node.op, FusedReduce)]
            self.assertTrue(all(isinstance(i.kernel, ReductionKernel) for i in nests))
        return [node for node in fast.maker.fgraph.toposort() if not isinstance(node.op, DimShuffle)]

    def assert_one_pass(self, inputs: list[Any], outputs: list[Any], *values: Any) -> FusedReduce:
        nodes = self.compiled(inputs, outputs, *values)
        self.assertEqual([type(node.op) for node in nodes], [FusedReduce])
        op: FusedReduce = nodes[0].op
        return op


class TestOnePass(OnePassTestCase):
    def test_elements_and_their_sum(self) -> None:
        x = tt.dvector("x")
        e = tt.exp(x)
        op = self.assert_one_pass([x], [e, e.sum()], RNG.rand(4))
        self.assertEqual((op.n_kept, op.scalar_op.cost), (1, scalar.exp.cost))

    def test_sum_and_sum_of_squares(self) -> None:
        for axis in (None, 0, 1, (0, 1)):
            x = tt.dmatrix("x")
            op = self.assert_one_pass([x], [x.sum(axis=axis), tt.sqr(x).sum(axis=axis)], RNG.rand(3, 4))
            self.assertEqual(op.n_kept, 0)

    def test_cost_and_gradient(self) -> None:
        x, y = tt.dvectors("x", "y")
        cost = (tt.nnet.softplus(x) * y).sum()
        self.assert_one_pass([x, y], [cost, *tt.grad(cost, [x, y])], RNG.rand(5), RNG.rand(5))

    def test_different_reductions(self) -> None:
        x = tt.dvector("x")
        e = tt.tanh(x)
        op = self.assert_one_pass([x], [e.max(), e.min(), e.sum(), e.prod(), (x * 2).max()], RNG.rand(5))
        self.assertEqual(len(op.reductions), 5)

    def test_several_kept_results(self) -> None:
        x, y = tt.dmatrix("x"), tt.dmatrix("y")
        e = tt.exp(x * y)
        op = self.assert_one_pass([x, y], [e + 1, tt.sin(e), e.sum(), tt.sqr(e - y).sum()], *RNG.rand(2, 3, 4))
        self.assertEqual((op.n_kept, len(op.reductions)), (2, 2))

    def test_a_reduction_of_an_operand(self) -> None:
        x = tt.dvector("x")
        op = self.assert_one_pass([x], [tt.exp(x), x.sum(), x.max()], RNG.rand(5))
        self.assertEqual((op.n_kept, len(op.reductions)), (1, 2))

    def test_broadcast_operands(self) -> None:
        x, v = tt.dmatrix("x"), tt.dvector("v")
        e = tt.exp(x - v)
        self.assert_one_pass([x, v], [e.sum(axis=0), tt.sqr(e * v).sum(axis=0)], RNG.rand(3, 4), RNG.rand(4))

    def test_casts_and_narrow_floats(self) -> None:
        x, n = tt.fvector("x"), tt.ivector("n")
        e = tt.cast(x * n, "float32")
        values = RNG.rand(5).astype("float32"), np.arange(5, dtype="int32")
        self.assert_one_pass([x, n], [e > 1, e.sum(), tt.any(e > 3)], *values)

    def test_infinities_and_nan(self) -> None:
        x = tt.dvector("x")
        e = x * 2
        for special in (np.nan, np.inf, -np.inf):
            self.assert_one_pass([x], [e, e.sum(), e.max(), e.min()], np.array([1.0, special, 3]))

    def test_long_rows(self) -> None:
        x = tt.tensor("float64", shape=(None, 100))
        e = tt.exp(x)
        self.assert_one_pass([x], [e, e.sum(axis=1)], RNG.rand(3, 100))

    def test_softmax_of_long_rows(self) -> None:
        x = tt.tensor("float64", shape=(None, 100))
        e = tt.exp(x - x.max(axis=1, keepdims=True))
        nodes = self.compiled([x], [e / e.sum(axis=1, keepdims=True)], RNG.rand(3, 100) * 700)
        self.assertEqual(sum(keeps_results(node) for node in nodes), 1)
        self.assertEqual(len(nodes), 3)


class TestApart(OnePassTestCase):
    """Nodes that stay apart, and why."""

    def test_a_reduction_alone_stores_no_elements(self) -> None:
        x = tt.dvector("x")
        nodes = self.compiled([x], [tt.exp(x).sum()], RNG.rand(4))
        self.assertEqual([type(node.op) for node in nodes], [FusedReduce])
        self.assertEqual([node.op.n_kept for node in nodes], [0])

    def test_short_rows(self) -> None:
        x = tt.dmatrix("x")
        e = tt.exp(x)
        nodes = self.compiled([x], [e, e.sum(axis=1)], RNG.rand(3, 4))
        self.assertEqual(len(nodes), 2)
        self.assertFalse(any(keeps_results(node) for node in nodes))

    def test_other_axes(self) -> None:
        x = tt.dmatrix("x")
        nodes = self.compiled([x], [x.sum(axis=0), x.sum(axis=1), tt.sqr(x).sum(axis=0)], RNG.rand(3, 4))
        self.assertEqual(sorted(type(node.op).__name__ for node in nodes), ["FusedReduce", "Sum"])

    def test_what_depends_on_the_reduction(self) -> None:
        x = tt.dvector("x")
        nodes = self.compiled([x], [tt.sqr(x - x.sum()).sum(), tt.exp(x).sum()], RNG.rand(4))
        self.assertEqual(len(nodes), 2)

    def test_a_chain_of_reductions(self) -> None:
        x = tt.dvector("x")
        y: Any = x
        outputs = []
        for _ in range(10):
            y = tt.tanh(y * y.sum())
            outputs.append(tt.sqr(y).sum())
        nodes = self.compiled([x], [y, *outputs], RNG.rand(4))
        self.assertLessEqual(len(nodes), 12)

    def test_unrelated_lengths(self) -> None:
        x, y = tt.dvectors("x", "y")
        nodes = self.compiled([x, y], [x.sum(), y.sum()], RNG.rand(3), RNG.rand(5))
        self.assertEqual(len(nodes), 2)

    def test_complex_numbers(self) -> None:
        z = tt.zvector("z")
        e = z * 2
        nodes = self.compiled([z], [e, e.sum()], RNG.rand(3) + 1j * RNG.rand(3))
        self.assertFalse(any(keeps_results(node) for node in nodes))

    def test_empty_extremum_is_an_error(self) -> None:
        x = tt.dvector("x")
        e = tt.exp(x)
        f: Any = function([x], [e, e.max(), e.sum()])
        with self.assertRaises(ValueError):
            f(np.zeros(0))
        self.assertEqual(f(np.zeros(1))[2], 1)

    def test_number_of_operands_is_bounded(self) -> None:
        inputs = [tt.dvector(f"x{i}") for i in range(60)]
        total = sum(inputs[1:], inputs[0])
        outputs = [total, *(tt.sqr(total - x).sum() for x in inputs)]
        nodes = self.compiled(inputs, outputs, *RNG.rand(60, 3))
        for node in nodes:
            if isinstance(node.op, FusedReduce):
                self.assertLessEqual(len(node.inputs) + len(node.outputs), 3 * MAX_OPERANDS)

    @slow
    def test_random_graphs(self) -> None:
        rng = np.random.RandomState(3)
        for _ in range(10):
            vectors: list[Any] = [tt.dvector("u"), tt.dvector("v")]
            inputs, scalars = list(vectors), []
            for _ in range(12):
                a, b = (vectors[rng.randint(max(0, len(vectors) - 5), len(vectors))] for _ in range(2))
                kind = rng.randint(5)
                if kind == 0:
                    scalars.append((tt.tanh(a) * b).sum())
                elif kind == 1:
                    scalars.append(a.max() + tt.sqr(b).sum())
                elif kind == 2 and scalars:
                    vectors.append(tt.tanh(a * scalars[-1]))
                else:
                    vectors.append(tt.tanh(a + 0.5 * b) if kind == 3 else a * 0.5 - tt.tanh(b))
            self.compiled(inputs, [*vectors[2:], *scalars, inputs[0] + inputs[1]], RNG.rand(3), RNG.rand(3))


class TestSumsOfManyTerms(OnePassTestCase):
    def test_one_node(self) -> None:
        vectors = [tt.dvector(f"x{i}") for i in range(12)]
        for op, build in (("add", sum), ("mul", lambda parts: np.prod(np.array(parts, dtype=object)))):
            mode = FAST_RUN.excluding("composite_elemwise_fusion")
            f: Any = function(vectors, build(vectors), mode=mode)
            (node,) = f.maker.fgraph.toposort()
            self.assertEqual((str(node.op.scalar_op), len(node.inputs)), (op, 12))
