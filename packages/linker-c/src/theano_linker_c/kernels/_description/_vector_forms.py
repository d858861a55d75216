"""Mathematical functions without branches, for compilers that know no form of them for vectors."""

from __future__ import annotations

import functools
from collections.abc import Collection
from importlib import resources

from ._own_functions import InPlace

__all__ = ["SINES", "vector_forms"]

#: Names in the C library of the functions of ``vector_math.h``, at most 2 units in the last place from the true value.
_NAMES = frozenset(
    {"exp", *(name + suffix for name in ("expm1", "log", "log1p", "tanh", "erf") for suffix in ("", "f"))}
)
#: Those whose forms are for arguments up to some size: a loop that calls these forms looks at the arguments before.
SINES = frozenset({"sin", "sinf", "cos", "cosf"})


def vector_forms(called: Collection[str], known: Collection[str]) -> list[InPlace]:
    """Return forms that compilers vectorise, under names of their own.

    Parameters
    ----------
    called : collection of str
        Functions that a text calls.
    known : collection of str
        Functions of which the C library has forms for vectors that the compiler calls.

    Returns
    -------
    list of InPlace
        The first one has the definitions of all.

    Examples
    --------
    >>> [form.begin for form in vector_forms({"tanh", "erf"}, {"erf"})]
    ['', '#define tanh theano_tanh']
    """
    unknown = set(called).difference(known)
    forms = [InPlace("", f"#define {name} theano_{name}", f"#undef {name}") for name in sorted(unknown & _NAMES)]
    return [InPlace(_text(), "", ""), *forms] if forms or unknown & SINES else []


@functools.cache
def _text() -> str:
    return resources.files("theano_linker_c").joinpath("c/elementwise/vector_math.h").read_text(encoding="utf-8")
