from __future__ import annotations

import unittest

from tensor_cases import node_of

import theano_tensor as tt
from theano_graph import Variable, pp, pprint
from theano_linker_c import scalar
from theano_tensor.elemwise import Elemwise


class TestFormulas(unittest.TestCase):
    def test_forms(self) -> None:
        x, y = tt.matrices("x", "y")
        v, n = tt.vector("v"), tt.lscalar("n")
        cases: list[tuple[Variable, str]] = [
            (x + y * x, "(x + (y * x))"),
            (-x / y // x % y, "((((-x) / y) // x) % y)"),
            (x**2, "(x ** TensorConstant{2})"),
            (x + v, "(x + v)"),
            (x.T, "x.T"),
            ((x + y).T, "(x + y).T"),
            (x.dimshuffle("x", 0, 1), "x"),
            (tt.tensor3("z").dimshuffle(1, 0, 2), "DimShuffle{1, 0, 2}(z)"),
            (tt.dot(x, v), "(x \\dot v)"),
            (tt.gt(x, y), "gt(x, y)"),
            (tt.exp(x), "exp(x)"),
            (tt.second(x, y), "fill(x, y)"),
            (x[0], "x[Constant{0}]"),
            (x[1:3, ::2], "x[1:3, ::2]"),
            (x[n:, n], "x[n:, n]"),
            (tt.set_subtensor(x[n], 0), "set_subtensor(x[n], TensorConstant{0.0})"),
            (tt.inc_subtensor(v[:3], 1), "inc_subtensor(v[:3], TensorConstant{1.0})"),
            (x[tt.lvector("i"), None, 1:], "x[i, None, 1:]"),
            (tt.inc_subtensor(x[tt.gt(x, 0)], v), "inc_subtensor(x[gt(x, TensorConstant{0})], v)"),
            (tt.dvector(), "<TensorType(float64, vector)>"),
        ]
        for variable, text in cases:
            with self.subTest(text):
                self.assertEqual(pp(variable), text)

    def test_elementwise_ops_have_the_name_that_is_printed(self) -> None:
        x = tt.dmatrix("x")
        for variable, name in (
            (x * 2.0, "Elemwise{mul,no_inplace}"),
            (Elemwise(scalar.add, {0: 0})(x, x), "Elemwise{Add}[(0, 0)]"),
            (Elemwise(scalar.add, name="plus")(x, x), "plus"),
        ):
            op = node_of(variable).op
            self.assertEqual((op.name, str(op)), (name, name))

    def test_minimal_parentheses(self) -> None:
        x, y = tt.matrices("x", "y")
        cases: list[tuple[Variable, str]] = [
            (x + y * x - (y - x), "x + y * x - (y - x)"),
            ((x + y).T, "(x + y).T"),
            (-(x**y), "-x ** y"),
            ((-x) ** y, "(-x) ** y"),
            (tt.exp(-x - y), "exp(-x - y)"),
        ]
        for variable, text in cases:
            with self.subTest(text):
                self.assertEqual(pprint(variable, minimal=True), text)

    def test_a_fused_op_is_its_formula(self) -> None:
        a, b = scalar.ScalarType("float64")("a"), scalar.ScalarType("float64")("b")
        fused = Elemwise(scalar.Composite([a, b], [scalar.exp(a + b)]))
        self.assertEqual(pp(fused(tt.dvector("x"), tt.dvector("y"))), "Composite{exp((i0 + i1))}(x, y)")

    def test_a_deep_graph(self) -> None:
        x = out = tt.dscalar("x")
        for _ in range(3000):
            out = out + x
        self.assertEqual(pp(out), "(" * 3000 + "x" + " + x)" * 3000)
