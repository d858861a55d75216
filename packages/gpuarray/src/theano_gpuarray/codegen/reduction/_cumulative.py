"""Cumulative sums and products along an axis.

Each line is cut in chunks. Work-groups scan their chunk; where a line has several, the totals of the chunks are scanned
first, and each chunk starts from the total of those before. So two passes read the elements, whatever the length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from theano_linker_c.codegen.ir import Statement
from theano_linker_c.kernels import ArrayRoutineKernel, memory_type

from .._form import Argument, DeviceOperand, Operand, Recorder
from .._kernel_text import KernelText
from ..elementwise import Layout, Nest, arrays, fits_narrow, merge, offset, positions
from ..text import Signature
from ._layout import power_of_two

__all__ = ["cumulative", "cumulative_text"]

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
    return signature.text(task, _lines(task, dtype, layout, stage, names))


def _lines(task: str, dtype: str, layout: Layout, stage: str, names: Sequence[str]) -> Iterator[Statement | str]:
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
