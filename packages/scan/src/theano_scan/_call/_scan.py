"""`scan`: the function of one step becomes the graph of a loop."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

import theano_tensor as T
from theano_graph import (
    Apply,
    Constant,
    MissingInputError,
    MissingTestValueError,
    clone_replace,
    config,
    debugprint,
    describe,
    format_error,
    get_test_value,
    graph_inputs,
    record,
    toposort,
)
from theano_linker_c import OrderedUpdates, SharedVariable, note_advance
from theano_linker_c.scalar import upcast
from theano_tensor import Outputs, TensorType
from theano_tensor.builders import note_updates

from .._loop._derivatives import loop_of, places_in_loop
from .._loop._ops import KEPT_LAST, Scan
from .._loop._plan import expanded
from . import _arguments as _arguments
from ._arguments import (
    SequenceArgument,
    StateArgument,
    as_list,
    as_variable,
    called,
    number_of_steps,
    sequence_arguments,
    state_arguments,
    until,
)


@record(frozen=False)
class Step:
    """One step as the function described it: its arguments, and its results."""

    rows: list[Any]
    registers: list[list[Any]]
    outputs: list[Any] = field(default_factory=list)
    updates: dict[Any, Any] = field(default_factory=dict)
    condition: Any = None


def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: bool | str = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
) -> tuple[Outputs, OrderedUpdates]:
    """Loop: apply a function to the elements of sequences, with its results of earlier steps.

    Parameters
    ----------
    fn : callable
        Gets the elements of the sequences, earlier outputs, and `non_sequences`, in this order; for several taps one
        argument each. Returns the outputs of the step, then maybe updates of shared variables (a dictionary or a list
        of pairs), then maybe an :class:`until`.
    sequences : array_like, dict(input=, taps=) or list of them
        The sequences, by the first dimension. Tap k means the element at step t + k; 0 is the default. The
        shortest one says how many steps there are.
    outputs_info : None, array_like, dict(initial=, taps=) or list of them
        For each output, its initial value: a value like that of a step, or for taps beyond -1 the earlier values
        along a first dimension. None where earlier outputs are not needed.
    non_sequences : variable or list of variables
        Further arguments, the same in each step.
    n_steps : int or integer scalar, optional
        How many steps to do (at most, with :class:`until`).
    truncate_gradient : int
        Through how many of the last steps gradients go; -1 for all.
    go_backwards : bool
        Whether sequences are read from their ends.
    mode : Mode or str, optional
        How the step is compiled.
    name : str, optional
        Shown where the loop is printed or profiled.
    profile : bool or str
        Whether the step has a profile of its own, and its name.
    allow_gc : bool, optional
        Whether intermediate values are given back after each step; None as the flag ``scan.allow_gc`` says.
    strict : bool
        Whether all shared variables that `fn` uses must be in `sequences` or `non_sequences`.
    return_list : bool
        Whether a single output comes in a list, too.

    Returns
    -------
    outputs : variable or list of variables
        Each with the values of all steps along its first dimension.
    updates : OrderedUpdates
        Of the shared variables that the loop changes; to be passed to ``function``.

    Raises
    ------
    TypeError
        If an output would have to be cast down to the type of its initial value, or has other dimensions.
    ValueError
        If nothing gives the number of steps, or `outputs_info` does not fit the results of `fn`.
    MissingInputError
        With `strict`, if `fn` uses a shared variable that it was not given.

    Notes
    -----
    Expressions of `fn` in variables that do not change are computed once, before the loop.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> a = T.dscalar("a")
    >>> powers, updates = theano.scan(lambda before, a: before * a, None, T.ones(()), a, n_steps=4)
    >>> theano.function([a], powers, updates=updates)(3.0).tolist()
    [3.0, 9.0, 27.0, 81.0]
    """
    along, states = sequence_arguments(sequences), state_arguments(outputs_info)
    fixed = [as_variable(v) for v in as_list(non_sequences)]
    n = number_of_steps(n_steps, along)
    if n_steps is not None and _is_one(n):
        return _single_step(fn, along, states, fixed, (go_backwards, return_list))
    request = Request(
        n=n,
        go_backwards=go_backwards,
        name=name,
        mode=mode,
        profile=profile,
        truncate_gradient=int(truncate_gradient),
        allow_gc=bool(config.scan.allow_gc if allow_gc is None else allow_gc),
        strict=strict,
    )
    outputs, updates = _looped(fn, along, states, fixed, request)
    result: Any = outputs[0] if len(outputs) == 1 and not return_list else outputs
    return result, updates


def fold(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    n_steps: Any = None,
    go_backwards: bool = False,
    name: str | None = None,
) -> tuple[list[Any], OrderedUpdates]:
    """Loop as :func:`scan` does, and keep of outputs with an initial value the last one only.

    Parameters
    ----------
    fn, sequences, outputs_info, n_steps, go_backwards, name
        As for :func:`scan`; states have no taps.

    Returns
    -------
    outputs : list of variables
        Last values of states, which are the initial ones where there are no steps; all values of other outputs.
    updates : OrderedUpdates

    Examples
    --------
    >>> import theano_tensor as T
    >>> from theano_linker_c import function
    >>> n = T.lscalar("n")
    >>> (power,), _ = fold(lambda p: 2 * p, None, [T.constant(1.0)], n)
    >>> f = function([n], power)
    >>> float(f(5)), float(f(0))
    (32.0, 1.0)
    """
    along, states = sequence_arguments(sequences), state_arguments(outputs_info)
    request = Request(
        n=number_of_steps(n_steps, along),
        go_backwards=go_backwards,
        name=name,
        mode=None,
        profile=False,
        truncate_gradient=-1,
        allow_gc=bool(config.scan.allow_gc),
        strict=False,
        last_states=True,
    )
    return _looped(fn, along, states, [], request)


def _looped(
    fn: Callable[..., Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
    request: Request,
) -> tuple[list[Any], OrderedUpdates]:
    step = _trace(fn, along, states, fixed)
    if not states:
        states = [None] * len(step.outputs)
    if len(states) != len(step.outputs):
        raise _wrong_number(step, states)
    _check_outputs(step, states)
    if request.strict:
        _check_strict(step, along, fixed)
    outputs, updates = _Builder(step, along, states, fixed, request).build()
    note_updates(updates)
    if config.scan.debug and outputs and outputs[0].owner is not None:
        debugprint(outputs, file=sys.stderr)
    return outputs, updates


def _is_one(n: object) -> bool:
    return isinstance(n, Constant) and int(n.data) == 1


def _single_step(
    fn: Callable[..., Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
    settings: tuple[bool, bool],
) -> tuple[Outputs, OrderedUpdates]:
    """Return the function's results for the first elements: a single step needs no loop, and a condition ends none."""
    go_backwards, return_list = settings
    step = Step([a.element(tap, go_backwards) for a in along for tap in a.taps], [])
    starts = [state.start(tap) for state in states if state is not None for tap in state.taps]
    _read_result(called(fn, [*step.rows, *starts], along, states, fixed), step)
    if states and len(states) != len(step.outputs):
        raise _wrong_number(step, states)
    outputs = [T.unbroadcast(T.shape_padleft(v), 0) if isinstance(v.type, TensorType) else v for v in step.outputs]
    updates = OrderedUpdates(step.updates)
    note_updates(updates)
    result: Any = outputs[0] if len(outputs) == 1 and not return_list else outputs
    return result, updates


