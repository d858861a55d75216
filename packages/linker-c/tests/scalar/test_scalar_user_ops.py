"""Scalar ops as users write them: types of results, Python, C code, gradients."""

from __future__ import annotations

import math
import pickle
import unittest
from typing import Any

import numpy as np

from theano_graph import MissingRuleError
from theano_linker_c import scalar as sc
from theano_linker_c.kernels import ElementwiseKernel, kernel_source
from theano_linker_c.scalar import BinaryScalarOp, Composite, ScalarType, UnaryScalarOp, scalar_pullback

FLOAT32, FLOAT64, INT8 = ScalarType("float32"), ScalarType("float64"), ScalarType("int8")


class Stepped(UnaryScalarOp):
    """Works on one number only: a branch in Python."""

    def impl(self, x: Any) -> Any:
        return x * 2 if x > 0 else x

    def grad(self, inputs: Any, gradients: Any) -> Any:
        (x,), (g,) = inputs, gradients
        return [sc.switch(x > 0, 2 * g, g)]

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        (x,), (z,) = inputs, outputs
        return "%(z)s = %(x)s > 0 ? 2 * %(x)s : %(x)s;" % locals()  # noqa: UP031  # the historical way


class Area(BinaryScalarOp):
    """Has support code, which uses NumPy's names of types."""

    def c_headers(self) -> list[str]:
        return ["<stdlib.h>"]

    def c_support_code(self) -> str:
        return "static npy_float64 area(npy_float64 a, npy_float64 b) { return fabs(a) * b; }"

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"{outputs[0]} = area({inputs[0]}, {inputs[1]});"


class Raising(UnaryScalarOp):
    def impl(self, x: Any) -> Any:
        return math.sqrt(x)

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        return f"if ({inputs[0]} < 0) {{ {sub['fail']} }} {outputs[0]} = sqrt({inputs[0]});"


class Refusing(Stepped):
    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        if node.inputs[0].type != FLOAT64:
            raise NotImplementedError("double precision only")
        return super().c_code(node, name, inputs, outputs, sub)


class Hyperbolic(UnaryScalarOp):
    nfunc_spec = ("cosh", 1, 1)

    def impl(self, x: Any) -> Any:
        raise AssertionError("the NumPy function is called instead")


def source(op: Any, *dtypes: str) -> Any:
    flat = tuple((False,) for _ in dtypes)
    return kernel_source(ElementwiseKernel(op, dtypes, op.result_dtypes(*dtypes), flat, 1))


class TestPreferences(unittest.TestCase):
    def test_of_one_type(self) -> None:
        self.assertEqual(sc.same_out(INT8), (INT8,))
        self.assertEqual(sc.same_out_min8(ScalarType("bool")), (INT8,))
        self.assertEqual(sc.same_out_nocomplex(FLOAT32), (FLOAT32,))
        self.assertEqual(sc.same_out_float_only(FLOAT32), (FLOAT32,))
        for preference in (sc.same_out_nocomplex, sc.same_out_float_only, sc.upgrade_to_float_no_complex):
            with self.assertRaisesRegex(TypeError, "Hint"):
                preference(ScalarType("complex64"))
        with self.assertRaisesRegex(TypeError, "only floats"):
            sc.same_out_float_only(INT8)

    def test_common_type(self) -> None:
        self.assertEqual(sc.upcast_out(INT8, FLOAT32), (FLOAT32,))
        self.assertEqual(sc.upcast_out_min8(ScalarType("bool"), ScalarType("bool")), (INT8,))
        with self.assertRaisesRegex(TypeError, "bool"):
            sc.upcast_out_nobool(ScalarType("bool"))

    def test_upgrades(self) -> None:
        self.assertEqual(sc.upgrade_to_float(INT8), (FLOAT32,))
        self.assertEqual(sc.upgrade_to_float(ScalarType("int32")), (FLOAT64,))
        self.assertEqual(sc.upgrade_to_float(ScalarType("complex64")), (ScalarType("complex64"),))
        self.assertEqual(sc.upgrade_to_float64(FLOAT32), (FLOAT64,))
        self.assertEqual(sc.upgrade_to_float64(ScalarType("complex64")), (ScalarType("complex64"),))

    def test_by_value(self) -> None:
        self.assertEqual(sc.transfer_type(1)(INT8, FLOAT32), (FLOAT32,))
        self.assertEqual(sc.transfer_type(1), sc.transfer_type(1))
        self.assertNotEqual(sc.transfer_type(1), sc.transfer_type(0))
        self.assertEqual(hash(sc.specific_out(INT8)), hash(sc.specific_out(INT8)))
        self.assertEqual(sc.specific_out(INT8)(FLOAT64, FLOAT64), (INT8,))
        table = sc.unary_out_lookup({INT8: FLOAT32})
        self.assertEqual(table(INT8), (FLOAT32,))
        with self.assertRaisesRegex(TypeError, "not supported"):
            table(FLOAT64)

    def test_wrong_preferences(self) -> None:
        with self.assertRaisesRegex(TypeError, "no preference"):
            Stepped("float32")  # type: ignore[arg-type]  # wrong on purpose
        with self.assertRaisesRegex(TypeError, "2 output types for 1 outputs"):
            Stepped(sc.specific_out(INT8, INT8)).result_dtypes("int8")
        with self.assertRaisesRegex(TypeError, "takes 1 inputs, not 2"):
            Stepped().result_dtypes("int8", "int8")


