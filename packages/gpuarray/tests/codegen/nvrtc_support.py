"""NVRTC, the compiler of CUDA, without a graphics card: for tests that compile what cards would be given."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

from theano_gpuarray._errors import LibraryNotFound
from theano_gpuarray._libraries import find_library
from theano_gpuarray.codegen import KernelText
from theano_gpuarray.codegen.text import compile_options, prelude

#: Compute capabilities of A100, H100 and B200.
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@cache
def nvrtc() -> ctypes.CDLL | None:
    """Return NVRTC; where it is not installed, say so, or fail where the environment asks for it."""
    try:
        return ctypes.CDLL(find_library("nvrtc").path)
    except LibraryNotFound as error:
        if os.environ.get("THEANO_REQUIRE_NVRTC", "0") not in {"", "0"}:
            raise AssertionError(f"THEANO_REQUIRE_NVRTC is set, and there is no NVRTC: {error}") from error
        print("texts of kernels are not compiled as CUDA: NVRTC is not installed", flush=True)
        return None


def failures(texts: Sequence[KernelText], architecture: str) -> list[str]:
    """Return what NVRTC says against texts, compiled as one unit; nothing where there is no NVRTC."""
    library = nvrtc()
    if library is None:
        return []
    given = compile_options("cuda")
    options = [f"-arch={architecture}", *(given.split() if isinstance(given, str) else given)]
    source = prelude("cuda") + "\n".join(_own_names(texts))
    program: Any = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    raw = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = library.nvrtcCompileProgram(program, len(options), raw)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return [log.value.decode()] if status else []


def _own_names(texts: Sequence[KernelText]) -> list[str]:
    """Put each text into a namespace of its own, since several define the same functions."""
    return [f"namespace unit{k} {{\n{text.text}\n}}" for k, text in enumerate(texts)]
