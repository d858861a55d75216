"""C code of ops that launches kernels, computes expressions, and asks for properties."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_gpuarray import get_include
from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays import SIZE, SSIZE, GpuArray, asarray
from theano_gpuarray.kernel_base import GpuKernel, Kernel
from theano_testing.tiers import slow

from .c_cases import computes, context, run

X = np.arange(6, dtype="float32")
ADD = """#include "cluda.h"
KERNEL void add(GLOBAL_MEM ga_float *z, ga_size z_off, GLOBAL_MEM ga_float *x, ga_size x_off, ga_size n, TYPE v) {
    for (ga_size i = (ga_size)GID_0 * LDIM_0 + LID_0; i < n; i += (ga_size)GDIM_0 * LDIM_0)
        *(GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)z + z_off + 4 * i) =
            ((GLOBAL_MEM ga_float *)((GLOBAL_MEM char *)x + x_off))[i] + VALUE;
}"""
CALL = """size_t n = PyGpuArray_DIM(%(x0)s, 0);
Py_XDECREF(%(z)s);
%(z)s = pygpu_zeros(1, &n, GA_FLOAT, GA_C_ORDER, %(ctx)s, Py_None);
if (%(z)s == NULL) %(fail)s
int err = LAUNCH%(z)s->ga.data, %(z)s->ga.offset, %(x0)s->ga.data, %(x0)s->ga.offset, n, ARGUMENT);
if (err != GA_NO_ERROR) {
    PyErr_SetString(PyExc_RuntimeError, GpuKernel_error(&k_add, err));
    %(fail)s
}"""


def add(kind: Any, ctype: str, value: str = "v", **more: Any) -> Kernel:
    params = [GpuArray, SIZE, GpuArray, SIZE, SIZE, kind]
    return Kernel(
        ADD.replace("TYPE", ctype).replace("VALUE", value), params, "add", Kernel.get_flags("float32"), **more
    )


class TestLaunches(unittest.TestCase):
    def equal(self, result: GpuArray, expected: Any) -> None:
        self.assertEqual(result.shape, np.shape(expected))
        if computes():
            np.testing.assert_array_equal(np.asarray(result), expected)

    def test_scheduled_calls_with_each_kind_of_number(self) -> None:
        """Each number is added to an element of its own."""
        numbers: tuple[tuple[Any, str, str, str, float], ...] = (
            ("float32", "ga_float", "v0", "1.5f", 1.5),
            ("float64", "ga_double", "v1", "2.5", 2.5),
            ("int8", "ga_byte", "v2", "-3", -3),
            ("uint8", "ga_ubyte", "v3", "200", 200),
            ("bool", "ga_bool", "v4", "1", 1),
            ("int16", "ga_short", "v5", "-300", -300),
            ("uint16", "ga_ushort", "v6", "60000", 60000),
            ("int32", "ga_int", "v7", "-70000", -70000),
            ("uint32", "ga_uint", "v8", "70000", 70000),
            ("int64", "ga_long", "v9", "-5", -5),
            ("uint64", "ga_ulong", "(v10 >> 63)", "1ull << 63", 1),
            (SSIZE, "ga_ssize", "v11", "-7", -7),
            ("float16", "ga_half", "ga_half2float(v12)", "((ga_half_t){0x3e00})", 1.5),
        )
        kinds, ctypes, values, arguments, expected = zip(*numbers, strict=True)
        parameters = ", ".join(f"{ctype} v{i}" for i, ctype in enumerate(ctypes))
        value = " : ".join(f"i == {i} ? (ga_float){v}" for i, v in enumerate(values))
        text = ADD.replace("TYPE v", parameters).replace("VALUE", f"({value} : 0)")
        params = [GpuArray, SIZE, GpuArray, SIZE, SIZE, *kinds]
        kernel = Kernel(text, params, "add", Kernel.get_flags("float32"))
        code = CALL.replace("LAUNCH", "add_scall(1, &n, 0, ").replace("ARGUMENT", ", ".join(arguments))
        x = np.arange(len(numbers), dtype="float32")
        self.equal(run(code, x, kernels=[kernel]), x + np.array(expected, "float32"))

    @slow
    def test_calls_with_sizes(self) -> None:
        code = "size_t gs = 2, ls = 3;" + CALL.replace("LAUNCH", "add_call(1, &gs, &ls, 0, ").replace("ARGUMENT", "1")
        self.equal(run(code, X, kernels=[add("int32", "ga_int")]), X + 1)
        turned = asarray(np.arange(8, dtype="float32"), context=context())[2:]
        self.equal(run(code, turned, kernels=[add("int32", "ga_int")]), np.arange(2, 8) + 1)
        named = add("int32", "ga_int", objvar="k_other", fname="go", sname="gon", codevar="text")
        self.equal(run(code.replace("add_call", "go").replace("k_add", "k_other"), X, kernels=[named]), X + 1)

    def test_no_elements(self) -> None:
        code = CALL.replace("LAUNCH", "add_scall(1, &n, 0, ").replace("ARGUMENT", "1")
        self.equal(run(code, X[:0], kernels=[add("int32", "ga_int")]), X[:0])

    def test_parameters_as_constants_of_c(self) -> None:
        kernel = Kernel(
            ADD.replace("TYPE", "ga_int").replace("VALUE", "v"),
            ["GA_BUFFER", "GA_SIZE", "GA_BUFFER", "GA_SIZE", "GA_SIZE", "GA_INT"],
            "add",
            {"ctypes": True, "cflags": "GA_USE_SMALL"},
        )
        code = CALL.replace("LAUNCH", "add_scall(1, &n, 0, ").replace("ARGUMENT", "4")
        self.equal(run(code, X, kernels=[kernel]), X + 4)
        kernel.params[-1] = "GA_INTEGER"
        with self.assertRaisesRegex(TypeError, "'GA_INTEGER' is no type of a parameter"):
            run(code, X, kernels=[kernel])

    def test_launches_that_fail(self) -> None:
        code = "size_t gs = 1, ls = 1u << 30;" + CALL.replace("LAUNCH", "add_call(1, &gs, &ls, 0, ")
        with self.assertRaisesRegex(RuntimeError, "work-items of a work-group"):
            run(code.replace("ARGUMENT", "1"), X, kernels=[add("int32", "ga_int")])

    def test_text_that_does_not_compile(self) -> None:
        kernel = add("int32", "ga_int", "no_such_value")
        code = CALL.replace("LAUNCH", "add_scall(1, &n, 0, ").replace("ARGUMENT", "1")
        if computes():
            good = Kernel("KERNEL void first(GLOBAL_MEM ga_int *x) {}", [GpuArray], "first", {})
            with self.assertRaisesRegex(RuntimeError, "(?s)kernel add cannot be compiled.*no_such_value"):
                run(code, X, kernels=[good, kernel])

    @slow
    def test_lines_are_counted_from_the_first_of_the_text(self) -> None:
        text = '#include "cluda.h"\n\nKERNEL void k(GLOBAL_MEM int *x) { x[0] = nowhere; }'
        kernel = Kernel(text, [GpuArray], "k", {})
        if computes():
            with self.assertRaisesRegex(RuntimeError, r"(?s)k\W{1,2}3\b.*nowhere"):
                run(";", X, kernels=[kernel])
            with self.assertRaisesRegex(DeviceError, r"(?s)k\W{1,2}3\b.*nowhere"):
                GpuKernel(text, "k", [GpuArray], context())

    def test_values_that_c_cannot_pass(self) -> None:
        with self.assertRaisesRegex(TypeError, "a complex64 cannot be passed by value"):
            run(";", X, kernels=[add("complex64", "ga_cfloat")])

    def test_kernels_of_their_own(self) -> None:
        code = """const char *text = "KERNEL void fill(GLOBAL_MEM ga_float *x, ga_float v) { x[LID_0] = v; }";
        int types[2] = {GA_BUFFER, GA_FLOAT};
        float value = 2.5f;
        size_t one = 1, n = PyGpuArray_DIM(%(x0)s, 0), most = 0;
        char *message = NULL;
        unsigned int count = 0;
        GpuKernel k;
        int err = GpuKernel_init(&k, %(ctx)s->ctx, 1, &text, NULL, "fill", 2, types, GA_USE_CLUDA, &message);
        if (err == GA_NO_ERROR && GpuKernel_context(&k) == %(ctx)s->ctx &&
            gpukernel_property(k.k, GA_KERNEL_PROP_MAXLSIZE, &most) == GA_NO_ERROR && most >= n &&
            gpukernel_property(k.k, GA_KERNEL_PROP_NUMARGS, &count) == GA_NO_ERROR && count == 2 &&
            GpuKernel_setarg(&k, 0, %(x0)s->ga.data) == GA_NO_ERROR &&
            GpuKernel_setarg(&k, 1, &value) == GA_NO_ERROR &&
            GpuKernel_setarg(&k, 2, &value) == GA_VALUE_ERROR)
            err = GpuKernel_call(&k, 1, &one, &n, 0, NULL);
        else
            err = GA_MISC_ERROR;
        GpuKernel_clear(&k);
        free(message);
        if (err != GA_NO_ERROR) {
            PyErr_SetString(PyExc_AssertionError, gpucontext_error(%(ctx)s->ctx, err));
            %(fail)s
        }
        Py_INCREF(%(x0)s);
        %(z)s = %(x0)s;"""
        self.equal(run(code, X), np.full(6, 2.5))


class TestExpressions(unittest.TestCase):
    CODE = """gpuelemwise_arg args[3] = {{"z", GA_FLOAT, GE_WRITE}, {"x", TYPE, GE_READ}, {"v", GA_DOUBLE, GE_SCALAR}};
    double two = 2;
    %(z)s = pygpu_empty(2, PyGpuArray_DIMS(%(x1)s), GA_FLOAT, GA_C_ORDER, %(ctx)s, Py_None);
    if (%(z)s == NULL) %(fail)s
    void *values[3] = {&%(z)s->ga, &%(x0)s->ga, &two};
    GpuElemwise *ge = GpuElemwise_new(%(ctx)s->ctx, "WITHIN_KERNEL float twice(float x) { return 2 * x; }\\n",
                                      "z = twice(x) + v", 3, args, 2, GE_CONVERT_F16);
    int err = ge == NULL ? GA_MISC_ERROR : GpuElemwise_call(ge, values, FLAGS);
    GpuElemwise_free(ge);
    if (err != GA_NO_ERROR) {
        PyErr_SetString(PyExc_ValueError, gpucontext_error(%(ctx)s->ctx, err));
        %(fail)s
    }"""

    @slow
    def test_values(self) -> None:
        x = np.arange(6.0).reshape(2, 3)
        for dtype, number, flags, operands in (
            ("float32", "GA_FLOAT", "0", x),
            ("float16", "GA_HALF", "0", x),
            ("int8", "GA_BYTE", "GE_BROADCAST", x[:1]),
            ("float64", "GA_DOUBLE", "0", x[::-1]),
        ):
            with self.subTest(dtype):
                code = self.CODE.replace("TYPE", number).replace("FLAGS", flags)
                result = run(code, operands.astype(dtype), x, ndim=2, headers="<gpuarray/elemwise.h>")
                if computes():
                    np.testing.assert_array_equal(np.asarray(result), np.broadcast_to(2 * operands + 2, (2, 3)))

    def test_shapes_that_do_not_fit(self) -> None:
        code = self.CODE.replace("TYPE", "GA_FLOAT").replace("FLAGS", "0")
        x = np.zeros((2, 3), "float32")
        with self.assertRaisesRegex(ValueError, "`x` has shape .1, 3., and the elements are those of .2, 3."):
            run(code, x[:1], x, ndim=2)


class TestProperties(unittest.TestCase):
    def test_of_contexts_and_memory(self) -> None:
        code = """char name[256];
        size_t most = 0, most0 = 0, local = 0, size = 0, memory = 0, free_memory = 0, groups = 0;
        unsigned int units = 0, references = 0;
        gpucontext *ctx = %(ctx)s->ctx;
        int err = gpucontext_property(ctx, GA_CTX_PROP_DEVNAME, name);
        err |= gpucontext_property(ctx, GA_CTX_PROP_MAXLSIZE, &most);
        err |= gpucontext_property(ctx, GA_CTX_PROP_MAXLSIZE0, &most0);
        err |= gpucontext_property(ctx, GA_CTX_PROP_MAXGSIZE0, &groups);
        err |= gpucontext_property(ctx, GA_CTX_PROP_LMEMSIZE, &local);
        err |= gpucontext_property(ctx, GA_CTX_PROP_NUMPROCS, &units);
        err |= gpucontext_property(ctx, GA_CTX_PROP_TOTAL_GMEM, &memory);
        err |= gpucontext_property(ctx, GA_CTX_PROP_FREE_GMEM, &free_memory);
        err |= gpudata_property(%(x0)s->ga.data, GA_BUFFER_PROP_SIZE, &size);
        err |= gpudata_property(%(x0)s->ga.data, GA_BUFFER_PROP_REFCNT, &references);
        int wrong = gpucontext_property(ctx, 9999, name);
        if (err != GA_NO_ERROR || wrong != GA_INVALID_ERROR || most == 0 || most0 == 0 || groups == 0 ||
            units == 0 || memory == 0 || free_memory > memory || size != 24 || references < 2 || name[0] == 0) {
            PyErr_Format(PyExc_AssertionError, "%%s", gpucontext_error(ctx, wrong));
            %(fail)s
        }"""
        self.assertIsNone(run(code, X))

    def test_memory(self) -> None:
        code = """int err = GA_NO_ERROR;
        float values[4] = {1, 2, 3, 4}, back[4] = {0, 0, 0, 0};
        size_t n = 4;
        ssize_t step = 4;
        gpudata *a = gpudata_alloc(%(ctx)s->ctx, 16, values, GA_BUFFER_INIT, &err);
        gpudata *b = a == NULL ? NULL : gpudata_alloc(%(ctx)s->ctx, 16, NULL, 0, &err);
        if (b == NULL || gpudata_memset(b, 0, 0) || gpudata_move(b, 4, a, 0, 8) || gpudata_sync(b) ||
            gpudata_read(back, b, 0, 16) || gpudata_share(a, b, &err) || gpudata_context(b) != %(ctx)s->ctx ||
            cuda_get_sz(b) != 16 || gpudata_write(b, 12, values, 8) != GA_VALUE_ERROR ||
            strstr(gpucontext_error(%(ctx)s->ctx, GA_VALUE_ERROR), "buffer of 16 bytes") == NULL ||
            *(uintptr_t *)b == 0 || gpuarray_get_extension("cuda_enter") == NULL ||
            gpuarray_get_extension("no such function") != NULL) {
            PyErr_SetString(PyExc_AssertionError, "memory");
            %(fail)s
        }
        %(z)s = pygpu_fromgpudata(b, 0, GA_FLOAT, 1, &n, &step, %(ctx)s, 1, NULL, Py_None);
        gpudata_release(a);
        gpudata_release(b);
        if (%(z)s == NULL) %(fail)s"""
        result = run(code, headers="<gpuarray/extension.h> <gpuarray/ext_cuda.h> <string.h>")
        if computes():
            np.testing.assert_array_equal(np.asarray(result), [0, 1, 2, 0])

    def test_dtypes_and_errors(self) -> None:
        code = """if (gpuarray_get_elsize(GA_HALF) != 2 ||
            strcmp(gpuarray_get_type(GA_CFLOAT)->cluda_name, "ga_cfloat") ||
            gpuarray_get_type(77) != NULL || strcmp(gpuarray_error_str(GA_NO_ERROR), "No error")) {
            PyErr_SetString(PyExc_AssertionError, "dtypes");
            %(fail)s
        }"""
        self.assertIsNone(run(code, X, headers="<gpuarray/util.h> <string.h>"))

    def test_contexts(self) -> None:
        code = """PyObject *name = PyUnicode_FromString("null0");
        PyGpuContextObject *made = pygpu_init(name, NULL);
        size_t n = 3;
        Py_DECREF(name);
        if (made == NULL) %(fail)s
        %(z)s = pygpu_zeros(1, &n, GA_FLOAT, GA_C_ORDER, made, Py_None);
        Py_DECREF((PyObject *)made);
        if (%(z)s == NULL) %(fail)s"""
        self.assertEqual(run(code, X).context.kind, "null")

    def test_numbers_of_python(self) -> None:
        text = "KERNEL void k(GLOBAL_MEM ga_float *x, ga_byte a, ga_half b) { x[0] = a + ga_half2float(b); }"
        x = asarray(X, context=context())
        k = GpuKernel(text, "k", [GpuArray, "int8", "float16"], context())
        k(x, -3, 0.5, n=1)
        if computes():
            self.assertEqual(float(x[0]), -2.5)
        with self.assertRaisesRegex(OverflowError, "from -128 to 127"):
            k(x, 128, 0.5, n=1)

    def test_folder_of_headers(self) -> None:
        self.assertTrue(get_include().endswith("include"))


if __name__ == "__main__":
    unittest.main()
