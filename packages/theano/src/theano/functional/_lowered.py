"""One call of a function with symbolic values: its graph, and the program that is compiled of it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import (
    Constant,
    TheanoError,
    Variable,
    config,
    debugprint,
    describe,
    format_error,
    graph_inputs,
)
from theano_linker_c import Function, In, SharedVariable, function
from theano_tensor import TensorType, as_tensor_variable, constant
from theano_tensor.builders import tracing

from ._arguments import NUMBERS, Parameters, is_leaf, refused
from ._trees import LEAF, Structure, builder, flatten, paths, unflatten

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