def _wrong_number(step: Step, states: Sequence[Any]) -> ValueError:
    return ValueError(
        format_error(
            f"scan: the function returns {len(step.outputs)} outputs, outputs_info has {len(states)} entries",
            hint="write one entry for each output, None where earlier steps are not needed",
        )
    )


def _trace(
    fn: Callable[..., Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
) -> Step:
    """Call the function with variables that stand for the elements of one step."""
    rows: list[Any] = []
    for argument in along:
        kind: Any = argument.variable.type
        for tap in argument.taps:
            row = TensorType(kind.dtype, kind.shape[1:]).make_variable(_label(argument.variable, tap))
            rows.append(_with_test_value(row, partial(argument.element, tap)))
    registers: list[list[Any]] = []
    arguments: list[Any] = list(rows)
    for state in states:
        if state is None:
            registers.append([])
            continue
        mine = [_register(state, tap) for tap in state.taps]
        registers.append(mine)
        arguments += mine
    step = Step(rows, registers)
    _read_result(called(fn, arguments, along, states, fixed), step)
    return step


def _register(state: StateArgument, tap: int) -> Any:
    """Return the variable of an output's value at a tap."""
    start = state.start(tap)
    return _with_test_value(start.type.make_variable(_label(state.initial, tap)), lambda: start)


def _label(variable: Any, tap: int) -> str | None:
    return variable.name and (f"{variable.name}[t{tap:+d}]" if tap else f"{variable.name}[t]")


def _with_test_value(inner: Any, first: Callable[[], Any]) -> Any:
    """Give a variable of the step the test value of its counterpart in the first step, if it has one."""
    if config.compute_test_value != "off":
        with contextlib.suppress(MissingTestValueError):
            inner.tag.test_value = get_test_value(first())
    return inner


def _read_result(result: Any, step: Step) -> None:
    """Sort the function's results into outputs, updates and a condition."""
    parts = list(result) if isinstance(result, (list, tuple)) and not _are_updates(result) else [result]
    if parts and isinstance(parts[-1], until):
        step.condition = parts.pop().condition
    if any(isinstance(part, until) for part in parts):
        raise ValueError(format_error("scan: until is the last thing that the function returns", hint="return it last"))
    if len(parts) == 2 and isinstance(parts[0], Mapping):
        parts = parts[::-1]
    if parts and _are_updates(parts[-1]):
        step.updates = dict(parts.pop())
    flat = [v for part in parts for v in (part if isinstance(part, (list, tuple)) else [part]) if v is not None]
    step.outputs = [as_variable(v) for v in flat]


def _are_updates(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    pairs = isinstance(value, (list, tuple)) and bool(value)
    return pairs and all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], SharedVariable) for p in value)


