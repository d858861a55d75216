"""Shared variables that hold arrays and numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from theano_graph import compose
from theano_linker_c import SharedVariable, register_shared_constructor

from ._type import TensorType
from ._variable import Tensor


class TensorSharedVariable(Tensor, SharedVariable):
    """A shared variable that holds an array; made by ``shared``. It can do all that tensor variables can."""

    type: TensorType

    def zero(self, borrow: bool = False) -> None:
        """Set all elements to 0, in place where `borrow` is true."""
        if borrow:
            super().zero(borrow=True)
        else:
            self.container.value = np.zeros_like(self.container.value)


ScalarSharedVariable = TensorSharedVariable


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
        raise TypeError(compose(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, np.ndarray):
        raise TypeError(compose(f"{type(value).__name__} is no array"))
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
        raise TypeError(compose(f"target {target!r} is not 'cpu'"))
    if not isinstance(value, (bool, int, float, complex, np.generic)):
        raise TypeError(compose(f"{type(value).__name__} is no number"))
    array = np.asarray(value)
    return TensorSharedVariable(TensorType(array.dtype.name, ()), array, name, strict, allow_downcast)
