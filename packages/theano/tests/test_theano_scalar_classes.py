"""Scalar ops as programs for Theano 1.0 make and subclass them; rewrites by their old names."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import scalar
from theano.gof import FunctionGraph
from theano.gof.opt import LocalOptimizer, out2in
from theano.tensor import opt

POINTS = np.array([0.5, 1.0, 2.0])


class Cubed(scalar.UnaryScalarOp):
    def impl(self, x: Any) -> Any:
        return x**3

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        return [output_gradients[0] * 3 * inputs[0] ** 2]

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {inputs[0]} * {inputs[0]} * {inputs[0]};"


class Doubled(scalar.Exp):
    """A subclass of an op of the library with forms of its own."""

    def impl(self, x: Any) -> Any:
        return 2 * x

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        return [output_gradients[0] * 2]


class TimesN(scalar.UnaryScalarOp):
    """Multiplies by a function of its own in C."""

    __props__ = ("n",)

    def __init__(self, n: int) -> None:
        super().__init__(scalar.upgrade_to_float, name=f"times_{n}")
        self.n = n

    def impl(self, x: Any) -> Any:
        return x * self.n

    def c_support_code_apply(self, node: Any, name: str) -> str:
        return f"static double {name}_times(double x) {{ return x * {self.n}; }}"

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = {name}_times({inputs[0]});"


class TestClasses(unittest.TestCase):
    def test_usual_preference_gives_the_op_of_the_library(self) -> None:
        op = scalar.GammaLn(scalar.upgrade_to_float, name="g")
        self.assertEqual((op, str(op)), (scalar.gammaln, "g"))
        self.assertEqual(pickle.loads(pickle.dumps(op)), op)

    def test_other_preferences_are_followed(self) -> None:
        op = scalar.Add(scalar.transfer_type(0), name="kept")
        self.assertNotEqual(op, scalar.add)
        x, y = T.fvector(), T.dvector()
        z = T.Elemwise(op)(x, y)
        self.assertEqual(z.dtype, "float32")
        result = theano.function([x, y], z)(np.ones(2, "float32"), np.full(2, 0.5))
        np.testing.assert_array_equal(result, np.full(2, 1.5, "float32"))

    def test_hierarchy(self) -> None:
        for op, kind in (
            (scalar.exp, scalar.UnaryScalarOp),
            (scalar.sub, scalar.BinaryScalarOp),
            (scalar.lt, scalar.LogicalComparison),
            (scalar.isnan, scalar.FixedLogicalComparison),
            (scalar.and_, scalar.BinaryBitOp),
            (scalar.invert, scalar.UnaryBitOp),
            (scalar.gammaln, scalar.UnaryScalarOp),
        ):
            self.assertIsInstance(op, kind)
        self.assertNotIsInstance(scalar.add, scalar.BinaryScalarOp)

    def test_own_forms_go_before_those_of_a_base(self) -> None:
        x = T.dvector()
        for op, value, slope in (
            (Cubed(scalar.upgrade_to_float, name="cubed"), POINTS**3, 3 * POINTS**2),
            (Doubled(scalar.upgrade_to_float, name="doubled"), 2 * POINTS, np.full(3, 2.0)),
        ):
            y = T.Elemwise(op)(x)
            result = theano.function([x], [y + 0.0, T.grad(y.sum(), x)])(POINTS)
            np.testing.assert_allclose(result, [value, slope])

    def test_code_of_two_ops_in_one_loop(self) -> None:
        x = T.dvector()
        y = T.Elemwise(TimesN(3))(T.Elemwise(TimesN(2))(x))
        np.testing.assert_array_equal(theano.function([x], y)(POINTS), 6 * POINTS)

    def test_c_code_can_be_read(self) -> None:
        x, y = scalar.floats("xy")
        node = scalar.mul.make_node(x, y)
        self.assertEqual(scalar.mul.c_code(node, "n", ["a", "b"], ["z"], {}), "z = a * b;")

    def test_gradients_can_be_asked(self) -> None:
        x = scalar.float64("x")
        (slope,) = scalar.sqr.L_op([x], [scalar.sqr(x)], [scalar.constant(1.0)])
        self.assertEqual(float(slope.eval({x: 3.0})), 6.0)

    def test_helpers(self) -> None:
        self.assertEqual(scalar.cast(scalar.int8("i"), "float32").dtype, "float32")
        self.assertEqual(
            (scalar.constant(2, name="a").name, scalar.constant(2, dtype="float32").dtype), ("a", "float32")
        )
        x = T.dvector()
        inside = T.Elemwise(scalar.InRange(True, False))(x, 0.5, 2.0)
        self.assertEqual(theano.function([x], inside)(POINTS).tolist(), [False, True, True])
        with self.assertRaises(scalar.ComplexError):
            scalar.complex64("z") % scalar.int32("n")  # the test is that this raises

    def test_dtypes(self) -> None:
        self.assertEqual([T.exp(T.vector(dtype=d)).dtype for d in ("int8", "int64")], ["float32", "float64"])
        with theano.change_flags(floatX="float32"):
            self.assertEqual((T.lvector() / T.lvector()).dtype, "float32")


class TestRewrites(unittest.TestCase):
    def test_names_stand_for_all_their_rules(self) -> None:
        self.assertIsInstance(opt.local_useless_elemwise, LocalOptimizer)
        self.assertEqual(opt.local_useless_elemwise.__name__, "local_useless_elemwise")
        x = T.dvector()
        (result,) = opt.local_mul_specialize.transform((x * 1).owner)
        self.assertIs(result, x)
        self.assertFalse(opt.local_mul_specialize.transform((x * 3).owner))

    def test_allocs_are_joined(self) -> None:
        m, n = T.dscalar(), T.iscalar()
        graph = FunctionGraph([m, n], [T.alloc(T.alloc(m, n, 1), 3, n, 2)])
        out2in(opt.local_merge_alloc).optimize(graph)
        self.assertEqual(sum(isinstance(node.op, T.Alloc) for node in graph.apply_nodes), 1)

    def test_only_elements_need_no_index(self) -> None:
        x = T.dvector()
        f = theano.function([x], x.dimshuffle(0, "x")[:, 0] * 2)
        self.assertFalse(any(isinstance(node.op, T.Subtensor) for node in f.maker.fgraph.toposort()))
