"""Rules for choices, graphs inside of ops, and loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant

import theano
import theano.tensor as T
from theano.ifelse import ifelse
from theano_tensor import CheckAndRaise, TensorType

from .._translation import NoRule, Site, engine_type, rule

# ---- Conditions, checks, and graphs inside ops


@rule("compile.OpFromGraph")
def _graph(site: Site) -> Any:
    """The graph takes the place of the op, so that all is rewritten together."""
    return site.translation.graph(site.op.fgraph, site.inputs)


@rule("tensor.OpWithCoreShape")
def _with_core_shape(site: Site) -> Any:
    """The graph again; PyTensor hands it the shape of the result besides, which we work out ourselves."""
    return site.translation.graph(site.op.fgraph, site.inputs)


@rule("ifelse.IfElse")
def _ifelse(site: Site) -> Any:
    condition, *values = site.inputs
    count = site.op.n_outs
    if any(value is None for value in values):
        raise NoRule("a choice of None")
    results = ifelse(T.neq(condition, 0), values[:count], values[count:])
    return list(results) if isinstance(results, list | tuple) else [results]


@rule("raise_op.CheckAndRaise")
def _check(site: Site) -> Any:
    value, *conditions = site.inputs
    return CheckAndRaise(site.op.exc_type, site.op.msg)(value, *(T.neq(condition, 0) for condition in conditions))


@rule("pymc.CheckParameterValue")
def _check_parameter(site: Site) -> Any:
    """A density is minus infinity where a parameter is out of its range, as a rewrite of PyMC has it."""
    if not site.op.can_be_replaced_by_ninf:
        return _check(site)
    value, *conditions = site.inputs
    valid = T.neq(conditions[0], 0)
    for condition in conditions[1:]:
        valid = T.and_(valid, T.neq(condition, 0))
    return T.switch(valid, value, T.constant(np.array(-np.inf, value.dtype)))


# ---- Loops of scalars, of which each element of tensors has its own


def loop_results(op: Any, inputs: Sequence[Any], body: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
    """Run a ``ScalarLoop`` for all elements together; those whose loop has ended keep their values.

    Parameters
    ----------
    op : pytensor.scalar.loop.ScalarLoop
    inputs : sequence
        The number of steps, initial states, and constants.
    body : callable
        Gives the results of one step.
    """
    steps, *values = inputs
    count = len(op.outputs) - op.is_while
    states = [T.cast(x, v.type.dtype) for x, v in zip(values[:count], op.inputs, strict=False)]
    constants, zero = values[count:], reduce(T.add, [T.zeros_like(x, dtype="int8") for x in inputs])
    # States have the shape to which all operands broadcast: a step may give it to them.
    states = [T.second(zero, x) for x in states]
    going, ended = T.gt(steps, zero), T.eq(zero, 0)

    def step(k: Any, *arguments: Any) -> Any:
        before, going, ended = arguments[:count], arguments[count], arguments[count + 1]
        results = body([*before, *arguments[count + 2 : -1]])
        after = [T.switch(going, new, old) for new, old in zip(results, before, strict=False)]
        if op.is_while:
            ended = T.switch(going, T.neq(results[count], 0), ended)
            going = T.and_(going, T.eq(ended, 0))
        going = T.and_(going, T.lt(k + 1, arguments[-1]))
        return [*after, going, ended], theano.scan_module.until(T.eq(T.any(going), 0))

    starts = [*states, going, ended]
    traces, _ = theano.scan(
        step,
        sequences=[T.arange(T.max(steps))],
        outputs_info=starts,
        non_sequences=[*constants, steps],
        return_list=True,
    )
    last = [T.concatenate([x[None], trace], axis=0)[-1] for x, trace in zip(starts, traces, strict=True)]
    return [*last[:count], *last[count + 1 :][: op.is_while]]


# ---- Loops: the Scan of PyTensor, with every kind of state, as a scan of ours
#
# PyTensor keeps the states of a loop in buffers that hold initial values and have room for those of the steps; our
# loops
# return the values of the steps alone, which are put behind the initial ones here. A buffer of gradients, in which a
# step
# reads and writes several rows, is a window that moves along a sequence: the rows inside of it are states, the next row
# comes from the buffer as it was, and the row that leaves is a result.


def _take(items: Iterator[Any], count: int) -> list[Any]:
    return [next(items) for _ in range(count)]


@dataclass
class _Window:
    """A buffer in which each step reads and writes rows: which rows, counted from the first that a step sees.

    Attributes
    ----------
    buffer : Variable
    reads, writes : list of int
    width : int
        How many rows a step sees.
    kind : pytensor.graph.type.Type
        The type of a row.
    """

    buffer: Any
    reads: list[int]
    writes: list[int]
    kind: Any
    width: int = field(init=False)

    def __post_init__(self) -> None:
        self.width = max(*self.reads, *self.writes, 0) + 1

    @property
    def leaves_changed(self) -> bool:
        """Whether the row that leaves the window was written by the same step."""
        return 0 in self.writes or self.width == 1

    def finished(self, n: Any, traces: Sequence[Any]) -> Any:
        """Return the buffer after all steps, from the values that the states, and the rows that left, had in them."""
        last = self.width - 1
        rows = [self.buffer[j : j + 1] for j in range(last)]
        left = traces[last] if self.leaves_changed else T.concatenate([rows[0], traces[0][:-1]], axis=0)
        remaining = [T.concatenate([row, trace], axis=0)[-1:] for row, trace in zip(rows, traces, strict=False)]
        return T.concatenate([left[:n], *remaining, self.buffer[n + last :]], axis=0)


@dataclass
class _Loop:
    """A Scan of PyTensor, taken apart."""

    site: Site
    n: Any
    sequences: list[Any]
    windows: list[_Window]
    several: list[Any]
    single: list[Any]
    untraced: list[Any]
    constants: list[Any]
    sources: list[Any]
    lengths: list[Any]

    @property
    def info(self) -> Any:
        """How many states of each kind there are, and their taps."""
        return self.site.op.info

    def starts(self) -> list[Any]:
        """Return the initial states, in the form that a scan of ours takes, in the order of the step's outputs."""
        inner = iter(self.site.op.fgraph.inputs[self.info.n_seqs :])
        starts: list[Any] = []
        for window in self.windows:
            _take(inner, len(window.reads))
            starts += [_fitted(window.buffer[j], window.kind) for j in range(window.width - 1)]
        for buffer, taps in zip(self.several, self.info.mit_sot_in_slices, strict=True):
            kind = _take(inner, len(taps))[0].type
            first = buffer[: -min(taps)]
            rows = T.stack([_fitted(first[j], kind) for j in range(-min(taps))])
            starts.append({"initial": rows, "taps": list(taps)})
        starts += [_fitted(buffer[0], v.type) for buffer, v in zip(self.single, inner, strict=False)]
        starts += self.untraced
        return starts + [None] * (sum(window.leaves_changed for window in self.windows) + self.info.n_nit_sot)

    def step(self, *values: Any) -> Any:
        """Return the outputs of one step, from rows, states and constants."""
        arguments, info = iter(values), self.info
        rows, entering = _take(arguments, info.n_seqs), _take(arguments, len(self.windows))
        views = [[*_take(arguments, w.width - 1), row] for w, row in zip(self.windows, entering, strict=True)]
        states = _take(arguments, sum(map(len, info.mit_sot_in_slices)) + info.n_sit_sot + info.n_untraced_sit_sot)
        read = [view[j] for window, view in zip(self.windows, views, strict=True) for j in window.reads]
        results = iter(self.site.translation.graph(self.site.op.fgraph, [*rows, *read, *states, *arguments]))
        left = []
        for window, view in zip(self.windows, views, strict=True):
            for j in window.writes:
                view[j] = _fitted(next(results), window.kind)
            left += [view[0]] * window.leaves_changed
        carried = [row for view in views for row in view[1:]]
        inner = iter(self.site.op.fgraph.inputs[info.n_seqs + sum(len(w.reads) for w in self.windows) :])
        carried += [_fitted(next(results), _take(inner, len(taps))[0].type) for taps in info.mit_sot_in_slices]
        carried += [_fitted(next(results), next(inner).type) for _ in range(info.n_sit_sot)]
        without_rows = _take(results, info.n_nit_sot)
        carried += [_fitted(next(results), next(inner).type) for _ in range(info.n_untraced_sit_sot)]
        outputs = [*carried, *left, *without_rows]
        if not info.as_while:
            return outputs
        return outputs, theano.scan_module.until(T.neq(next(results), 0))

    def results(self) -> list[Any]:
        """Return our variables for the outputs of the Scan."""
        info, n = self.info, self.n
        # The rows that enter windows.
        entering = [w.buffer[w.width - 1 : n + w.width - 1] for w in self.windows]
        traces, _ = theano.scan(
            self.step,
            sequences=[*(sequence[:n] for sequence in self.sequences), *entering],
            outputs_info=self.starts() or None,
            non_sequences=self.constants,
            n_steps=n,
            return_list=True,
        )
        remaining_traces = iter(traces)
        states = [_take(remaining_traces, w.width - 1) for w in self.windows]
        several, single = _take(remaining_traces, info.n_mit_sot), _take(remaining_traces, info.n_sit_sot)
        untraced = [_last(start, trace) for start, trace in zip(self.untraced, remaining_traces, strict=False)]
        left = [_take(remaining_traces, w.leaves_changed) for w in self.windows]
        buffers = [w.finished(n, [*a, *b]) for w, a, b in zip(self.windows, states, left, strict=True)]
        depths = [-min(taps) for taps in info.mit_sot_in_slices] + [1] * info.n_sit_sot
        for k, (trace, depth) in enumerate(zip([*several, *single], depths, strict=True)):
            buffers.append(self._buffer([*self.several, *self.single][k], self.sources[k], trace, depth))
        return [*buffers, *(self._kept(trace, k) for k, trace in enumerate(remaining_traces)), *untraced]

    def _buffer(self, buffer: Any, source: Any, trace: Any, depth: int) -> Any:
        """Return a buffer after all steps: of shorter ones the last rows are kept, the end of longer ones is zero."""
        rows = T.concatenate([buffer[:depth], trace], axis=0)
        if _has_room_for_all(source, self.site.node.inputs[0]):
            return rows
        return self._of_length(rows, buffer.shape[0])

    def _of_length(self, rows: Any, length: Any) -> Any:
        """Return the last of some rows, with zeros behind them where a loop without a condition has fewer."""
        if not self.info.as_while:
            missing = T.maximum(length - rows.shape[0], 0)
            tail = T.zeros([missing, *(rows.shape[axis] for axis in range(1, rows.ndim))], dtype=rows.dtype)
            rows = T.concatenate([rows, tail], axis=0)
        return rows[T.maximum(rows.shape[0] - length, 0) :]

    def _kept(self, trace: Any, k: int) -> Any:
        """Return the rows of an output without states, as many as PyTensor has room for."""
        length, steps = self.site.node.inputs[self._first_length() + k], self.site.node.inputs[0]
        if length is steps or _same_constant(length, steps):
            return trace
        return self._of_length(trace, self.lengths[k])

    def _first_length(self) -> int:
        info = self.info
        buffers: int = info.n_mit_mot + info.n_mit_sot + info.n_sit_sot + info.n_untraced_sit_sot
        return 1 + int(info.n_seqs) + buffers


