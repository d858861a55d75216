"""Fusion of elementwise kernels that do not need each other, as the updates of all parameters: one launch does all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from theano_graph import record
from theano_linker_c.kernels import ElementwiseKernel, broadcast_lengths

from ...codegen import Argument, DeviceOperand, KernelText
from ...codegen.elementwise._elementwise import GROUPS, LOCAL, PIECE, group_count, operand_arguments
from ...codegen.elementwise._nest import Layout, Nest, layout_of, nest_of
from ...codegen.elementwise._texts import ElementwiseBody, program_for, weight_of
from ...codegen.text import Signature, kernel_text
from ...region import Download, Entry, Fusion, Step, StepRecorder, entry_on_device
from ._groups import MakeFusion, Numbered, with_groups

__all__ = ["ManyFusion", "fuse_many"]

#: Operands of one launch, at most: devices bound the bytes of parameters.
_MOST_OPERANDS = 48


def fuse_many(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put together elementwise steps whose results no other step reads.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    read = {v for _, step in steps if not isinstance(step.task, Download) for v in step.inputs}
    last = [
        i
        for i, (_, step) in enumerate(steps)
        if isinstance(step.task, ElementwiseKernel) and read.isdisjoint(step.outputs)
    ]
    groups: list[tuple[list[int], MakeFusion]] = []
    for i in last:
        count = _operands(steps[i][1])
        if groups and sum(_operands(steps[j][1]) for j in groups[-1][0]) + count <= _MOST_OPERANDS:
            groups[-1][0].append(i)
        else:
            groups.append(([i], ManyFusion))
    return with_groups(steps, [group for group in groups if len(group[0]) > 1], outputs)


def _operands(step: Step) -> int:
    return len(step.inputs) + len(step.outputs)


@record
class _Part:
    """One of the kernels, with its operands and how they lie."""

    kernel: ElementwiseKernel
    operands: tuple[DeviceOperand, ...]
    nest: Nest
    layout: Layout


class ManyFusion(Fusion):
    """Elementwise kernels side by side: each work-group works for one of them."""

    def record(self, recorder: StepRecorder, known: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record all kernels as one launch; None where shapes of one of them do not fit."""
        found: dict[int, Entry] = {}
        parts: list[_Part] = []
        for _, step in self.parts:
            task = step.task
            assert isinstance(task, ElementwiseKernel), "there are no others"
            inputs = [entry_on_device(recorder, known[v]) for v in step.inputs]
            try:
                shape = broadcast_lengths([x.shape for x in inputs], task.broadcast, task.ndim)
            except ValueError:
                return None
            results = [recorder.empty(dtype, shape) for dtype in task.output_dtypes]
            found.update(zip(step.outputs, results, strict=True))
            nest = nest_of(shape, inputs, task.broadcast, results)
            operands = (*inputs, *results)
            if nest.size:
                sizes = [x.itemsize for x in operands]
                layout = layout_of(nest, sizes, recorder.properties, weight_of(task), True)
                parts.append(_Part(task, operands, nest, layout))
        if parts:
            _launch(recorder, parts)
        return found


def _launch(recorder: StepRecorder, parts: Sequence[_Part]) -> None:
    properties = recorder.properties
    arguments: list[Argument] = []
    groups = 0
    for part in parts:
        nest, layout = part.nest, part.layout
        arguments += nest.shape
        if layout.cpu:
            pieces = -(-nest.shape[-1] // PIECE)
            units = nest.size // nest.shape[-1] * pieces
            arguments += [units, pieces, PIECE]
            groups = max(groups, min(units, GROUPS * properties.units))
        else:
            arguments.append(groups)
            groups += group_count(nest, layout, properties)
            arguments.append(groups)
        arguments += operand_arguments(layout, nest, part.operands)
    local = 1 if properties.cpu else min(LOCAL, properties.max_local)
    text = _text(tuple((part.kernel, part.layout) for part in parts))
    recorder.launch(text, arguments, [groups], [local])


@lru_cache(maxsize=256)
def _text(parts: tuple[tuple[ElementwiseKernel, Layout], ...]) -> KernelText:
    """Return the text of some kernels side by side; parameters as :func:`_launch` gives them."""
    signature = Signature(apart=all(layout.apart for _, layout in parts))
    lines: list[str] = []
    preamble: dict[str, None] = {}
    for k, (kernel, layout) in enumerate(parts):
        tag = f"{k}_"
        program = program_for(kernel.scalar_op, kernel.input_dtypes)
        preamble.update(dict.fromkeys(program.preamble))
        signature.number(layout.letter, *(f"n{tag}{d}" for d in range(layout.ndim)))
        numbers = ("units", "pieces", "piece") if layout.cpu else ("begin", "end")
        signature.number("q", *(f"{name}{tag}" for name in numbers))
        body = ElementwiseBody(program, kernel.input_dtypes, kernel.output_dtypes, layout, tag)
        body.declare(signature)
        if layout.cpu:
            own = ", ".join(f"{name} = {name}{tag}" for name in numbers)
            lines += ["{", f"const int64_t {own};", *body.cpu_lines(), "}"]
        else:
            test = f"(int64_t)GID_0 >= begin{tag} && (int64_t)GID_0 < end{tag}"
            lines += [f"if ({test}) {{", *body.lines(f"(GID_0 - begin{tag})"), "}"]
    return kernel_text("many", signature, lines, preamble, all(layout.cpu for _, layout in parts))
