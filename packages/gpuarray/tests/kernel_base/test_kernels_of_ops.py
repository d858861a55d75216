"""Kernels that ops bring along: descriptions, launches, sections of files, and helpers for their text."""

from __future__ import annotations

import os
import tempfile
import unittest
from functools import cache
from typing import Any

import numpy as np

from theano_gpuarray.arrays import SIZE, SSIZE, GpuArray, asarray, zeros
from theano_gpuarray.contexts import DeviceUnavailable, open_context
from theano_gpuarray.kernel_base import (
    CGpuKernelBase,
    GpuKernel,
    GpuKernelBase,
    Kernel,
    code_version,
    inline_reduce,
    inline_reduce_fixed_shared,
    inline_reduce_fixed_shared_max,
    inline_reduce_max,
    inline_reduce_min,
    inline_reduce_prod,
    inline_reduce_sum,
    inline_softmax,
    inline_softmax_fixed_shared,
    load_w,
    nvcc_kernel,
    work_dtype,
    write_w,
)
from theano_graph import Apply, MissingRuleError, Op
from theano_testing.gpuarray import tested_device
from theano_testing.tiers import slow

DIAGONAL = """#include "cluda.h"
KERNEL void eye(GLOBAL_MEM ga_double *a, ga_size a_off, ga_size n, ga_size m, ga_ssize k) {
    a = (GLOBAL_MEM ga_double *)(((GLOBAL_MEM char *)a) + a_off);
    for (ga_size i = LID_0; i < n; i += LDIM_0)
        if ((ga_ssize)i + k >= 0 && (ga_ssize)i + k < (ga_ssize)m)
            a[i*m + i + k] = 1;
}"""
DIAGONAL_PARAMS = [GpuArray, SIZE, SIZE, SIZE, SSIZE]


@cache
def context() -> Any:
    try:
        return open_context(tested_device())
    except DeviceUnavailable:
        return open_context("null0")


def computes() -> bool:
    return bool(context().kind != "null")


class TestDescription(unittest.TestCase):
    def test_names(self) -> None:
        k = Kernel(DIAGONAL, DIAGONAL_PARAMS, "eye", {})
        self.assertEqual((k.codevar, k.objvar, k.fname, k.sname), ("kcode_eye", "k_eye", "eye_call", "eye_scall"))
        named = Kernel(DIAGONAL, [], "eye", {}, codevar="a", objvar="b", fname="c", sname="d")
        self.assertEqual((named.codevar, named.objvar, named.fname, named.sname), ("a", "b", "c", "d"))

    def test_flags(self) -> None:
        self.assertEqual(
            Kernel.get_flags("float64", "int16"),
            {"have_double": True, "have_small": True, "have_complex": False, "have_half": False},
        )
        self.assertTrue(Kernel.get_flags("float16")["have_half"])
        self.assertTrue(Kernel.get_flags(np.complex64)["have_complex"])
        self.assertFalse(any(Kernel.get_flags("float32", SIZE, GpuArray).values()))
        k = Kernel("", [], "k", Kernel.get_flags("float64", "int8"))
        self.assertEqual(k.c_flags(), "GA_USE_DOUBLE|GA_USE_SMALL")
        self.assertEqual(Kernel("", [], "k", {"cflags": "GA_USE_HALF"}).c_flags(), "GA_USE_HALF")
        self.assertEqual(Kernel("", [], "k", {}).c_flags(), "0")
        with self.assertRaisesRegex(ValueError, "there is no flag 'have_quad'"):
            Kernel("", [], "k", {"have_quad": True})

    def test_parameters(self) -> None:
        k = Kernel("", [GpuArray, SIZE, SSIZE, "float32", np.int8], "k", {})
        self.assertEqual(k.parameters, ("*", "size", "ssize", "float32", "int8"))
        self.assertEqual([k.c_type(i) for i in range(4)], ["void *", "ga_size", "ga_ssize", "ga_float"])
        with self.assertRaisesRegex(TypeError, "known to its C code only"):
            _ = Kernel("", ["GA_SIZE"], "k", {"ctypes": True}).parameters

    def test_limited_precision(self) -> None:
        self.assertEqual([work_dtype(d) for d in ("float16", "float32", "int8")], ["float32", "float32", "int8"])
        self.assertEqual([load_w(d) for d in ("float16", "float64")], ["ga_half2float", ""])
        self.assertEqual([write_w(d) for d in ("float16", "float64")], ["ga_float2half", ""])


