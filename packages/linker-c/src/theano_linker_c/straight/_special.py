"""Special functions that scalar code calls: those of the library are put into the file, others are refused."""

from __future__ import annotations

from collections.abc import Iterable

from ..scalar import special_functions
from ._block import Block

__all__ = ["take_special"]


def take_special(block: Block, names: Iterable[str]) -> None:
    """Put the special functions among some names into the file.

    Raises
    ------
    NoStraightForm
        If there is none in C.
    """
    for name in sorted(names):
        if name == "_Complex" or name.endswith(("_complex64", "_complex128")):
            raise block.refuse("complex numbers have no form in C", "compute with real and imaginary parts")
        if name.startswith("theano_special_"):
            if name not in special_functions():
                function = name.removeprefix("theano_special_")
                raise block.refuse(f"the function {function} has no form in C", "leave this operation to Python")
            block.routines.add(name)