def _check_outputs(step: Step, states: Sequence[StateArgument | None]) -> None:
    """Bring each recurrent output into the type of its state, or refuse."""
    for k, (state, output) in enumerate(zip(states, step.outputs, strict=True)):
        if state is None:
            if not isinstance(output.type, TensorType):
                raise TypeError(
                    format_error(
                        f"scan: output {k} is no array", context=[describe(output)], hint="return it as an update"
                    )
                )
            continue
        register = step.registers[k][0]
        step.outputs[k] = _fitted(k, output, register)


def _fitted(k: int, output: Any, register: Any) -> Any:
    kind, expected = output.type, register.type
    where = [describe(output), f"initial value: {expected}"]
    if not isinstance(kind, TensorType) or not isinstance(expected, TensorType):
        return expected.narrow_variable(output)
    if kind.ndim != expected.ndim:
        raise TypeError(
            format_error(
                f"scan: output {k} has {kind.ndim} dimensions, its initial value {expected.ndim}",
                context=where,
                hint="start from a value that is like that of a step; for taps beyond -1 with one more dimension",
            )
        )
    if kind.dtype != expected.dtype:
        if upcast(kind.dtype, expected.dtype) != expected.dtype:
            raise TypeError(
                format_error(
                    f"scan: output {k} is {kind.dtype}, and its initial value {expected.dtype}: it would be cast down",
                    context=where,
                    hint=f"start from an initial value of {kind.dtype}, or cast the output to {expected.dtype}",
                )
            )
        output = output.astype(expected.dtype)
    if any(a is not None and b is not None and a != b for a, b in zip(output.type.shape, expected.shape, strict=True)):
        raise TypeError(
            format_error(
                f"scan: output {k} and its initial value have different shapes",
                context=where,
                hint="start from a value of the shape that steps return",
            )
        )
    return expected.narrow_variable(output)


def _check_strict(step: Step, along: Sequence[SequenceArgument], fixed: Sequence[Any]) -> None:
    declared = {*fixed, *step.rows, *(r for rs in step.registers for r in rs), *(s.variable for s in along)}
    everything = [*step.outputs, *step.updates.values(), *([step.condition] if step.condition is not None else [])]
    for root in graph_inputs(everything, fixed):
        if isinstance(root, SharedVariable) and root not in declared and _update_of(root, step) is None:
            users = [v.owner for out in everything for v in toposort_outputs(out) if v.owner and root in v.owner.inputs]
            text = f"{users[0]}" if users else "an output"
            raise MissingInputError(
                format_error(
                    f"An input of the graph, used to compute {text}, was not provided and not given a value. "
                    "Use the Theano flag exception_verbosity='high', for more information on this error.",
                    context=[describe(root)],
                    hint="pass it in non_sequences: the scan is strict",
                )
            )


def toposort_outputs(variable: Any) -> list[Any]:
    """Return all computed variables that a variable needs, itself included."""
    return [v for node in toposort([], [variable]) for v in node.outputs]


def _update_of(shared: Any, step: Step) -> Any:
    if shared in step.updates:
        return step.updates[shared]
    return getattr(shared, "default_update", None)


