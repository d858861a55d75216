"""Mathematical functions for vectors, which gcc calls in loops where the C library has them."""

from __future__ import annotations

from collections.abc import Iterable

from .._c_interface import called

__all__ = ["OPTIONS", "vector_functions"]

#: Nobody asks for the error numbers and flags of mathematical functions; products and sums stay two operations.
OPTIONS = """\
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math", "fp-contract=off")
#endif"""
#: The oldest version of the GNU C library that has them, for processors of the family x86_64.
_NEEDS = {
    (2, 22): ("cos", "exp", "log", "pow", "sin"),
    (2, 35): (
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erf", "erfc", "exp2", "expm1"),
        *("log10", "log1p", "log2", "sinh", "tan", "tanh"),
    ),
}
_TWO_ARGUMENTS = ("atan2", "pow")


def vector_functions(texts: Iterable[str]) -> list[str]:
    """Return declarations that let gcc call the vector functions of the C library, for the functions that texts call.

    Examples
    --------
    >>> for line in vector_functions(["y = expf(x);"]):
    ...     print(line)
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #if __GLIBC_PREREQ(2, 22)
    __attribute__((simd("notinbranch"), const)) float expf(float);
    #endif
    #endif
    """
    calls = {name for text in texts for name in called(text)}
    lines: list[str] = []
    for version, names in _NEEDS.items():
        declared = [_declared(name, kind, end) for name in names for kind, end in _KINDS if name + end in calls]
        if declared:
            lines += [f"#if __GLIBC_PREREQ({version[0]}, {version[1]})", *declared, "#endif"]
    if not lines:
        return []
    tests = ("__GNUC__", "__x86_64__", "__GLIBC__")
    first, *others = (f"defined({name})" for name in tests)
    return [f"#if {first} && !defined(__clang__) && {' && '.join(others)}", *lines, "#endif"]


_KINDS = (("double", ""), ("float", "f"))


def _declared(name: str, kind: str, end: str) -> str:
    arguments = f"{kind}, {kind}" if name in _TWO_ARGUMENTS else kind
    return f'__attribute__((simd("notinbranch"), const)) {kind} {name}{end}({arguments});'
