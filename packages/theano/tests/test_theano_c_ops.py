"""Programs whose ops and types bring C code along, written as the manual's readers write them."""

# ruff: noqa: UP031  (C code is written with the templates that the manual uses)

from __future__ import annotations

import importlib.util
import pickle
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy

import theano
import theano.tensor as T
from theano import gof
from theano.gof import CEnumType, COp, EnumList, EnumType, OpenMPOp, Params, ParamsType
from theano.gof.type import CDataType, CLinkerType, Generic
from theano.scalar import Scalar, as_scalar
from theano.tensor import TensorType, as_tensor_variable
from theano_testing.tiers import slow

MODES = (
    "FAST_RUN",
    "FAST_COMPILE",
    "DebugMode",
    theano.Mode(linker="c", optimizer=None),
    theano.Mode(linker="vm", optimizer=None),
)


class VectorTimesScalar(gof.Op):
    """C code only, for all dtypes: the output is taken over when it fits."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Any:
        x, y = inputs
        if x.type.ndim != 1 or y.type.ndim != 0:
            raise TypeError("a vector and a scalar are needed")
        return gof.Apply(self, [x, y], [x.type()])

    def c_code_cache_version(self) -> Any:
        return (1, 0)

    def c_code(self, node: Any, name: str, inp: Any, out: Any, sub: Any) -> str:
        (x, y), (z,) = inp, out
        names = {"x": x, "y": y, "z": z, "fail": sub["fail"], "itemsize": numpy.dtype(node.inputs[0].dtype).itemsize}
        names.update({f"dtype_{v}": node.inputs[i].dtype for i, v in enumerate("xy")})
        names["dtype_z"] = node.outputs[0].dtype
        return (
            """
        // Validate that the output storage exists and has the same dimension as x.
        if (NULL == %(z)s || PyArray_DIMS(%(x)s)[0] != PyArray_DIMS(%(z)s)[0])
        {
            Py_XDECREF(%(z)s);
            %(z)s = (PyArrayObject*)PyArray_EMPTY(1, PyArray_DIMS(%(x)s), PyArray_TYPE(%(x)s), 0);
            if (!%(z)s) {
                %(fail)s;
            }
        }
        {
            npy_%(dtype_x)s* x_data_ptr = (npy_%(dtype_x)s*)PyArray_DATA(%(x)s);
            npy_%(dtype_z)s* z_data_ptr = (npy_%(dtype_z)s*)PyArray_DATA(%(z)s);
            npy_%(dtype_y)s y_value = ((npy_%(dtype_y)s*)PyArray_DATA(%(y)s))[0];
            int x_stride = PyArray_STRIDES(%(x)s)[0] / %(itemsize)s;
            int z_stride = PyArray_STRIDES(%(z)s)[0] / %(itemsize)s;
            int x_dim = PyArray_DIMS(%(x)s)[0];
            for (int i = 0; i < x_dim; i++)
                z_data_ptr[i * z_stride] = (x_data_ptr[i * x_stride] * y_value);
        }
        """
            % names
        )


class Fibby(theano.Op):
    """Python and C code that do the same."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Any:
        x_ = as_tensor_variable(inputs[0])
        assert x_.ndim == 1, "a vector is needed"
        return theano.Apply(self, inputs=[x_], outputs=[x_.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        y = output_storage[0][0] = x.copy()
        for i in range(2, len(x)):
            y[i] = y[i - 1] * y[i - 2] + x[i]

    def c_code(self, node: Any, name: str, inames: Any, onames: Any, sub: Any) -> str:
        return """
        Py_XDECREF(%(y)s);
        %(y)s = (PyArrayObject*)PyArray_FromArray(%(x)s, 0, NPY_ARRAY_ENSURECOPY);
        if (!%(y)s)
            %(fail)s;
        {//New scope needed to make compilation work
            dtype_%(y)s * y = (dtype_%(y)s*)PyArray_DATA(%(y)s);
            dtype_%(x)s * x = (dtype_%(x)s*)PyArray_DATA(%(x)s);
            for (int i = 2; i < PyArray_DIMS(%(x)s)[0]; ++i)
                y[i] = y[i-1]*y[i-2] + x[i];
        }
        """ % {"x": inames[0], "y": onames[0], "fail": sub["fail"]}

    def c_code_cache_version(self) -> Any:
        return (1,)


class TestArrays(unittest.TestCase):
    @slow
    def test_a_vector_times_a_scalar(self) -> None:
        for mode in MODES:
            for dtypes in (("float64", "float64"), ("float32", "float64"), ("int32", "int8")):
                with self.subTest(mode=str(mode), dtypes=dtypes):
                    x, y = T.vector("x", dtype=dtypes[0]), T.scalar("y", dtype=dtypes[1])
                    f = theano.function([x, y], VectorTimesScalar()(x, y), mode=mode)
                    value = numpy.arange(9).astype(dtypes[0])[::2]
                    expected = value * numpy.asarray(3, dtypes[0])
                    for _ in range(3):
                        numpy.testing.assert_array_equal(f(value, numpy.asarray(3, dtypes[1])), expected)
                    numpy.testing.assert_array_equal(f(value[:2], numpy.asarray(3, dtypes[1])), expected[:2])

    def test_beside_fused_kernels(self) -> None:
        x, y = T.dvector("x"), T.dscalar("y")
        f = theano.function([x, y], T.exp(VectorTimesScalar()(x + 1, y * 2) - 1).sum())
        value = numpy.linspace(0, 1, 7)
        self.assertAlmostEqual(float(f(value, 0.5)), float(numpy.exp(value).sum()))

    def test_fibby(self) -> None:
        x = T.dvector("x")
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                f = theano.function([x], Fibby()(x), mode=mode)
                numpy.testing.assert_array_equal(f([1, 2, 3, 4]), [1, 2, 5, 14])

    def test_constants_and_shared_values(self) -> None:
        shared = theano.shared(numpy.arange(4.0), "s")
        f = theano.function([], Fibby()(shared), updates={shared: Fibby()(shared)})
        numpy.testing.assert_array_equal(f(), [0, 1, 2, 5])
        numpy.testing.assert_array_equal(shared.get_value(), [0, 1, 2, 5])
        numpy.testing.assert_array_equal(
            theano.function([], VectorTimesScalar()(T.constant([1.0, 2.0]), T.constant(3.0)))(), [3, 6]
        )

    def test_inputs_are_not_changed_and_outputs_are_new(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], Fibby()(x))
        value = numpy.ones(5)
        first, second = f(value), f(value)
        numpy.testing.assert_array_equal(value, numpy.ones(5))
        self.assertFalse(numpy.shares_memory(first, second))

    def test_copies_of_functions_and_pickles(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], Fibby()(x))
        numpy.testing.assert_array_equal(f.copy()([1, 1, 1])[0], [1, 1, 2])
        numpy.testing.assert_array_equal(pickle.loads(pickle.dumps(f))([1, 1, 1]), [1, 1, 2])

    def test_errors_of_c_code_say_where(self) -> None:
        class Picky(VectorTimesScalar):
            def c_code(self, node: Any, name: str, inp: Any, out: Any, sub: Any) -> str:
                return 'PyErr_Format(PyExc_ValueError, "X==%%i but it should be 0", 7); %(fail)s;' % sub

        x, y = T.dvector("x"), T.dscalar("y")
        f = theano.function([x, y], Picky()(x, y))
        with self.assertRaisesRegex(
            ValueError, r"(?s)X==7 but it should be 0.*test_theano_c_ops\.py:\d+.*`x`.*shape \(2,\)"
        ):
            f([1, 2], 3)


