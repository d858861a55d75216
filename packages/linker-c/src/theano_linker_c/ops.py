"""Ops for values of any type: copies, views, printing, breakpoints, and ops made of Python functions."""

from __future__ import annotations

import copy
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import (
    Apply,
    Op,
    Type,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)

from .cop import RegisteredCodeOp, TypeCodeTable

#: Modules of the former package are found under their earlier names, which pickles have.
__path__: list[str] = []

# ---- Copies and views of a whole value, for any type


class DeepCopyOp(RegisteredCodeOp):
    """Copy of any value; `function` puts it where an output would alias memory that is not the caller's.

    Arrays are copied in their own memory order; other values by C code that is registered for their type (see
    :func:`register_deep_copy_op_c_code`), or else with :func:`copy.deepcopy`.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    type_code: ClassVar[TypeCodeTable] = TypeCodeTable("DeepCopyOp")

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (value,) = inputs
        # copy.deepcopy of an array goes through Python code first; order "K" keeps transposed arrays transposed.
        output_storage[0][0] = value.copy(order="K") if type(value) is np.ndarray else copy.deepcopy(value)


class ViewOp(RegisteredCodeOp):
    """The value itself, marked as an alias of the input."""

    __props__: ClassVar[tuple[str, ...]] = ()
    type_code: ClassVar[TypeCodeTable] = TypeCodeTable("ViewOp")
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]


class OutputGuard(ViewOp):
    """The value itself, declared to be overwritten so that no other node may overwrite it.

    A graph that a :class:`~theano_optimize.DestroyHandler` watches needs none: its outputs are protected anyway. The op
    serves rewrites that put in-place forms in without one.
    """

    destroy_map: Mapping[int, Sequence[int]] = {0: [0]}


@pullback.register(DeepCopyOp, ViewOp)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(DeepCopyOp, ViewOp)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


@shape_rule.register(DeepCopyOp, ViewOp)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


deep_copy_op = DeepCopyOp()
view_op = ViewOp()


def register_deep_copy_op_c_code(typ: Any, code: str, version: Any = ()) -> None:
    """Say how values of a type are copied in C.

    Parameters
    ----------
    typ : type
        Class of the type, not an instance.
    code : str
        C code that makes ``%(oname)s`` a copy of ``%(iname)s``; ``%(fail)s`` leaves it with an exception set.
    version : int or tuple
        Version of the code; with an empty one it is compiled in every process.

    Raises
    ------
    TypeError
        If `typ` is no class of types.
    """
    DeepCopyOp.type_code.register(typ, code, version)


def register_view_op_c_code(type: Any, code: str, version: Any = ()) -> None:
    """Say how C code makes ``%(oname)s`` the same value as ``%(iname)s``; see :func:`register_deep_copy_op_c_code`."""
    ViewOp.type_code.register(type, code, version)


@batch_rule.register(DeepCopyOp, ViewOp, OutputGuard)
def _batch(
    node: Apply[DeepCopyOp | ViewOp | OutputGuard], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable]:
    return [node.op(inputs[0])]


# ---- Printing of values while a function runs


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
def _print_batch(node: Apply[Print], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    """All entries are printed as one array."""
    return [node.op(inputs[0])]


# ---- A breakpoint inside of a compiled function

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
def _breakpoint_pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [None, *cotangents]


@pushforward.register(PdbBreakpoint)
def _breakpoint_pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return list(tangents[1:])


@shape_rule.register(PdbBreakpoint)
def _breakpoint_shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return list(input_shapes[1:])


batch_rule.declare_absent(PdbBreakpoint, "a program stops for all entries at once")


# ---- Ops made of Python functions

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
def _batch_from_function(node: Apply[FromFunctionOp], inputs: list[Any], stacked: Sequence[bool]) -> None:
    """A function of a program takes one entry after the other."""


__all__ = [
    "DeepCopyOp",
    "FromFunctionOp",
    "OutputGuard",
    "PdbBreakpoint",
    "Print",
    "ViewOp",
    "as_op",
    "deep_copy_op",
    "print_attributes",
    "register_deep_copy_op_c_code",
    "register_view_op_c_code",
    "view_op",
]
