"""A breakpoint inside of a compiled function."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule

#: Debuggers, the preferred one first.
_DEBUGGERS = ("pudb", "ipdb", "pdb")


class PdbBreakpoint(Op):
    """The identity of some variables, which starts a debugger when a condition is true.

    The debugger is the first of pudb, ipdb and pdb that is installed. One of the results has to be used: without a use
    the op is not part of the function. Rewrites do not look through it.

    Parameters
    ----------
    name : str
        Printed when the debugger is started.

    Raises
    ------
    TypeError
        If `name` is no text.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType
    >>> x = ScalarType("float64")("x")
    >>> same, also = PdbBreakpoint("too large")(x, x, x)
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("name",)

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(format_error(f"PdbBreakpoint: the name {name!r} is no text", hint="pass a text to print"))
        self.name = name

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to a condition without dimensions, and the variables that are watched and handed on."""
        if len(inputs) < 2 or not all(isinstance(v, Variable) for v in inputs):
            raise TypeError(
                format_error(
                    f"{self} takes a condition and one or more variables",
                    context=[describe(v) if isinstance(v, Variable) else repr(v) for v in inputs],
                    hint="call it with symbolic variables, and use one of its results",
                )
            )
        condition, *monitored = inputs
        if getattr(condition.type, "ndim", 0):
            raise TypeError(
                format_error(
                    f"{self}: the condition is no scalar", context=[describe(condition)], hint="use .any() or .all()"
                )
            )
        op = self if len(monitored) == len(self.view_map) else _with_maps(self, len(monitored))
        return Apply(op, [condition, *monitored], [v.type.make_variable() for v in monitored])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Hand the values on, after the debugger where the condition is true: ``monitored`` holds them there."""
        condition, *monitored = inputs
        if condition:
            print(
                f"\n-------------------------------------------------\nConditional breakpoint {self.name!r} activated"
            )
            print("The values are in `monitored`; they may be changed in place.\n")
            _debugger().set_trace()
        for storage, value in zip(output_storage, monitored, strict=True):
            storage[0] = value

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: the breakpoint is for the time when the function runs."""
        return False

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Each result depends on the variable that it is."""
        count = node.nout
        return [[False] * count, *([i == k for k in range(count)] for i in range(count))]

    def __str__(self) -> str:
        return f"PdbBreakpoint{{{self.name}}}"


def _with_maps(op: PdbBreakpoint, count: int) -> PdbBreakpoint:
    made = PdbBreakpoint(op.name)
    maps: Mapping[int, Sequence[int]] = {k: [k + 1] for k in range(count)}
    made.view_map = maps
    return made


def _debugger() -> Any:
    name = next(name for name in _DEBUGGERS if importlib.util.find_spec(name) is not None)
    return importlib.import_module(name)


@pullback.register(PdbBreakpoint)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [None, *cotangents]


@pushforward.register(PdbBreakpoint)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return list(tangents[1:])


@shape_rule.register(PdbBreakpoint)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return list(input_shapes[1:])


batch_rule.declare_absent(PdbBreakpoint, "a program stops for all entries at once")