class Weighted(gof.Op):
    """Several parameters as one structure."""

    params_type = ParamsType(
        weights=TensorType("float64", (False,)), scale=Scalar("float64"), kind=EnumList("SUM", "MEAN")
    )
    __props__ = ("weights", "scale", "kind")

    def __init__(self, weights: Any, scale: float, kind: str) -> None:
        self.weights, self.scale, self.kind = tuple(weights), scale, kind

    def make_node(self, *inputs: Any) -> Any:
        return gof.Apply(self, [as_tensor_variable(inputs[0])], [T.dscalar()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        total = float(inputs[0] @ params.weights) * params.scale
        output_storage[0][0] = numpy.asarray(total / (len(inputs[0]) if params.kind == params_kind(self) else 1))

    def c_code_cache_version(self) -> Any:
        return (1,)

    def c_code(self, node: Any, name: str, inp: Any, out: Any, sub: Any) -> str:
        return """
        PyArrayObject* weights = %(p)s->weights;
        numpy_float64 scale = %(p)s->scale;
        double total = 0;
        npy_intp n = PyArray_DIMS(%(x)s)[0];
        for (npy_intp i = 0; i < n; i++)
            total += *(npy_float64*)PyArray_GETPTR1(%(x)s, i) * *(npy_float64*)PyArray_GETPTR1(weights, i);
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject*)PyArray_ZEROS(0, NULL, NPY_FLOAT64, 0);
        if (!%(z)s) { %(fail)s }
        *(npy_float64*)PyArray_DATA(%(z)s) = total * scale / (%(p)s->kind == MEAN ? n : 1);
        """ % {"x": inp[0], "z": out[0], "p": sub["params"], "fail": sub["fail"]}


def params_kind(op: Weighted) -> Any:
    return op.params_type.MEAN


class MulOp(theano.Op):
    """A Python object as parameter of an op on typed scalars."""

    params_type = Generic()
    __props__ = ("mul",)

    def __init__(self, mul: float) -> None:
        self.mul = float(mul)

    def get_params(self, node: Any) -> float:
        return self.mul

    def make_node(self, *inputs: Any) -> Any:
        inp = as_scalar(inputs[0])
        return theano.Apply(self, [inp], [inp.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * params

    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        names = {"z": outputs[0], "x": inputs[0], "p": sub["params"]}
        return "%(z)s = %(x)s * PyFloat_AsDouble(%(p)s);" % names


class TestParams(unittest.TestCase):
    def test_a_structure(self) -> None:
        x = T.dvector("x")
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                out = [Weighted([1, 2, 3], 10, "SUM")(x), Weighted([1, 1, 1], 3, "MEAN")(x)]
                total, mean = theano.function([x], out, mode=mode)([1, 1, 2])
                self.assertEqual((float(total), float(mean)), (90.0, 4.0))

    def test_generic(self) -> None:
        x = Scalar("float64")("x")
        for mode in MODES:
            with self.subTest(mode=str(mode)):
                result = theano.function([x], MulOp(2)(MulOp(3)(x)), mode=mode)(1.5)
                self.assertEqual((result, type(result)), (9.0, numpy.float64))

    def test_printed_examples(self) -> None:
        enum = EnumType(A=("alpha", 1), B=("beta", 2), C=3, D=("delta", 4))
        self.assertEqual(
            (enum.A, enum.fromalias("beta"), enum.fromalias("C"), enum.filter("delta", strict=False)), (1, 2, 3, 4)
        )
        wrapper = ParamsType(enum1=EnumList("A", ("B", "beta"), "C"), enum2=EnumList(("D", "delta"), "E", "F"))
        self.assertEqual([wrapper.B, wrapper.get_enum("B"), wrapper.enum_from_alias("beta")], [1, 1, 1])
        kinds = ParamsType(a=Scalar("int32"), b=T.dmatrix, c=Scalar("bool"))
        params = kinds.get_params(self, a=10, b=[[1, 2, 3], [4, 5, 6]], c=False)
        self.assertEqual((params.a, params.b.shape, params.c), (10, (2, 3), False))
        d = {"attr1": 1, "key2": 2.5, "field3": -1}
        params_type = ParamsType(attr1=Scalar("int32"), key2=Scalar("float32"), field3=Scalar("int64"))
        params2 = Params(params_type, **d)
        self.assertEqual((params2.attr1, params2.key2, params2.field3), (1, 2.5, -1))


class TestNames(unittest.TestCase):
    def test_documented_places(self) -> None:
        self.assertIs(gof.params_type.ParamsType, ParamsType)
        self.assertIs(theano.gof.type.EnumType, EnumType)
        self.assertIs(theano.gof.op.COp, COp)
        self.assertIs(theano.gof.op.OpenMPOp, OpenMPOp)
        self.assertTrue(issubclass(CDataType, CLinkerType))
        self.assertTrue(issubclass(CEnumType, EnumList))
        self.assertTrue(issubclass(TensorType, CLinkerType))
        self.assertEqual(T.fmatrix.c_element_type(), "npy_float32")


SCRIPT = """
import theano
from theano import gof

class VectorTimesVector(gof.COp):
    __props__ = ()

    func_file = "./vectorTimesVector.c"
    func_name = "APPLY_SPECIFIC(vector_times_vector)"

    def __init__(self):
        super(VectorTimesVector, self).__init__(self.func_file, self.func_name)

    def make_node(self, x, y):
        output_var = theano.tensor.TensorType(
            dtype=theano.scalar.upcast(x.dtype, y.dtype),
            broadcastable=[False])()
        return gof.Apply(self, [x, y], [output_var])
"""
C_FILE = """
#section support_code_apply
int APPLY_SPECIFIC(vector_times_vector)(PyArrayObject* input0, PyArrayObject* input1, PyArrayObject** output0)
{
    if (PyArray_DIMS(input0)[0] != PyArray_DIMS(input1)[0]) {
        PyErr_Format(PyExc_ValueError, "Shape mismatch: %i and %i", PyArray_DIMS(input0)[0], PyArray_DIMS(input1)[0]);
        return 1;
    }
    Py_XDECREF(*output0);
    *output0 = (PyArrayObject*)PyArray_EMPTY(1, PyArray_DIMS(input0), TYPENUM_OUTPUT_0, 0);
    if (!*output0)
        return 1;
    for (int i = 0; i < PyArray_DIMS(input0)[0]; i++)
        ((DTYPE_OUTPUT_0*)PyArray_DATA(*output0))[i] =
            *(DTYPE_INPUT_0*)PyArray_GETPTR1(input0, i) * *(DTYPE_INPUT_1*)PyArray_GETPTR1(input1, i);
    return 0;
}
"""


class TestExternalFile(unittest.TestCase):
    def test_the_c_file_lies_beside_the_module(self) -> None:
        with tempfile.TemporaryDirectory(prefix="c ops é") as folder:
            path = Path(folder, "vector_product.py")
            path.write_text(SCRIPT, encoding="utf-8")
            Path(folder, "vectorTimesVector.c").write_text(C_FILE, encoding="utf-8")
            spec = importlib.util.spec_from_file_location("vector_product", path)
            assert spec is not None and spec.loader is not None, "the file is there"
            module = sys.modules["vector_product"] = importlib.util.module_from_spec(spec)
            self.addCleanup(sys.modules.pop, "vector_product")
            spec.loader.exec_module(module)
            x, y = T.fvector("x"), T.dvector("y")
            f = theano.function([x, y], module.VectorTimesVector()(x, y))
        numpy.testing.assert_array_equal(f(numpy.ones(2, "float32"), [3, 4]), [3.0, 4.0])
        with self.assertRaisesRegex(ValueError, "Shape mismatch: 2 and 3"):
            f(numpy.ones(2, "float32"), [3, 4, 5])
