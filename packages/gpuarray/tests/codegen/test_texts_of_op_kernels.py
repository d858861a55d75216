"""Kernels of users' ops are text that the compiler of CUDA takes: those of the manual, and those of expressions."""

from __future__ import annotations

import unittest
from typing import Any

from theano_gpuarray.arrays import dtype_to_ctype, dtype_to_typecode
from theano_gpuarray.c_interface import Expression
from theano_gpuarray.codegen import KernelText
from theano_gpuarray.contexts import open_context
from theano_gpuarray.kernel_base import inline_softmax, nvcc_kernel, text_of_program, write_w

from .nvrtc_support import ARCHITECTURES, failures

#: The two programs `GpuEye` of the manual.
EYE = """#include "cluda.h"

KERNEL void eye(GLOBAL_MEM %(ctype)s *a, ga_size a_off,
                ga_size n, ga_size m, ga_ssize k) {
    a = (GLOBAL_MEM %(ctype)s *)(((GLOBAL_MEM char *)a) + a_off);
    ga_ssize coff = max(k, (ga_ssize) 0);
    ga_ssize roff = -min(k, (ga_ssize) 0);
    ga_size nb = (ga_size) min(n - roff, m - coff);
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        a[(i + roff)*m + i + coff] = %(write_a)s(1);
    }
}"""
PLAIN_EYE = """#include <cluda.h>
KERNEL void eye(GLOBAL_MEM %(ctype)s *a, ga_size a_off, ga_size n, ga_size m) {
    a = (GLOBAL_MEM %(ctype)s *)(((GLOBAL_MEM char *)a) + a_off);
    ga_size nb = n < m ? n : m;
    for (ga_size i = LID_0; i < nb; i += LDIM_0) {
        a[i*m + i] = 1;
    }
}"""
#: Those with PyCUDA, which are CUDA alone.
PYCUDA = (
    """__global__ void multiply_them(float *dest, float *a, float *b)
{
    const int i = threadIdx.x;
    dest[i] = a[i] * b[i];
}""",
    """__global__ void my_fct(float * i0, float * o0, int size) {
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if(i<size){
        o0[i] = i0[i]*2;
    }
}""",
)


class TestTexts(unittest.TestCase):
    def compiled(self, *texts: str) -> None:
        for architecture in ARCHITECTURES:
            for text in texts:
                result = failures([KernelText("k", text_of_program(text, "k"), "")], architecture)
                self.assertEqual(result, [], text)

    def test_the_manual(self) -> None:
        for dtype in ("float64", "float32", "int8", "float16"):
            words = {"ctype": dtype_to_ctype(dtype), "write_a": write_w(dtype)}
            self.compiled(EYE % words, *([] if dtype == "float16" else [PLAIN_EYE % words]))
        self.compiled(*PYCUDA)

    def test_helpers_of_text(self) -> None:
        body = [
            "LOCAL_MEM ga_float a[64]",
            "LOCAL_MEM ga_float b[64]",
            inline_softmax("64", "a", "b", "LID_0", "LDIM_0"),
        ]
        self.compiled(nvcc_kernel("k", ["GLOBAL_MEM ga_float *x"], [*body, "x[LID_0] = a[LID_0]"]))

    def test_expressions(self) -> None:
        """The null device shows the text that it is given."""
        context = open_context("null0")
        texts: list[str] = []
        operand: Any = context.kernel
        context.kernel = lambda text: texts.append(text.text) or operand(text)  # type: ignore[func-returns-value, method-assign]
        for dtype in ("float16", "float64", "int8"):
            number = dtype_to_typecode(dtype)
            operands = [("z", number, 0, 0, 1), ("x", number, 0, 1, 0), ("v", number, 1, 0, 0)]
            Expression(context, "", "z = x + v", operands)._kernel(3)
        self.assertEqual(len(texts), 3)
        self.compiled(*texts)


if __name__ == "__main__":
    unittest.main()
