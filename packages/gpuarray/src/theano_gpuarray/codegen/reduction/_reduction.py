"""The device form of reductions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from theano_linker_c.kernels import Reduction, ReductionKernel, broadcast_lengths
from theano_linker_c.scalar import NoNativeForm, ProgramBuilder, ScalarTypeError

from .._form import (
    Argument,
    DeviceOperand,
    NoDeviceForm,
    Operand,
    Recorder,
    register_device_form,
)
from ..elementwise import arrays, broadcast_strides, fits_parameters, program_for, weight
from ._layout import ReduceJob, ReduceLayout, arrange, layout_of_reduction
from ._texts import reduction_text

__all__ = ["reduce_elements"]

#: Arrays, and reductions, up to which work-items take several elements at once, and operations on each of these.
_FEW, _LIGHT = 4, 64


def _supports(kernel: ReductionKernel) -> bool:
    """Try the text."""
    layout = ReduceLayout(
        1, 1, True, 256, 1, True, False, (True,) * (len(kernel.input_dtypes) + len(kernel.kept_dtypes))
    )
    if not fits_parameters(_count(kernel), kernel.ndim):
        return False
    try:
        reduction_text(_job(kernel), layout, False)
    except (NoDeviceForm, NoNativeForm, ScalarTypeError):
        return False
    return True


def _count(kernel: ReductionKernel) -> int:
    return len(kernel.input_dtypes) + len(kernel.kept_dtypes) + len(kernel.reductions)


def _job(kernel: ReductionKernel) -> ReduceJob:
    program = program_for(kernel.scalar_op, kernel.input_dtypes)
    return ReduceJob(program, kernel.input_dtypes, kernel.kept_dtypes, kernel.reductions)


@register_device_form(ReductionKernel, supports=_supports)
def run(kernel: ReductionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch a scalar op over all elements, and reductions of some of its results.

    Raises
    ------
    ValueError
        If lengths differ that do not broadcast, or there is no element and a reduction has no identity.
    """
    inputs = arrays(operands, recorder)
    shape = broadcast_lengths([x.shape for x in inputs], kernel.broadcast, kernel.ndim)
    strides = [broadcast_strides(x, pattern) for x, pattern in zip(inputs, kernel.broadcast, strict=True)]
    return reduce_elements(recorder, _job(kernel), inputs, strides, shape, kernel.axes)


def reduce_elements(
    recorder: Recorder,
    job: ReduceJob,
    inputs: Sequence[DeviceOperand],
    strides: Sequence[Sequence[int]],
    shape: Sequence[int],
    axes: Sequence[int],
) -> list[DeviceOperand]:
    """Launch a reduction of elements of a shape, and return what is kept, then results.

    Parameters
    ----------
    recorder : Recorder
    job : ReduceJob
    inputs : sequence of DeviceOperand
    strides : sequence of sequences of int
        Of the inputs, in `shape`.
    shape, axes : sequence of int
    """
    gone = {axis % len(shape) for axis in axes} if shape else set()
    kept_shape = [length for d, length in enumerate(shape) if d not in gone]
    if 0 in (shape[d] for d in gone):
        for reduction in job.reductions:
            if reduction.identity is None:
                raise ValueError(_no_elements(reduction))
    kept = [recorder.empty(dtype, shape) for dtype in job.kept_dtypes]
    results = [recorder.empty(reduction.output_dtype, kept_shape) for reduction in job.reductions]
    if 0 in kept_shape:
        return [*kept, *results]
    full = [*inputs, *kept]
    steps = [*strides, *(x.strides for x in kept)]
    split = arrange(shape, sorted(gone), steps, [x.strides for x in results])
    sizes = [x.itemsize for x in full]
    layout, groups, local, chunk = layout_of_reduction(split, sizes, recorder.properties, _has_vectors(job))
    partial = groups[1] > 1
    targets, moves = results, [0] * len(results)
    if partial:
        targets = [recorder.empty(r.acc_dtype, (groups[1], *kept_shape)) for r in job.reductions]
        moves = [x.strides[0] for x in targets]
        split = arrange(shape, sorted(gone), steps, [x.strides[1:] for x in targets])
    given: list[Argument] = [*split.kept, *split.reduced, split.n_kept, split.n_reduced, chunk]
    for x, own in zip(full, split.strides, strict=True):
        given += [x, x.offset, *own]
    for x, move, own in zip(targets, moves, split.result_strides, strict=True):
        given += [x, x.offset, move, *own]
    recorder.launch(reduction_text(job, layout, partial), given, groups, local)
    if partial:
        found = _joined(recorder, job.reductions, targets)
        return [*kept, *found]
    return [*kept, *results]


@lru_cache(maxsize=1024)
def _has_vectors(job: ReduceJob) -> bool:
    """Whether a work-item may take several elements at once: what is computed of each is written down for all."""
    few = len(job.reductions) <= _FEW and len(job.input_dtypes) + len(job.kept_dtypes) <= _FEW
    return few and weight(job.program, job.input_dtypes) <= _LIGHT


def _joined(recorder: Recorder, reductions: Sequence[Reduction], parts: Sequence[DeviceOperand]) -> list[DeviceOperand]:
    """Reduce totals of chunks along their first axis."""
    dtypes = tuple(reduction.acc_dtype for reduction in reductions)
    program = ProgramBuilder(dtypes).finish(range(len(dtypes)))
    job = ReduceJob(program, dtypes, (), tuple(reductions))
    return reduce_elements(recorder, job, parts, [x.strides for x in parts], parts[0].shape, (0,))


def _no_elements(reduction: Reduction) -> str:
    """Return the text of NumPy's error."""
    return f"zero-size array to reduction operation {reduction.combine.name} which has no identity"