def _same_constant(a: Any, b: Any) -> bool:
    return isinstance(a, Constant) and isinstance(b, Constant) and int(a.data) == int(b.data)


def _has_room_for_all(buffer: Any, steps: Any) -> bool:
    """Tell whether a buffer was made for its initial rows and all steps, as `pytensor.scan` makes it."""
    while buffer.owner is not None and type(buffer.owner.op).__name__ == "IncSubtensor":
        buffer = buffer.owner.inputs[0]
    if buffer.owner is None or type(buffer.owner.op).__name__ != "AllocEmpty":
        return False
    length = buffer.owner.inputs[0]
    for _ in range(4):
        if length.owner is None:
            return False
        if type(getattr(length.owner.op, "scalar_op", None)).__name__ == "Add":
            return any(
                _unwrapped(part) is _unwrapped(steps) or _same_constant(part, steps) for part in length.owner.inputs
            )
        length = length.owner.inputs[0]
    return False


def _unwrapped(variable: Any) -> Any:
    """Return a number without casts and conversions around it."""
    while variable.owner is not None and type(variable.owner.op).__name__ in ("ScalarFromTensor", "TensorFromScalar"):
        variable = variable.owner.inputs[0]
    return variable


def _fitted(value: Any, kind: Any) -> Any:
    """Return a variable with the dtype, and the lengths of 1, that a type of PyTensor has."""
    engine = engine_type(kind)
    if not isinstance(engine, TensorType) or not isinstance(value.type, TensorType):
        return value
    if value.dtype != engine.dtype:
        value = T.cast(value, engine.dtype)
    return T.patternbroadcast(value, engine.broadcastable)


