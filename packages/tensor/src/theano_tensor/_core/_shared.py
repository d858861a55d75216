"""Shared variables that hold arrays and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theano_graph import describe, format_error
from theano_linker_c import SharedVariable, register_shared_constructor

from .._errors import NotNumericError
from ._type import TensorType
from ._variable import Tensor


class TensorSharedVariable(Tensor, SharedVariable):
    """A shared variable that holds an array; made by ``shared``. It can do all that tensor variables can."""

    type: TensorType

    if TYPE_CHECKING:

        def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> NDArray[Any]: ...

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value, for all functions that use this variable.

        Parameters
        ----------
        new_value : array_like
            Of the same dtype and number of dimensions, or converted to that dtype where nothing is lost.
        borrow : bool
            Whether the array itself may be stored, not a copy.

        Raises
        ------
        TypeError, ValueError
            If the value does not fit; the old one stays.
        """
        try:
            super().set_value(new_value, borrow)
        except (TypeError, ValueError) as error:
            raise value_refused(self, error) from None

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to 0, in place where `borrow` is true."""
        if borrow:
            super().zero(borrow=True)
        else:
            self.container.value = np.zeros_like(self.container.value)


ScalarSharedVariable = TensorSharedVariable


def value_refused(variable: Any, error: TypeError | ValueError) -> TypeError | ValueError:
    """Return the error about a new value, with the name of the variable and a cure.

    Parameters
    ----------
    variable : SharedVariable
        Of a type with `dtype` and `ndim`, here or on a device.
    error : TypeError or ValueError
        The error of its type.
    """
    if type(error) not in (TypeError, ValueError, NotNumericError):
        return error
    what, *details = str(error).split("\n  ")
    where = [line for line in details if not line.startswith("Hint: ")]
    name, kind = variable.name or "variable", variable.type
    if "Wrong number of dimensions" in what:
        count = "1 dimension" if kind.ndim == 1 else f"{kind.ndim} dimensions"
        hint = f"give it a value with {count}, or share this one on its own: theano.shared(value)"
    elif "imaginary" in what:
        hint = f"take a real part, as in {name}.set_value(numpy.real(value)), or make it complex from the beginning"
    elif "symbolic" in what:
        hint = f"{name}.set_value(v.eval()) stores a number; a function's `updates` store its results"
    elif "converting" in what or "strict is set" in what:
        hint = (
            f"{name}.set_value(numpy.asarray(value, dtype={kind.dtype!r})), or make the variable with "
            "theano.shared(value, allow_downcast=True)"
        )
    else:
        hint = next((line.removeprefix("Hint: ") for line in details if line not in where), "give it an array")
    text = format_error(f"set_value of `{variable}`: {what}", context=[describe(variable), *where], hint=hint)
    return type(error)(text)


@register_shared_constructor
def tensor_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    broadcastable: Iterable[bool] | None = None,
    target: str = "cpu",
) -> TensorSharedVariable:
    """Share an array.

    Parameters
    ----------
    value : numpy.ndarray
    name : str, optional
    strict, allow_downcast
        How later values are converted.
    borrow : bool
        Whether the array itself is stored, not a copy.
    broadcastable : sequence of bool, optional
        No dimension broadcasts by default, as later values may have other lengths.
    target : str
        Where the value lives; ``"cpu"``.

    Raises
    ------
    TypeError
        If `value` is no array, so that other constructors are tried.
    """
    if target != "cpu":
        raise TypeError(format_error(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, np.ndarray):
        raise TypeError(format_error(f"{type(value).__name__} is no array"))
    pattern = tuple(broadcastable) if broadcastable is not None else (False,) * value.ndim
    kind = TensorType(value.dtype.name, pattern)
    stored = value if borrow else value.copy()
    return TensorSharedVariable(kind, stored, name, strict, allow_downcast)


@register_shared_constructor
def scalar_constructor(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
    target: str = "cpu",
) -> TensorSharedVariable:
    """Share a number, as an array without dimensions.

    Python floats as float64, ints as int64, NumPy scalars with their dtype.
    """
    if target != "cpu":
        raise TypeError(format_error(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(format_error(f"{type(value).__name__} is no number"))
    array = np.asarray(value)
    return TensorSharedVariable(TensorType(array.dtype.name, ()), array, name, strict, allow_downcast)