@record(frozen=False)
class Request:
    """How a loop is to run."""

    n: Any
    go_backwards: bool
    name: str | None
    mode: Any
    profile: bool | str
    truncate_gradient: int
    allow_gc: bool
    strict: bool
    #: Whether outputs that are states come as their last values.
    last_states: bool = False

    def info(self, sequences: int, tap_array: list[list[int]], mit_sots: int, **counts: Any) -> dict[str, Any]:
        """Return the entries that make a :class:`Scan` of an inner graph."""
        settings = ("truncate_gradient", "name", "mode", "profile", "allow_gc", "strict")
        result: dict[str, Any] = {
            "tap_array": tap_array,
            "n_seqs": sequences,
            "n_mit_mot": 0,
            "n_mit_mot_outs": 0,
            "mit_mot_out_slices": [],
            "n_mit_sot": mit_sots,
            "n_sit_sot": len(tap_array) - mit_sots,
            **counts,
        }
        return result | {key: getattr(self, key) for key in settings} | {"destroy_map": {}, "gpua": False}


class _Builder:
    """Puts the loop together."""

    def __init__(
        self,
        step: Step,
        along: Sequence[SequenceArgument],
        states: Sequence[StateArgument | None],
        fixed: Sequence[Any],
        request: Request,
    ) -> None:
        self.step, self.states, self.fixed, self.request = step, states, fixed, request
        self.slices = [s for argument in along for s in argument.slices(request.n, request.go_backwards)]
        several = [k for k, s in enumerate(states) if s is not None and s.taps != [-1]]
        single = [k for k, s in enumerate(states) if s is not None and s.taps == [-1]]
        self.mit_sots = several
        self.sit_sots = [k for k in single if isinstance(step.registers[k][0].type, TensorType)]
        self.foreign = [k for k in single if k not in self.sit_sots]
        self.nit_sots = [k for k, s in enumerate(states) if s is None]

    def build(self) -> tuple[list[Any], OrderedUpdates]:
        """Return the outputs in the order of the function, and the updates."""
        step, request = self.step, self.request
        changed = self._changed_shared()
        arrays = {s: v for s, v in changed.items() if isinstance(s.type, TensorType)}
        others = {s: v for s, v in changed.items() if s not in arrays}
        recurrent = [*self.mit_sots, *self.sit_sots]
        results = [step.outputs[k] for k in recurrent] + list(arrays.values())
        results += [step.outputs[k] for k in (*self.nit_sots, *self.foreign)] + list(others.values())
        if step.condition is not None:
            results.append(step.condition)
        registers = [r for k in (*recurrent, *self.foreign) for r in step.registers[k]]
        inner, outer = _outside(results, {*step.rows, *registers, *changed}, self.fixed)
        stand_ins: dict[Any, Any] = {s: _copy(s) for s in changed} | inner
        tap_array: list[list[int]] = [self._state(k).taps for k in recurrent]
        info = request.info(
            len(step.rows),
            tap_array + [[-1]] * len(arrays),
            len(self.mit_sots),
            n_shared_outs=len(self.foreign) + len(others),
            n_nit_sot=len(self.nit_sots),
            as_while=step.condition is not None,
            **{
                KEPT_LAST: tuple(
                    range(0 if request.last_states else len(self.sit_sots), len(self.sit_sots) + len(arrays))
                )
            },
        )
        inputs = [*step.rows, *(r for k in recurrent for r in step.registers[k]), *(stand_ins[s] for s in arrays)]
        inputs += [step.registers[k][0] for k in self.foreign] + [stand_ins[s] for s in others] + list(inner.values())
        op = Scan(inputs, clone_replace(results, stand_ins), info)
        buffers = [*self._buffers(), *(_buffer(s, request.n) for s in arrays)]
        shared = [*(self._initial(k) for k in self.foreign), *others]
        counts = [request.n] * len(self.nit_sots)
        outputs: list[Any] = op(request.n, *self.slices, *buffers, *shared, *counts, *outer, return_list=True)
        last = request.last_states
        if last:  # those of the loop that runs: buffers for the values of all steps need not fit into memory
            starts = dict(
                zip(op.outer_sitsot(outputs[0].owner), [*map(self._initial, self.sit_sots), *arrays], strict=True)
            )
            loop = loop_of(outputs[0].owner, start=lambda buffer, position, depth: starts[buffer])
            outputs = [loop[position] for position in places_in_loop(op)]
        for s in changed:
            if getattr(s, "default_update", None) is not None and s not in step.updates:
                note_advance(s, outputs[0].owner)
        return self._outputs(outputs, op), _updates(outputs, op, arrays, others, last)

    def _initial(self, k: int) -> Any:
        return self._state(k).initial

    def _state(self, k: int) -> StateArgument:
        state = self.states[k]
        assert state is not None, "only outputs with a state are asked for"
        return state

    def _buffers(self) -> list[Any]:
        """Return the buffers of the outputs with states."""
        n = self.request.n
        result = []
        for k in self.mit_sots:
            depth = self._state(k).depth
            result.append(expanded(self._initial(k)[:depth], depth, n))
        return result + [_buffer(self._initial(k), n) for k in self.sit_sots]

    def _outputs(self, outputs: list[Any], op: Scan) -> list[Any]:
        """Return the outputs in the order of the function."""
        result: dict[int, Any] = {}
        for i, k in enumerate([*self.mit_sots, *self.sit_sots]):
            result[k] = outputs[i] if self.request.last_states else outputs[i][op.depths[i] :]
        result |= zip(self.nit_sots, op.outer_nitsot_outs(outputs), strict=True)
        result |= zip(self.foreign, op.outer_shared_outs(outputs), strict=False)
        return [result[k] for k in range(len(result))]

    def _changed_shared(self) -> dict[Any, Any]:
        """Return the shared variables that the loop changes, and their new values."""
        step = self.step
        result: dict[Any, Any] = dict(step.updates)
        for key in result:
            if not isinstance(key, SharedVariable):
                raise TypeError(
                    format_error(
                        "scan: only shared variables have updates", context=[repr(key)], hint="update a shared variable"
                    )
                )
        fixed = [v for v in self.fixed if v.owner is not None]  # their operands are used once, before the loop
        pending = [*step.outputs, *result.values(), *([step.condition] if step.condition is not None else [])]
        while pending:
            new = [r for r in graph_inputs(pending, fixed) if isinstance(r, SharedVariable) and r not in result]
            pending = []
            for root in new:
                update = getattr(root, "default_update", None)
                if update is not None:
                    result[root] = update
                    pending.append(update)
        return {key: key.type.narrow_variable(value) for key, value in result.items()}