class TestLaunches(unittest.TestCase):
    def test_the_program_of_the_manual(self) -> None:
        k = GpuKernel(DIAGONAL, "eye", DIAGONAL_PARAMS, context())
        z = zeros((3, 4), "float64", context=context())
        k(z, z.offset, 3, 4, 1, gs=1, ls=16)
        self.assertEqual(k.numargs, 5)
        self.assertGreater(k.maxlsize, 0)
        if computes():
            np.testing.assert_array_equal(np.asarray(z), np.eye(3, 4, 1))

    def test_a_number_of_elements(self) -> None:
        text = """KERNEL void fill(GLOBAL_MEM ga_float *x, ga_size n, ga_float v) {
            ga_size i = GID_0 * LDIM_0 + LID_0;
            if (i < n) x[i] = v; }"""
        k = GpuKernel(text, "fill", [GpuArray, SIZE, "float32"], context())
        for n in (1, 255, 256, 1000):
            x = zeros((n,), "float32", context=context())
            k(x, n, 2.5, n=n)
            if computes():
                np.testing.assert_array_equal(np.asarray(x), np.full(n, 2.5, "float32"))

    def test_float16(self) -> None:
        text = f"""KERNEL void k(const ga_size n, GLOBAL_MEM ga_half *x, GLOBAL_MEM ga_half *y) {{
            ga_size i = GID_0 * LDIM_0 + LID_0;
            if (i < n) {{ ga_float z = {load_w("float16")}(x[i]); z += 1; y[i] = {write_w("float16")}(z); }} }}"""
        x, y = asarray(np.arange(3, dtype="float16"), context=context()), zeros((3,), "float16", context=context())
        GpuKernel(text, "k", [SIZE, GpuArray, GpuArray], context())(3, x, y, n=3)
        if computes():
            np.testing.assert_array_equal(np.asarray(y), [1, 2, 3])

    def test_wrong_calls(self) -> None:
        k = GpuKernel(DIAGONAL, "eye", DIAGONAL_PARAMS, context())
        z = zeros((3, 4), "float64", context=context())
        with self.assertRaisesRegex(TypeError, "has 5 parameters, got 1 arguments"):
            k(z, n=1)
        with self.assertRaisesRegex(TypeError, "argument 0 is ndarray, not an array on the device"):
            k(np.zeros(3), 0, 1, 1, 0, n=1)
        with self.assertRaisesRegex(ValueError, "not said how many work-items"):
            k(z, 0, 3, 4, 0)
        with self.assertRaisesRegex(TypeError, "parameter 0 is a complex64, which no device takes by value"):
            GpuKernel("", "k", ["complex64"], context())

    def test_a_text_that_cannot_be_compiled(self) -> None:
        if computes():
            with self.assertRaisesRegex(RuntimeError, "undeclared|error"):
                GpuKernel("KERNEL void k(GLOBAL_MEM ga_float *x) { x[0] = nothing; }", "k", [GpuArray], context())


