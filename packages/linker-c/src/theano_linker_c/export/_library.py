"""Functions of our own that exported code calls; their text is copied into the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from .._c_interface import function_name, functions_of, read_code, with_called
from ..scalar import special_functions

__all__ = ["INDEPENDENT", "definitions", "memory_types"]

#: Files of functions, and those of functions that there are for each of several types.
_FILES = ("routines.h", "random.h", "draws.h")
_TEMPLATES = ("products.h", "windows.h", "sorting.h", "lapack.h")
_REALS = (("float", "s"), ("double", "d"))
#: Types in memory, for functions that are there for each of them.
_KINDS = (*_REALS, *((f"{sign}int{bits}_t", "") for sign in ("", "u") for bits in (8, 16, 32, 64)))
_OF_ALL = ("theano_before", "theano_argsort")
#: For functions that there are for each of several widths of vectors: bytes, rows of a tile, and their runner.
_VECTORS = ((64, 8, "avx512f"), (32, 6, "avx2,fma"), (16, 4, ""))
_JOINED = 'optimize("fp-contract=fast")'

#: Tells the compiler that the turns of the next loop may run at the same time, where it takes such a hint.
INDEPENDENT = """\
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define THEANO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define THEANO_INDEPENDENT _Pragma("GCC ivdep")
#else
#define THEANO_INDEPENDENT
#endif
"""


@cache
def memory_types() -> str:
    """Return the types that a state with memory of its own needs."""
    return read_code("export", "memory.h")


@cache
def _functions() -> dict[str, str]:
    """Return the text of each function."""
    functions = dict(special_functions())
    for part in [part for name in _FILES for part in functions_of(read_code("export", name))]:
        functions[function_name(part)] = part
    for part in [part for name in _TEMPLATES for part in functions_of(read_code("export", name))]:
        name = function_name(part)
        if "NAME(" not in part:
            functions[name] = part
            continue
        for version in _versions(part):
            own = function_name(version)
            for kind, letter in _KINDS if name.startswith(_OF_ALL) else _REALS:
                text = re.sub(r"\bNAME\((\w+)\)", rf"\1_{kind}", version)
                text = re.sub(r"\bBLAS\((\w+)\)", rf"cblas_{letter}\1", text)
                functions[f"{own}_{kind}"] = re.sub(r"\bREAL\b", kind, text)
    return functions


def _versions(part: str) -> list[str]:
    """Return the text of a function for each width of vectors, if it stands for several."""
    if "THEANO_FOR_BYTES" not in part:
        return [part]
    return [_version(part, *how) for how in _VECTORS]


def _version(part: str, width: int, rows: int, features: str) -> str:
    """Return the text of a function for a width of vectors; products and sums may be joined in it."""
    joined = "#if defined(__clang__)\n#pragma clang fp contract(fast)\n#endif"
    text = re.sub(r" *\bTHEANO_JOINED\b", joined, part)
    text = re.sub(r"\bTILE_ROWS\b", str(rows), re.sub(r"BYTES\b", str(width), text))
    if not features:
        attribute = f"#if defined(__GNUC__) && !defined(__clang__)\n__attribute__(({_JOINED}))\n#endif"
        return text.replace(f"THEANO_FOR_{width}", attribute)
    comment, _, remainder = text.partition(f"THEANO_FOR_{width}\n")
    target = f'target("{features}")'
    attribute = (
        f"#if defined(__clang__)\n__attribute__(({target}))\n#else\n__attribute__(({target}, {_JOINED}))\n#endif"
    )
    head = "#if defined(__GNUC__) && defined(__x86_64__) && !defined(THEANO_PORTABLE)"
    return f"{comment}{head}\n{attribute}\n{remainder}\n#endif"


def definitions(names: Iterable[str]) -> list[str]:
    """Return the definitions of functions, and before each those of the functions that it calls."""
    return with_called(sorted(names), _functions())
