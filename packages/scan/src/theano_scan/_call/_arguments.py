"""Arguments of `scan`: flags, sequences and states with taps, and the call of the function that describes a step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import theano_tensor as T
from theano_graph import BoolFlag, EnumFlag, Variable, add_flag, describe, format_error, record, shown_name
from theano_linker_c import SharedVariable
from theano_tensor import TensorType, as_tensor_variable

# ---- Flags, read by `scan` at the call

add_flag(
    "scan.allow_gc",
    "Whether a loop frees intermediate results after each step, rather than keep their memory for the next one.",
    BoolFlag(False),
)
add_flag(
    "scan.allow_output_prealloc",
    "Whether a loop makes the memory of its outputs before the second step, rather than gather the steps at the end.",
    BoolFlag(True),
)
add_flag(
    "scan.debug", "Whether `scan` prints, on the standard error, the step of each loop that it makes.", BoolFlag(False)
)
add_flag(
    "scan.loop_code",
    "Which loops are compiled as one function for the shapes that they run with: 'busy' ones, in the background while "
    "they run on the machine; 'all', before their first run; or 'none'.",
    EnumFlag("busy", "all", "none"),
)


# ---- Sequences with taps, states with taps, numbers of steps


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
        result = []
        for tap in self.taps:
            start = tap - low
            stop = tap - high or None
            result.append(self.variable[start:stop] if start or stop else self.variable)
        return result

    def steps(self) -> Any:
        """Return for how many steps there are elements."""
        return self.parts()[0].shape[0]

    def element(self, tap: int, backwards: bool = False) -> Any:
        """Return the argument of the first step for a tap."""
        low, high = self.reach
        return self.variable[tap - high - 1 if backwards else tap - low]

    def slices(self, n: Any, backwards: bool) -> list[Any]:
        """Return a sequence of n elements for each tap."""
        return [(part[::-1] if backwards else part)[:n] for part in self.parts()]


@record(frozen=False)
class StateArgument:
    """The initial value of a recurrent output, and the earlier steps that the function gets."""

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
    """Return a list of None, one thing or several."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def sequence_arguments(sequences: Any) -> list[SequenceArgument]:
    """Return the parsed `sequences`.

    Raises
    ------
    TypeError
        If one has no first dimension, or a dictionary has no ``input``.
    """
    result = []
    for k, item in enumerate(as_list(sequences)):
        taps: Any = [0]
        value = item
        if isinstance(item, Mapping):
            _check_keys(item, {"input", "taps"}, f"sequence {k}")
            if item.get("input") is None:
                raise TypeError(
                    format_error(f"scan: sequence {k} has no input", hint="write dict(input=x, taps=[...])")
                )
            value, taps = item["input"], item.get("taps")
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
        result.append(SequenceArgument(variable, taps))
    return result


def as_variable(value: Any) -> Any:
    """Return a variable as it is, an array on a device moved to the host, and anything else as a constant.

    Loops run on the host: arguments that they read at each step are moved once, before.
    """
    stays = isinstance(value, Variable) and not hasattr(value, "_as_TensorVariable")
    return value if stays else as_tensor_variable(value)


def state_arguments(outputs_info: Any) -> list[StateArgument | None]:
    """Return the parsed `outputs_info`.

    Raises
    ------
    TypeError, ValueError
        If a tap is not negative, or an initial value has too few dimensions for several taps.
    """
    result: list[StateArgument | None] = []
    for k, item in enumerate(as_list(outputs_info)):
        taps: Any = [-1]
        value = item
        if isinstance(item, Mapping):
            _check_keys(item, {"initial", "taps", "inplace"}, f"outputs_info {k}")
            value, taps = item.get("initial"), item.get("taps", [-1])
            if value is None and item.get("taps"):
                raise ValueError(
                    format_error(
                        f"scan: output {k} has taps and no initial value", hint="write dict(initial=x, taps=[...])"
                    )
                )
        if value is None:
            result.append(None)
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
        result.append(StateArgument(variable, steps))
    return result