class TestText(unittest.TestCase):
    def test_kernel(self) -> None:
        text = nvcc_kernel("k", ["GLOBAL_MEM ga_float *x", "ga_size n"], ["int i", ["i = 1", ["x[0] = i"]]])
        self.assertEqual(text, "KERNEL void k(GLOBAL_MEM ga_float *x, ga_size n) {\nint i;\ni = 1;\nx[0] = i;\n}")
        self.assertTrue(nvcc_kernel("k", "ga_size n", ["n"]).startswith("KERNEL void k(ga_size n)"))

    def test_versions(self) -> None:
        result: Any = code_version((3,))(lambda: None)
        self.assertEqual(result.code_version, (3,))
        library: Any = inline_reduce
        self.assertEqual(library.code_version, (1,))

    def _run(self, body: Any, x: Any, ls: Any) -> Any:
        text = nvcc_kernel("k", ["GLOBAL_MEM ga_float *x", "ga_size n", "GLOBAL_MEM ga_float *y"], body)
        y = zeros(x.shape, "float32", context=context())
        GpuKernel(text, "k", [GpuArray, SIZE, GpuArray], context())(
            asarray(x, context=context()), len(x), y, gs=1, ls=ls
        )
        return np.asarray(y)

    def _rows(self, *sizes: int) -> Any:
        rng = np.random.default_rng(5)
        return [(rng.normal(size=n).astype("float32"), ls) for n in (1, 5, 33, 64) for ls in sizes]

    def test_reductions(self) -> None:
        into = [
            "LOCAL_MEM ga_float buf[64]",
            "for (int i = LID_0; i < n; i += LDIM_0) buf[i] = x[i]",
            "local_barrier()",
        ]
        out = "if (LID_0 == 0) y[0] = buf[0]"
        for x, ls in self._rows(1, 7, 50):
            body = [*into, inline_reduce("n", "buf", "LID_0", "LDIM_0", lambda a, b: f"{a} + {b}"), out]
            result = self._run(body, x, ls)
            fixed = inline_reduce_fixed_shared(
                "n", "buf", "x", "1", "", "LID_0", "LDIM_0", lambda a, b: f"max({a}, {b})", lambda a: a
            )
            largest = self._run(["LOCAL_MEM ga_float buf[32]", fixed, out], x, ls)
            if computes():
                np.testing.assert_allclose(result[0], x.sum(), rtol=1e-4, atol=1e-5)
                self.assertEqual(largest[0], x.max())

    def test_reductions_by_name(self) -> None:
        into = "for (int i = LID_0; i < n; i += LDIM_0) buf[i] = x[i]"
        x = np.linspace(0.9, 1.1, 33, dtype="float32")
        for text, expected in (
            (inline_reduce_sum, x.sum()),
            (inline_reduce_prod, x.prod()),
            (inline_reduce_max, x.max()),
            (inline_reduce_min, x.min()),
        ):
            body = ["LOCAL_MEM ga_float buf[64]", into, "local_barrier()", text("n", "buf", "LID_0", "LDIM_0")]
            result = self._run([*body, "if (LID_0 == 0) y[0] = buf[0]"], x, 8)
            if computes():
                np.testing.assert_allclose(result[0], expected, rtol=1e-5)
        fixed = inline_reduce_fixed_shared_max("n", "buf", "x", "1", "", "LID_0", "LDIM_0")
        result = self._run(["LOCAL_MEM ga_float buf[32]", fixed, "if (LID_0 == 0) y[0] = buf[0]"], x, 8)
        if computes():
            self.assertEqual(result[0], x.max())

    @slow
    def test_softmax(self) -> None:
        into = [
            "LOCAL_MEM ga_float buf[64]",
            "LOCAL_MEM ga_float buf2[64]",
            "for (int i = LID_0; i < n; i += LDIM_0) { buf[i] = x[i]; buf2[i] = x[i]; }",
            "local_barrier()",
        ]
        out = "for (int i = LID_0; i < n; i += LDIM_0) y[i] = buf[i]"
        for x, ls in self._rows(7, 50):
            result = self._run([*into, inline_softmax("n", "buf", "buf2", "LID_0", "LDIM_0"), out], x, ls)
            fixed = inline_softmax_fixed_shared("n", "buf", "x", "1", "", "y", "1", "", "LID_0", "LDIM_0", "x", "1")
            biased = self._run(["LOCAL_MEM ga_float buf[32]", fixed], x, ls)
            if computes():
                for values, argument in ((result, x), (biased, 2 * x)):
                    e = np.exp(argument - argument.max())
                    np.testing.assert_allclose(values, e / e.sum(), rtol=1e-5)


class TestOps(unittest.TestCase):
    def test_an_op_without_kernels(self) -> None:
        class Empty(GpuKernelBase, Op):
            __props__ = ()

        with self.assertRaisesRegex(MissingRuleError, "Empty defines no gpu_kernels"):
            Empty().gpu_kernels(Apply(Empty(), [], []), "k")

    def test_sections(self) -> None:
        code = """#section kernels
#kernel k : *, size, float32 : GA_USE_DOUBLE
KERNEL void k(GLOBAL_MEM ga_double *x, ga_size n, ga_float v) {}
#kernel second : * :
KERNEL void second(GLOBAL_MEM ga_double *x) {}
#section support_code
int nothing;
"""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "k.c")
            self._write(path, code)
            op = CGpuKernelBase([path])
            first, second = op.gpu_kernels(Apply(op, [], []), "n")
            self.assertEqual(
                (first.name, first.parameters, first.c_flags()), ("k", ("*", "size", "float32"), "GA_USE_DOUBLE")
            )
            self.assertEqual((second.name, second.parameters, second.c_flags()), ("second", ("*",), "0"))
            self.assertNotIn("kernels", op.code_sections)
            self.assertIn("int nothing;", op.code_sections["support_code"])
            self._write(path, code.replace("float32", "floaty"))
            with self.assertRaisesRegex(ValueError, "'floaty' is no parameter of a kernel"):
                CGpuKernelBase(path)
            self._write(path, code.replace("#kernel k :", "int i; //"))
            with self.assertRaisesRegex(ValueError, "does not begin with a kernel"):
                CGpuKernelBase(path)

    def _write(self, path: Any, code: Any) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)


if __name__ == "__main__":
    unittest.main()