def _updates(
    outputs: list[Any], op: Scan, arrays: Iterable[Any], others: Iterable[Any], last_states: bool
) -> OrderedUpdates:
    """Return the new values of shared variables: the last rows of their buffers, or the last state."""
    updates = OrderedUpdates()
    arrays, others = list(arrays), list(others)
    buffers = op.outer_sitsot_outs(outputs)
    for s, buffer in zip(arrays, buffers[len(buffers) - len(arrays) :], strict=True):
        updates[s] = buffer if last_states else buffer[-1]
    handed_on = op.outer_shared_outs(outputs)
    for s, value in zip(others, handed_on[len(handed_on) - len(others) :], strict=True):
        updates[s] = value
    return updates


def _buffer(initial: Any, n: Any) -> Any:
    """Return a buffer that begins with one value, with room for those of all steps."""
    return expanded(T.unbroadcast(T.shape_padleft(initial), 0), 1, n)


def _outside(results: Sequence[Any], changing: set[Any], fixed: Sequence[Any]) -> tuple[dict[Any, Any], list[Any]]:
    """Return the expressions computed before the loop: variable -> its stand-in inside, and the same from outside.

    Shared variables come first, then the caller's non-sequences, in their order, used or not. Expressions of constants
    alone stays where it is.
    """
    moving, numbers = set(changing), set[Any]()
    inside: list[Apply] = []
    for node in toposort([*changing, *fixed], list(results)):
        if any(v in moving for v in node.inputs):
            inside.append(node)
            moving.update(node.outputs)
        elif all(isinstance(v, Constant) or v in numbers for v in node.inputs):
            numbers.update(node.outputs)
    needed = dict.fromkeys(v for node in inside for v in node.inputs if v not in moving)
    needed.update(dict.fromkeys(v for v in results if v not in moving))
    needed.update(dict.fromkeys(v for v in fixed if not isinstance(v, SharedVariable) and v not in moving))
    indices = {v: k for k, v in enumerate(fixed)}
    result = [v for v in needed if not isinstance(v, Constant) and v not in numbers]
    result.sort(key=lambda v: -1 if isinstance(v, SharedVariable) else indices.get(v, len(indices)))
    return {v: _copy(v) for v in result}, result


def _copy(v: Any) -> Any:
    """Return the variable that stands for another one in the inner graph."""
    return _with_test_value(v.type.make_variable(v.name and f"{v.name}_copy"), lambda: v)
