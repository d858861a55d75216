"""Fusion of reductions with the elementwise step that alone reads the result, as the update of a bias."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from theano_linker_c.kernels import ElementwiseKernel, ReductionKernel

from ...codegen import device_form
from ...codegen.reduction import ReductionUpdateKernel
from ...region import Entry, Fusion, Step, StepRecorder, entry_on_device
from ._beside import BesideFusion
from ._groups import MakeFusion, Numbered, with_groups

__all__ = ["UpdateFusion", "fuse_updates"]


def fuse_updates(steps: Sequence[Numbered], outputs: Collection[int]) -> list[Numbered]:
    """Put reductions together with the elementwise step that alone reads the result.

    Parameters
    ----------
    steps : sequence of Numbered
    outputs : collection of int
    """
    readers: dict[int, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        for v in dict.fromkeys(step.inputs):
            readers.setdefault(v, []).append(i)
    groups: list[tuple[Sequence[int], MakeFusion]] = []
    taken: set[int] = set()
    for i, (_, step) in enumerate(steps):
        kernel = _reduction(step)
        if kernel is None or len(kernel.reductions) != 1:
            continue
        result = _made(step)[-1]
        (j, *others) = readers.get(result, [-1])
        if j < 0 or others or result in outputs or j in taken or _needs(steps, i, j):
            continue
        if _joined(step, steps[j][1]) is not None:
            taken.add(j)
            groups.append(((i, j), UpdateFusion))
    return with_groups(steps, groups, outputs)


def _needs(steps: Sequence[Numbered], i: int, j: int) -> bool:
    """Tell whether step j reads results of other steps on outputs of step i, so that both cannot be one."""
    outputs = set(steps[i][1].outputs)
    for _, step in steps[i + 1 : j]:
        if not outputs.isdisjoint(step.inputs):
            outputs.update(step.outputs)
    return not (outputs - set(steps[i][1].outputs)).isdisjoint(steps[j][1].inputs)


def _reduction(step: Step) -> ReductionKernel | None:
    """Return the reduction of a step, which may be one that keeps elements; None where it is no reduction."""
    task = step.task
    if isinstance(task, BesideFusion):
        return task.kernel
    return task if isinstance(task, ReductionKernel) else None


def _made(step: Step) -> tuple[int, ...]:
    """Return the values that the kernel of a reduction makes: the stored ones, then the result."""
    return step.task.values[1] if isinstance(step.task, BesideFusion) else step.outputs


def _joined(reduced: Step, after: Step) -> ReductionUpdateKernel | None:
    """Return the kernel that does both; None where there is none."""
    task, first, produced = after.task, _reduction(reduced), _made(reduced)
    if not isinstance(task, ElementwiseKernel) or first is None or not produced:
        return None
    positions = [k for k, v in enumerate(after.inputs) if v == produced[-1]]
    if any(any(task.broadcast[k]) for k in positions) or not set(produced[:-1]).isdisjoint(after.inputs):
        return None
    others = [k for k in range(len(after.inputs)) if k not in positions]
    dtypes = tuple(task.input_dtypes[k] for k in others)
    if "float16" in (first.reductions[0].output_dtype, *dtypes, *task.output_dtypes):
        return None
    inputs = tuple(-1 if k in positions else others.index(k) for k in range(len(after.inputs)))
    patterns = tuple(task.broadcast[k] for k in others)
    kernel = ReductionUpdateKernel(first, task.scalar_op, inputs, dtypes, patterns, task.output_dtypes)
    form = device_form.get(kernel)
    return kernel if form is not None and form.supports(kernel) else None


class UpdateFusion(Fusion):
    """A reduction and the work on its result: a kernel of reductions that does it before it stores."""

    def record(self, recorder: StepRecorder, values: Mapping[int, Entry]) -> Mapping[int, Entry] | None:
        """Record both as one kernel; None where shapes do not fit."""
        (_, reduced), (_, after) = self.parts
        kernel = _joined(reduced, after)
        assert kernel is not None, "there was one when the steps were put together"
        given = reduced.task.values[0] if isinstance(reduced.task, BesideFusion) else reduced.inputs
        produced = _made(reduced)
        others = [v for v in after.inputs if v != produced[-1]]
        operands = [entry_on_device(recorder, values[v]) for v in (*given, *others)]
        try:
            results = device_form.lookup(kernel).run(kernel, recorder, operands)
        except ValueError:
            return None
        return dict(zip((*produced[:-1], *after.outputs), results, strict=True))
