"""Calls of a program that is already there: a check of the arguments, written for their structure.

A general look at arguments costs microseconds. The check compares classes, dtypes, lengths and keys with those of the
first call. It takes containers apart on the way, and calls the program with the leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theano_tensor.builders import traced

from ._arguments import NUMBERS, dimensions

#: Calls with more leaves than this are left to the general way.
MAX_LEAVES = 200

Otherwise = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class _Unguarded(Exception):
    """An argument of a kind that only the general way knows."""


class _Writer:
    """The lines of a check, the objects that they name, and the names of the leaves."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.objects: dict[str, Any] = {"ndarray": np.ndarray, "traced": traced, "dimensions": dimensions}
        self.leaves: list[str] = []
        self._count = 0

    def name(self, prefix: str, value: Any = None) -> str:
        """Return a new name, which stands for `value` in the check."""
        self._count += 1
        name = f"{prefix}{self._count}"
        if value is not None:
            self.objects[name] = value
        return name

    def require(self, condition: str) -> None:
        """Leave the call to the general way unless a condition holds."""
        self.lines.append(f"if not ({condition}): return otherwise(args, kwargs)")

    def check(self, name: str, value: Any) -> None:
        """Write the check of a variable of the code, whose value has to be like `value`."""
        kind = type(value)
        if kind is np.ndarray:
            dtype, shape = self.name("dtype", value.dtype), self.name("shape", value.shape)
            pattern = self.name("pattern", dimensions(value.shape) or 0)
            # Most calls have the lengths of the first one.
            same = f"({name}.shape == {shape} or dimensions({name}.shape) == {pattern})"
            self.require(f"{name}.__class__ is ndarray and {name}.dtype is {dtype} and {same}")
            self.leaves.append(name)
        elif kind in NUMBERS:
            self.require(f"{name}.__class__ is {kind.__name__}")
            self.leaves.append(name)
        elif kind is dict:
            keys = self.name("keys", (*value,))
            self.require(f"{name}.__class__ is dict and tuple({name}) == {keys}")
            self._children(f"{name}.values()", [*value.values()])
        elif kind is list or kind is tuple:
            self.require(f"{name}.__class__ is {kind.__name__} and len({name}) == {len(value)}")
            self._children(name, value)
        elif value is None:
            self.require(f"{name} is None")
        else:
            raise _Unguarded
        if len(self.leaves) > MAX_LEAVES:
            raise _Unguarded

    def _children(self, container: str, values: Any) -> None:
        if not values:
            return
        names = [self.name("x") for _ in values]
        self.lines.append(f"{', '.join(names)}, = {container}")
        for name, value in zip(names, values, strict=True):
            self.check(name, value)


def guarded(args: tuple[Any, ...], program: Callable[..., Any], otherwise: Otherwise) -> Callable[..., Any] | None:
    """Return a function that calls `program` for arguments like `args`, and `otherwise` for others.

    Parameters
    ----------
    args : tuple
        Arguments by position: arrays, Python's numbers, None, and tuples, lists and dictionaries of these.
    program : callable
        It takes the leaves of the arguments.
    otherwise : callable
        It takes the arguments of other calls: those by position, and those by name.

    Returns
    -------
    callable or None
        None where an argument is of another kind.
    """
    writer = _Writer()
    names = [f"a{k}" for k in range(len(args))]
    if names:
        writer.lines.append(f"{', '.join(names)}, = args")
    try:
        for name, value in zip(names, args, strict=True):
            writer.check(name, value)
    except _Unguarded:
        return None
    lines = [
        "def call(*args, **kwargs):",
        f"    if kwargs or len(args) != {len(args)} or traced() is not None: return otherwise(args, kwargs)",
        *(f"    {line}" for line in writer.lines),
        f"    return program({', '.join(writer.leaves)})",
    ]
    scope = {**writer.objects, "program": program, "otherwise": otherwise}
    exec(compile("\n".join(lines), "<theano.jit>", "exec"), scope)
    call: Callable[..., Any] = scope["call"]
    return call
