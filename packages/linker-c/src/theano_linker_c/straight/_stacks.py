"""Linear algebra on single matrices, and on stacks of them as loops over the form for one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..codegen.ir import Let, value_of_text
from ..kernels import LapackKernel
from ._arrays import CArray
from ._block import Block, Step, takes_memory
from ._emit import Wanted
from ._lengths import ONE, ZERO, Length
from ._linear_algebra import TASKS, Sides, square_side
from ._rules import straight_kernel

__all__: list[str] = []

_Shape = tuple[Length, ...]


@straight_kernel.register(LapackKernel)
def _lapack(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    lead = inputs[0].ndim - 2
    if not lead:
        return TASKS[kernel.task](kernel, block, inputs)
    if kernel.task not in ("cofactors", "eigh_back") and any(x.ndim != lead + 2 for x in inputs):
        raise block.refuse("stacks of matrices and of vectors have no form in C together", "use matrices of one column")
    return _stack(kernel, block, inputs)


def _stack(kernel: LapackKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Write the present instruction as loops over its form for single matrices."""
    outer = block.step
    assert outer is not None, "stacks belong to an instruction"
    lead = inputs[0].ndim - 2
    lengths = list(inputs[0].shape[:lead])
    for x in inputs[1:]:
        # Numbers beside matrices broadcast.
        lengths = [
            a if b == ONE and x.ndim == lead else block.same(a, b, "stacks of matrices differ in length")
            for a, b in zip(lengths, x.shape[:lead], strict=True)
        ]
    cores = _CORES[kernel.task](kernel, block, [x.shape[lead:] for x in inputs])
    made = [block.result(k, kernel.dtype, (*lengths, *core)) for k, core in enumerate(cores)]
    arrays, outer_body, start = [*inputs, *made], block.statements, len(block.statements)
    strides = [
        [ZERO if n == ONE else step for n, step in zip(x.shape[:lead], x.strides[:lead], strict=True)] for x in arrays
    ]
    nest = block.nest(lengths, (), strides)
    with block.loops(nest, independent=False) as offsets:
        parts = [
            block.view(x, x.shape[lead:], x.strides[lead:], offset, written=k >= len(inputs))
            for k, (x, offset) in enumerate(zip(arrays, offsets, strict=True))
        ]
        operands, places = parts[: len(inputs)], parts[len(inputs) :]
        targets = {
            register: Wanted(place.pointer, place.dtype, place.shape, place.root)
            for register, place in zip(outer.instruction.outputs, places, strict=True)
        }
        block.step = Step(outer.instruction, tuple(operands), targets)
        for target, part in zip(places, TASKS[kernel.task](kernel, block, operands), strict=True):
            if part.pointer != target.pointer:
                block.copy(part, target)
                part.root.end = block.time
        if takes_memory(block.statements):
            # Each turn gives back the memory that it has taken.
            mark = block.fresh("m")
            remembered = value_of_text(block.call("theano_remember", "memory"))
            outer_body.insert(start, Let(mark, "theano_mark", remembered, False))
            block.line(f"{block.call('theano_give_back', 'memory', mark)};")
    block.step = outer
    return made


def _square(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    n = square_side(block, shapes[0])
    return [(n, n)]


def _numbers(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    return [()] if kernel.task == "det" else [(), ()]


def _right_side(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    return [shapes[1]]


def _eigh(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    n = square_side(block, shapes[0])
    return [(n,), (n, n)]


def _svd(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    rows, columns = shapes[0]
    k, is_full = Sides(block, rows, columns).short, kernel.flag == 2
    return [(k,)] if kernel.flag == 0 else [(rows, rows if is_full else k), (k,), (columns if is_full else k, columns)]


def _qr(kernel: LapackKernel, block: Block, shapes: Sequence[_Shape]) -> list[_Shape]:
    rows, columns = shapes[0]
    k = rows if kernel.flag == 2 else Sides(block, rows, columns).short
    return [(k, columns)] if kernel.flag == 0 else [(rows, k), (k, columns)]


#: The shapes of the results for one matrix, by task.
_CORES: dict[str, Callable[[LapackKernel, Block, Sequence[_Shape]], list[_Shape]]] = {
    **dict.fromkeys(("cholesky", "inverse", "factor_back", "cofactors", "eigh_back"), _square),
    **dict.fromkeys(("solve", "symmetric", "triangular"), _right_side),
    **dict.fromkeys(("det", "slogdet"), _numbers),
    "eigh": _eigh,
    "svd": _svd,
    "qr": _qr,
}
