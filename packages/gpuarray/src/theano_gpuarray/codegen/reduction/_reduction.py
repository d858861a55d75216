"""The device form of reductions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from theano_graph import record
from theano_linker_c.kernels import Kernel, Reduction, ReductionKernel, broadcast_lengths
from theano_linker_c.scalar import NoNativeForm, ProgramBuilder, ScalarOp, ScalarTypeError, program_for

from .._form import (
    Argument,
    DeviceOperand,
    NoDeviceForm,
    Operand,
    Recorder,
    register_device_form,
)
from ..elementwise import arrays, broadcast_strides, fits_parameters
from ._layout import ReduceJob, ReduceLayout, Update, arrange, layout_of_reduction
from ._texts import reduction_text

__all__ = ["ReductionUpdateKernel", "reduce_elements"]


@record
class ReductionUpdateKernel(Kernel):
    """A reduction, and an elementwise kernel of its result, which it has instead.

    Parameters
    ----------
    reduction : ReductionKernel
        With one result, beside those that it keeps.
    op : ScalarOp
    inputs : tuple of int
        What the inputs of `op` are: -1 the result, or the number of a further operand.
    dtypes : tuple of str
        Of the further operands, which follow those of the reduction.
    broadcast : tuple of tuple of bool
        For each of them, along which dimensions of the result it broadcasts.
    output_dtypes : tuple of str
    """

    reduction: ReductionKernel
    op: ScalarOp
    inputs: tuple[int, ...]
    dtypes: tuple[str, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    output_dtypes: tuple[str, ...]

    @property
    def update(self) -> Update:
        """The update."""
        result = self.reduction.reductions[0].output_dtype
        dtypes = [result if k < 0 else self.dtypes[k] for k in self.inputs]
        return Update(program_for(self.op, dtypes), self.inputs, self.dtypes, self.output_dtypes)


#: Arrays, and reductions, up to which work-items take several elements at once, and cycles for one of these.
_FEW, _LIGHT = 4, 96


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


def _supports_update(kernel: ReductionUpdateKernel) -> bool:
    """Try the text."""
    reduction, count = kernel.reduction, len(kernel.dtypes) + len(kernel.output_dtypes)
    flags = (True,) * (len(reduction.input_dtypes) + len(reduction.kept_dtypes))
    layout = ReduceLayout(1, 1, True, 256, 1, True, False, flags)
    if not fits_parameters(_count(reduction) + count, reduction.ndim):
        return False
    try:
        reduction_text(replace(_job(reduction), update=kernel.update), layout, False)
    except (NoDeviceForm, NoNativeForm, ScalarTypeError):
        return False
    return True


@register_device_form(ReductionUpdateKernel, supports=_supports_update)
def run_with_update(
    kernel: ReductionUpdateKernel, recorder: Recorder, operands: Sequence[Operand]
) -> Sequence[Operand]:
    """Launch a reduction that computes something of each result before it is stored.

    Raises
    ------
    ValueError
        If lengths do not fit, or a further operand does not lie as the result does: sums might be in another order.
    """
    reduction = kernel.reduction
    operands_read = arrays(operands, recorder)
    inputs, others = operands_read[: len(reduction.input_dtypes)], operands_read[len(reduction.input_dtypes) :]
    shape = broadcast_lengths([x.shape for x in inputs], reduction.broadcast, reduction.ndim)
    kept_shape = [n for d, n in enumerate(shape) if d not in {axis % len(shape) for axis in reduction.axes}]
    for x, pattern in zip(others, kernel.broadcast, strict=True):
        fits = all(n == m or (n == 1 and flag) for n, m, flag in zip(x.shape, kept_shape, pattern, strict=True))
        alike = list(x.shape) == kept_shape and x.contiguous
        if not fits or (not alike and x.size != 1):
            raise ValueError("an operand of an update does not lie as the result of the reduction does")
    strides = [broadcast_strides(x, pattern) for x, pattern in zip(inputs, reduction.broadcast, strict=True)]
    job = replace(_job(reduction), update=kernel.update)
    return reduce_elements(recorder, job, inputs, strides, shape, reduction.axes, others)


def reduce_elements(
    recorder: Recorder,
    job: ReduceJob,
    inputs: Sequence[DeviceOperand],
    strides: Sequence[Sequence[int]],
    shape: Sequence[int],
    axes: Sequence[int],
    others: Sequence[DeviceOperand] = (),
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
    others : sequence of DeviceOperand
        The operands of the update: of one element, or C-contiguous with the shape of the result.
    """
    gone = {axis % len(shape) for axis in axes} if shape else set()
    kept_shape = [length for d, length in enumerate(shape) if d not in gone]
    if 0 in (shape[d] for d in gone):
        for reduction in job.reductions:
            if reduction.identity is None:
                raise ValueError(_no_elements(reduction))
    stored = [recorder.empty(dtype, shape) for dtype in job.kept_dtypes]
    results = [recorder.empty(dtype, kept_shape) for dtype in job.result_dtypes]
    if 0 in kept_shape:
        return [*stored, *results]
    full = [*inputs, *stored]
    steps = [*strides, *(x.strides for x in stored)]
    places = [*results, *others]
    beside = [x.strides if x.size > 1 else (0,) * len(kept_shape) for x in places]
    split = arrange(shape, sorted(gone), steps, beside)
    sizes = [x.itemsize for x in full]
    layout, groups, local, chunk = layout_of_reduction(split, sizes, recorder.properties, _has_vectors(job))
    partial = groups[1] > 1
    moves = [0] * len(places)
    if partial:
        places = [recorder.empty(r.acc_dtype, (groups[1], *kept_shape)) for r in job.reductions]
        moves = [x.strides[0] for x in places]
        split = arrange(shape, sorted(gone), steps, [x.strides[1:] for x in places])
    arguments: list[Argument] = [*split.kept, *split.reduced, split.n_kept, split.n_reduced, chunk]
    for x, operand_strides in zip(full, split.strides, strict=True):
        arguments += [x, x.offset, *operand_strides]
    for x, move, operand_strides in zip(places, moves, split.result_strides, strict=True):
        arguments += [x, x.offset, move, *operand_strides]
    recorder.launch(reduction_text(job, layout, partial), arguments, groups, local)
    if partial:
        kernel = _joined(recorder, job, places, others)
        return [*stored, *kernel]
    return [*stored, *results]


@lru_cache(maxsize=1024)
def _has_vectors(job: ReduceJob) -> bool:
    """Whether a work-item may take several elements at once: what is computed of each is written down for all."""
    few = len(job.reductions) <= _FEW and len(job.input_dtypes) + len(job.kept_dtypes) <= _FEW
    return few and job.program.cost <= _LIGHT


def _joined(
    recorder: Recorder, job: ReduceJob, parts: Sequence[DeviceOperand], others: Sequence[DeviceOperand]
) -> list[DeviceOperand]:
    """Reduce totals of chunks along their first axis."""
    dtypes = tuple(reduction.acc_dtype for reduction in job.reductions)
    program = ProgramBuilder(dtypes).finish(range(len(dtypes)))
    last = ReduceJob(program, dtypes, (), job.reductions, job.update)
    return reduce_elements(recorder, last, parts, [x.strides for x in parts], parts[0].shape, (0,), others)


def _no_elements(reduction: Reduction) -> str:
    """Return the text of NumPy's error."""
    return f"zero-size array to reduction operation {reduction.combine.name} which has no identity"