class TestValues(unittest.TestCase):
    def test_one_number_at_a_time(self) -> None:
        x = np.array([[-1.0, 2.0], [0.5, 0.0]])
        np.testing.assert_array_equal(Stepped().evaluate(x), [[-1.0, 4.0], [1.0, 0.0]])
        self.assertEqual(Stepped(sc.upgrade_to_float).evaluate(np.int8(3)).dtype, "float32")
        self.assertEqual(Stepped().evaluate(np.zeros((0, 3))).shape, (0, 3))

    def test_numpy_function(self) -> None:
        np.testing.assert_array_equal(Hyperbolic().evaluate(np.arange(3.0)), np.cosh(np.arange(3.0)))

    def test_no_python_form(self) -> None:
        with self.assertRaisesRegex(TypeError, "no NumPy form"):
            Area().evaluate(np.ones(2), np.ones(2))

    def test_inside_a_composite(self) -> None:
        x = FLOAT64()
        np.testing.assert_array_equal(Composite([x], [Stepped()(x) + 1]).impl(np.array([-1.0, 2.0])), [0.0, 5.0])

    def test_equal_and_pickled(self) -> None:
        op = Stepped(sc.upgrade_to_float, name="mine")
        self.assertEqual(op, Stepped(sc.upgrade_to_float))
        self.assertNotEqual(op, Stepped())
        copy = pickle.loads(pickle.dumps(op))
        self.assertEqual((copy, str(copy), hash(copy)), (op, "mine", hash(op)))
        self.assertEqual(str(Stepped()), "Stepped")


class TestCCode(unittest.TestCase):
    def test_code_is_part_of_the_loop(self) -> None:
        x = FLOAT64()
        text = source(Composite([x], [Stepped()(x * 3) + 1]), "float64").render("k")
        self.assertIn("> 0 ? 2 *", text)
        self.assertNotIn("Py", text)

    def test_support_code_and_headers(self) -> None:
        preamble = source(Area(), "float64", "float64").preamble
        self.assertIn("#include <stdlib.h>", preamble)
        self.assertTrue(any("typedef double npy_float64;" in part for part in preamble))

    def test_what_is_left_to_python(self) -> None:
        self.assertIsNone(source(Raising(), "float64"))
        self.assertIsNone(source(Hyperbolic(), "float64"))
        self.assertIsNone(source(Refusing(), "float32"))
        self.assertIsNotNone(source(Refusing(), "float64"))
        self.assertIsNone(source(Stepped(), "float16"))
        self.assertIsNone(source(Stepped(), "complex64"))

    def test_cplusplus_is_left_to_python(self) -> None:
        class Newer(Stepped):
            def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
                return f"{outputs[0]} = std::max({inputs[0]}, 0.0);"

        class Including(Stepped):
            def c_headers(self) -> list[str]:
                return ["<cmath>"]

        self.assertIsNone(source(Newer(), "float64"))
        self.assertIsNone(source(Including(), "float64"))

    def test_libraries_are_left_to_python(self) -> None:
        class Linked(Stepped):
            def c_libraries(self) -> list[str]:
                return ["m"]

        self.assertIsNone(source(Linked(), "float64"))


class TestGradient(unittest.TestCase):
    def pull(self, op: Any, dtype: str = "float64") -> tuple[Any, Any, Any]:
        node = op.make_node(ScalarType(dtype)())
        seed = node.outputs[0].type()
        return node.inputs[0], seed, scalar_pullback(op)(node, [seed])[0]

    def test_own_gradient(self) -> None:
        x, seed, part = self.pull(Stepped())
        run = Composite([x, seed], [part])
        np.testing.assert_array_equal(run.impl(np.array([-1.0, 2.0]), np.ones(2)), [1.0, 2.0])

    def test_dtypes_are_mended(self) -> None:
        class One(Stepped):
            def grad(self, inputs: Any, gradients: Any) -> Any:
                return [1]

        self.assertEqual(self.pull(One(), "float32")[2].dtype, "float32")
        self.assertEqual(self.pull(One(), "int32")[2].dtype, "float64")

    def test_newer_form_is_preferred(self) -> None:
        class Newer(Stepped):
            def L_op(self, inputs: Any, outputs: Any, gradients: Any) -> Any:
                return [gradients[0] * outputs[0]]

        x, seed, part = self.pull(Newer())
        np.testing.assert_array_equal(Composite([x, seed], [part]).impl(np.array([3.0]), np.ones(1)), [6.0])

    def test_methods_that_gradients_use(self) -> None:
        x = ScalarType("int32")()
        parts = [x.zeros_like(), x.ones_like("float32"), x.astype("complex64")]
        self.assertEqual([p.dtype for p in parts], ["int32", "float32", "complex64"])
        self.assertEqual([complex(v) for v in Composite([x], parts).impl(np.int32(3))], [0, 1, 3])
        with self.assertRaisesRegex(TypeError, "no element type|not an element type"):
            x.astype("text")

    def test_wrong_number(self) -> None:
        class Wrong(Stepped):
            def grad(self, inputs: Any, gradients: Any) -> Any:
                return []

        with self.assertRaisesRegex(TypeError, "returned .. for 1 inputs"):
            self.pull(Wrong())

    def test_none(self) -> None:
        with self.assertRaises(MissingRuleError):
            scalar_pullback(Area())
