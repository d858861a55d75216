"""A memo of derivatives, shared by functions of equal code: `grad(f)(x)` in a loop compiles once.

Each look-up compares the values that a function reads from around it. A function that reads a mutable object, such as
an array, is not memoized: it is transformed anew each time.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from theano_graph import is_library_module

from ._jit import Jitted
from ._trees import exact

#: Number of functions in the memo; beyond it, the least recently used one is dropped.
MEMO_SIZE = 256
_SAME = (type, BuiltinFunctionType, FunctionType, Jitted, np.ufunc, np.dtype)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.number, np.bool_)


class _Changing(Exception):
    """A function reads a value that may change without a trace."""


class Memo:
    """The jitted functions of functions, by their code and options.

    Examples
    --------
    >>> from theano.functional import grad
    >>> slopes = [grad(lambda x: x**2) for _ in range(2)]
    >>> slopes[0] is slopes[1]
    True
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._jitted: OrderedDict[Hashable, Jitted] = OrderedDict()

    def get(self, function: Callable[..., Any], options: tuple[Hashable, ...], make: Callable[[], Jitted]) -> Jitted:
        """Return the jitted function of an equal function, or make it."""
        try:
            key = (options, tuple(_read(function)))
        except _Changing:
            return make()
        jitted = self._jitted.pop(key, None) or make()
        self._jitted[key] = jitted
        while len(self._jitted) > self._bound:
            self._jitted.popitem(last=False)
        return jitted

    def clear(self) -> None:
        """Let go of all functions."""
        self._jitted.clear()


def _read(function: Any) -> Iterator[Hashable]:
    """Yield the dependencies of a function: its code, its defaults, and the values that it reads from around it."""
    functions = [function]
    numbers: dict[Any, int] = {function: 0}

    def number(value: Any) -> int:
        if value not in numbers:
            numbers[value] = len(functions)
            functions.append(value)
        return numbers[value]

    for item in functions:  # it grows on the way
        if isinstance(item, Jitted):
            yield item
            yield number(item.__dict__["__wrapped__"])
            continue
        if not isinstance(item, FunctionType):
            raise _Changing
        yield item.__code__
        for name, value in _values(item):
            if isinstance(value, (FunctionType, Jitted)) and not is_library_module(value.__module__):
                yield name, number(value)
            elif isinstance(value, _SAME) or (isinstance(value, ModuleType) and _is_settled(value.__name__)):
                yield name, value
            else:
                yield name, _exact(value)


def _values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    code = function.__code__
    for k, value in enumerate(function.__defaults__ or ()):
        yield f"default {k}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default {name}", value
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"around {name}", cell.cell_contents
        except ValueError:  # it has no value yet
            raise _Changing from None
    for name in _names(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    pending = [code]
    while pending:
        inner = pending.pop()
        yield from inner.co_names
        pending += [x for x in inner.co_consts if isinstance(x, CodeType)]


def _is_settled(module: str) -> bool:
    """Tell whether a module is none of the user's, whose numbers change."""
    return is_library_module(module) or module.partition(".")[0] in sys.stdlib_module_names


def _exact(value: Any) -> Hashable:
    if isinstance(value, tuple) and type(value) is tuple:
        for item in value:
            _exact(item)
    elif not isinstance(value, _PLAIN):
        raise _Changing
    return exact(value)


#: Of the functions in `_derivatives`.
MEMO = Memo(MEMO_SIZE)
