"""The op that runs a graph once for each step, and hands states on from step to step.

There is one form of recurrence: a state that a step gets from the step before. Earlier steps are states too, and
slices of sequences with taps are sequences of their own, so that the loop is closed under differentiation: its
pullback and its pushforward are such loops again, as in ``lax.scan`` of JAX.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import Apply, Variable, compose, config, describe, shape_rule
from theano_linker_c import Function
from theano_linker_c.program import Becomes, Repetition, repeater
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.builders import ComparedGraphOp

from ._mappings import var_mappings
from ._stores import Gathered, Newest, Stacked, Store, Summed

#: What becomes of the values of an output: all of them along a new first dimension, the sum, or the last one.
#: FINAL is the initial state where there are no steps, LAST is an error then.
STACK, SUM, FINAL, LAST = "stack", "sum", "final", "last"
_BECOMES = MappingProxyType({STACK: Becomes.STACK, SUM: Becomes.SUM})


@dataclass(frozen=True)
class Plan:
    """How the inputs and outputs of a loop go together.

    Attributes
    ----------
    sequences, states : int
        How many there are; the inner inputs are rows of the sequences, states, constants, in this order.
    kinds : tuple of str
        For each inner output (new states first), what becomes of it.
    likes : tuple of int
        For each output that is summed, the number of the inner input that has its shape; -1 for others.
    until : bool
        Whether the last inner output says that this step is the last; it is no output of the loop, the number of
        steps done is.
    backwards : bool
        Whether sequences are read, and stacks written, from the last row to the first.
    truncate : int
        Through how many steps gradients go; -1 for all.
    """

    sequences: int
    states: int
    kinds: tuple[str, ...]
    likes: tuple[int, ...]
    until: bool = False
    backwards: bool = False
    truncate: int = -1

    def repetition(self) -> Repetition:
        """Return what a machine has to know to do all steps by itself."""
        kinds = tuple(_BECOMES.get(kind, Becomes.NEWEST) for kind in self.kinds)
        return Repetition(self.sequences, self.states, kinds, self.until, self.backwards)


@dataclass(frozen=True)
class Memory:
    """How a loop deals with memory.

    Attributes
    ----------
    allow_gc : bool
        Whether intermediate results are given back after each step.
    preallocate : bool
        Whether stacks are made at the first step, and filled.
    """

    allow_gc: bool = False
    preallocate: bool = True


class Scan(ComparedGraphOp):
    """Run a graph once for each step; see :func:`theano_scan.scan`, which makes it.

    A node's inputs are the number of steps, the sequences, the initial states, the constants. Its outputs are those
    that `plan.kinds` says, and, where the loop may end early, the number of steps done.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The inner graph; it is copied.
    plan : Plan
    name : str, optional
        Shown where the op is printed.
    options : dict, optional
        Arguments of :func:`theano_linker_c.function` for the inner graph, `mode` for instance.
    memory : Memory, optional

    Attributes
    ----------
    fgraph : FunctionGraph
        The inner graph.

    Invariants
    ----------
    A state has the same type and shape in all steps. Ops are equal if their inner graphs, plans and options are.
    """

    #: Where the graph inside is printed.
    inner_graphs_title = "Inner graphs of the scan ops:"

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        plan: Plan,
        name: str | None = None,
        options: dict[str, Any] | None = None,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(inputs, outputs, options)
        self.plan = plan
        self.name = name
        self.memory = memory or Memory()

    def compiled(self) -> Function:
        """Return the function of one step, compiled on first use."""
        if self._function is not None:
            return self._function
        # What a step does not need any more is memory for its later results, and for those of the next step.
        with config.change_flags(allow_gc=True):
            made = super().compiled()
        if self.memory.allow_gc and hasattr(made.fn, "buffer_limit"):
            made.fn.buffer_limit = 0
        return made

    def make_node(self, *inputs: Any) -> Apply:
        """Apply the loop to the number of steps, the sequences, the initial states and the constants.

        Raises
        ------
        TypeError
            If the number or a type of the inputs does not fit the inner graph.
        """
        inner, plan = self.fgraph.inputs, self.plan
        if len(inputs) != len(inner) + 1:
            raise TypeError(
                compose(f"{self} takes {len(inner) + 1} inputs, got {len(inputs)}", mend="pass one for each")
            )
        n = as_tensor_variable(inputs[0])
        if n.type.ndim or not n.type.dtype.startswith(("int", "uint")):
            raise TypeError(
                compose(
                    "the number of steps is no integer", where=[describe(n)], mend="pass a length, such as x.shape[0]"
                )
            )
        given: list[Any] = [n]
        for k, (x, wanted) in enumerate(zip(inputs[1:], inner, strict=True)):
            if k >= plan.sequences:
                given.append(wanted.type.narrow_variable(x))
                continue
            sequence: Any = as_tensor_variable(x)
            row: Any = wanted.type
            fits = sequence.type.ndim == row.ndim + 1 and row.is_super(
                TensorType(sequence.type.dtype, sequence.type.shape[1:])
            )
            given.append(sequence if fits else TensorType(row.dtype, (None, *row.shape)).narrow_variable(sequence))
        return Apply(
            self, given, [self._output(kind, v) for kind, v in zip(plan.kinds, self.values, strict=True)] + self._done()
        )

    @property
    def values(self) -> list[Variable]:
        """The inner outputs that become outputs."""
        found: list[Variable] = list(self.fgraph.outputs)
        return found[:-1] if self.plan.until else found

    def _output(self, kind: str, inner: Variable) -> Variable:
        of: Any = inner.type
        made: Variable = of.with_lengths((None, *of.shape)).make_variable() if kind == STACK else of.make_variable()
        return made

    def _done(self) -> list[Variable]:
        return [TensorType("int64", ()).make_variable()] if self.plan.until else []

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Run all steps."""
        n = int(inputs[0])
        self._check_lengths(n, inputs[1 : 1 + self.plan.sequences])
        run = _Run(self, n, inputs[1:])
        done = 0 if n == 0 else run.native() or run.steps()
        results = run.results(done)
        if self.plan.until:
            results.append(np.asarray(done))
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def _check_lengths(self, n: int, sequences: Sequence[Any]) -> None:
        if n < 0:
            raise ValueError(compose(f"{self}: the number of steps is {n}", mend="pass 0 or more steps"))
        for k, sequence in enumerate(sequences):
            if len(sequence) < n:
                raise ValueError(
                    compose(
                        f"{self}: sequence {k} has {len(sequence)} elements, too few for {n} steps",
                        mend="make the sequence longer, or n_steps smaller",
                    )
                )

    def settings(self) -> Hashable:
        """Return what besides the inner graph tells loops apart."""
        return self.plan, self.name, self.memory, tuple(sorted((k, str(v)) for k, v in self.options.items()))

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Tell for each inner input which inner outputs depend differentiably on it in one step."""
        return self.inner_pattern()

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Tell which outputs depend on which inputs, through any number of steps."""
        plan, pattern = self.plan, self.inner_pattern()
        states = range(plan.sequences, plan.sequences + plan.states)
        found = []
        for k in range(len(pattern)):
            reached = [bool(x) for x in pattern[k]]
            if k in states:
                reached[k - plan.sequences] = True
            changed = True
            while changed:
                changed = False
                for state in range(plan.states):
                    if reached[state]:
                        more = [a or b for a, b in zip(reached, pattern[plan.sequences + state], strict=True)]
                        changed, reached = changed or more != reached, more
            found.append([*reached[:-1], False] if plan.until else reached)
        return [[False] * len(node.outputs), *found]

    @property
    def var_mappings(self) -> dict[str, dict[int, Any]]:
        """Which outer and inner inputs and outputs belong together; see :func:`theano_scan.var_mappings`."""
        return var_mappings(self.plan.sequences, self.plan.states, len(self.fgraph.inputs), len(self.fgraph.outputs))

    def inner_nitsot_outs(self, outputs: Sequence[Any]) -> list[Any]:
        """Return those of the inner outputs that are not fed back."""
        return list(outputs[self.plan.states : len(self.plan.kinds)])

    def mitmot_out_taps(self) -> list[list[int]]:
        """Return the taps of outputs with several of them: none, as each state has one output in this form of loops."""
        return []

    def __str__(self) -> str:
        what = "while" if self.plan.until else "for"
        return f"{what}{{{'backwards, ' if self.plan.backwards else ''}{self.name or 'scan_fn'}}}"


