"""The ops of loops: one with the documented kinds of outputs, and the one that runs.

A :class:`Scan` is the op that programs see: buffers whose first rows are the initial values, outputs of several kinds
with taps. A :class:`Loop` replaces it before anything else is rewritten. It has one form of recurrence: a
state that a step gets from the step before. Earlier steps are states too, and slices of sequences with taps are
sequences of their own, so that it is closed under differentiation: its pullback and its pushforward are such loops
again, as in ``lax.scan`` of JAX.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from theano_graph import (
    Apply,
    FunctionGraph,
    Variable,
    config,
    describe,
    equal_computations,
    format_error,
    graph_inputs,
    io_connection_pattern,
    shape_rule,
)
from theano_linker_c import Function
from theano_linker_c.loop_code import LoopCodes
from theano_linker_c.program import lowered_for_loop
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.builders import ComparedGraphOp
from theano_tensor.shape import shape_i

from ._plan import (
    FINAL,
    STACK,
    SUM,
    Kinds,
    Memory,
    Plan,
    check_inner_graph,
    connections_of_steps,
    draws,
    number_of_steps,
    stack_of,
    without_test_values,
)
from ._run import Run

#: The entry of `info` that names the sitsots of which the last row alone is wanted: those of shared variables.
KEPT_LAST = "kept_last"


class Scan(Kinds, ComparedGraphOp):
    """Run a graph once for each step; see :func:`theano_scan.scan`, which makes it.

    Inputs of the inner graph are rows of sequences, for each mitsot its values at its taps, for each sitsot its value
    was one step before, shared values and constants. Its outputs are the new values of mitsots, sitsots, nitsots and
    shared values, and maybe the truth value that ends the loop.

    Inputs of a node are the number of steps, sequences, a buffer for each mitsot and sitsot, shared values, the
    number of steps for each nitsot, and constants. Its outputs are the buffers with the rows of all steps behind the
    first ones, the rows of nitsots, and the last shared values.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The inner graph.
    info : dict
        The numbers: ``n_seqs, n_mit_mot, n_mit_mot_outs, mit_mot_out_slices, n_mit_sot, n_sit_sot, n_nit_sot,
        n_shared_outs, tap_array, as_while``, and settings: ``name, mode, truncate_gradient, profile, allow_gc,
        strict``.
    typeConstructor : callable, optional
        Makes the type of an output of a broadcastable pattern and a dtype.

    Attributes
    ----------
    inputs, outputs, info
    fgraph : FunctionGraph
        A copy of the inner graph.
    loop : Loop
        The loop that runs.
    fn : Function
        The inner graph, compiled.

    Invariants
    ----------
    A state has the same type and shape in all steps. Ops are equal if their inner graphs and settings are.
    """

    name: str | None
    info: dict[str, Any]
    inputs: list[Any]
    outputs: list[Any]
    destroy_map: dict[int, list[int]]

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        info: Mapping[str, Any],
        typeConstructor: Any = None,
    ) -> None:
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.info = dict(info)
        self.info["name"] = self.info.get("name") or "scan_fn"
        self.__dict__.update(self.info)
        self.typeConstructor = typeConstructor
        self.preallocate = bool(config.scan.allow_output_prealloc)
        self._forget()
        check_inner_graph(self)

    def _forget(self) -> None:
        """Start without a lock and a compiled form."""
        super().__setstate__({"_function": None, "options": self._options()})

    def _options(self) -> dict[str, Any]:
        result: dict[str, Any] = {"on_unused_input": "ignore"}
        if self.info.get("mode") is not None:
            result["mode"] = self.info["mode"]
        profile = self.info.get("profile")
        if profile:
            result["profile"] = profile if isinstance(profile, str) else (self.info["name"] or True)
        return result

    # ---- derived forms

    @cached_property
    def fgraph(self) -> FunctionGraph:  # type: ignore[override]  # the base sets it at once
        """The inner graph, copied when it is first asked for."""
        return FunctionGraph(self.inputs, self.outputs)

    @cached_property
    def loop(self) -> Loop:
        """The op that does the same in the form that runs."""
        rows, shared = self.inner_seqs(self.inputs), self.inner_shared(self.inputs)
        registers, new_states = self._registers()
        sitsots, final = self.inner_sitsot(self.inputs), set(self.info.get(KEPT_LAST, ()))
        kinds = [STACK] * len(registers) + [FINAL if k in final else STACK for k in range(self.n_sit_sot)]
        states = [*registers, *sitsots, *shared]
        new_states += [*self.inner_sitsot_outs(self.outputs), *self.inner_shared_outs(self.outputs)]
        kinds += [FINAL] * len(shared)
        results = [*new_states, *self.inner_nitsot_outs(self.outputs)]
        results += draws(results, {*rows, *states})
        kinds += [STACK] * (len(results) - len(states))
        plan = Plan(
            len(rows),
            len(states),
            tuple(kinds),
            (-1,) * len(kinds),
            until=self.as_while,
            truncate=int(self.info.get("truncate_gradient", -1)),
        )
        if self.as_while:
            results.append(self.outputs[-1])
        inputs = [
            *rows,
            *states,
            *(v for v, used in zip(self.inner_non_seqs(self.inputs), self.used, strict=True) if used),
        ]
        memory = Memory(bool(self.info.get("allow_gc")), self.preallocate)
        return Loop(inputs, results, plan, self.name, self.options, memory)

    @cached_property
    def used(self) -> list[bool]:
        """Whether each constant is used in the inner graph."""
        roots = set(graph_inputs(self.outputs))
        return [v in roots for v in self.inner_non_seqs(self.inputs)]

    @cached_property
    def whole_loop(self) -> Loop:
        """The same, with the rows of all steps of all arrays."""
        return self.loop.keeping(range(self.loop.plan.states))

    def _registers(self) -> tuple[list[Any], list[Any]]:
        """Return a state for each earlier step of each mitsot, and their new values."""
        inner = iter(self.inner_mitsot(self.inputs))
        states: list[Any] = []
        values: list[Any] = []
        for taps, result in zip(self.mitsot_taps(), self.inner_mitsot_outs(self.outputs), strict=True):
            by_tap = {-tap - 1: next(inner) for tap in taps}
            mine = [by_tap[k] if k in by_tap else result.type.make_variable() for k in range(-min(taps))]
            states += mine
            values += [result, *mine[:-1]]
        return states, values

    @property
    def depths(self) -> list[int]:
        """How many first rows the buffers of mitsots and sitsots have."""
        return [-min(taps) for taps in self.tap_array]

    # ---- nodes

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the loop; see the class for the inputs.

        Raises
        ------
        TypeError
            If the number or a type of the inputs does not fit the inner graph.
        """
        expected = 1 + self.n_seqs + len(self.tap_array) + self.n_shared_outs + self.n_nit_sot
        expected += len(self.inner_non_seqs(self.inputs))
        if len(inputs) != expected:
            raise TypeError(
                format_error(f"{self} takes {expected} inputs, got {len(inputs)}", hint="pass one for each")
            )
        arguments = [number_of_steps(inputs[0])]
        arguments += [
            stack_of(row, x) for row, x in zip(self.inner_seqs(self.inputs), self.outer_seqs(inputs), strict=True)
        ]
        states = [*self.inner_mitsot_outs(self.outputs), *self.inner_sitsot_outs(self.outputs)]
        buffers = [*self.outer_mitsot(inputs), *self.outer_sitsot(inputs)]
        arguments += [stack_of(state, x) for state, x in zip(states, buffers, strict=True)]
        fixed = [(self.inner_shared, self.outer_shared), (self.inner_non_seqs, self.outer_non_seqs)]
        shared, constants = (
            [v.type.narrow_variable(x) for v, x in zip(inner(self.inputs), outer(inputs), strict=True)]
            for inner, outer in fixed
        )
        counts = [as_tensor_variable(n) for n in self.outer_nitsot(inputs)]
        return Apply(self, [*arguments, *shared, *counts, *constants], [make() for make in self._makers()])

    def _makers(self) -> list[Any]:
        """Return for each output a maker of variables of its type."""
        stacked = [*self.inner_mitsot_outs(self.outputs), *self.inner_sitsot_outs(self.outputs)]
        stacked += self.inner_nitsot_outs(self.outputs)
        make: Any = self.typeConstructor
        types = [
            v.type.with_lengths((None, *v.type.shape))
            if make is None
            else make(broadcastable=(False, *v.type.broadcastable), dtype=v.type.dtype)
            for v in stacked
        ]
        return [t.make_variable for t in (*types, *(v.type for v in self.inner_shared_outs(self.outputs)))]

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Run all steps, and put their results behind the first rows of the buffers."""
        with without_test_values():  # where this computes a test value, the inner graph is compiled here
            loop = self.whole_loop
            results: list[list[Any]] = [[None] for _ in range(len(loop.plan.kinds) + self.as_while)]
            loop.perform(node, self.loop_inputs(inputs, _row), results)
        for storage, value in zip(output_storage, self._arranged(inputs, [r[0] for r in results]), strict=True):
            storage[0] = value

    def _arranged(self, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        result: list[Any] = []
        buffers, position = [*self.outer_mitsot(inputs), *self.outer_sitsot(inputs)], 0
        for k, (buffer, depth) in enumerate(zip(buffers, self.depths, strict=True)):
            result.append(np.concatenate([buffer[:depth], results[position]]))
            position += depth if k < self.n_mit_sot else 1
        shared = list(results[position : position + self.n_shared_outs])
        position += self.n_shared_outs
        return result + list(results[position : position + self.n_nit_sot]) + shared

    def loop_inputs(self, inputs: Sequence[Any], start: Any) -> list[Any]:
        """Return the inputs of the loop that runs; ``start(buffer, place, depth)`` is a row that it starts from."""
        result = [inputs[0], *self.outer_seqs(inputs)]
        for buffer, depth in zip([*self.outer_mitsot(inputs), *self.outer_sitsot(inputs)], self.depths, strict=True):
            result += [start(buffer, position, depth) for position in range(depth - 1, -1, -1)]
        constants = [v for v, used in zip(self.outer_non_seqs(inputs), self.used, strict=True) if used]
        return [*result, *self.outer_shared(inputs), *constants]

    # ---- comparing, copies

    def settings(self) -> Hashable:
        """Return the parameters that tell loops with one inner graph apart."""
        without = ("destroy_map", "gpua", "strict")
        table = {k: str(v) for k, v in self.info.items() if k not in without}
        return tuple(sorted(table.items())), self.preallocate

    def _key(self) -> tuple[Any, ...]:
        return type(self), self.settings(), tuple(v.type for v in (*self.inputs, *self.outputs))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Scan) or self._key() != other._key():
            return False
        return equal_computations(self.outputs, other.outputs, self.inputs, other.inputs)

    def __hash__(self) -> int:
        return hash(self._key())

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k not in ("fgraph", "loop", "whole_loop", "used")}

    # ---- queries

    @property
    def fn(self) -> Function:
        """The inner graph, compiled."""
        return self.compiled()

    @property
    def var_mappings(self) -> dict[str, dict[int, Any]]:
        """Which outer and inner inputs and outputs belong together; see :meth:`mappings`."""
        return self.mappings(len(self.inputs))

    def get_oinp_iinp_iout_oout_mappings(self) -> dict[str, dict[int, Any]]:
        """Return which outer and inner inputs and outputs belong together; see :meth:`mappings`."""
        return self.var_mappings

    def validate_inner_graph(self) -> None:
        """Raise TypeError if a state and its new value are of different types."""
        mappings = self.var_mappings
        for k in range(len(self.tap_array)):
            for i in mappings["inner_inp_from_outer_out"][k]:
                for o in mappings["inner_out_from_outer_out"][k]:
                    before, after = self.inputs[i], self.outputs[o]
                    if before.type != after.type:
                        raise TypeError(
                            format_error(
                                f"{self}: a state of type {before.type.describe()} "
                                f"has a new value of type {after.type.describe()}",
                                context=[describe(after)],
                                hint="convert the new value to the type of the state",
                            )
                        )

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Tell for each inner input which inner outputs depend differentiably on it in one step."""
        result: list[list[bool]] = io_connection_pattern(self.inputs, self.outputs)
        return result

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Tell which outputs depend on which inputs, through any number of steps."""
        mappings, pattern = self.var_mappings, self.inner_connection_pattern()
        inner_inputs, inner_outputs = mappings["inner_inp_from_outer_inp"], mappings["inner_out_from_outer_out"]
        outputs = range(len(node.outputs))
        result = [
            [any(pattern[i][o] for o in inner_outputs[k] for i in inner_inputs[index]) for k in outputs]
            for index in range(len(node.inputs))
        ]
        state_of = {k: i for k in outputs if (i := mappings["outer_inp_from_outer_out"][k]) >= 0 and inner_inputs[i]}
        changed = True
        while changed:
            changed = False
            for reached in result:
                for k, position in state_of.items():
                    if reached[k]:
                        more = [a or b for a, b in zip(reached, result[position], strict=True)]
                        changed, reached[:] = changed or more != reached, more
        return result

    def __str__(self) -> str:
        return f"{'do_while' if self.as_while else 'for'}{{cpu,{self.name or 'scan_fn'}}}"


def _row(buffer: Any, position: int, depth: int) -> Any:
    return buffer[position, ...]


class Loop(Scan):
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

    counts_nit_sots = False
    #: Cached result of :meth:`codes`; False for None.
    _codes: LoopCodes | bool | None = None

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        plan: Plan,
        name: str | None = None,
        options: dict[str, Any] | None = None,
        memory: Memory | None = None,
    ) -> None:
        # Not that of Scan: kinds of outputs follow from the plan here.
        ComparedGraphOp.__init__(self, inputs, outputs, options)
        self.plan = plan
        self.name = name
        self.memory = memory or Memory()
        self.n_seqs, self.n_sit_sot, self.n_nit_sot = plan.sequences, plan.states, len(plan.kinds) - plan.states
        self.n_mit_mot = self.n_mit_mot_outs = self.n_mit_sot = self.n_shared_outs = 0
        self.tap_array, self.mit_mot_out_slices = [[-1]] * plan.states, []
        self.as_while = plan.until

    def compiled(self) -> Function:
        """Return the function of one step, compiled on first use."""
        if self._function is not None:
            return self._function
        # A value that a step does not need any more is memory for its later results, and for those of the next step.
        # Its variables stand for no value: test values of outer variables cannot be computed inside.
        flags = config.change_flags(allow_gc=True, compute_test_value="off", compute_test_value_opt="off")
        with flags, lowered_for_loop(self.plan.loop_spec()):
            result = super().compiled()
        if self.memory.allow_gc and hasattr(result.machine, "buffer_limit"):
            result.machine.buffer_limit = 0
        return result

    def codes(self) -> LoopCodes | None:
        """Return the code that does all steps in a call, where there is some; None where there is to be none."""
        if self._codes is None:
            when = str(config.scan.loop_code)
            enabled = when != "none" and not self.options.get("profile")
            plan = self.plan
            self._codes = (
                LoopCodes(self.compiled(), plan.loop_spec(), plan.likes, at_once=when == "all") if enabled else False
            )
        return self._codes if isinstance(self._codes, LoopCodes) else None

    @property
    def runs_own_code(self) -> bool:
        """Whether the loop has run as one function of C."""
        return isinstance(self._codes, LoopCodes) and self._codes.runs > 0

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply the loop to the number of steps, the sequences, the initial states and the constants.

        Raises
        ------
        TypeError
            If the number or a type of the inputs does not fit the inner graph.
        """
        inner, plan = self.fgraph.inputs, self.plan
        if len(inputs) != len(inner) + 1:
            raise TypeError(
                format_error(f"{self} takes {len(inner) + 1} inputs, got {len(inputs)}", hint="pass one for each")
            )
        arguments: list[Any] = [number_of_steps(inputs[0])]
        for k, (x, variable) in enumerate(zip(inputs[1:], inner, strict=True)):
            arguments.append(stack_of(variable, x) if k < plan.sequences else variable.type.narrow_variable(x))
        return Apply(
            self,
            arguments,
            [self._output(kind, v) for kind, v in zip(plan.kinds, self.values, strict=True)] + self._done(),
        )

    def keeping(self, states: Iterable[int]) -> Loop:
        """Return the loop that keeps some of its states of all steps, where they are arrays."""
        plan, selection = self.plan, set(states)
        kinds = tuple(
            STACK if k in selection and isinstance(v.type, TensorType) else kind
            for k, (kind, v) in enumerate(zip(plan.kinds, self.values, strict=True))
        )
        if kinds == plan.kinds:
            return self
        inner = self.fgraph
        return Loop(inner.inputs, inner.outputs, replace(plan, kinds=kinds), self.name, self.options, self.memory)

    @property
    def values(self) -> list[Variable]:
        """The inner outputs that become outputs."""
        result: list[Variable] = list(self.fgraph.outputs)
        return result[:-1] if self.plan.until else result

    def _output(self, kind: str, inner: Variable) -> Variable:
        of: Any = inner.type
        result: Variable = of.with_lengths((None, *of.shape)).make_variable() if kind == STACK else of.make_variable()
        return result

    def _done(self) -> list[Variable]:
        return [TensorType("int64", ()).make_variable()] if self.plan.until else []

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Run all steps."""
        n, codes = int(inputs[0]), self._codes
        value = codes.run(n, inputs[1:]) if n > 0 and isinstance(codes, LoopCodes) else None
        if value is not None and value[0] == n:
            done, results = value
        else:
            self.check_lengths(n, inputs[1 : 1 + self.plan.sequences])
            run = Run(self, n, inputs[1:])
            done = run.take(*value) if value is not None else 0 if n == 0 else run.native() or run.steps()
            results = run.results(done)
        if self.plan.until:
            results.append(np.asarray(done))
        for storage, result in zip(output_storage, results, strict=True):
            storage[0] = result

    def check_lengths(self, n: int, sequences: Sequence[Any]) -> None:
        """Refuse sequences that are shorter than the number of steps, and a negative number."""
        if n < 0:
            raise ValueError(format_error(f"{self}: the number of steps is {n}", hint="pass 0 or more steps"))
        for k, sequence in enumerate(sequences):
            if len(sequence) < n:
                raise ValueError(
                    format_error(
                        f"{self}: Sequence is shorter than the loop: "
                        f"sequence {k} has {len(sequence)} elements, too few for {n} steps",
                        hint="make the sequence longer, or n_steps smaller",
                    )
                )

    def settings(self) -> Hashable:
        """Return the parameters that tell loops with one inner graph apart."""
        return self.plan, self.name, self.memory, tuple(sorted((k, str(v)) for k, v in self.options.items()))

    def inner_connection_pattern(self) -> list[list[bool]]:
        """Tell for each inner input which inner outputs depend differentiably on it in one step."""
        return self.inner_pattern()

    def connection_pattern(self, node: Apply[Self]) -> list[list[bool]]:
        """Tell which outputs depend on which inputs, through any number of steps."""
        return [[False] * len(node.outputs), *connections_of_steps(self.plan, self.inner_pattern())]

    # ---- the attributes of a Scan, for a loop in this form

    __eq__ = ComparedGraphOp.__eq__
    __hash__ = ComparedGraphOp.__hash__
    _key = ComparedGraphOp._key

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in ComparedGraphOp.__getstate__(self).items() if k != "_codes"}

    @property
    def loop(self) -> Loop:
        """The op itself."""
        return self

    @property
    def inputs(self) -> list[Any]:  # type: ignore[override]  # those of the inner graph, which may be rewritten
        """The inputs of the inner graph."""
        return list(self.fgraph.inputs)

    @property
    def outputs(self) -> list[Any]:  # type: ignore[override]
        """The outputs of the inner graph."""
        return list(self.fgraph.outputs)

    @property
    def info(self) -> dict[str, Any]:  # type: ignore[override]
        """The numbers, as for a Scan: all states are sitsots here."""
        counts = ("n_seqs", "n_mit_mot", "n_mit_mot_outs", "n_mit_sot", "n_sit_sot", "n_nit_sot", "n_shared_outs")
        result: dict[str, Any] = {name: getattr(self, name) for name in (*counts, "tap_array", "mit_mot_out_slices")}
        result |= {"name": self.name, "mode": self.options.get("mode"), "profile": self.options.get("profile", False)}
        result |= {"as_while": self.as_while, "truncate_gradient": self.plan.truncate, "destroy_map": {}}
        return result | {"allow_gc": self.memory.allow_gc, "gpua": False, "strict": False}


@shape_rule.register(Loop)
def _shape(node: Apply[Loop], input_shapes: list[Any]) -> list[Any]:
    op: Loop = node.op
    plan = op.plan
    steps = node.outputs[-1] if plan.until else node.inputs[0]
    rows: list[Any] = [as_tensor_variable(s)[0] for s in node.inputs[1 : 1 + plan.sequences]]
    shapes = op.inner_shapes([*rows, *node.inputs[1 + plan.sequences :]])
    result: list[Any] = []
    for k, (kind, shape) in enumerate(zip(plan.kinds, shapes, strict=False)):
        if k < plan.states:
            shape = input_shapes[1 + plan.sequences + k]
        elif kind == SUM:
            like = plan.likes[k]
            shape = input_shapes[1 + like][1 if like < plan.sequences else 0 :]
        result.append(None if shape is None else (steps, *shape) if kind == STACK else tuple(shape))
    return [*result, ()] if plan.until else result


@shape_rule.register(Scan)
def _shape_of_kinds(node: Apply[Scan], input_shapes: list[Any]) -> list[Any]:
    op: Scan = node.op
    places = [sum(op.depths[:k]) for k in range(len(op.depths))]
    results: list[Any] = op.whole_loop(*op.loop_inputs(node.inputs, _row), return_list=True)
    result: list[Any] = []
    for position, depth in zip(places, op.depths, strict=True):
        rows = results[position]
        result.append((shape_i(rows, 0) + depth, *(shape_i(rows, i) for i in range(1, rows.type.ndim))))
    first = op.whole_loop.plan.states
    result += [tuple(shape_i(v, i) for i in range(v.type.ndim)) for v in results[first : first + op.n_nit_sot]]
    return result + [None] * op.n_shared_outs