def _check_keys(arguments: Mapping[str, Any], names: set[str], what: str) -> None:
    unknown = sorted(set(arguments) - names)
    if unknown:
        raise ValueError(
            format_error(f"scan: {what} has the unknown entries {unknown}", hint=f"use {', '.join(sorted(names))}")
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


# ---- The call of the function of a step, and errors about its arguments and results


def called(
    fn: Callable[..., Any],
    given: Sequence[Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
) -> Any:
    """Return the function's result for the arguments of a step.

    Parameters
    ----------
    fn : callable
    given : sequence of variables
        Elements of sequences and earlier outputs; the non-sequences follow.
    along, states, fixed : sequence
        The roles of the arguments.

    Raises
    ------
    TypeError
        With the list of the passed arguments, if the function takes other ones.
    ValueError
        If it returns None.
    """
    try:
        result = fn(*given, *fixed)
    except TypeError as error:
        # Raised by the call itself: nothing of the function has run.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            signature = _signature_that_refuses(fn, [*given, *fixed])
            if signature is not None:
                raise TypeError(_wrong_arguments(fn, signature, _passed(along, states, fixed))) from None
        raise
    if result is None or (isinstance(result, (list, tuple)) and result and all(part is None for part in result)):
        raise ValueError(
            format_error(
                "scan: the function returns no value, so that there is nothing to compute in a step",
                context=[_place(fn)],
                hint="return the outputs of the step (`return new_state`), or a dictionary of updates",
            )
        )
    return result


def _signature_that_refuses(fn: Callable[..., Any], arguments: Sequence[Any]) -> inspect.Signature | None:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        return signature
    return None


def _at(tap: int) -> str:
    return f"t{tap:+d}" if tap else "t"


def _suffix(tap: int) -> str:
    return "_t" if not tap else f"_t{'m' if tap < 0 else 'p'}{abs(tap)}"


def _passed(
    along: Sequence[SequenceArgument], states: Sequence[StateArgument | None], fixed: Sequence[Any]
) -> list[tuple[str, str]]:
    """Return a name and a description for each argument, in order."""
    result = []
    for k, argument in enumerate(along):
        name = argument.variable.name
        word, text = _word(name, f"x{k}"), _told("sequence", k, name)
        result += [(word + _suffix(tap), f"{text} at {_at(tap)}") for tap in argument.taps]
    for k, state in enumerate(states):
        if state is None:
            continue
        name = state.initial.name
        word, start = _word(name, f"y{k}"), f", which starts from `{name}`" if name else ""
        result += [(word + _suffix(tap), f"output {k} at {_at(tap)}{start}") for tap in state.taps]
    for k, variable in enumerate(fixed):
        result.append((_word(variable.name, f"w{k}"), f"{_told('non-sequence', k, variable.name)}, as it is"))
    return result


def _word(name: str | None, otherwise: str) -> str:
    return name if name is not None and name.isidentifier() else otherwise


def _told(kind: str, number: int, name: str | None) -> str:
    return f"{kind} `{name}`" if name else f"{kind} {number}"


def _place(fn: Callable[..., Any]) -> str:
    """Return the name and the line of a function."""
    name = getattr(fn, "__name__", type(fn).__name__)
    code = getattr(inspect.unwrap(fn), "__code__", None) or getattr(type(fn).__call__, "__code__", None)
    return f"`{name}`" + (f" at {shown_name(code.co_filename)}:{code.co_firstlineno}" if code else "")


def _wrong_arguments(fn: Callable[..., Any], signature: inspect.Signature, passed: Sequence[tuple[str, str]]) -> str:
    names = ", ".join(name for name, _ in passed)
    count = f"{len(passed)} argument{'s' if len(passed) != 1 else ''}"
    return format_error(
        f"scan passes {count} to the function, which takes {signature}",
        context=[f"function {_place(fn)}", *(f"argument {k}: {text}" for k, (_, text) in enumerate(passed, 1))],
        hint=f"let it take what is passed, in this order: ({names})",
    )
