"""What the arguments of `scan` mean: sequences with taps, states with taps, numbers of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import theano_tensor as T
from theano_graph import Variable, describe, format_error, record
from theano_linker_c import SharedVariable
from theano_tensor import TensorType, as_tensor_variable


class until:
    """A condition that ends a loop after the step in which it becomes true; the last thing that the function returns.

    Parameters
    ----------
    condition : scalar variable
        Made of variables of the step.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> until = theano.scan_module.until
    >>> values, _ = theano.scan(lambda p: (p * 2, until(p * 2 > 100)), outputs_info=T.constant(1.0), n_steps=1024)
    >>> values.eval().tolist()
    [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    """

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor_variable(condition)
        if self.condition.type.ndim:
            raise TypeError(
                format_error(
                    "until: the condition is no single truth value",
                    context=[describe(self.condition)],
                    hint="use T.any",
                )
            )


@record(frozen=False)
class SequenceArgument:
    """A sequence, and which elements around step t the function gets."""

    variable: Any
    taps: list[int]

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest tap, where 0 counts as one."""
        return min(0, *self.taps), max(0, *self.taps)

    def parts(self) -> list[Any]:
        """Return for each tap the elements that steps are given, first step first; all are equally many."""
        low, high = self.reach
        found = []
        for tap in self.taps:
            start = tap - low
            stop = tap - high or None
            found.append(self.variable[start:stop] if start or stop else self.variable)
        return found

    def steps(self) -> Any:
        """Return for how many steps there are elements."""
        return self.parts()[0].shape[0]

    def element(self, tap: int, backwards: bool = False) -> Any:
        """Return what the first step gets for a tap."""
        low, high = self.reach
        return self.variable[tap - high - 1 if backwards else tap - low]

    def slices(self, n: Any, backwards: bool) -> list[Any]:
        """Return a sequence of n elements for each tap."""
        return [(part[::-1] if backwards else part)[:n] for part in self.parts()]


@record(frozen=False)
class StateArgument:
    """What a recurrent output starts from, and which earlier steps the function gets."""

    initial: Any
    taps: list[int]

    @property
    def depth(self) -> int:
        """How many earlier steps are kept."""
        return -min(self.taps)

    def start(self, tap: int) -> Any:
        """Return the value at a tap of the first step."""
        return self.initial if self.taps == [-1] else self.initial[self.depth + tap]


def as_list(value: Any) -> list[Any]:
    """Return a list of what may be None, one thing or several."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def sequence_arguments(sequences: Any) -> list[SequenceArgument]:
    """Return what `sequences` says.

    Raises
    ------
    TypeError
        If one has no first dimension, or a dictionary has no ``input``.
    """
    found = []
    for k, given in enumerate(as_list(sequences)):
        taps: Any = [0]
        value = given
        if isinstance(given, Mapping):
            _check_keys(given, {"input", "taps"}, f"sequence {k}")
            if given.get("input") is None:
                raise TypeError(
                    format_error(f"scan: sequence {k} has no input", hint="write dict(input=x, taps=[...])")
                )
            value, taps = given["input"], given.get("taps")
        taps = [0] if taps is None else [int(t) for t in as_list(taps)]
        variable = as_tensor_variable(value)
        if not variable.type.ndim:
            raise TypeError(
                format_error(
                    f"scan: sequence {k} has no dimension to go along",
                    context=[describe(variable)],
                    hint="pass it as one of non_sequences",
                )
            )
        found.append(SequenceArgument(variable, taps))
    return found


def as_variable(value: Any) -> Any:
    """Return a variable as it is, an array on a device moved to the host, and anything else as a constant.

    Loops run on the host: what they read at each step is moved once, before.
    """
    stays = isinstance(value, Variable) and not hasattr(value, "_as_TensorVariable")
    return value if stays else as_tensor_variable(value)


def state_arguments(outputs_info: Any) -> list[StateArgument | None]:
    """Return what `outputs_info` says.

    Raises
    ------
    TypeError, ValueError
        If a tap is not negative, or an initial value has too few dimensions for several taps.
    """
    found: list[StateArgument | None] = []
    for k, given in enumerate(as_list(outputs_info)):
        taps: Any = [-1]
        value = given
        if isinstance(given, Mapping):
            _check_keys(given, {"initial", "taps", "inplace"}, f"outputs_info {k}")
            value, taps = given.get("initial"), given.get("taps", [-1])
            if value is None and given.get("taps"):
                raise ValueError(
                    format_error(
                        f"scan: output {k} has taps and no initial value", hint="write dict(initial=x, taps=[...])"
                    )
                )
        if value is None:
            found.append(None)
            continue
        steps = [int(t) for t in as_list([-1] if taps is None else taps)]
        if any(t >= 0 for t in steps):
            raise ValueError(
                format_error(f"scan: output {k} has the taps {steps}", hint="use negative taps: -1 is the step before")
            )
        if len(steps) > len(set(steps)):
            raise ValueError(format_error(f"scan: output {k} has the taps {steps}", hint="write each tap once"))
        variable = as_variable(value)
        if steps != [-1] and (not isinstance(variable.type, TensorType) or not variable.type.ndim):
            raise TypeError(
                format_error(
                    f"scan: output {k} needs {-min(steps)} earlier steps, its initial value has no dimension for them",
                    context=[describe(variable)],
                    hint="stack the earlier values along a new first dimension",
                )
            )
        found.append(StateArgument(variable, steps))
    return found


def _check_keys(given: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(
            format_error(f"scan: {what} has the unknown entries {unknown}", hint=f"use {', '.join(sorted(known))}")
        )


def number_of_steps(n_steps: Any, sequences: Sequence[SequenceArgument]) -> Any:
    """Return how many steps are asked for.

    Raises
    ------
    ValueError
        If there is neither a sequence nor a number, or the number is negative.
    """
    if n_steps is None:
        if not sequences:
            raise ValueError(format_error("scan: nothing says how many steps to do", hint="pass sequences or n_steps"))
        lengths = [s.steps() for s in sequences]
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = T.minimum(shortest, length)
        return shortest
    n = as_tensor_variable(n_steps)
    if n.type.ndim:
        raise TypeError(format_error("scan: n_steps is one number", context=[describe(n)], hint="pass an integer"))
    if not n.type.dtype.startswith(("int", "uint")):
        raise TypeError(format_error("scan: n_steps is no integer", context=[describe(n)], hint="pass an integer"))
    if not isinstance(n, SharedVariable) and hasattr(n, "data") and int(n.data) < 0:
        raise ValueError(format_error(f"scan: n_steps is {int(n.data)}", hint="pass 0 or more steps; see go_backwards"))
    return n
