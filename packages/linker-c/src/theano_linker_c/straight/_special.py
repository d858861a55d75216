"""Special functions that scalar code calls: those of the library are put into the file, others are refused."""

from __future__ import annotations

from collections.abc import Iterable

from .._c_names import named
from ..scalar import called_special_functions, special_functions
from ._block import Block

__all__ = ["take_special"]


def take_special(block: Block, texts: Iterable[str]) -> None:
    """Put the special functions that some text calls into the file.

    Raises
    ------
    NoStraightForm
        If there is none in C.
    """
    for text in texts:
        if any(name == "_Complex" or name.endswith(("_complex64", "_complex128")) for name in named(text)):
            raise block.refuse("complex numbers have no form in C", "compute with real and imaginary parts")
        for name in called_special_functions(text):
            if f"theano_special_{name}" not in special_functions():
                raise block.refuse(f"the function {name} has no form in C", "leave this operation to Python")
            block.routines.add(f"theano_special_{name}")
