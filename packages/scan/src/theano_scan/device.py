"""Loops on devices: sequences, states and results stay there from step to step."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from theano_gpuarray.arrays import GpuArray, asarray, empty, zeros
from theano_gpuarray.contexts import GpuContext, get_context
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
from theano_gpuarray.types import (
    DEVICE,
    GpuArrayType,
    GpuFromHost,
    TransferOp,
    has_device_form,
    has_library,
    host_from_gpu,
    is_host_array,
)
from theano_graph import Apply, Op, Variable, batch_rule, clone_replace, config
from theano_linker_c import Function, function
from theano_linker_c.kernels import native_kernel
from theano_linker_c.ops import DeepCopyOp
from theano_linker_c.profiling import device_kind
from theano_linker_c.program import Cluster, Instruction, Program, call_form
from theano_tensor.device import as_gpuarray_variable, lifters
from theano_tensor.shape import ShapeI, ShapeOf

from ._loop._ops import Loop
from ._loop._plan import STACK, SUM, Plan
from ._loop._run import Run

# ---- All steps as one list of launches, where the step is one region

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
        self._places = {argument.register: k for k, argument in enumerate(program.inputs)}
        sums = [k for k, kind in enumerate(plan.kinds) if kind == SUM]
        self._n_values = len(program.inputs) - len(sums)
        #: For each input that is another one in each step because of an output: that output.
        self._carried = {plan.sequences + k: k for k in range(plan.states)}
        self._carried.update({self._n_values + i: k for i, k in enumerate(sums)})
        registers = [cluster.inputs[i] for i in self._runner.given]
        #: The region's inputs, and results that are inputs of a step.
        self._registers = [*registers, *(r for r in self._results if r not in (*cluster.outputs, *registers))]
        flags = [0] * self._n_values
        for register, flag in zip(registers, self._runner.region.flags, strict=True):
            position = self._places.get(register, -1)
            if 0 <= position < self._n_values:
                flags[position] |= flag
        for position in (self._places.get(r, -1) for x in self._others for r in x.inputs):
            if 0 <= position < self._n_values:
                flags[position] |= KEYED
        self._flags = flags
        #: How often steps differed in more than numbers that advance evenly.
        self._uneven = 0
        self._replays = Replays(context.native, GpuArray, context, np.empty, bytes(flags))

    def run(self, n: int, given: Sequence[Any]) -> tuple[int, list[Any]] | None:
        """Return the number of steps and the outputs; None where steps have to be done one by one.

        That also raises pending errors.

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
            result = self._replays.run(values, token)
            if result is None:
                result = self._first(n, values, token)
        except StepError:
            return None
        if result is None or not self._plan.until:
            return None if result is None else (n, result)
        ((recording, memory),) = result
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
        result = [self._input(register, values, on_host) for register in self._registers]
        return None if None in result else tuple(x for x in result if x is not None)

    def _input(self, register: int, values: Sequence[Any], on_host: Mapping[int, Any]) -> LoopInput | None:
        position = self._places.get(register)
        if position is None:
            value = on_host.get(register)
            return LoopInput("same", -1, value) if isinstance(value, (np.ndarray, np.generic)) else None
        if position in self._carried:
            return LoopInput("state", self._carried[position])
        if position >= self._plan.sequences:
            return LoopInput("same", position)
        moved, keyed = self._flags[position] & MOVED, self._flags[position] & KEYED
        if isinstance(values[position], GpuArray) or not keyed:
            return LoopInput("row", position)
        return None if moved else LoopInput("position", position)

    def _on_host(self, values: Sequence[Any]) -> dict[int, Any] | None:
        """Return the host's shapes and constants, by registers; None if they differ from step to step."""
        table: dict[int, Any] = dict(self._program.constants)
        for register, position in self._places.items():
            if self._plan.sequences <= position < self._n_values:
                table[register] = values[position]
            elif position < self._plan.sequences and isinstance(values[position], GpuArray):
                table[register] = values[position][0]
        for instruction in self._others:
            if any(r not in table for r in instruction.inputs):
                return None
            results: list[list[Any]] = [[None] for _ in instruction.outputs]
            node = instruction.node
            node.op.perform(node, [table[r] for r in instruction.inputs], results)
            table.update({r: cell[0] for r, cell in zip(instruction.outputs, results, strict=True)})
        return table

    def _outputs(self) -> tuple[LoopOutput, ...]:
        plan, cluster = self._plan, self._cluster
        results = []
        kinds = (*plan.kinds, STACK) if plan.until else plan.kinds  # the last one ends the loop
        for k, (kind, register) in enumerate(zip(kinds, self._results, strict=True)):
            is_output = register in cluster.outputs
            result = cluster.outputs.index(register) if is_output else ~self._registers.index(register)
            initial = plan.sequences + k if k < plan.states else -1
            results.append(LoopOutput(result, kind == STACK, k < plan.states or kind == SUM, initial))
        return tuple(results)

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
    """Return a function that does all steps of a loop at once; None where they have to be done one by one.

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
    arguments = {x.register: x.variable for x in program.inputs}
    outputs = dict(zip(cluster.outputs, cluster.node.outputs, strict=True))
    results = [_copied(program, register) for register in program.outputs]
    if not all(r in outputs or r in arguments for r in results):
        return False
    if not all(isinstance({**arguments, **outputs}[r].type, GpuArrayType) for r in results):
        return False
    if not all(r in outputs for r, kind in zip(results, plan.kinds, strict=False) if kind == SUM):
        return False
    return all(
        isinstance(x.node.op, (ShapeI, ShapeOf)) or not any(isinstance(v.type, GpuArrayType) for v in x.node.inputs)
        for x in program.instructions
        if x is not cluster and not _is_copy(x)
    )


# ---- The loop on a device
#
# The imports here let functions run loops on devices whose operands are there.


class GpuLoop(Op):
    """A loop whose steps run on a device.

    Inputs and outputs are those of the loop of the host; arrays are on the device, but for whole numbers without
    dimensions and sequences of such, which steps use as positions.

    Parameters
    ----------
    loop : Loop
        The host's form of the loop.
    context_name : str or None
    """

    __props__ = ("loop", "context_name")

    def __init__(self, loop: Loop, context_name: Hashable) -> None:
        self.loop = loop
        self.context_name = context_name
        self._step: Function | None = None
        self._at_once: StepsAtOnce | Literal[False] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_step": None, "_at_once": None}

    def __str__(self) -> str:
        return f"GpuLoop<{self.context_name}>{{{self.loop}}}"

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to the number of steps, sequences, initial states and constants; others are moved."""
        host = self.loop.make_node(*(host_from_gpu(x) if _is_on_device(x) else x for x in inputs))
        arguments = [host.inputs[0]]
        for x, item in zip(host.inputs[1:], self.loop.fgraph.inputs, strict=True):
            arguments.append(x if _stays(item) else as_gpuarray_variable(x, self.context_name))
        outputs = [
            v.type.make_variable() if _stays(inner) else self._type(v).make_variable()
            for v, inner in zip(host.outputs, self.loop.values, strict=False)
        ]
        # The number of steps done, where a value ends the loop.
        return Apply(self, arguments, outputs + [v.type.make_variable() for v in host.outputs[len(outputs) :]])

    def _type(self, v: Any) -> GpuArrayType:
        return GpuArrayType(v.type.dtype, v.type.shape, self.context_name)

    def step(self) -> Function:
        """Return the function of one step, compiled on first use.

        Beside the inner inputs it takes the sums so far, and gives them with the values of this step added.
        """
        if self._step is None:
            inner, replaced, arguments = self.loop.fgraph, dict[Variable, Variable](), list[Any]()
            for v in inner.inputs:
                x = v.clone() if _stays(v) else self._type(v).make_variable()
                replaced[v] = x if _stays(v) else host_from_gpu(x)
                arguments.append(x)
            outputs: list[Any] = clone_replace(list(inner.outputs), replaced)
            for k, kind in enumerate(self.loop.plan.kinds):
                if kind == SUM:
                    total = outputs[k].type.make_variable() if _stays(inner.outputs[k]) else self._type(outputs[k])()
                    arguments.append(total)
                    outputs[k] = outputs[k] + (total if _stays(inner.outputs[k]) else host_from_gpu(total))
            ends = inner.outputs[-1] if self.loop.plan.until else None
            moved = [
                y if _stays(v) and v is not ends else GpuFromHost(self.context_name)(y)
                for y, v in zip(outputs, inner.outputs, strict=True)
            ]
            with config.change_flags(compute_test_value="off", compute_test_value_opt="off"):
                self._step = function(arguments, moved, **self.loop.options)
        return self._step

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Run all steps."""
        for cell, value in zip(output_storage, self.run(inputs), strict=True):
            cell[0] = value

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs for values of the inputs.

        Raises
        ------
        ValueError
            If a sequence is too short, or a state changes its shape.
        """
        n, arguments = int(inputs[0]), list(inputs[1:])
        lengths = [np.broadcast_to(0, s.shape) for s in arguments[: self.loop.plan.sequences]]
        self.loop.check_lengths(n, lengths)
        if not n:
            return self._without_steps(arguments)
        at_once = self._all_steps()
        value = at_once.run(n, arguments) if at_once is not None else None
        done, values = _Steps(self, n, arguments).run() if value is None else value
        return [*values, np.asarray(done)] if self.loop.plan.until else values

    def _all_steps(self) -> StepsAtOnce | None:
        """Return a function that does all steps at once, made on first use; None where they are done one by one."""
        if self._at_once is None:
            program = self.step().machine.program
            self._at_once = steps_at_once(program, self.loop.plan, get_context(self.context_name)) or False
        return self._at_once or None

    def _without_steps(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the result of the host's loop where there is no step."""
        item = Run(self.loop, 0, [np.asarray(x) for x in arguments]).results(0)
        context = get_context(self.context_name)
        values = [
            value if _stays(v) else asarray(np.asarray(value), context=context)
            for value, v in zip(item, self.loop.values, strict=True)
        ]
        return [*values, np.asarray(0)] if self.loop.plan.until else values

    def free_buffers(self) -> None:
        """Let go of memory that the function of the step keeps."""
        self._at_once = None
        if self._step is not None:
            self._step.free()

    def infer_shape(self, node: Apply[Self], input_shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the outputs, as for the loop of the host."""
        host = self.loop.make_node(*(host_from_gpu(x) if _is_on_device(x) else x for x in node.inputs))
        return [tuple(ShapeI(i)(v) for i in range(v.type.ndim)) for v in host.outputs]


class _Steps:
    """One run of a loop."""

    def __init__(self, op: GpuLoop, n: int, arguments: Sequence[Any]) -> None:
        plan = op.loop.plan
        last = plan.sequences + plan.states
        self.op, self.plan, self.n, self.given = op, plan, n, arguments
        self.context = get_context(op.context_name)
        self.sequences, self.constants = arguments[: plan.sequences], arguments[last:]
        self.states = list(arguments[plan.sequences : last])
        self.found: list[Any] = [None] * len(plan.kinds)

    def run(self) -> tuple[int, list[Any]]:
        """Do the steps, and return how many were done and the outputs."""
        plan, run = self.plan, self.op.step().machine.run
        sums = [k for k, kind in enumerate(plan.kinds) if kind == SUM]
        for k in sums:
            self.found[k] = self._zeros(k)
        for done, i in enumerate(range(self.n - 1, -1, -1) if plan.backwards else range(self.n)):
            rows = [_row(s, i) for s in self.sequences]
            try:
                values = run([*rows, *self.states, *self.constants, *(self.found[k] for k in sums)])
                self._take(i, values)
            except Exception as error:
                error.add_note(f"  in step {done} of a loop of {self.n}, counted from 0")
                raise
            self.states = list(values[: plan.states])
            if plan.until and np.asarray(values[-1]):
                return done + 1, self._part(done + 1)
        return self.n, self.found

    def _part(self, done: int) -> list[Any]:
        """Return the outputs of a loop that has ended after so many steps."""
        part = slice(self.n - done, None) if self.plan.backwards else slice(done)
        return [v[part] if kind == STACK else v for v, kind in zip(self.found, self.plan.kinds, strict=True)]

    def _take(self, i: int, values: Sequence[Any]) -> None:
        for k, (kind, value) in enumerate(zip(self.plan.kinds, values, strict=False)):
            target = self.states[k].shape if k < self.plan.states else None
            if kind == STACK:
                rows = self.found[k]
                target = target if rows is None else rows.shape[1:]
            if target is not None and tuple(value.shape) != tuple(target):
                raise Run(self.op.loop, self.n, self.given)._shape_error(k, i, value.shape, target)
            if kind != STACK:
                self.found[k] = value
                continue
            if rows is None:
                rows = self.found[k] = self._rows(value)
            rows[i] = value

    def _rows(self, value: Any) -> Any:
        shape = (self.n, *value.shape)
        if isinstance(value, GpuArray):
            return empty(shape, dtype=value.dtype, context=self.context)
        return np.empty(shape, value.dtype)

    def _zeros(self, k: int) -> Any:
        """Return the sum of no values: of the shape of the input that has it."""
        like, kind = self.plan.likes[k], self.op.loop.values[k]
        of: Any = kind.type
        shape = self.given[like].shape[like < self.plan.sequences :]
        if _stays(kind):
            return np.zeros(shape, of.dtype)
        return zeros(shape, of.dtype, context=self.context)


def _row(sequence: Any, i: int) -> Any:
    return sequence[i] if isinstance(sequence, GpuArray) else sequence[i, ...]


def _is_on_device(x: Any) -> bool:
    return isinstance(x, Variable) and isinstance(x.type, GpuArrayType)


def _stays(v: Any) -> bool:
    """Tell whether values of an inner variable stay on the host: whole numbers, of which positions are made."""
    return bool(v.type.ndim == 0 and v.type.dtype.startswith(("int", "uint", "bool")))


@lifters.register(Loop)
def _lift(op: Loop, context_name: Hashable, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """Let a loop run on a device if all arrays of its steps do."""
    inner = op.fgraph
    arrays = (*inputs, *outputs, *inner.inputs, *inner.outputs)
    if not all(is_host_array(v) for v in arrays) or not _runs_there(op, context_name):
        return None
    results: Mapping[str, Any] = {"return_list": True}
    return GpuLoop(op, context_name)(*inputs, **results)


def _runs_there(op: Loop, context_name: Hashable) -> bool:
    nodes = [node for node in op.fgraph.toposort() if any(v.type.ndim for v in (*node.inputs, *node.outputs))]
    nodes = [node for node in nodes if not isinstance(node.op, (ShapeI, ShapeOf, TransferOp))]
    kernels = [native_kernel.describe(node, DEVICE) for node in nodes]
    return bool(nodes) and all(
        kernel is not None and has_device_form(kernel) and has_library(kernel, context_name) for kernel in kernels
    )


@call_form.register(GpuLoop)
def _call(node: Apply[GpuLoop]) -> Any:
    return node.op.run


@device_kind.register(GpuLoop)
def _kind(node: Apply) -> Any:
    return "gpu"


batch_rule.declare_absent(GpuLoop, "graphs are applied to batches before they are compiled for a device")

__all__ = ["StepsAtOnce", "steps_at_once", "GpuLoop"]
