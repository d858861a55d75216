"""The text of kernels: words of the prelude, atomic operations, float16, and the functions that text calls."""

from __future__ import annotations

import ctypes
import importlib.util
import unittest
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from theano_gpuarray.codegen import KernelText, NoDeviceForm
from theano_gpuarray.codegen.random import MRGKernel
from theano_gpuarray.codegen.text import (
    Signature,
    compile_options,
    memory_type,
    prelude,
    with_helpers,
)
from theano_gpuarray.region import AtOnce, upload
from theano_linker_c import scalar as scalars
from theano_linker_c.kernels import ArgmaxKernel, ArrayRoutineKernel, Kernel
from theano_linker_c.scalar import Composite, ScalarType, add, maximum, mul, tanh
from theano_testing.device import on_device
from theano_testing.gpuarray import needs_opencl

from .device_cases import contexts, elementwise, texts_of
from .test_reduction_form import reduction

WORDS = (
    *("KERNEL", "GLOBAL_MEM", "LOCAL_MEM", "LOCAL_MEM_ARG", "WITHIN_KERNEL", "local_barrier"),
    *(f"{name}_{d}" for name in ("LID", "LDIM", "GID", "GDIM") for d in range(3)),
    *(f"ga_{name}" for name in ("bool", "byte", "ubyte", "short", "ushort", "int", "uint", "long", "ulong")),
    *("ga_float", "ga_double", "ga_half", "ga_size", "ga_ssize", "ga_half2float", "ga_float2half"),
    *("int8_t", "uint64_t"),
)
RNG = np.random.default_rng(11)


