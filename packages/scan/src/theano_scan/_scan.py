"""`scan`: the function of one step becomes the graph of a loop."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    MissingInputError,
    Variable,
    clone_replace,
    compose,
    config,
    debugprint,
    describe,
    graph_inputs,
    toposort,
)
from theano_linker_c import OrderedUpdates, SharedVariable
from theano_linker_c.scalar import upcast
from theano_tensor import TensorType, as_tensor_variable

from . import _flags as _flags
from ._arguments import (
    SequenceArgument,
    StateArgument,
    as_list,
    number_of_steps,
    sequence_arguments,
    state_arguments,
    until,
)
from ._op import FINAL, STACK, Memory, Plan, Scan


@dataclass
class Step:
    """One step as the function described it: what it was given, and what it returned."""

    rows: list[Any]
    registers: list[list[Any]]
    fixed: dict[Any, Any]
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
) -> tuple[Any, OrderedUpdates]:
    """Loop: apply a function to the elements of sequences, with what it returned in earlier steps.

    Parameters
    ----------
    fn : callable
        Gets the elements of the sequences, earlier outputs, and `non_sequences`, in this order; for several taps one
        argument each. Returns the outputs of the step, then maybe updates of shared variables (a dictionary or a list
        of pairs), then maybe an :class:`until`.
    sequences : array_like, dict(input=, taps=) or list of them
        What to go along, by the first dimension. Tap k means the element at step t + k; 0 is the default. The
        shortest one says how many steps there are.
    outputs_info : None, array_like, dict(initial=, taps=) or list of them
        For each output, what it starts from: a value like that of a step, or for taps beyond -1 the earlier values
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
        If nothing says how many steps to do, or `outputs_info` does not fit what `fn` returns.
    MissingInputError
        With `strict`, if `fn` uses a shared variable that it was not given.

    Notes
    -----
    What `fn` computes from variables that do not change is computed once, before the loop.

    Examples
    --------
    >>> from theano_tensor import dscalar, ones
    >>> from theano_linker_c import function
    >>> a = dscalar("a")
    >>> powers, updates = scan(lambda before, a: before * a, None, ones(()), a, n_steps=4)
    >>> function([a], powers, updates=updates)(3.0).tolist()
    [3.0, 9.0, 27.0, 81.0]
    """
    along, states = sequence_arguments(sequences), state_arguments(outputs_info)
    fixed = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in as_list(non_sequences)]
    n = number_of_steps(n_steps, along)
    step = _trace(fn, along, states, fixed)
    if not states:
        states = [None] * len(step.outputs)
    if len(states) != len(step.outputs):
        raise ValueError(
            compose(
                f"scan: the function returns {len(step.outputs)} outputs, outputs_info has {len(states)} entries",
                mend="write one entry for each output, None where earlier steps are not needed",
            )
        )
    _check_outputs(step, states)
    if strict:
        _check_strict(step, along, fixed)
    memory = Memory(
        bool(config.scan.allow_gc if allow_gc is None else allow_gc), bool(config.scan.allow_output_prealloc)
    )
    builder = _Builder(step, along, states, n, go_backwards, truncate_gradient)
    outputs, updates = builder.build(name, _options(mode, profile, name), memory)
    if config.scan.debug and outputs and outputs[0].owner is not None:
        debugprint(outputs[0].owner.op.fgraph, file=sys.stderr)
    return (outputs[0] if len(outputs) == 1 and not return_list else outputs), updates


def _options(mode: Any, profile: bool | str, name: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {} if mode is None else {"mode": mode}
    if profile:
        options["profile"] = profile if isinstance(profile, str) else (name or True)
    return options


def _trace(
    fn: Callable[..., Any],
    along: Sequence[SequenceArgument],
    states: Sequence[StateArgument | None],
    fixed: Sequence[Any],
) -> Step:
    """Call the function with variables that stand for the elements of one step."""
    rows = []
    for argument in along:
        kind: Any = argument.variable.type
        label = argument.variable.name or "sequence"
        rows += [
            TensorType(kind.dtype, kind.shape[1:])(f"{label}[t{tap:+d}]" if tap else f"{label}[t]")
            for tap in argument.taps
        ]
    registers: list[list[Any]] = []
    given: list[Any] = list(rows)
    for state in states:
        if state is None:
            registers.append([])
            continue
        label = state.initial.name or "output"
        mine = [start.type.make_variable(f"{label}[t-{k + 1}]") for k, start in enumerate(state.starts())]
        registers.append(mine)
        given += [mine[-tap - 1] for tap in state.taps]
    stand_ins = {v: v if isinstance(v, (SharedVariable, Constant)) else v.type.make_variable(v.name) for v in fixed}
    given += [stand_ins[v] for v in fixed]
    step = Step(rows, registers, {inner: outer for outer, inner in stand_ins.items() if inner is not outer})
    _read_result(fn(*given), step)
    return step


def _read_result(result: Any, step: Step) -> None:
    """Sort what the function returned into outputs, updates and a condition."""
    parts = list(result) if isinstance(result, (list, tuple)) and not _are_updates(result) else [result]
    if parts and isinstance(parts[-1], until):
        step.condition = parts.pop().condition
    if any(isinstance(part, until) for part in parts):
        raise ValueError(compose("scan: until is the last thing that the function returns", mend="return it last"))
    if len(parts) == 2 and isinstance(parts[0], Mapping):
        parts = parts[::-1]
    if parts and _are_updates(parts[-1]):
        step.updates = dict(parts.pop())
    flat = [v for part in parts for v in (part if isinstance(part, (list, tuple)) else [part]) if v is not None]
    step.outputs = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in flat]


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
                    compose(f"scan: output {k} is no array", where=[describe(output)], mend="return it as an update")
                )
            continue
        register = step.registers[k][0]
        step.outputs[k] = _fitted(k, output, register)


def _fitted(k: int, output: Any, register: Any) -> Any:
    kind, wanted = output.type, register.type
    where = [describe(output), f"initial value: {wanted}"]
    if not isinstance(kind, TensorType) or not isinstance(wanted, TensorType):
        return wanted.narrow_variable(output)
    if kind.ndim != wanted.ndim:
        raise TypeError(
            compose(
                f"scan: output {k} has {kind.ndim} dimensions, its initial value {wanted.ndim}",
                where=where,
                mend="start from a value that is like that of a step; for taps beyond -1 with one more dimension",
            )
        )
    if kind.dtype != wanted.dtype:
        if upcast(kind.dtype, wanted.dtype) != wanted.dtype:
            raise TypeError(
                compose(
                    f"scan: output {k} is {kind.dtype}, and its initial value {wanted.dtype}: it would be cast down",
                    where=where,
                    mend=f"start from an initial value of {kind.dtype}, or cast the output to {wanted.dtype}",
                )
            )
        output = output.astype(wanted.dtype)
    if any(a is not None and b is not None and a != b for a, b in zip(output.type.shape, wanted.shape, strict=True)):
        raise TypeError(
            compose(
                f"scan: output {k} and its initial value have different shapes",
                where=where,
                mend="start from a value of the shape that steps return",
            )
        )
    return wanted.narrow_variable(output)


def _check_strict(step: Step, along: Sequence[SequenceArgument], fixed: Sequence[Any]) -> None:
    known = {*fixed, *step.fixed, *step.rows, *(r for rs in step.registers for r in rs), *(s.variable for s in along)}
    everything = [*step.outputs, *step.updates.values(), *([step.condition] if step.condition is not None else [])]
    for root in graph_inputs(everything):
        if isinstance(root, SharedVariable) and root not in known and _update_of(root, step) is None:
            users = [v.owner for out in everything for v in toposort_outputs(out) if v.owner and root in v.owner.inputs]
            text = f"{users[0]}" if users else "an output"
            raise MissingInputError(
                compose(
                    f"An input of the graph, used to compute {text}, was not provided and not given a value. "
                    "Use the Theano flag exception_verbosity='high', for more information on this error.",
                    where=[describe(root)],
                    mend="pass it in non_sequences: the scan is strict",
                )
            )


def toposort_outputs(variable: Any) -> list[Any]:
    """Return all computed variables that a variable needs, itself included."""
    return [v for node in toposort([], [variable]) for v in node.outputs]


def _update_of(shared: Any, step: Step) -> Any:
    if shared in step.updates:
        return step.updates[shared]
    return getattr(shared, "default_update", None)


class _Builder:
    """Puts the loop together."""

    def __init__(
        self,
        step: Step,
        along: Sequence[SequenceArgument],
        states: Sequence[StateArgument | None],
        n: Any,
        backwards: bool,
        truncate: int,
    ) -> None:
        self.step, self.states, self.n, self.truncate = step, states, n, int(truncate)
        self.slices = [s for argument in along for s in argument.slices(n, backwards)]
        if backwards:
            self.slices = [s[::-1] for s in self.slices]

    def build(self, name: str | None, options: dict[str, Any], memory: Memory) -> tuple[list[Any], OrderedUpdates]:
        """Return the outputs in the order of the function, and the updates."""
        step = self.step
        shared = self._changed_shared()
        registers = [r for rs in step.registers for r in rs]
        starts = [s for state in self.states if state is not None for s in state.starts()]
        new_states, kinds, histories = self._new_states()
        others = [k for k, state in enumerate(self.states) if state is None]
        results = [*new_states, *shared.values(), *(step.outputs[k] for k in others)]
        changing = {*step.rows, *registers, *shared}
        draws = _draws(results, changing)
        results += draws
        kinds += [FINAL] * len(shared) + [STACK] * (len(others) + len(draws))
        if step.condition is not None:
            results.append(step.condition)
        inner, outer = _outside(results, changing, step.fixed)
        stand_ins: dict[Any, Any] = {s: s.type.make_variable(s.name) for s in shared} | inner
        bodies = clone_replace(results, stand_ins)
        plan = Plan(
            len(step.rows),
            len(registers) + len(shared),
            tuple(kinds),
            (-1,) * len(kinds),
            until=step.condition is not None,
            truncate=self.truncate,
        )
        inputs = [*step.rows, *registers, *(stand_ins[s] for s in shared), *inner.values()]
        op = Scan(inputs, bodies, plan, name, options, memory)
        made: list[Any] = op(self.n, *self.slices, *starts, *shared, *outer, return_list=True)
        first = len(registers) + len(shared)
        place = histories | {k: first + i for i, k in enumerate(others)}
        updates = OrderedUpdates()
        for s, value in zip(shared, made[len(registers) : first], strict=True):
            updates[s] = value
        return [made[place[k]] for k in range(len(step.outputs))], updates

    def _new_states(self) -> tuple[list[Any], list[str], dict[int, int]]:
        """Return the new value of each register, what becomes of it, and where the outputs' values are."""
        values: list[Any] = []
        kinds: list[str] = []
        places: dict[int, int] = {}
        for k, registers in enumerate(self.step.registers):
            if registers:
                places[k] = len(values)
                values += [self.step.outputs[k], *registers[:-1]]
                kinds += [STACK if isinstance(registers[0].type, TensorType) else FINAL] * len(registers)
        return values, kinds, places

    def _changed_shared(self) -> dict[Any, Any]:
        """Return the shared variables that the loop changes, and their new values."""
        step = self.step
        found: dict[Any, Any] = dict(step.updates)
        for key in found:
            if not isinstance(key, SharedVariable):
                raise TypeError(
                    compose(
                        "scan: only shared variables have updates", where=[repr(key)], mend="update a shared variable"
                    )
                )
        pending = [*step.outputs, *found.values(), *([step.condition] if step.condition is not None else [])]
        while pending:
            new = [r for r in graph_inputs(pending) if isinstance(r, SharedVariable) and r not in found]
            pending = []
            for root in new:
                update = getattr(root, "default_update", None)
                if update is not None:
                    found[root] = update
                    pending.append(update)
        return {key: key.type.narrow_variable(value) for key, value in found.items()}


def _draws(results: Sequence[Any], changing: set[Any]) -> list[Any]:
    """Return the arrays that come of states which are no arrays: gradients need those of each step."""
    found = []
    for node in toposort(list(changing), list(results)):
        if any(not isinstance(v.type, TensorType) for v in node.inputs if not isinstance(v, Constant)):
            found += [v for v in node.outputs if isinstance(v.type, TensorType)]
    return [v for v in dict.fromkeys(found) if v not in results]


def _outside(results: Sequence[Any], changing: set[Any], fixed: Mapping[Any, Any]) -> tuple[dict[Any, Any], list[Any]]:
    """Return what is computed before the loop: variable -> its stand-in inside, and the same from outside."""
    moving = set(changing)
    inside: list[Apply] = []
    for node in toposort(list(changing), list(results)):
        if any(v in moving for v in node.inputs):
            inside.append(node)
            moving.update(node.outputs)
    needed = dict.fromkeys(v for node in inside for v in node.inputs if v not in moving)
    needed.update(dict.fromkeys(v for v in results if v not in moving))
    found = [v for v in needed if not isinstance(v, Constant)]
    stand_ins = {v: v.type.make_variable(v.name) for v in found}
    return stand_ins, list(clone_replace(found, dict(fixed))) if found else []
