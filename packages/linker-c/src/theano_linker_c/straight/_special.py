"""Special functions that scalar code calls: those of the library are put into the file, others are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ._block import Block

__all__ = ["take_special"]

#: By their names in `scipy.special`; the text of each is in ``c/export/special.h``.
KNOWN = frozenset(
    """gamma gammaln psi erfinv erfcinv erfcx j0 j1 jv i0 i1 iv gammainc gammaincc betaln betainc""".split()  # noqa: SIM905
)
_CALL = re.compile(r"\btheano_special_(\w+)\(([^,()]*(?:\([^()]*\)[^,()]*)*)")
_WHOLE = re.compile(r"[()\s]*(?:\(double\))?\(*-?\d+(?:\.0*)?f?\)*\s*")


def take_special(block: Block, texts: Iterable[str]) -> None:
    """Put the special functions that some text calls into the file.

    Raises
    ------
    NoStraightForm
        If there is none in C, or a Bessel function is not of a known whole order.
    """
    for text in texts:
        if re.search(r"_Complex|_complex(64|128)", text):
            raise block.refuse("complex numbers have no form in C", "compute with real and imaginary parts")
        for name, first in _CALL.findall(text):
            if name not in KNOWN:
                raise block.refuse(f"the function {name} has no form in C", "leave this operation to Python")
            if name in ("jv", "iv") and not _WHOLE.fullmatch(first):
                raise block.refuse(
                    f"the function {name} has a form in C for whole orders only that are constants",
                    "give the order as a number",
                )
            block.routines.add(f"theano_special_{name}")
