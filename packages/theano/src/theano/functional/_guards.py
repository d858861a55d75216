"""Calls of a program that is already there: a check of the arguments, written for their structure.

A general look at arguments costs microseconds. The check is a function with the parameters of the user's, so that
Python itself puts keywords into their places. It compares classes, dtypes, lengths, keys and static values with those
of the first call, takes containers apart on the way, and calls the program with the leaves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from theano_linker_c.program import arrays_alike, dimensions
from theano_tensor.builders import traced

from ._arguments import ABSENT, NUMBERS, Parameters
from ._trees import fields_of

#: Calls with more leaves than this are left to the general way.
MAX_LEAVES = 200
#: Prefix of the names of the check: no parameter of the user's has it.
_OWN = "_jit_"


class _Unguarded(Exception):
    """An argument of a kind that only the general way knows."""


class _Writer:
    """The lines of a check, the objects that they name, and the names of the leaves."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {}
        self.leaves: list[str] = []
        self.arrays: list[str] = []
        self.kinds: list[Any] = []

    def name(self, value: Any) -> str:
        """Return a new name, which stands for `value` in the check."""
        name = f"{_OWN}{len(self.objects)}"
        self.objects[name] = value
        return name

    def require(self, condition: str) -> None:
        """Leave the call to the general way unless a condition holds."""
        self.lines.append(f"if not ({condition}): break")

    def check(self, x: str, value: Any) -> None:
        """Write the check of an expression, whose value has to be like `value`."""
        kind = type(value)
        if kind is np.ndarray:
            self.arrays.append(x)
            self.kinds += [value.dtype, dimensions(value.shape)]
            self.leaves.append(x)
        elif kind in NUMBERS or isinstance(value, np.generic):
            self.require(f"{x}.__class__ is {self.name(kind)}")
            self.leaves.append(x)
        elif kind is dict or kind is OrderedDict:
            self.require(f"{x}.__class__ is {self.name(kind)} and tuple({x}) == {self.name((*value,))}")
            self._children(f"{x}.values()", [*value.values()])
        elif kind is list or kind is tuple:
            self.require(f"{x}.__class__ is {self.name(kind)} and len({x}) == {len(value)}")
            self._children(x, value)
        elif isinstance(value, tuple) and hasattr(kind, "_fields"):
            self.require(f"{x}.__class__ is {self.name(kind)}")
            self._children(x, value)
        elif value is None:
            self.require(f"{x} is None")
        elif is_dataclass(value):
            self._dataclass(x, value)
        else:
            raise _Unguarded
        if len(self.leaves) > MAX_LEAVES:
            raise _Unguarded

    def _dataclass(self, x: str, value: Any) -> None:
        self.require(f"{x}.__class__ is {self.name(type(value))}")
        names, static = fields_of(value)
        for name, expected in static:
            self.same(f"{x}.{name}", expected)
        for name in names:
            child = self.name(None)
            self.lines.append(f"{child} = {x}.{name}")
            self.check(child, getattr(value, name))

    def _children(self, container: str, values: Sequence[Any]) -> None:
        if not values:
            return
        names = [self.name(None) for _ in values]
        self.lines.append(f"{', '.join(names)}, = {container}")
        for name, value in zip(names, values, strict=True):
            self.check(name, value)

    def same(self, x: str, value: Any) -> None:
        """Write the check that an expression has a static value, if its class is one whose values do not change."""
        kind = type(value)
        if value is None or kind in (bool, FunctionType, BuiltinFunctionType, ModuleType, np.ufunc, type):
            self.require(f"{x} is {self.name(value)}")
        elif kind in (int, str, bytes):
            self.require(f"{x}.__class__ is {self.name(kind)} and {x} == {self.name(value)}")
        elif getattr(kind, "__hash__", None) is object.__hash__:
            self.require(f"{x} is {self.name(value)}")
        else:
            raise _Unguarded


