"""Loops over containers of values: `scan`, `fori_loop`, `while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import theano_scan
from theano_graph import TheanoError, clone_replace, describe, format_error
from theano_linker_c.scalar import upcast
from theano_tensor import (
    TensorType,
    constant,
    eq,
    maximum,
    switch,
    unbroadcast,
)
from theano_tensor.builders import traced

from ._custom import differentiated_as
from ._jit import Jitted
from ._programs import as_array
from ._trees import Parameters, Structure, flatten, is_leaf, leaves_like, paths, unflatten

#: How many steps a loop does at most that a condition ends.
_MANY = 2**62


class LoopError(TheanoError, TypeError):
    """A step changes the kind of the state that a loop carries."""


def scan(
    body: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: Any = None, reverse: bool = False
) -> tuple[Any, Any]:
    """Loop over the items of arrays, with a state, and stack the second results of the steps.

    Parameters
    ----------
    body : callable
        It takes the state and the items of one step, and returns the pair of the new state and the values to stack.
    init : value or container
        The state at first. A state that becomes of a wider dtype is so from the start.
    xs : value or container, optional
        Arrays that are gone along by their first dimensions; None where there are none.
    length : int or integer scalar, optional
        How many steps to do, where `xs` does not say it.
    reverse : bool
        Whether to start from the last items. Stacked values keep the order of the items.

    Returns
    -------
    state : value or container
        The last one; `init` where there are no steps.
    stacked : value or container
        In the structure that `body` returned, each leaf with a new first dimension.

    Raises
    ------
    LoopError
        If the state changes its structure or its number of dimensions.

    See Also
    --------
    theano.scan : the same for lists of variables, with earlier steps than the last, and updates of shared variables.

    Examples
    --------
    >>> import numpy as np
    >>> from theano.functional import scan
    >>> total, sums = scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    >>> float(total), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """

    def loop(init: Any, xs: Any, length: Any) -> tuple[Any, Any]:
        items, structure = flatten(xs)
        if not items and length is None:
            raise LoopError(
                format_error("scan: nothing says how many steps to do", hint="pass xs, or length=n for n steps")
            )
        along = [as_array(x) for x in items]
        for x, path in zip(along, paths(xs, "xs"), strict=True):
            if not x.ndim:
                raise LoopError(
                    format_error(f"scan: `{path}` is a scalar, and has no items", hint="let the body read it itself")
                )
        stacks: list[Structure] = []

        def step(rows: list[Any], state: Any) -> tuple[Any, list[Any]]:
            pair = body(state, unflatten(structure, rows))
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise LoopError(
                    format_error(
                        "scan: the body returned no pair", hint="return (state, values to stack); either may be None"
                    )
                )
            values, shape = flatten(pair[1])
            stacks[:] = [shape]
            return pair[0], values

        state = _Loop("scan", init, step, [TensorType(x.dtype, x.type.shape[1:]) for x in along])
        outputs = state.run(along, length, go_backwards=reverse)
        n = len(state.leaves)
        rows = [y[::-1] if reverse else y for y in outputs[n:]]
        return state.arranged(outputs[:n]), unflatten(stacks[0], rows)

    result: tuple[Any, Any] = _called("scan", loop, init, xs, length)
    return result


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Apply a function to a state for each integer of an interval.

    Parameters
    ----------
    lower, upper : int or integer scalar
        The first number, and the one after the last.
    body : callable
        It takes the number and the state, and returns the new state.
    init : value or container

    Returns
    -------
    value or container
        The last state.

    Raises
    ------
    LoopError
        If the state changes its structure or its number of dimensions.

    Examples
    --------
    >>> import theano
    >>> from theano.functional import fori_loop
    >>> power = theano.jit(lambda x, n: fori_loop(0, n, lambda i, y: y * x, 1.0))
    >>> float(power(2.0, 10))
    1024.0
    """

    def loop(lower: Any, upper: Any, init: Any) -> Any:
        first, end = map(_whole, (lower, upper))
        n = maximum(end - first, 0)

        def step(_: Any, state: _Counted) -> Any:
            return _Counted(state.number + 1, body(state.number, state.init)), []

        return _Loop("fori_loop", _Counted(first, init), step, name="").last(n).init

    return _called("fori_loop", loop, lower, upper, init)


def _whole(bound: Any) -> Any:
    number = as_array(bound)
    if number.ndim or number.dtype.startswith(("float", "complex")):
        raise LoopError(
            format_error(
                "fori_loop: the bounds are whole numbers",
                context=[describe(number)],
                hint="pass x.astype('int64') for a number, and use scan to go along an array",
            )
        )
    return number.astype("int64")


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """Apply a function to a state as long as a condition of the state holds.

    Parameters
    ----------
    condition : callable
        It takes the state, and returns a scalar.
    body : callable
        It takes the state, and returns the new one.
    init : value or container

    Returns
    -------
    value or container
        The first state for which the condition does not hold. Derivatives are those of as many steps as were done,
        which are then done once more.

    Raises
    ------
    LoopError
        If the state changes its structure or its number of dimensions.

    Examples
    --------
    >>> import theano
    >>> from theano.functional import while_loop
    >>> doubled = theano.jit(lambda x: while_loop(lambda x: x < 100, lambda x: 2 * x, x))
    >>> float(doubled(3.0)), float(doubled(200.0))
    (192.0, 200.0)
    """

    def loop(init: Any) -> Any:
        state = _Loop("while_loop", init, lambda _, state: (body(state), []))
        values, count = state.last_while(condition)
        again = zip(values, flatten(state.last(count))[0], strict=True)
        return state.arranged([differentiated_as(value, other) for value, other in again])

    return _called("while_loop", loop, init)