class _Run:
    """One run of a loop: the stores of its outputs, and the states of the step at hand."""

    def __init__(self, op: Scan, n: int, given: Sequence[Any]) -> None:
        plan = op.plan
        last = plan.sequences + plan.states
        self.op, self.n, self.given = op, n, given
        self.sequences, self.start, self.constants = given[: plan.sequences], given[plan.sequences : last], given[last:]
        self.found: list[Any] = []

    def _store(self, k: int, kind: str) -> Store:
        shape = getattr(self.start[k], "shape", None) if k < self.op.plan.states else None

        def complaint(i: int, got: Sequence[int], wanted: Sequence[int]) -> Exception:
            return self._complaint(k, i, got, wanted)

        if kind == STACK:
            return (Stacked if self.op.memory.preallocate else Gathered)(self.n, shape, complaint)
        return Summed(complaint) if kind == SUM else Newest(shape, complaint)

    def _complaint(self, k: int, i: int, got: Sequence[int], wanted: Sequence[int]) -> Exception:
        return ValueError(_shape_text(self.op, k, i, got, wanted))

    def native(self) -> int:
        """Let the machine of the step do all steps; return how many were done, 0 where it cannot."""
        plan = self.op.plan
        repeat = repeater(self.op.compiled().fn, plan.repetition()) if self.op.memory.preallocate else None
        if repeat is None:
            return 0
        done, self.found = repeat(self.n, self.given, self._complaint)
        if done < self.n:
            part = slice(self.n - done, None) if plan.backwards else slice(done)
            self.found = [v[part] if kind == STACK else v for v, kind in zip(self.found, plan.kinds, strict=True)]
        return done

    def steps(self) -> int:
        """Do the steps one by one, and return how many were done."""
        plan, run = self.op.plan, self.op.runner()
        stores = [self._store(k, kind) for k, kind in enumerate(plan.kinds)]
        takes = [store.take for store in stores]
        sequences, constants, states = self.sequences, list(self.constants), list(self.start)
        order = range(self.n - 1, -1, -1) if plan.backwards else range(self.n)
        done = 0
        try:
            for i in order:
                values = run([*[s[i, ...] for s in sequences], *states, *constants])
                for take, value in zip(takes, values, strict=False):
                    take(i, value)
                states = list(values[: plan.states])
                done += 1
                if plan.until and values[-1]:
                    break
        except Exception as error:
            error.add_note(f"  in step {done} of a loop of {self.n}, counted from 0")
            raise
        self.found = [store.result(done, plan.backwards) for store in stores]
        return done

    def results(self, done: int) -> list[Any]:
        """Return the outputs after `done` steps."""
        return self.found if done else [self._without_steps(k, kind) for k, kind in enumerate(self.op.plan.kinds)]

    def _without_steps(self, k: int, kind: str) -> Any:
        of: Any = self.op.values[k].type
        if kind == STACK:
            shape = self.start[k].shape if k < self.op.plan.states else self._shape_of_row(k)
            return np.empty((0, *shape), of.dtype)
        if kind == SUM:
            like = self.op.plan.likes[k]
            return np.zeros(self.given[like].shape[like < len(self.sequences) :], of.dtype)
        if kind == FINAL:
            start = self.start[k]
            return start.copy() if isinstance(start, np.ndarray) else copy.copy(start)
        raise IndexError(compose(f"{self.op} has done no step: there is no last one", mend="run at least one step"))

    def _shape_of_row(self, k: int) -> tuple[int, ...]:
        """Return the shape that output k would have in a step: that of a step on zeros, where it can be done."""
        try:
            rows = [np.zeros(s.shape[1:], s.dtype) for s in self.sequences]
            found: tuple[int, ...] = self.op.runner()([*rows, *self.start, *self.constants])[k].shape
        except (ArithmeticError, IndexError, ValueError):
            of: Any = self.op.values[k].type
            return tuple(length or 0 for length in of.shape)
        return found


def _shape_text(op: Scan, k: int, step: int, got: Sequence[int], wanted: Sequence[int]) -> str:
    what = f"state {k}" if k < op.plan.states else f"output {k - op.plan.states}"
    return compose(
        f"{op}: {what} has shape {tuple(got)} in step {step}, not {tuple(wanted)}",
        mend="give the initial state the shape that steps return, and return equal shapes from all steps",
    )


@shape_rule.register(Scan)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    op: Scan = node.op
    plan = op.plan
    steps = node.outputs[-1] if plan.until else node.inputs[0]
    rows: list[Any] = [as_tensor_variable(s)[0] for s in node.inputs[1 : 1 + plan.sequences]]
    shapes = op.inner_shapes([*rows, *node.inputs[1 + plan.sequences :]])
    found: list[Any] = []
    for k, (kind, shape) in enumerate(zip(plan.kinds, shapes, strict=False)):
        if k < plan.states:
            shape = input_shapes[1 + plan.sequences + k]
        elif kind == SUM:
            like = plan.likes[k]
            shape = input_shapes[1 + like][1 if like < plan.sequences else 0 :]
        found.append(None if shape is None else (steps, *shape) if kind == STACK else tuple(shape))
    return [*found, ()] if plan.until else found
