"""Fusion of elementwise kernels with the reduction of their result, which others read, too."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theano_linker_c.kernels import ElementwiseKernel, ReductionKernel
from theano_linker_c.scalar import Composite, NoNativeForm, ProgramBuilder

from ...codegen import device_form
from ...region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._groups import MakeFusion, Numbered, with_groups

__all__ = ["BesideFusion", "fuse_beside"]


def fuse_beside(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put reductions together with the elementwise step that makes their operands.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    makers = {v: i for i, (_, step) in enumerate(steps) for v in step.outputs}
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for j, (_, step) in enumerate(steps):
        i = makers.get(step.inputs[0], -1) if isinstance(step.task, ReductionKernel) else -1
        if i >= 0 and i not in taken and _joined(steps[i][1], step) is not None:
            taken.add(i)
            groups.append(((i, j), BesideFusion))
    return with_groups(steps, groups, outputs)


def _joined(produced: Step, reduced: Step) -> ReductionKernel | None:
    """Return the kernel that keeps the elements and reduces them; None where there is none."""
    first, task = produced.task, reduced.task
    if not isinstance(first, ElementwiseKernel) or not isinstance(task, ReductionKernel):
        return None
    alone = len(first.output_dtypes) == len(task.input_dtypes) == 1 and not task.kept_dtypes
    if not alone or any(task.broadcast[0]) or "float16" in first.output_dtypes:
        return None
    if any(all(pattern[d] for pattern in first.broadcast) for d in range(task.ndim)):
        return None
    builder = ProgramBuilder(first.input_dtypes)
    try:
        results = builder.step(first.scalar_op, range(len(first.input_dtypes)), first.input_dtypes)
        elements = builder.step(task.scalar_op, results, task.input_dtypes)
    except NoNativeForm:
        return None
    op = Composite.from_program(builder.finish([*results, *elements]))
    kernel = ReductionKernel(
        op, first.input_dtypes, first.output_dtypes, task.reductions, first.broadcast, task.ndim, task.axes
    )
    form = device_form.get(kernel)
    return kernel if form is not None and form.supports(kernel) else None


class BesideFusion(Fusion):
    """An elementwise step and the reduction of its result: each element is computed once."""

    @property
    def kernel(self) -> ReductionKernel:
        """The reduction that keeps the elements."""
        (_, producer), (_, reduced) = self.parts
        kernel = _joined(producer, reduced)
        assert kernel is not None, "there was one when the steps were put together"
        return kernel

    @property
    def values(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The values that the kernel reads, and those that it makes."""
        (_, producer), (_, reduced) = self.parts
        return producer.inputs, (*producer.outputs, *reduced.outputs)

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one kernel; None where shapes do not fit."""
        kernel, (inputs, outputs) = self.kernel, self.values
        operands = [entry_on_device(recorder, values[v]) for v in inputs]
        try:
            results = device_form.lookup(kernel).run(kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip(outputs, results, strict=True))
