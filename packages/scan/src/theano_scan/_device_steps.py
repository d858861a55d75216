"""All steps of a loop on a device as one list of launches, where the step is one region."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray
from theano_gpuarray.contexts import GpuContext
from theano_gpuarray.lowering import RegionRunner
from theano_gpuarray.region import (
    KEYED,
    MOVED,
    LoopInput,
    LoopOutput,
    LoopPlan,
    Replays,
    StepError,
    flags_token,
    record_loop,
    record_until,
)
from theano_gpuarray.types import GpuArrayType
from theano_linker_c.ops import DeepCopyOp
from theano_linker_c.program import Cluster, Instruction, Program
from theano_tensor.shape import ShapeI, ShapeOf

from ._loop._plan import STACK, SUM, Plan

__all__ = ["StepsAtOnce", "steps_at_once"]

#: How often it is tried to do all steps at once.
_TRIES = 3


class StepsAtOnce:
    """Does all steps of a loop at once.

    Parameters
    ----------
    program : Program
        That of the step: its inputs are rows of sequences, states, constants, and sums so far.
    cluster : Instruction
        The one that computes the results.
    plan : Plan
    context : GpuContext
    """

    def __init__(self, program: Program, cluster: Instruction, plan: Plan, context: GpuContext) -> None:
        self._program, self._cluster, self._plan, self._context = program, cluster, plan, context
        self._runner: Any = cluster.node.op.run
        self._others = [x for x in program.instructions if x is not cluster and not _is_copy(x)]
        self._results = [_copied(program, register) for register in program.outputs]
        self._places = {given.register: k for k, given in enumerate(program.inputs)}
        sums = [k for k, kind in enumerate(plan.kinds) if kind == SUM]
        self._n_values = len(program.inputs) - len(sums)
        #: For each input that is another one in each step because of an output: that output.
        self._carried = {plan.sequences + k: k for k in range(plan.states)}
        self._carried.update({self._n_values + i: k for i, k in enumerate(sums)})
        registers = [cluster.inputs[i] for i in self._runner.given]
        #: What the region reads, and results that are inputs of a step.
        self._registers = [*registers, *(r for r in self._results if r not in (*cluster.outputs, *registers))]
        flags = [0] * self._n_values
        for register, flag in zip(registers, self._runner.region.flags, strict=True):
            place = self._places.get(register, -1)
            if 0 <= place < self._n_values:
                flags[place] |= flag
        for place in (self._places.get(r, -1) for x in self._others for r in x.inputs):
            if 0 <= place < self._n_values:
                flags[place] |= KEYED
        self._flags = flags
        #: How often steps differed in more than numbers that advance evenly.
        self._uneven = 0
        self._replays = Replays(context.native, GpuArray, context, np.empty, bytes(flags))

    def run(self, n: int, given: Sequence[Any]) -> tuple[int, list[Any]] | None:
        """Return the number of steps and the outputs; None where steps have to be done one by one.

        That also raises what is wrong.

        Parameters
        ----------
        n : int
            Steps, 1 at least.
        given : sequence
            Sequences, initial states and constants.
        """
        if self._uneven > _TRIES:
            return None
        values, token = list(given), 4 * n + flags_token()
        try:
            found = self._replays.run(values, token)
            if found is None:
                found = self._first(n, values, token)
        except StepError:
            return None
        if found is None or not self._plan.until:
            return None if found is None else (n, found)
        ((recording, memory),) = found
        ended: tuple[int, list[Any]] | None = recording.finish(memory)
        return ended

    def _first(self, n: int, values: list[Any], token: int) -> list[Any] | None:
        values = [x if isinstance(x, GpuArray) else np.asarray(x, order="C") for x in values]
        inputs = self._inputs(values)
        if inputs is None:
            return None
        plan = LoopPlan(inputs, self._outputs(), self._plan.backwards)
        make = record_until if self._plan.until else record_loop
        entry = make(self._runner.region, plan, n, values, self._shapes(values))
        if entry is None:
            self._uneven += 1
            return None
        self._replays.keep(values, token, entry)
        return self._replays.make(values, entry)

    def _inputs(self, values: Sequence[Any]) -> tuple[LoopInput, ...] | None:
        """Return where the region gets its inputs from; None where the host would have to do something in each step."""
        on_host = self._on_host(values)
        if on_host is None:
            return None
        found = [self._input(register, values, on_host) for register in self._registers]
        return None if None in found else tuple(x for x in found if x is not None)

    def _input(self, register: int, values: Sequence[Any], on_host: Mapping[int, Any]) -> LoopInput | None:
        place = self._places.get(register)
        if place is None:
            value = on_host.get(register)
            return LoopInput("same", -1, value) if isinstance(value, (np.ndarray, np.generic)) else None
        if place in self._carried:
            return LoopInput("state", self._carried[place])
        if place >= self._plan.sequences:
            return LoopInput("same", place)
        moved, keyed = self._flags[place] & MOVED, self._flags[place] & KEYED
        if isinstance(values[place], GpuArray) or not keyed:
            return LoopInput("row", place)
        return None if moved else LoopInput("position", place)

    def _on_host(self, values: Sequence[Any]) -> dict[int, Any] | None:
        """Return what the host computes of shapes and constants, by registers; None if it differs from step to step."""
        known: dict[int, Any] = dict(self._program.constants)
        for register, place in self._places.items():
            if self._plan.sequences <= place < self._n_values:
                known[register] = values[place]
            elif place < self._plan.sequences and isinstance(values[place], GpuArray):
                known[register] = values[place][0]
        for instruction in self._others:
            if any(r not in known for r in instruction.inputs):
                return None
            results: list[list[Any]] = [[None] for _ in instruction.outputs]
            node = instruction.node
            node.op.perform(node, [known[r] for r in instruction.inputs], results)
            known.update({r: cell[0] for r, cell in zip(instruction.outputs, results, strict=True)})
        return known

    def _outputs(self) -> tuple[LoopOutput, ...]:
        plan, cluster = self._plan, self._cluster
        found = []
        kinds = (*plan.kinds, STACK) if plan.until else plan.kinds  # the last one ends the loop
        for k, (kind, register) in enumerate(zip(kinds, self._results, strict=True)):
            made = register in cluster.outputs
            result = cluster.outputs.index(register) if made else ~self._registers.index(register)
            initial = plan.sequences + k if k < plan.states else -1
            found.append(LoopOutput(result, kind == STACK, k < plan.states or kind == SUM, initial))
        return tuple(found)

    def _shapes(self, values: Sequence[Any]) -> dict[int, tuple[str, tuple[int, ...]]]:
        """Return dtypes and shapes of the outputs that the next step reads."""
        plan, shapes = self._plan, dict[int, tuple[str, tuple[int, ...]]]()
        for k, kind in enumerate(plan.kinds):
            if k < plan.states:
                start = values[plan.sequences + k]
                shapes[k] = start.dtype.name, tuple(start.shape)
            elif kind == SUM:
                like = plan.likes[k]
                dtype = self._cluster.node.outputs[self._cluster.outputs.index(self._results[k])].type.dtype
                shapes[k] = dtype, tuple(values[like].shape[like < plan.sequences :])
        return shapes


def steps_at_once(program: Program, plan: Plan, context: GpuContext) -> StepsAtOnce | None:
    """Return what does all steps of a loop at once; None where they have to be done one by one.

    Parameters
    ----------
    program : Program
        That of the step.
    plan : Plan
    context : GpuContext
    """
    clusters = [x for x in program.instructions if isinstance(x.node.op, Cluster)]
    if len(clusters) != 1 or program.schedule is not None or program.cells:
        return None
    (cluster,) = clusters
    runner = cluster.node.op.run
    if not isinstance(runner, RegionRunner) or not _computes_all(program, cluster, plan):
        return None
    return StepsAtOnce(program, cluster, plan, context)


def _is_copy(instruction: Instruction) -> bool:
    """Tell whether a result that is another one or an input is copied, for the caller to have it to himself."""
    return isinstance(instruction.node.op, DeepCopyOp)


def _copied(program: Program, register: int) -> int:
    """Return the register of which one is a copy."""
    sources = {x.outputs[0]: x.inputs[0] for x in program.instructions if _is_copy(x)}
    while register in sources:
        register = sources[register]
    return register


def _computes_all(program: Program, cluster: Instruction, plan: Plan) -> bool:
    """Tell whether a cluster computes all results on the device, and the host does nothing but ask for shapes."""
    given = {x.register: x.variable for x in program.inputs}
    made = dict(zip(cluster.outputs, cluster.node.outputs, strict=True))
    results = [_copied(program, register) for register in program.outputs]
    if not all(r in made or r in given for r in results):
        return False
    if not all(isinstance({**given, **made}[r].type, GpuArrayType) for r in results):
        return False
    if not all(r in made for r, kind in zip(results, plan.kinds, strict=False) if kind == SUM):
        return False
    return all(
        isinstance(x.node.op, (ShapeI, ShapeOf)) or not any(isinstance(v.type, GpuArrayType) for v in x.node.inputs)
        for x in program.instructions
        if x is not cluster and not _is_copy(x)
    )
