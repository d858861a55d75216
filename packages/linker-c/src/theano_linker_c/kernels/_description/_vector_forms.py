"""Mathematical functions without branches, for compilers that know no form of them for vectors."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Sequence
from importlib import resources

__all__ = ["in_vector_forms"]

#: Names in the C library of what ``vector_math.h`` computes, at most 2 units in the last place from the true value.
_NAMES = frozenset(name + suffix for name in ("expm1", "log1p", "tanh", "erf") for suffix in ("", "f"))
_CALL = re.compile(rf"\b({'|'.join(sorted(_NAMES))})\(")


def in_vector_forms(texts: Sequence[str], known: Collection[str]) -> tuple[list[str], list[str]]:
    """Let `texts` call forms that compilers vectorise, under names of their own.

    Parameters
    ----------
    texts : sequence of str
        Definitions of C functions.
    known : collection of str
        Functions of which the C library has forms for vectors that the compiler calls.

    Returns
    -------
    texts : list of str
        With other names where there is such a form and none is known.
    definitions : list of str
        The text of the forms, where any is called.

    Examples
    --------
    >>> in_vector_forms(["y = tanh(x) + erf(x);"], {"erf"})[0]
    ['y = theano_tanh(x) + erf(x);']
    """
    names = {name for text in texts for name in _CALL.findall(text)}.difference(known)
    if not names:
        return list(texts), []

    def renamed(call: re.Match[str]) -> str:
        return f"theano_{call[0]}" if call[1] in names else call[0]

    return [_CALL.sub(renamed, text) for text in texts], [_text()]


@functools.cache
def _text() -> str:
    return resources.files("theano_linker_c").joinpath("c/elementwise/vector_math.h").read_text(encoding="utf-8")
