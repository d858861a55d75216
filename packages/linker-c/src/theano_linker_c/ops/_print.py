"""Printing of values while a function runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, Op, Variable, batch_rule, format_error, pullback, pushforward, shape_rule


def print_attributes(op: Print, value: Any) -> None:
    """Print one line for each attribute that `op` names: message, attribute, value; methods are called."""
    for name in op.attrs:
        attribute = getattr(value, name)
        print(op.message, name, "=", attribute() if callable(attribute) else attribute)


class Print(Op):
    """Identity that prints its input whenever it runs.

    A printed value is computed when something that the function returns needs the result of this op. Of several prints
    one comes before another only if the other's input depends on it. Equal prints of one variable become one. The op
    stays where it is: rewrites do not look through it, so that it can keep them from making an expression more stable.

    Parameters
    ----------
    message : str
        Written before each value.
    attrs : sequence of str, or str
        Attributes of the value to print; methods are called without arguments.
    global_fn : callable, optional
        Called with the op and the value in place of the printing described here.

    Raises
    ------
    TypeError
        If `message`, `attrs` or `global_fn` cannot be one.

    Examples
    --------
    >>> str(Print("after the first layer"))
    'Print{after the first layer}'
    """

    __props__: ClassVar[tuple[str, ...]] = ("message", "attrs", "global_fn")
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(
        self,
        message: str = "",
        attrs: Sequence[str] = ("__str__",),
        global_fn: Callable[[Print, Any], None] = print_attributes,
    ) -> None:
        names = (attrs,) if isinstance(attrs, str) else tuple(attrs)
        if not isinstance(message, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                format_error(
                    f"Print: the message {message!r} and the attributes {names!r} have to be text",
                    hint="make it Print('message', attrs=['shape']) and apply the result to a variable",
                )
            )
        if not callable(global_fn):
            raise TypeError(format_error(f"Print: {global_fn!r} is no function", hint="pass a function of (op, value)"))
        self.message = message
        self.attrs = names
        self.global_fn = global_fn

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node for one variable of any type."""
        if len(inputs) != 1 or not isinstance(inputs[0], Variable):
            raise TypeError(
                format_error(
                    f"{self}: takes one variable, not {', '.join(type(x).__name__ for x in inputs) or 'nothing'}",
                    hint="a plain value is printed by print",
                )
            )
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        """Print the value and hand it on."""
        (value,) = inputs
        output_storage[0][0] = value
        self.global_fn(self, value)

    def do_constant_folding(self, node: Apply) -> bool:
        """Return False: constants too are printed when the function runs."""
        return False

    def __str__(self) -> str:
        return f"Print{{{self.message}}}"


@pullback.register(Print)
def _print_pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return list(cotangents)


@pushforward.register(Print)
def _print_pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return tangents


@shape_rule.register(Print)
def _print_shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return input_shapes


@batch_rule.register(Print)
def _batch(node: Apply[Print], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    """All entries are printed as one array."""
    return [node.op(inputs[0])]