class _Counted(NamedTuple):
    """The state of a loop that counts its steps."""

    number: Any
    init: Any


class _Loop:
    """A state and its successor: variables, and the expressions of them that a step computes.

    Parameters
    ----------
    who : str
        For messages.
    init : value or container
    step : callable
        It takes the items of the step and the state, and returns the new state and a list of values to stack. It is
        called until the state stays of one kind.
    rows : sequence of TensorType
        Of the items.
    name : str
        Of `init`, for messages.
    """

    def __init__(
        self,
        who: str,
        init: Any,
        step: Callable[[list[Any], Any], Any],
        rows: Sequence[TensorType] = (),
        name: str = "init",
    ) -> None:
        self.who = who
        leaves, self.structure = flatten(init)
        self.paths = [path.lstrip(".") for path in paths(init, name)]
        for leaf, path in zip(leaves, self.paths, strict=True):
            if not is_leaf(leaf):
                raise LoopError(
                    format_error(
                        f"{who}: `{path}` is a {type(leaf).__name__}, neither an array nor a number",
                        hint="let the function read it from around it, in place of carrying it",
                    )
                )
        self.leaves = [as_array(leaf) for leaf in leaves]
        settled = False
        while not settled:
            self.inputs: list[Any] = [kind() for kind in rows]
            self.states = [x.type(path) for x, path in zip(self.leaves, self.paths, strict=True)]
            state, extra = step(self.inputs, self.arranged(self.states))
            after = list(map(as_array, leaves_like(self.structure, state, f"{who}, the state after a step", "init")))
            wider = list(map(self._wider, self.leaves, after, self.paths))
            settled = all(new is old for new, old in zip(wider, self.leaves, strict=True))
            self.leaves = wider
        self.outputs = [y.astype(x.dtype) for x, y in zip(self.leaves, after, strict=True)]
        self.stacked = list(map(as_array, extra))

    def arranged(self, leaves: Any) -> Any:
        """Return leaves in the structure of the state."""
        return unflatten(self.structure, list(leaves))

    def _wider(self, first: Any, later: Any, path: str) -> Any:
        lengths = list(zip(first.type.shape, later.type.shape, strict=False))
        if first.ndim != later.ndim or any(None not in (a, b) and a != b for a, b in lengths):
            raise LoopError(
                format_error(
                    f"{self.who}: `{path}` has the shape {_shape(first)} at first, and {_shape(later)} after a step",
                    context=[describe(first), describe(later)],
                    hint="start from a value of the shape that steps return: T.zeros((n,)) in place of 0.0",
                )
            )
        dtype = upcast(first.dtype, later.dtype)
        # An axis that has length 1 at first, and another one later, must not broadcast.
        axes = [k for k, (a, b) in enumerate(lengths) if a == 1 != b]
        leaf = first if dtype == first.dtype else first.astype(dtype)
        return unbroadcast(leaf, *axes) if axes else leaf

    def run(self, along: Sequence[Any], n: Any, go_backwards: bool = False) -> list[Any]:
        """Return the last leaves of the state, and the stacked values of the steps."""

        def step(*values: Any) -> Any:
            return self._at(values, [*self.outputs, *self.stacked])

        info = [*self.leaves, *[None] * len(self.stacked)]
        return self._scan(step, along, info, n, go_backwards)

    def last(self, n: Any) -> Any:
        """Return the state after n steps."""
        return self.arranged(self.run([], n))

    def last_while(self, condition: Callable[[Any], Any]) -> tuple[list[Any], Any]:
        """Return the leaves of the first state for which a condition does not hold, and the number of steps."""
        holds = as_array(condition(self.arranged(self.states)))
        if holds.ndim:
            raise LoopError(
                format_error(
                    f"{self.who}: the condition is an array of {holds.ndim} dimensions",
                    context=[describe(holds)],
                    hint="use T.any(condition) or T.all(condition)",
                )
            )

        def step(count: Any, *values: Any) -> Any:
            new = self._at(values, self.outputs)
            return [count + 1, *new, theano_scan.until(eq(self._at(new, [holds])[0], 0))]

        n = switch(self._at(self.leaves, [holds])[0], _MANY, 0)
        count, *states = self._scan(step, [], [constant(0, dtype="int64"), *self.leaves], n)
        return states, count

    def _at(self, values: Sequence[Any], expressions: list[Any]) -> list[Any]:
        return list(clone_replace(expressions, dict(zip([*self.inputs, *self.states], values, strict=True))))

    def _scan(
        self, step: Any, along: Sequence[Any], info: Sequence[Any], n: Any, go_backwards: bool = False
    ) -> list[Any]:
        outputs: list[Any] = []
        if info:
            outputs, _ = theano_scan.fold(step, along, info, n, go_backwards, name=self.who)
        return outputs


def _shape(x: Any) -> str:
    lengths = ["any" if n is None else str(n) for n in x.type.shape]
    return f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"


def _called(name: str, loop: Callable[..., Any], *args: Any) -> Any:
    """Call a loop: it returns variables in a traced function or with variables, and values otherwise."""
    if traced() is not None:
        return loop(*args)
    loop.__name__ = name
    return Jitted(loop, loop, Parameters(loop, (), ()), {"mode": None})(*args)
