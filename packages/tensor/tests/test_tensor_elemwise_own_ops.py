"""Elementwise ops of users, and ops that overwrite their inputs."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
from tensor_cases import node_of, run

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import In, function, scalar, shared
from theano_linker_c.scalar import BinaryScalarOp, UnaryScalarOp, upgrade_to_float
from theano_tensor.elemwise import Elemwise, inplace


class Bump(UnaryScalarOp):
    """``x * exp(-x**2)``, with C code and a gradient."""

    def impl(self, x: Any) -> Any:
        return x * np.exp(-x * x)

    def grad(self, inputs: Any, gradients: Any) -> Any:
        (x,), (g,) = inputs, gradients
        return [g * scalar.exp(-x * x) * (1 - 2 * x * x)]

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x,), (z,) = inputs, outputs
        return "%(z)s = %(x)s * exp(-%(x)s * %(x)s);" % locals()  # noqa: UP031  # the historical way


class Midpoint(BinaryScalarOp):
    """In Python only, and with a branch."""

    def impl(self, a: Any, b: Any) -> Any:
        return a if a == b else (a + b) / 2

    def R_op(self, inputs: Any, tangents: Any) -> Any:
        raise AssertionError("the derivative comes from `grad`")

    def grad(self, inputs: Any, gradients: Any) -> Any:
        return [gradients[0] * 0.5, gradients[0] * 0.5]


bump = Elemwise(Bump(upgrade_to_float, name="bump"))
X = np.random.default_rng(2).normal(size=(3, 4))


class TestUserOps(unittest.TestCase):
    def test_values_in_both_machines(self) -> None:
        x = tt.dmatrix("x")
        np.testing.assert_allclose(run([x], bump(x) + 1, X), X * np.exp(-(X**2)) + 1)
        for dtype in ("float32", "int8"):
            y = tt.tensor(dtype, shape=(None, None))
            operands = (X * 2).astype(dtype)
            wide = operands.astype("float64")
            result = run([y], bump(y), operands)
            self.assertEqual(result.dtype, "float32")
            np.testing.assert_allclose(result, wide * np.exp(-(wide**2)), rtol=1e-5)

    def test_c_code_is_fused(self) -> None:
        x = tt.dmatrix("x")
        compiled = function([x], tt.exp(bump(x * 2)) - 1)
        (node,) = compiled.maker.fgraph.apply_nodes
        self.assertIn("bump", str(node.op))

    def test_gradient(self) -> None:
        x = tt.dmatrix("x")
        result = run([x], tt.grad(bump(x).sum(), x), X)
        np.testing.assert_allclose(result, np.exp(-(X**2)) * (1 - 2 * X**2), rtol=1e-7)
        tangent = tt.dmatrix("t")
        moved = run([x, tangent], tt.Rop(bump(x), x, tangent), X, X)
        np.testing.assert_allclose(moved, X * np.exp(-(X**2)) * (1 - 2 * X**2), rtol=1e-7)

    def test_python_only(self) -> None:
        x, v = tt.dmatrix("x"), tt.dvector("v")
        op = Elemwise(Midpoint())
        np.testing.assert_allclose(run([x, v], op(x, v) * 2, X, X[0]), X + X[0])
        result = run([x, v], tt.grad(op(x, v).sum(), [x, v]), X, X[0])
        np.testing.assert_allclose(result[1], [1.5] * 4)

    def test_no_gradient(self) -> None:
        class Plain(UnaryScalarOp):
            def impl(self, x: Any) -> Any:
                return x

        x = tt.dvector("x")
        with self.assertRaisesRegex(Exception, "Plain"):
            tt.grad(Elemwise(Plain())(x).sum(), x)

    def test_several_results(self) -> None:
        class Both(BinaryScalarOp):
            nout = 2

            def impl(self, a: Any, b: Any) -> Any:
                return a + b, a - b

        op = Elemwise(Both(scalar.transfer_type(0, 1)))
        x, y = tt.dvector("x"), tt.fvector("y")
        total, difference = op(x, y, return_list=True)
        self.assertEqual((total.dtype, difference.dtype), ("float64", "float32"))
        result = run([x, y], [total, difference * 2], X[0], X[1].astype("float32"))
        np.testing.assert_allclose(result[0], X[0] + X[1], rtol=1e-6)
        np.testing.assert_allclose(result[1], 2 * (X[0] - X[1]), rtol=1e-5)


class TestInplace(unittest.TestCase):
    def test_overwrites(self) -> None:
        x = tt.dvector("x")
        compiled = function([In(x, mutable=True)], inplace.exp_inplace(x), accept_inplace=True)
        value = np.array([0.0, 1.0])
        result = compiled(value)
        np.testing.assert_allclose(result, [1.0, np.e])
        np.testing.assert_array_equal(value, result)

    def test_chosen_input(self) -> None:
        x, y = tt.dvector("x"), tt.dvector("y")
        op = Elemwise(scalar.sub, {0: 1})
        compiled = function([x, In(y, mutable=True)], op(x, y), accept_inplace=True)
        a, b = np.array([5.0, 6.0]), np.array([1.0, 2.0])
        compiled(a, b)
        np.testing.assert_array_equal(b, [4.0, 4.0])
        np.testing.assert_array_equal(a, [5.0, 6.0])

    def test_value_from_before_is_read_before(self) -> None:
        x, y = tt.dscalar("x"), tt.dscalar("y")
        after = inplace.add_inplace(x, y)
        compiled = function([x, y], [tt.log(x), after, tt.log(x), tt.log(after)], accept_inplace=True)
        np.testing.assert_allclose(compiled(2.0, 3.0), np.log([2.0, np.exp(5.0), 2.0, 5.0]))

    def test_accepting_gives_arguments_up(self) -> None:
        """As in Theano 1.0, an argument that a user's op overwrites is not protected where this is accepted."""
        x, y = tt.dvectors("x", "y")
        a, b = np.array([3.0, 4.0]), np.array([1.0, 2.0])
        compiled = function([x, y], inplace.add_inplace(x, y), accept_inplace=True)
        np.testing.assert_array_equal(compiled(a, b), [4.0, 6.0])
        np.testing.assert_array_equal(a, [4.0, 6.0])
        np.testing.assert_array_equal(b, [1.0, 2.0])  # which nothing overwrites

    def test_what_reads_the_argument_reads_it_before(self) -> None:
        x = tt.dvector("x")
        compiled = function([x], inplace.sqr_inplace(x) + x, accept_inplace=True)
        np.testing.assert_array_equal(compiled(np.array([3.0, 4.0])), [12.0, 20.0])

    def test_shared_values_are_overwritten_where_the_program_does_it(self) -> None:
        for result, expected in (
            (inplace.neg_inplace, [-3.0, -4.0]),
            (lambda s: inplace.sqr_inplace(s) + s, [3.0, 4.0]),
        ):
            state = shared(np.array([3.0, 4.0]))
            compiled = function([], result(state), accept_inplace=True)
            outcome = compiled()
            np.testing.assert_array_equal(outcome, [-3.0, -4.0] if expected[0] < 0 else [12.0, 20.0])
            np.testing.assert_array_equal(state.get_value(), expected)

    def test_accepting_gives_shared_values_up(self) -> None:
        state, other = shared(np.array([3.0, 4.0])), shared(np.array([1.0, 2.0]))
        compiled = function([], inplace.add_inplace(state, other), accept_inplace=True)
        np.testing.assert_array_equal(compiled(), [4.0, 6.0])
        np.testing.assert_array_equal(state.get_value(), [4.0, 6.0])
        np.testing.assert_array_equal(other.get_value(), [1.0, 2.0])

    def test_is_refused_by_default(self) -> None:
        x = tt.dvector("x")
        with self.assertRaisesRegex(TypeError, "accept_inplace"):
            function([x], inplace.exp_inplace(x))

    def test_every_name(self) -> None:
        self.assertGreater(len(inplace.__all__), 70)
        for name in inplace.__all__:
            op = getattr(inplace, name)
            with self.subTest(name=name):
                self.assertEqual(op.destroy_map, {0: [0]})
                self.assertEqual(pickle.loads(pickle.dumps(op)), op)
                self.assertNotEqual(op, Elemwise(op.scalar_op))

    def test_what_does_not_fit(self) -> None:
        x, m, i = tt.dvector("x"), tt.dmatrix("m"), tt.ivector("i")
        with self.assertRaisesRegex(TypeError, "dtype float64 cannot overwrite an input of dtype int32"):
            Elemwise(scalar.add, {0: 0})(i, x)
        self.assertEqual(inplace.add_inplace(i, x).dtype, "int32")  # the names keep the dtype of their first operand
        with self.assertRaisesRegex(ValueError, "cannot overwrite an input of shape"):
            inplace.add_inplace(x, m)
        for pattern in ({1: 0}, {0: 2}, {0: -1}):
            with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, "cannot overwrite input"):
                Elemwise(scalar.add if pattern == {1: 0} else scalar.sub, pattern)
        with self.assertRaisesRegex(TypeError, "no in-place pattern"):
            Elemwise(scalar.add, [0])  # type: ignore[arg-type]  # wrong on purpose

    def test_printed(self) -> None:
        self.assertEqual(str(Elemwise(scalar.add, {0: 0})), "Elemwise{Add}[(0, 0)]")
        self.assertEqual(str(inplace.add_inplace), "add_inplace")