def guarded(
    parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any], program: Callable[..., Any], otherwise: Any
) -> Callable[..., Any] | None:
    """Return a function that calls `program` for arguments like these, and `otherwise` for others.

    Parameters
    ----------
    parameters : Parameters
    args, kwargs : tuple, dict
        As :meth:`Parameters.bind` returns them: arrays, numbers, None, tuples, lists, dictionaries and dataclasses of
        these, and static values.
    program : callable
        It takes the leaves of the arguments.
    otherwise : callable
        It takes the arguments of other calls: those by position, and those by name.

    Returns
    -------
    callable or None
        None where an argument is of another kind.
    """
    header = parameters.header
    if any(item.name.startswith(_OWN) for item in header):
        return None
    writer = _Writer()
    writer.require(f"{_OWN}traced() is None")
    places = _places(writer, header, args, kwargs)
    try:
        for (parameter, _, value), x in zip(parameters.named(args, kwargs), places, strict=True):
            if parameter in parameters.static:
                writer.same(x, value)
            else:
                writer.check(x, value)
    except _Unguarded:
        return None
    if writer.arrays:
        writer.require(f"{_OWN}alike({', '.join([writer.name((*writer.kinds,)), *writer.arrays])})")
    runtime = {
        "absent": ABSENT,
        "alike": arrays_alike,
        "as_called": _as_called,
        "header": header,
    }
    runtime |= {"otherwise": otherwise, "program": program, "traced": traced}
    scope = writer.objects | {_OWN + name: value for name, value in runtime.items()}
    lines = [
        f"def call({_signature(header)}):",
        "    while True:",
        *(f"        {line}" for line in writer.lines),
        f"        return {_OWN}program({', '.join(writer.leaves)})",
        f"    return {_OWN}otherwise(*{_OWN}as_called({_OWN}header, {_tuple(item.name for item in header)}))",
    ]
    exec(compile("\n".join(lines), "<theano.jit>", "exec"), scope)
    call: Callable[..., Any] = scope["call"]
    call.__name__, call.__qualname__ = parameters.name, parameters.name
    return call


def _signature(header: Sequence[Parameter]) -> str:
    """Write the parameters of a check. Omitted arguments are ABSENT."""
    items = []
    stars: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
    for k, item in enumerate(header):
        before = header[k - 1].kind if k else None
        if before is Parameter.POSITIONAL_ONLY and item.kind is not before:
            items.append("/")
        if item.kind is Parameter.KEYWORD_ONLY and before not in (Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY):
            items.append("*")
        default = f"={_OWN}absent" if item.default is not Parameter.empty else ""
        items.append(f"{stars.get(item.kind, '')}{item.name}{default}")
    if header and header[-1].kind is Parameter.POSITIONAL_ONLY:
        items.append("/")
    return ", ".join(items)


def _places(
    writer: _Writer, header: Sequence[Parameter], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[str]:
    """Write that as much is passed as in this call; yield the expressions of the arguments, in their order."""
    stars = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    placed = [item.name for item in header if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    # A positional-only parameter may share its name with an argument in `**others`.
    named = {item.name: item.name for item in header if item.kind not in (*stars, item.POSITIONAL_ONLY)}
    passed = {*placed[: len(args)], *(kwargs.keys() & named.keys())}
    for item in header:
        if item.kind not in stars and item.name not in passed:
            writer.require(f"{item.name} is {_OWN}absent")
    more: list[str] = []
    for item in header:
        if item.kind is item.VAR_POSITIONAL:
            more = [writer.name(None) for _ in args[len(placed) :]]
            writer.require(f"len({item.name}) == {len(more)}" if more else f"not {item.name}")
            writer.lines += [f"{', '.join(more)}, = {item.name}"] if more else []
        elif item.kind is item.VAR_KEYWORD:
            others = frozenset(kwargs.keys() - named.keys())
            writer.require(f"{item.name}.keys() == {writer.name(others)}" if others else f"not {item.name}")
            named |= {name: f"{item.name}[{name!r}]" for name in others}
    yield from [*placed[: len(args)], *more]
    for name in kwargs:
        local = writer.name(None)
        writer.lines.append(f"{local} = {named[name]}")
        yield local


def _tuple(names: Any) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"


def _as_called(header: Sequence[Parameter], values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments by position and by name of a call, from the values that its parameters have."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for k, (item, value) in enumerate(zip(header, values, strict=True)):
        if item.kind is item.VAR_POSITIONAL:
            args += value
        elif item.kind is item.VAR_KEYWORD:
            kwargs.update(value)
        elif value is ABSENT:
            continue
        elif item.kind is item.KEYWORD_ONLY or len(args) < k:
            kwargs[item.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs
