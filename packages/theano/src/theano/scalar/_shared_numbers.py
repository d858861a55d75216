"""Numbers that functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import format_error
from theano_linker_c import SharedVariable
from theano_linker_c.scalar import ScalarOperators, ScalarType


class ScalarSharedVariable(ScalarOperators, SharedVariable):
    """A scalar that carries a value, seen by every function that uses it."""

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The element type's name."""
        kind: Any = self.type
        return str(kind.dtype)


def shared(value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None) -> Any:
    """Return a shared scalar for a number: int64 or float64 unless it is a NumPy scalar.

    Raises
    ------
    TypeError
        If `value` is no number.

    Examples
    --------
    >>> import theano
    >>> theano.shared(3, name="n").dtype
    'int64'
    """
    if not isinstance(value, (np.number, float, int, complex)):
        raise TypeError(format_error(f"{value!r} is no number", hint="use theano.shared for arrays"))
    number = np.asarray(value)[()]
    return ScalarSharedVariable(ScalarType(number.dtype.name), number, name, strict, allow_downcast)
