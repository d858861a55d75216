"""Functions of our own that exported code calls; their text is copied into the file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

__all__ = ["INDEPENDENT", "definitions", "memory_types"]

_FUNCTION = re.compile(r"^static [\w ]+[ *](?:NAME\()?(theano_\w+)\)?\(", re.MULTILINE)
_CALL = re.compile(r"\btheano_\w+\b")
#: Files of functions that there are for each of several types.
_TEMPLATES = ("products.h", "windows.h", "sorting.h", "lapack.h")
_REALS = (("float", "s"), ("double", "d"))
#: Types in memory, for functions that are there for each of them.
_KINDS = (*_REALS, *((f"{sign}int{bits}_t", "") for sign in ("", "u") for bits in (8, 16, 32, 64)))
_OF_ALL = ("theano_before", "theano_argsort")
#: For functions that there are for each of several widths of vectors: bytes, rows of a tile, and what runs them.
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


def _text(name: str) -> str:
    folder = resources.files(__package__.rpartition(".")[0]) / "c" / "export"
    return (folder / name).read_text(encoding="utf-8")


@cache
def memory_types() -> str:
    """Return the types that a state with memory of its own needs."""
    return _text("memory.h")


@cache
def _functions() -> dict[str, str]:
    """Return the text of each function."""
    found = {}
    texts = [_text(name) for name in ("routines.h", "special.h", "random.h", "draws.h")]
    for part in [part for text in texts for part in _parts(text)]:
        found[_FUNCTION.search(part)[1]] = part  # type: ignore[index]
    for part in [part for name in _TEMPLATES for part in _parts(_text(name))]:
        name = _FUNCTION.search(part)[1]  # type: ignore[index]
        if "NAME(" not in part:
            found[name] = part
            continue
        for version in _versions(part):
            own = _FUNCTION.search(version)[1]  # type: ignore[index]
            for kind, letter in _KINDS if name.startswith(_OF_ALL) else _REALS:
                text = re.sub(r"\bNAME\((\w+)\)", rf"\1_{kind}", version)
                text = re.sub(r"\bBLAS\((\w+)\)", rf"cblas_{letter}\1", text)
                found[f"{own}_{kind}"] = re.sub(r"\bREAL\b", kind, text)
    return found


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
        own = f"#if defined(__GNUC__) && !defined(__clang__)\n__attribute__(({_JOINED}))\n#endif"
        return text.replace(f"THEANO_FOR_{width}", own)
    comment, _, rest = text.partition(f"THEANO_FOR_{width}\n")
    target = f'target("{features}")'
    own = f"#if defined(__clang__)\n__attribute__(({target}))\n#else\n__attribute__(({target}, {_JOINED}))\n#endif"
    return f"{comment}#if defined(__GNUC__) && defined(__x86_64__) && !defined(THEANO_PORTABLE)\n{own}\n{rest}\n#endif"


def _parts(text: str) -> list[str]:
    """Return the functions of a file, each with the comment before it."""
    parts = re.split(r"\n(?=\n(?:/\*|static ))", text)
    return [part.strip() for part in parts if _FUNCTION.search(part)]


def definitions(names: Iterable[str]) -> list[str]:
    """Return the definitions of functions, and before each those of the functions that it calls."""
    known, found = _functions(), dict[str, str]()

    def enter(name: str) -> None:
        if name in found:
            return
        for other in _CALL.findall(known[name]):
            if other != name and other in known:
                enter(other)
        found[name] = known[name]

    for name in sorted(names):
        enter(name)
    return list(found.values())
