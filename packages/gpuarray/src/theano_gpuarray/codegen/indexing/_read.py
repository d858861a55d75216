"""Reading parts of arrays by index arrays and masks."""

from __future__ import annotations

from collections.abc import Sequence

from theano_linker_c.kernels import IndexArray, IndexReadKernel

from .._copies import on_device
from .._form import Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter, is_device_dtype, move_type, spread
from ._moves import Move, checked_positions, move_of
from ._region import host_positions

__all__ = ["check_positions"]


def _reads_values(kernel: IndexReadKernel) -> bool:
    return any(isinstance(e, IndexArray) and e.mask for e in kernel.entries)


@register_device_form(
    IndexReadKernel,
    supports=lambda kernel: is_device_dtype(kernel.dtypes[0]),
    host_inputs=lambda kernel, count: host_positions(kernel.entries),
    needs_values=_reads_values,
)
def _read(kernel: IndexReadKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    move = move_of(recorder, kernel.entries, on_device(recorder, operands[0]), operands, kernel.ndims)
    part = recorder.empty(kernel.dtypes[0], move.shape)
    if not part.size:
        check_positions(recorder, move)
        return [part]
    kind, writer = move_type(part.itemsize), KernelWriter("index_read")
    checked_positions(recorder, writer, move, [("p", part, part.strides)], writes="p")
    writer.add(f"*(GLOBAL_MEM {kind} *)(p + p_o) = *(GLOBAL_MEM const {kind} *)(x + o);")
    writer.end()
    writer.launch(recorder, *spread(recorder, part.size))
    return [part]


def check_positions(recorder: Recorder, move: Move) -> None:
    """Look at the positions of a part that has no elements, or of which nothing is read yet."""
    if move.index_count and any(not source.entry.mask for source in move.region.sources):
        writer = KernelWriter("index_check")
        checked_positions(recorder, writer, move, plain=False)
        writer.end()
        writer.launch(recorder, *spread(recorder, move.index_count))