def launched(text: KernelText, arrays: Sequence[Any], numbers: Sequence[Any], items: int) -> list[Any]:
    """Launch a kernel with some work-items on arrays of NumPy, and return their contents afterwards."""
    recorder = AtOnce(contexts()["card"])
    operands = [recorder.operand(upload(contexts()["card"], x)) for x in arrays]
    given = [part for x in operands for part in (x, x.offset)]
    recorder.launch(text, [*given, *numbers], [-(-items // 64)], [64])
    return [np.asarray(recorder.value(x)) for x in operands]


@needs_opencl
class TestPrelude(unittest.TestCase):
    def test_both_have_the_documented_words(self) -> None:
        for driver in ("cuda", "opencl"):
            for word in WORDS:
                self.assertRegex(prelude(driver), rf"(#define|\b){word}\b", (driver, word))

    def test_sums_and_products_are_not_contracted(self) -> None:
        self.assertIn("--fmad=false", compile_options("cuda"))
        self.assertIn("#pragma OPENCL FP_CONTRACT OFF", prelude("opencl"))
        self.assertEqual(compile_options("null"), "")

    def test_float16(self) -> None:
        signature = Signature()
        signature.array("x", "ga_half")
        signature.array("y", "ga_half", written=True)
        signature.number("q", "n")
        lines = [
            "const int64_t i = (int64_t)GID_0 * LDIM_0 + LID_0;",
            "if (i < n) y[i] = ga_float2half(ga_half2float(x[i]));",
        ]
        bits = np.arange(2**16, dtype="uint16").view("float16")
        x = np.where(np.isnan(bits), np.float16(np.nan), bits)
        _, y = launched(signature.text("copy", lines), [x, np.zeros_like(x)], [x.size], x.size)
        np.testing.assert_array_equal(x, y)

    def test_tanh_of_floats(self) -> None:
        x = np.concatenate([RNG.normal(size=40_000) * 2, 10.0 ** RNG.uniform(-30, 30, size=4000), [0.0, 0.625]])
        x = np.concatenate([x, -x, [np.inf, -np.inf]]).astype("float32")
        (result,) = on_device(elementwise(tanh, "float32"), [x], contexts()["cpu"])
        expected = np.tanh(x.astype("float64"))
        self.assertLessEqual(np.max(np.abs(result - expected) / np.spacing(np.abs(expected).astype("float32"))), 3)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x))
        (result,) = on_device(elementwise(tanh, "float32"), [np.full(3, np.nan, "float32")], contexts()["cpu"])
        self.assertTrue(np.isnan(result).all())

    def test_float_to_float16_is_rounded_to_even(self) -> None:
        x = np.concatenate(
            [RNG.normal(size=4000) * 10.0 ** RNG.integers(-9, 7, size=4000), [0, -0.0, np.inf, 65519.99]]
        )
        operand = x.astype("float32")
        kernel = elementwise(scalars.cast("float16"), "float32")
        with np.errstate(over="ignore"):
            from_host = operand.astype("float16")
        (result,) = on_device(kernel, [operand], contexts()["card"])
        np.testing.assert_array_equal(result, from_host)


@needs_opencl
class TestAtomics(unittest.TestCase):
    def test_each_work_item_counts(self) -> None:
        """64 work-items write their numbers into the second of three elements; for sums, 0 to 3 in turns."""
        words = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
        dtypes = [*words, "float16", "float32", "float64"]
        for kind, start, result in (("add", 0, 90), ("max", 3, 63), ("min", 100, 0)):
            value = "LID_0 < 60 ? LID_0 % 4 : 0" if kind == "add" else "LID_0"
            signature = Signature()
            for dtype in dtypes:
                signature.array(f"x_{dtype}", memory_type(dtype), written=True)
            lines = [f"theano_atomic_{kind}_{dtype}(x_{dtype} + 1, {value});" for dtype in dtypes]
            outcome = launched(signature.text("atomic", lines), [np.full(3, start, d) for d in dtypes], [], 64)
            for dtype, x in zip(dtypes, outcome, strict=True):
                with self.subTest(kind=kind, dtype=dtype):
                    np.testing.assert_array_equal(x, np.array([start, result, start], dtype))

    def test_truth_values_and_exchange(self) -> None:
        signature = Signature()
        signature.array("p", "uint8_t", written=True)
        lines = ["theano_atomic_add_bool(p + LID_0 % 4, LID_0 % 4 == 2);", "theano_atomic_set_uint8(p + 5, 7);"]
        (result,) = launched(signature.text("atomic", lines), [np.zeros(8, "uint8")], [], 64)
        np.testing.assert_array_equal(result, [0, 0, 1, 0, 0, 7, 0, 0])


class TestHelpers(unittest.TestCase):
    def test_what_is_called_comes_first(self) -> None:
        text = with_helpers("float y = theano_sigmoid_float32(theano_maximum_float32(a, b));")
        self.assertLess(text.index("static inline float theano_sigmoid_float32"), text.index("float y"))
        self.assertEqual(with_helpers("int x;"), "int x;")

    def test_headers_of_c_are_left_out_and_others_refused(self) -> None:
        text = with_helpers("f(x);", ["#include <math.h>\nstatic double f(double x) { return x; }"])
        self.assertNotIn("#include", text)
        with self.assertRaisesRegex(NoDeviceForm, "a header is no part of device code"):
            with_helpers("f(x);", ["#include <vector>"])

    def test_names_of_kernels_differ_where_their_text_does(self) -> None:
        one, two = (
            texts_of(elementwise(op, "float32", "float32"), [np.zeros(3, "float32")] * 2)[0] for op in (add, mul)
        )
        self.assertNotEqual(one.name, two.name)


@cache
def nvrtc() -> Any:
    """Return NVIDIA's compiler as a library, or None where the wheel `nvidia-cuda-nvrtc` is not installed."""
    result = importlib.util.find_spec("nvidia")
    for folder in result.submodule_search_locations or () if result is not None else ():
        builtins = sorted(Path(folder).glob("cu*/lib/libnvrtc-builtins.so*"))
        libraries = sorted(Path(folder).glob("cu*/lib/libnvrtc.so*"))
        if builtins and libraries:
            ctypes.CDLL(str(builtins[0]), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(libraries[0]))
    print("texts are not compiled for NVIDIA's devices: there is no nvidia-cuda-nvrtc", flush=True)
    return None


def compiled(library: Any, text: str, arch: str) -> str:
    """Compile a text; return the lines of the log that tell errors."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = [f"-arch={arch}", *compile_options("cuda").split()]
    status = library.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    )
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return "" if status == 0 else "\n".join(line for line in log.value.decode().splitlines() if "error" in line)


def cases() -> list[tuple[Kernel, list[Any]]]:
    """Return kernels of all kinds, with operands that make their forms take all ways."""
    matrix, row = np.zeros((300, 40), "float32"), np.zeros((1, 40), "float32")
    result: list[tuple[Kernel, list[Any]]] = [
        (elementwise(add, "float32", "float32", broadcast=[(False, False), (True, False)], ndim=2), [matrix, row]),
        (MRGKernel("float16", 1), [np.ones((4, 6), "int32"), np.array([9])]),
    ]
    for shape, axes in (((10**6,), (0,)), ((300, 40), (0,)), ((300, 40), (1,)), ((30, 40, 50), (0, 2))):
        x = np.zeros(shape, "float16")
        result.append((reduction(add, maximum, dtype="float16", ndim=len(shape), axes=axes), [x]))
        result.append((ArgmaxKernel("float16", len(shape), axes), [x]))
    result += [(ArrayRoutineKernel("cumsum", "int64", 0), [np.zeros(n, "int64")]) for n in (10, 10**6)]
    for dtype in ("float16", "float32", "float64", "int64", "uint8", "bool"):
        private = [ScalarType(dtype)() for _ in range(3)]
        outputs = []
        for record in scalars.records:
            try:
                outputs.append(record.op(*private[: max(record.op.nin, 1)]))
            except TypeError:
                continue
        real = [v for v in outputs if "complex" not in v.type.dtype]
        result.append((elementwise(Composite(private, real), *[dtype] * 3), [np.zeros(5, dtype)] * 3))
    return result


class TestCompilation(unittest.TestCase):
    def test_all_texts_compile_for_cuda(self) -> None:
        library = nvrtc()
        texts = [text for kernel, values in cases() for text in texts_of(kernel, values)]
        self.assertGreater(len(texts), 20)
        for text in texts if library is not None else ():
            with self.subTest(kernel=text.name):
                self.assertEqual(compiled(library, prelude("cuda") + text.text, "compute_90"), "")
        # Machine code takes longer than the check of a text.
        for arch in ("sm_80", "sm_90", "sm_100"):
            for text in texts[:3] if library is not None else ():
                with self.subTest(kernel=text.name, arch=arch):
                    self.assertEqual(compiled(library, prelude("cuda") + text.text, arch), "")


if __name__ == "__main__":
    unittest.main()
