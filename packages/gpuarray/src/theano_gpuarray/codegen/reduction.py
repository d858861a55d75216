"""Reductions on devices: folds of scalar ops, and cumulative sums and products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from theano_graph import record
from theano_linker_c.codegen.ir import Statement
from theano_linker_c.kernels import (
    ArrayRoutineKernel,
    Kernel,
    Reduction,
    ReductionKernel,
    broadcast_lengths,
    memory_type,
)
from theano_linker_c.scalar import NoNativeForm, ProgramBuilder, ScalarOp, ScalarTypeError, program_for

from ._form import Argument, DeviceOperand, KernelText, NoDeviceForm, Operand, Recorder, register_device_form
from ._layouts import (
    Layout,
    Nest,
    ReduceJob,
    ReduceLayout,
    Update,
    arrange,
    broadcast_strides,
    fits_narrow,
    layout_of_reduction,
    merge,
    power_of_two,
)
from ._reduction_text import reduction_text
from .elementwise import arrays, fits_parameters, offset, positions
from .sorting import argmax_text
from .text import Signature

# ---- Folds of scalar ops


@record
class ReductionUpdateKernel(Kernel):
    """A reduction, and an elementwise kernel of its result, which it has instead.

    Parameters
    ----------
    reduction : ReductionKernel
        With one result, beside the kept ones.
    op : ScalarOp
    inputs : tuple of int
        The inputs of `op`: -1 is the result, or the number of a further operand.
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
def run_reduction(kernel: ReductionKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
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
    """Launch a reduction of elements of a shape, and return kept values, then results.

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
    """Whether a work-item may take several elements at once: the program of each is written down for all."""
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


# ---- Cumulative sums and products along an axis
#
# Each line is cut in chunks. Work-groups scan their chunk; where a line has several, the totals of the chunks are
# scanned
# first, and each chunk starts from the total of the earlier ones. So two passes read the elements, at any length.

#: Work-items of a group, and elements that each takes in a row.
LOCAL, ROW = 256, 8
#: Elements of a chunk on a CPU.
CPU_CHUNK = 65536
#: The type in which sums overflow modulo a power of two, where it is another one.
_WRAPPED = {"int64": "uint64_t"}


def cumulative(kernel: ArrayRoutineKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch a cumulative sum or product of an array along the axis ``kernel.number``."""
    (x,) = arrays(operands, recorder)
    result = recorder.empty(kernel.dtype, x.shape)
    if x.size:
        axis = kernel.number % x.ndim
        _scan(kernel, recorder, x, result, axis)
    return [result]


def _scan(kernel: ArrayRoutineKernel, recorder: Recorder, x: DeviceOperand, result: DeviceOperand, axis: int) -> None:
    properties = recorder.properties
    length = x.shape[axis]
    others = [d for d in range(x.ndim) if d != axis]
    nest = merge([x.shape[d] for d in others], [[v.strides[d] for d in others] for v in (x, result)])
    lines = nest.size
    local = 1 if properties.cpu else min(LOCAL, properties.max_local, power_of_two(-(-length // ROW)))
    piece = CPU_CHUNK if properties.cpu else local * ROW
    wanted = max(1, -(-4 * properties.units // lines))
    # A group goes on from piece to piece of its chunk.
    chunk = -(-max(-(-length // wanted), 1) // piece) * piece
    chunks = -(-length // chunk)
    full = Nest(
        (*nest.shape, length), tuple((*s, v.strides[axis]) for s, v in zip(nest.strides, (x, result), strict=True))
    )
    layout = Layout(len(nest.shape), (), fits_narrow(full), properties.cpu, local)
    common: list[Argument] = [*nest.shape, lines, length, chunk]
    steps = [[*s, v.strides[axis]] for s, v in zip(nest.strides, (x, result), strict=True)]

    def launch(stage: str, *totals: DeviceOperand) -> None:
        arguments = [*common, x, x.offset, *steps[0]]
        if stage != "totals":
            arguments += [result, result.offset, *steps[1]]
        for total in totals:
            arguments += [total, total.offset]
        recorder.launch(
            cumulative_text(kernel.task, kernel.dtype, layout, stage), arguments, [lines, chunks], [local, 1]
        )

    if chunks == 1:
        launch("whole")
        return
    totals = recorder.empty(kernel.dtype, (lines, chunks))
    launch("totals", totals)
    before = recorder.empty(kernel.dtype, (lines, chunks))
    _scan(kernel, recorder, totals, before, 1)
    launch("chunks", before)


@lru_cache(maxsize=256)
def cumulative_text(task: str, dtype: str, layout: Layout, stage: str) -> KernelText:
    """Return the text of one pass.

    Parameters
    ----------
    task : {"cumsum", "cumprod"}
    dtype : str
    layout : Layout
        Of the other dimensions; `unroll` is the number of work-items of a group.
    stage : {"whole", "totals", "chunks"}
        Lines in one piece; or the total of each chunk, and then elements from the totals before.
    """
    signature, kind = Signature(), memory_type(dtype)
    names = [f"n{d}" for d in range(layout.ndim)]
    signature.number(layout.letter, *names, "lines", "length", "chunk")
    signature.array("x")
    signature.number(layout.letter, *(f"s{d}" for d in range(layout.ndim)), "step")
    if stage != "totals":
        signature.array("y", written=True)
        signature.number(layout.letter, *(f"z{d}" for d in range(layout.ndim)), "move")
    if stage != "whole":
        signature.array("total", kind, written=stage == "totals")
    if layout.unroll > 1:
        signature.local(_WRAPPED.get(dtype, kind), "shared", 2, layout.unroll)
    return signature.text(task, _cumulative_lines(task, dtype, layout, stage, names))


def _cumulative_lines(
    task: str, dtype: str, layout: Layout, stage: str, names: Sequence[str]
) -> Iterator[Statement | str]:
    index, kind, local = layout.index, memory_type(dtype), layout.unroll
    unit = "0" if task == "cumsum" else "1"
    wrapped = _WRAPPED.get(dtype, kind)
    sign = "+" if task == "cumsum" else "*"
    yield from positions(layout, f"({layout.unsigned})GID_0", names, "j")
    yield f"const {index} o = {offset('j', [f's{d}' for d in range(layout.ndim)])};"
    if stage != "totals":
        yield f"const {index} w = {offset('j', [f'z{d}' for d in range(layout.ndim)])};"
    yield f"const {index} begin = ({index})GID_1 * chunk;"
    yield f"const {index} end = length - begin < chunk ? length : begin + chunk;"
    start = "total[(int64_t)GID_0 * GDIM_1 + GID_1 - 1]"
    yield f"{wrapped} sum = {f'GID_1 == 0 ? {unit} : {start}' if stage == 'chunks' else unit};"
    element = f"({wrapped})*(GLOBAL_MEM const {kind} *)(x + o + i * step)"
    row = ROW if local > 1 else 1
    if local == 1:
        yield f"for ({index} i = begin; i < end; i++) {{"
        yield f"  sum = sum {sign} {element};"
        if stage != "totals":
            yield f"  *(GLOBAL_MEM {kind} *)(y + w + i * move) = ({kind})sum;"
        yield "}"
    else:
        yield from _group_scan(stage, layout, kind, wrapped, sign, unit, element, row)
    if stage == "totals":
        yield f"if (LID_0 == 0) total[(int64_t)GID_0 * GDIM_1 + GID_1] = ({kind})sum;"


def _group_scan(
    stage: str, layout: Layout, kind: str, wrapped: str, sign: str, unit: str, element: str, row: int
) -> Iterator[str]:
    """Scan piece by piece: each work-item its row, then all work-items the totals of the rows.

    W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 29, 1986.
    """
    index, local = layout.index, layout.unroll
    yield f"for ({index} piece = begin; piece < end; piece += {local * row}) {{"
    yield f"  {wrapped} own[{row}];"
    yield f"  const {index} first = piece + ({index})LID_0 * {row};"
    yield "#pragma unroll"
    yield f"  for (int k = 0; k < {row}; k++) {{"
    yield f"    const {index} i = first + k;"
    yield f"    const {wrapped} v = i < end ? {element} : {unit};"
    yield f"    own[k] = k == 0 ? v : own[k > 0 ? k - 1 : 0] {sign} v;"
    yield "  }"
    yield "  int side = 0;"
    yield f"  shared[0][LID_0] = own[{row - 1}];"
    yield f"  for (int h = 1; h < {local}; h *= 2) {{"
    yield "    local_barrier();"
    yield f"    const {wrapped} u = shared[side][LID_0];"
    yield f"    shared[1 - side][LID_0] = LID_0 >= h ? shared[side][LID_0 - h] {sign} u : u;"
    yield "    side = 1 - side;"
    yield "  }"
    yield "  local_barrier();"
    if stage != "totals":
        yield f"  const {wrapped} before = LID_0 == 0 ? sum : sum {sign} shared[side][LID_0 - 1];"
        yield "#pragma unroll"
        yield f"  for (int k = 0; k < {row}; k++) {{"
        yield f"    const {index} i = first + k;"
        yield f"    if (i < end) *(GLOBAL_MEM {kind} *)(y + w + i * move) = ({kind})(before {sign} own[k]);"
        yield "  }"
    yield f"  sum = sum {sign} shared[side][{local - 1}];"
    yield "  local_barrier();"
    yield "}"


__all__ = ["ReduceJob", "ReductionUpdateKernel", "argmax_text", "cumulative", "reduce_elements"]
