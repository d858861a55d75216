"""Ops made of Python functions."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from theano_graph import Apply, Op, Type, batch_rule, describe, format_error, pullback, pushforward

_NO_GRADIENT = "it is a Python function that nothing is known of"


class FromFunctionOp(Op):
    """An op that calls a Python function on the values of its inputs.

    It has no gradient. The function returns new memory: neither a view of an argument, nor an argument that it changed.

    Parameters
    ----------
    fn : callable
        Called with the values of the inputs; returns the value of the output, or a sequence of values for several.
    itypes, otypes : sequence of Type
        Types of the inputs and of the outputs.
    infer_shape : callable, optional
        ``infer_shape(node, input_shapes)`` returns one tuple for each output, so that shapes are known without a call.

    Raises
    ------
    TypeError
        If one of these is of the wrong kind.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType
    >>> number = ScalarType("float64")
    >>> op = FromFunctionOp(divmod, [number, number], [number, number], None)
    >>> len(op(number(), number()))
    2
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("fn", "itypes", "otypes")

    def __init__(
        self,
        fn: Any,
        itypes: Sequence[Type],
        otypes: Sequence[Type],
        infer_shape: Any = None,
    ) -> None:
        name = getattr(fn, "__name__", repr(fn))
        if not callable(fn) or (infer_shape is not None and not callable(infer_shape)):
            wrong = "fn" if not callable(fn) else "infer_shape"
            raise TypeError(format_error(f"FromFunctionOp: {wrong} is no function", hint=f"pass a function as {wrong}"))
        self.fn = fn
        self.itypes = _types(itypes, "itypes", name)
        self.otypes = _types(otypes, "otypes", name)
        if infer_shape is not None:
            self.infer_shape = infer_shape

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to one input for each of `itypes`.

        Raises
        ------
        TypeError
            If their number or a type is another one.
        """
        assert self.itypes is not None and self.otypes is not None, "the constructor sets them"
        if len(inputs) != len(self.itypes):
            raise TypeError(
                format_error(
                    f"{self} takes {len(self.itypes)} inputs, not {len(inputs)}",
                    hint=f"pass one for each of its itypes: {', '.join(map(str, self.itypes))}",
                )
            )
        pairs = zip(self.itypes, inputs, strict=True)
        converted = [_converted(self, i, type_wanted, x) for i, (type_wanted, x) in enumerate(pairs)]
        return Apply(self, converted, [kind.make_variable() for kind in self.otypes])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Call the function; ValueError or TypeError if its results differ from the declaration."""
        values = self.fn(*inputs)
        count = len(node.outputs)
        if count == 1:
            values = (values,)
        elif not isinstance(values, (list, tuple)) or len(values) != count:
            got = f"{len(values)} values" if isinstance(values, (list, tuple)) else type(values).__name__
            raise ValueError(
                format_error(
                    f"{self} returned {got}, and it has {count} outputs", hint="return a list with one for each"
                )
            )
        for i, (value, variable) in enumerate(zip(values, node.outputs, strict=True)):
            if value is None:
                raise ValueError(format_error(f"{self} returned None as output {i}", hint="return the value"))
            output_storage[i][0] = variable.type.filter(value)

    def __str__(self) -> str:
        return f"FromFunctionOp{{{getattr(self.fn, '__name__', self.fn)}}}"

    @property
    def __wrapped__(self) -> Any:
        """The function: pickles of the op refer to it by name, so that comparing ops between processes asks for it."""
        return self.fn

    def __reduce__(self) -> Any:
        arguments = (self.fn, self.itypes, self.otypes, self.__dict__.get("infer_shape"))
        module, name = getattr(self.fn, "__module__", ""), getattr(self.fn, "__qualname__", "")
        if _find(module, name) is self:  # the decorator put the op where the function was: the name stands for the op
            return _find, (module, name)
        return type(self), arguments


def _types(types: Sequence[Type], what: str, name: str) -> tuple[Type, ...]:
    listed = (types,) if isinstance(types, Type) else types
    if not isinstance(listed, (list, tuple)) or not all(isinstance(kind, Type) for kind in listed):
        raise TypeError(
            format_error(
                f"{name}: {what} {types!r} are no types", hint="pass a list of types, such as [tensor.dmatrix]"
            )
        )
    return tuple(listed)


def _converted(op: Op, index: int, type_wanted: Type, value: Any) -> Any:
    try:
        return type_wanted.narrow_variable(value)
    except TypeError as error:
        raise TypeError(
            format_error(
                f"{op}: input {index} has to be of type {type_wanted}",
                context=[describe(value) if hasattr(value, "type") else repr(value)],
                hint="cast it, or declare another type in itypes",
            )
        ) from error


def _find(module: str, name: str) -> Any:
    """Return the attribute of a module with a name; None where there is none, or no such module."""
    try:
        found: Any = importlib.import_module(module) if module else None
    except ImportError:
        return None
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


pullback.declare_absent(FromFunctionOp, _NO_GRADIENT)
pushforward.declare_absent(FromFunctionOp, _NO_GRADIENT)


def as_op(
    itypes: Sequence[Type], otypes: Sequence[Type], infer_shape: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], FromFunctionOp]:
    """Return a decorator that makes an op of a Python function.

    Parameters
    ----------
    itypes, otypes : sequence of Type
    infer_shape : callable, optional
        See :class:`FromFunctionOp`.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType
    >>> number = ScalarType("float64")
    >>> @as_op(itypes=[number], otypes=[number])
    ... def half(x):
    ...     return x / 2
    >>> str(half)
    'FromFunctionOp{half}'
    """

    def decorate(fn: Callable[..., Any]) -> FromFunctionOp:
        return FromFunctionOp(fn, itypes, otypes, infer_shape)

    return decorate


@batch_rule.register(FromFunctionOp)
def _batch(node: Apply[FromFunctionOp], inputs: list[Any], stacked: Sequence[bool]) -> None:
    """A function of a program takes one entry after the other."""
