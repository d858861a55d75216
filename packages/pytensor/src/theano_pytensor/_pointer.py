"""Addresses of compiled functions, for samplers and other programs that call C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._report import linker_of


def engine_function(function: Any) -> Any:
    """Return the function of Theano inside a function of PyTensor.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``.

    Raises
    ------
    TypeError
        If another linker compiled it.
    """
    return linker_of(function).engine_function


def c_pointer(function: Any, signature: str | None = None, *, shapes: Mapping[Any, Sequence[int]] | None = None) -> Any:
    """Compile a function of PyTensor as a C function, which needs no interpreter and may be called from any thread.

    Parameters
    ----------
    function : pytensor.compile.function.types.Function
        Compiled with the mode ``"THEANO"``, without updates.
    signature : str, optional
        In C: arguments for the inputs, then pointers to memory for the outputs.
    shapes : mapping, optional
        Shapes of inputs, by name or variable of PyTensor, where their types do not tell them.

    Returns
    -------
    CFunction
        A function object of ctypes, with an `address`.

    Raises
    ------
    TypeError
        If an op has no form in C, lengths are not known, or another linker compiled the function.

    Examples
    --------
    >>> import pytensor, pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> f = pytensor.function([x], pt.exp(-(x**2)), mode="THEANO")
    >>> c_pointer(f, "double(double)")(0.0)
    1.0
    """
    linker = linker_of(function)
    ours = {}
    for key, shape in (shapes or {}).items():
        position = _position(function, key)
        ours[linker.engine_inputs[position]] = shape
    return linker.engine_function.c_pointer(signature, shapes=ours)


def _position(function: Any, key: Any) -> int:
    for position, item in enumerate(function.maker.inputs):
        if item.variable is key or (isinstance(key, str) and item.variable.name == key):
            return position
    raise ValueError(f"the function has no input {key!r}. Hint: give a name or a variable of its inputs.")
