"""Values that a traced function reads from outside, and the program that it is lowered to."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from inspect import Parameter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from theano_graph import Constant, TheanoError, Variable, config, debugprint, describe, format_error, graph_inputs
from theano_linker_c import Function, In, SharedVariable, function
from theano_linker_c.program import arrays_alike, dimensions
from theano_tensor import TensorType, as_tensor_variable, constant
from theano_tensor.builders import traced, tracing

from ._trees import (
    ABSENT,
    LEAF,
    NUMBERS,
    Parameters,
    Structure,
    builder,
    fields_of,
    flatten,
    is_leaf,
    paths,
    refused,
    unflatten,
)

# ---- Calls of a program that is already there: a check of the arguments, written for their structure
#
# A general look at arguments costs microseconds. The check is a function with the parameters of the user's, so that
# Python itself puts keywords into their places. It compares classes, dtypes, lengths, keys and static values with those
# of the first call, takes containers apart on the way, and calls the program with the leaves.

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


# ---- One call of a function with symbolic values: its graph, and the program that is compiled of it

#: The entry of a variable's tag that says which function it is an argument of.
ARGUMENT_OF = "argument_of_jitted"


class LeakError(TheanoError, RuntimeError):
    """A symbolic argument is used after the call that it belongs to."""


class Lowered:
    """The graph of one call of a jitted function.

    Attributes
    ----------
    name : str
    inputs : list of Variable
        One for each array and number among the arguments, in order; containers are taken apart.
    outputs : list of Variable
        One for each variable and array that the function returned.
    updates : dict
        New values of shared variables that loops in the function have returned.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> f = theano.jit(lambda x: T.exp(x).sum())
    >>> print(f.lower([1.0, 2.0][0]))
    Sum{acc_dtype=float64} [id A] ''
     |Elemwise{exp,no_inplace} [id B] ''
       |x [id C]
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Variable],
        donated: Sequence[bool],
        result: Any,
        updates: dict[Variable, Variable],
        options: dict[str, Any],
    ) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.updates = updates
        leaves, self._structure = flatten(result)
        self._leaves = [constant(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf for leaf in leaves]
        self.outputs = [leaf for leaf in self._leaves if isinstance(leaf, Variable)]
        self._donated = donated
        self._options = options

    def is_closed(self) -> bool:
        """Tell whether the graph depends on nothing but its inputs and shared variables."""
        return _is_closed(self.outputs, self.inputs)

    def check_leaks(self) -> None:
        """Refuse a graph that uses an argument of another call, which has ended.

        Raises
        ------
        LeakError
            If there is one.
        """
        arguments = set(self.inputs)
        for x in graph_inputs(self.outputs):
            origin = getattr(x.tag, ARGUMENT_OF, None)
            if origin is not None and x not in arguments:
                raise LeakError(
                    format_error(
                        f"{self.name} uses the symbolic argument `{x}` of a call of {origin}, which has ended",
                        context=[describe(x)],
                        hint=f"let {origin} return the values for later use, in place of storing them elsewhere",
                    )
                )

    def compile(self) -> Function[Any]:
        """Return the compiled function: it takes values of `inputs`, and returns the list of those of `outputs`.

        If the jitted function returned one variable and no container, it returns that value.
        """
        pairs = zip(self.inputs, self._donated, strict=True)
        inputs = [In(x, mutable=True, borrow=True) if donated else x for x, donated in pairs]
        outputs = self.outputs[0] if self._is_single() else self.outputs
        compiled: Function[Any] = function(
            inputs, outputs, updates=self.updates, name=self.name, on_unused_input="ignore", **self._options
        )
        return compiled

    def program(self) -> Callable[..., Any]:
        """Return a callable from the leaves of the arguments to the result of the jitted function."""
        compiled = self.compile()
        if self._is_single():
            return compiled
        if all(isinstance(leaf, Variable) for leaf in self._leaves):
            return _finished(compiled, _finish(self._structure))
        return _finished(compiled, self._with_plain_values)

    def _is_single(self) -> bool:
        return self._structure is LEAF and len(self.outputs) == 1

    def _with_plain_values(self, values: Sequence[Any]) -> Any:
        remaining = iter(values)
        leaves = [next(remaining) if isinstance(leaf, Variable) else leaf for leaf in self._leaves]
        return unflatten(self._structure, leaves)

    def __str__(self) -> str:
        text = io.StringIO()
        debugprint(self.outputs, file=text)
        return text.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return f"<Lowered {self.name}: {len(self.inputs)} inputs, {len(self.outputs)} outputs>"


def _is_closed(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> bool:
    arguments = set(inputs)
    return all(x in arguments or isinstance(x, (Constant, SharedVariable)) for x in graph_inputs(outputs))


def _finish(structure: Structure) -> Callable[[Sequence[Any]], Any]:
    """Return the builder of containers of a structure; flat tuples and lists need no walk."""
    if isinstance(structure, tuple) and structure[0] in (tuple, list) and all(c is LEAF for c in structure[1]):
        made: Callable[[Sequence[Any]], Any] = structure[0]
        return made
    build = builder(structure)
    return lambda values: build(iter(values))


def _finished(compiled: Function[Any], finish: Callable[[Sequence[Any]], Any]) -> Callable[..., Any]:
    def run(*leaves: Any) -> Any:
        return finish(compiled(*leaves))

    return run


def symbol_for(leaf: Any, name: str) -> Variable:
    """Return a variable for values like a leaf: of its dtype, number of dimensions, and dimensions of length 1."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return TensorType(leaf.dtype.newbyteorder("=").name, [n == 1 for n in leaf.shape])(name)
    return TensorType(number_dtype(leaf), ())(name)


def number_dtype(value: Any) -> str:
    """Return the dtype of one of Python's numbers as an argument of a program."""
    kind = next(kind for kind in NUMBERS if isinstance(value, kind))
    return {bool: "bool", int: "int64", float: str(config.floatX), complex: "complex128"}[kind]


def as_array(value: Any) -> Any:
    """Return a value as a variable; a number of Python is of the dtype that it has as an argument."""
    if isinstance(value, NUMBERS) and not isinstance(value, np.generic):
        return constant(np.asarray(value, number_dtype(value)))
    return as_tensor_variable(value)


def lower(
    target: Callable[..., Any],
    name: str,
    parameters: Parameters,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: dict[str, Any],
) -> Lowered:
    """Call a function with symbolic values in place of the leaves of its arguments.

    Raises
    ------
    ArgumentKindError
        If an argument is of a kind that is only passed as a static one.
    """
    inputs: list[Variable] = []
    donated: list[bool] = []
    values: list[Any] = []
    for parameter, label, value in parameters.named(args, kwargs):
        if parameter in parameters.static:
            values.append(value)
            continue
        leaves, structure = flatten(value)
        symbols = []
        for leaf, path in zip(leaves, paths(value, label), strict=True):
            if not is_leaf(leaf):
                raise refused(parameter, path, leaf)
            symbols.append(symbol_for(leaf, path))
            setattr(symbols[-1].tag, ARGUMENT_OF, name)
        inputs += symbols
        donated += [parameter in parameters.donate] * len(symbols)
        values.append(unflatten(structure, symbols))
    with tracing(name) as trace:
        result = target(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
    # Those of a loop in the step of a loop are part of the outer one's: they depend on variables inside.
    updates = {x: new for x, new in trace.updates.items() if _is_closed([new], inputs)}
    return Lowered(name, inputs, donated, result, updates, options)


def inline(
    target: Callable[..., Any], name: str, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a function with the variables that are among its arguments; arrays beside them become constants."""
    values = []
    for parameter, _, value in parameters.named(args, kwargs):
        if parameter in parameters.static:
            values.append(value)
            continue
        leaves, structure = flatten(value)
        values.append(unflatten(structure, [constant(x) if isinstance(x, np.ndarray) else x for x in leaves]))
    with tracing(name):
        return target(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
