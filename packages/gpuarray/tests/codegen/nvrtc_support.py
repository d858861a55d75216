"""NVRTC, the compiler of CUDA, without a graphics card: for tests that compile the texts for cards."""

from __future__ import annotations

import ctypes
import os
import re
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
    """Return NVRTC's complaints about texts, compiled as one unit; nothing where there is no NVRTC."""
    log, code = _compiled(texts, architecture)
    return [] if code is not None or not log else [log]


def compiled(text: KernelText) -> str | None:
    """Return the PTX of a text; None where there is no NVRTC."""
    log, code = _compiled([text], "compute_90")
    assert code is not None or not log, log
    return code


def most_loads(text: KernelText) -> int | None:
    """Return how many loads from global memory stand side by side, with no branch between; None without NVRTC."""
    code = compiled(text)
    if code is None:
        return None
    blocks = re.split(r"^\s*(?:@%p\d+ )?bra.*$|^\$.*:$", code, flags=re.MULTILINE)
    return max(block.count("ld.global") for block in blocks)


def accesses(text: KernelText) -> list[str] | None:
    """Return loads and stores of global memory by their PTX names, such as "ld.global.v4.f32"; None without NVRTC."""
    code = compiled(text)
    return None if code is None else re.findall(r"\b(?:ld|st)\.global[.\w]*", code)


def _compiled(texts: Sequence[KernelText], architecture: str) -> tuple[str, str | None]:
    """Return the log of NVRTC, and its PTX; nothing where there is no NVRTC or texts are wrong."""
    library = nvrtc()
    if library is None:
        return "", None
    operand = compile_options("cuda")
    options = [f"-arch={architecture}", *(operand.split() if isinstance(operand, str) else operand)]
    source = prelude("cuda") + "\n".join(_own_names(texts))
    program: Any = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
    raw = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    failed = library.nvrtcCompileProgram(program, len(options), raw)
    log = _told(library, program, "ProgramLog")
    code = None if failed else _told(library, program, "PTX")
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return log, code


def _told(library: ctypes.CDLL, program: Any, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def _own_names(texts: Sequence[KernelText]) -> list[str]:
    """Put each text into a namespace of its own, since several define the same functions."""
    return [f"namespace unit{k} {{\n{text.text}\n}}" for k, text in enumerate(texts)]
