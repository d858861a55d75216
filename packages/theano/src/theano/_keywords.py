"""Functions under historical names take the historical names of their arguments too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


def also_called(module: str, name: str, function: Callable[..., ResultT], /, **own: str) -> Callable[..., ResultT]:
    """Return `function` for `module`, under `name`, with further names for arguments.

    Parameters
    ----------
    module, name : str
        Where it can be found, for pickles of it.
    function : callable
    **own : str
        Names of arguments of `function`, by the historical ones.

    Examples
    --------
    >>> def twice(value):
    ...     return 2 * value
    >>> also_called(__name__, "double", twice, x="value")(x=4)
    8
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> ResultT:
        for historical in own.keys() & kwargs.keys():
            if own[historical] in kwargs:
                raise TypeError(f"{name}: `{historical}` and `{own[historical]}` are one argument; pass one of them")
            kwargs[own[historical]] = kwargs.pop(historical)
        return function(*args, **kwargs)

    if name != function.__name__ and function.__doc__ is not None:
        # Examples call the function by its own name.
        call.__doc__ = cleandoc(function.__doc__).partition("\n\nExamples\n")[0]
    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call
