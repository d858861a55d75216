"""The exported function, and once more for processors with wider vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["OWN_NAMES", "function_text"]

#: The suffix of the function's name in the names of its versions.
OWN_NAMES = ("body", "wide")
_WANTED = """\
#if defined(__GNUC__) && defined(__x86_64__) && !defined(__AVX2__) && !defined(THEANO_PORTABLE)
#define THEANO_VERSIONS
#define THEANO_BODY static inline __attribute__((always_inline))
#else
#define THEANO_BODY static
#endif
"""
_ARGUMENT = re.compile(r"(\w+)(?:\[\d+\])?(?=[,)])")


def function_text(prototype: str, name: str, lines: Sequence[str]) -> list[str]:
    """Return the definition of a function; if it has loops, they are compiled for AVX2, too, and the call chooses.

    Parameters
    ----------
    prototype : str
    name : str
        That of the function.
    lines : sequence of str
        The statements, without the last one, which returns 0.
    """
    if not any("for (" in line for line in lines):
        return [f"{prototype} {{", *lines, "    return 0;", "}", ""]
    taken = prototype.removeprefix(f"int {name}")
    arguments = f"({', '.join(_ARGUMENT.findall(taken))})"
    body, wide = (f"{name}_{part}" for part in OWN_NAMES)
    return [
        _WANTED,
        f"THEANO_BODY int {body}{taken} {{",
        *lines,
        "    return 0;",
        "}",
        "",
        "#ifdef THEANO_VERSIONS",
        f'__attribute__((target("avx2"))) static int {wide}{taken} {{',
        f"    return {body}{arguments};",
        "}",
        "#endif",
        "",
        f"{prototype} {{",
        "#ifdef THEANO_VERSIONS",
        '    if (__builtin_cpu_supports("avx2"))',
        f"        return {wide}{arguments};",
        "#endif",
        f"    return {body}{arguments};",
        "}",
        "",
    ]