def _last(start: Any, trace: Any) -> Any:
    """Return the last value of a state of which no others are kept."""
    if not isinstance(start.type, TensorType):
        return trace
    return T.concatenate([T.shape_padleft(start), trace], axis=0)[-1]


@rule("scan.Scan")
def _scan(site: Site) -> Any:
    info, arguments = site.op.info, iter(site.inputs)
    n, sequences = next(arguments), _take(arguments, info.n_seqs)
    buffers = _take(arguments, info.n_mit_mot)
    if buffers and info.as_while:
        raise NoRule("a loop with a condition that writes into a buffer of gradients")
    inner = iter(site.op.fgraph.inputs[info.n_seqs :])
    windows = []
    for buffer, reads, writes in zip(buffers, info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True):
        first = min(0, *reads)
        kind = _take(inner, len(reads))[0].type
        windows.append(_Window(buffer, [tap - first for tap in reads], [tap - first for tap in writes], kind))
    several, single = _take(arguments, info.n_mit_sot), _take(arguments, info.n_sit_sot)
    untraced, lengths = _take(arguments, info.n_untraced_sit_sot), _take(arguments, info.n_nit_sot)
    start = 1 + info.n_seqs + info.n_mit_mot
    sources = list(site.node.inputs[start : start + info.n_mit_sot + info.n_sit_sot])
    loop = _Loop(site, n, sequences, windows, several, single, untraced, list(arguments), sources, lengths)
    return loop.results()
