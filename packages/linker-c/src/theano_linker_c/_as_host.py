"""Values as arrays on the host: for checks, messages and observers of machines."""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def as_host(value: Any) -> Any:
    """Return a value as something that can be looked at here: an array on a device as an array of NumPy.

    Layers whose values are elsewhere register a function for their class; all else is returned as it is.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> from theano_linker_c import as_host
    >>> as_host([1, 2])
    [1, 2]
    """
    return value
