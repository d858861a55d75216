"""Python code of ops in the form in which machines call it, the error for wrong results, and values on the host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from theano_graph import Apply, NoParams, RuleTable, Variable, call_make_thunk, describe, format_error

# ---- Values as arrays on the host: for checks, messages and observers of machines


@singledispatch
def as_host(value: Any) -> Any:
    """Return a value as something that can be looked at here: an array on a device as an array of NumPy.

    Layers whose values are elsewhere register a function for their class; all else is returned as it is.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> from theano_linker_c import as_host
    >>> as_host([1, 2])
    [1, 2]
    """
    return value


# ---- The error for wrong results of ops' code


class ResultError(TypeError, ValueError):
    """An op's code has stored no result, or one that is not of the type which the node promises."""


def replaced_cell(node: Apply, k: int) -> ResultError:
    """Return the error for a `perform` that has put something else into the place of a storage cell."""
    return ResultError(
        format_error(
            f"{node.op}: its `perform` replaced the storage cell of output {k} instead of filling it",
            context=[f"output {k}: {describe(node.outputs[k])}"],
            hint=f"assign to `output_storage[{k}][0]`, not to `output_storage[{k}]`, and leave the lists as they are.",
        )
    )


def results_in(node: Apply, cells: Sequence[list[Any]], storage: Sequence[list[Any]]) -> list[Any]:
    """Return the values that `perform` has put into the cells of its storage.

    Raises
    ------
    ResultError
        If something else stands in the place of a cell.
    """
    for k, cell in enumerate(cells):
        if len(storage) != len(cells) or storage[k] is not cell or len(cell) != 1:
            raise replaced_cell(node, k)
    return [cell[0] for cell in cells]


# ---- Python code of ops in the form in which machines call it

Runner = Callable[[list[Any]], Sequence[Any]]
#: For ops that call compiled code: how a node's input values become its output values. The C machine calls this in
#: place of `perform`, without entering Python.
call_form: RuleTable[Callable[[Apply], Runner]] = RuleTable("call_form")


class OwnThunk:
    """The thunk that an op made for a node, with the storage it works on.

    Calls from several threads wait for each other, since the storage is one.

    Parameters
    ----------
    node : Apply
    impl : str or None
        Which implementation the op is asked for; "py" where native code is not wanted.

    Attributes
    ----------
    lazy : bool
        Whether the thunk asks for its inputs.
    """

    def __init__(self, node: Apply, impl: str | None = None) -> None:
        variables = dict.fromkeys((*node.inputs, *node.outputs))
        self._node = node
        self._storage: dict[Any, list[Any]] = {variable: [None] for variable in variables}
        self._computed: dict[Any, list[Any]] = {variable: [False] for variable in variables}
        self._thunk = call_make_thunk(node, self._storage, self._computed, impl)
        self._lock = threading.RLock()
        self._running = False
        self.lazy = bool(getattr(self._thunk, "lazy", False))

    def __call__(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs for values of all inputs."""
        answer = self.attempt(values, [True] * len(values))
        if isinstance(answer, list):
            raise RuntimeError("a lazy operation asks for inputs that have been computed already")
        return answer

    def attempt(self, values: Sequence[Any], numbers: Sequence[bool]) -> list[int] | tuple[Any, ...]:
        """Return the outputs as a tuple, or the list of the inputs that the thunk asks for."""
        with self._lock:
            if self._running:
                raise RuntimeError(
                    format_error(
                        f"{self._node.op}: its thunk was called again while it was running",
                        hint="let the operation not call the function that it is part of.",
                    )
                )
            self._running = True
            try:
                return self._run(values, numbers)
            finally:
                self._running = False
                for cell in self._storage.values():
                    cell[0] = None

    def _run(self, values: Sequence[Any], numbers: Sequence[bool]) -> list[int] | tuple[Any, ...]:
        for variable, value, there in zip(self._node.inputs, values, numbers, strict=True):
            self._storage[variable][0], self._computed[variable][0] = value, bool(there)
        for variable in self._node.outputs:
            self._computed[variable][0] = False
        thunk = self._thunk()
        if self.lazy and thunk:
            return self._asked(thunk)
        return tuple(self._storage[variable][0] for variable in self._node.outputs)

    def _asked(self, inputs: Sequence[Any]) -> list[int]:
        numbers = [int(i) for i in inputs]
        count = len(self._node.inputs)
        if not all(0 <= i < count for i in numbers):
            raise ValueError(
                format_error(
                    f"{self._node.op}: its thunk asks for inputs {numbers}, and it does not have all of them",
                    hint=f"return a list of numbers from 0 to {count - 1}.",
                )
            )
        return list(dict.fromkeys(numbers))


def params_of(node: Apply) -> tuple[Any, ...]:
    """Return the extra argument of `perform`: the op's parameters, where it has any."""
    params = node.run_params()
    return () if params is NoParams else (params,)


def perform_runner(node: Apply) -> Runner:
    """Return a function from input values to output values that calls `perform`."""
    perform: Any = node.op.perform
    params, count = params_of(node), len(node.outputs)

    def run(values: list[Any]) -> list[Any]:
        cells: list[list[Any]] = [[None] for _ in range(count)]
        storage = list(cells)
        perform(node, values, storage, *params)
        values = results_in(node, cells, storage)
        return [as_value(value, variable) for value, variable in zip(values, node.outputs, strict=True)]

    return run


def as_value(value: Any, variable: Variable) -> Any:
    """Return a result as registers hold it: a NumPy scalar for an array as an array without dimensions."""
    if isinstance(value, np.generic) and hasattr(variable.type, "array_spec"):
        return np.asarray(value)
    return value