class TestDocumentedMethods(unittest.TestCase):
    def test_get_output_info(self) -> None:
        op = Elemwise(scalar.true_div)
        dtypes, patterns, inputs = op.get_output_info(tt.DimShuffle, tt.fmatrix("x"), tt.dvector("y"))
        self.assertEqual((dtypes, patterns), (["float64"], [(False, False)]))
        self.assertEqual([x.broadcastable for x in inputs], [(False, False), (True, False)])

    def test_python_constant_folding(self) -> None:
        x = tt.dvector("x")
        self.assertTrue(tt.exp.python_constant_folding(node_of(tt.exp(x))))

    def test_scalar_op_is_checked(self) -> None:
        with self.assertRaisesRegex(TypeError, "no scalar op"):
            Elemwise(np.exp)  # type: ignore[arg-type]  # wrong on purpose

    def test_historical_arguments(self) -> None:
        op = Elemwise(scalar.exp, None, "mine", ("exp", 1, 1), True)
        self.assertEqual((op.name, op.nfunc_spec, op.openmp, str(op)), ("mine", ("exp", 1, 1), True, "mine"))
        op.name = "logistic"
        self.assertEqual((op.name, str(op), str(pickle.loads(pickle.dumps(op)))), ("logistic",) * 3)
        self.assertEqual(op, tt.exp)


class TestCodeWithSeveralResults(unittest.TestCase):
    def test_runs_natively(self) -> None:
        class Parts(UnaryScalarOp):
            nout = 2

            def impl(self, x: Any) -> Any:
                return np.floor(x), x - np.floor(x)

            def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
                return f"{outputs[0]} = floor({inputs[0]}); {outputs[1]} = {inputs[0]} - {outputs[0]};"

        x = tt.dmatrix("x")
        full, fraction = Elemwise(Parts(scalar.transfer_type(0, 0)))(x, return_list=True)
        result = run([x], [full, fraction + full], X)
        np.testing.assert_array_equal(result[0], np.floor(X))
        np.testing.assert_allclose(result[1], X)
