"""Loops in straight-line C."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply
from theano_linker_c.straight import (
    Block,
    CArray,
    Length,
    contiguous_strides,
    emit_loop,
    function_program,
    product_of,
    straight_op,
)

from ._loop._ops import Loop, Scan
from ._loop._plan import LAST, SUM

__all__: list[str] = []


@straight_op.register(Loop)
def _loop(node: Apply[Loop], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return _written(node.op, block, inputs, True)


def _written(op: Loop, block: Block, inputs: Sequence[CArray], all_rows: bool) -> list[CArray]:
    plan, arguments = op.plan, inputs[1:]
    n = block.number(inputs[0])
    block.at_least(n, 0, "the number of steps of a loop is negative")
    if LAST in plan.kinds:
        block.at_least(n, 1, "a loop does no step: there is no last one")
    shapes: list[tuple[Length, ...] | None] = []
    for k, kind in enumerate(plan.kinds):
        shape = arguments[plan.sequences + k].shape if k < plan.states else None
        if kind == SUM:
            like = plan.likes[k]
            shape = arguments[like].shape[1 if like < plan.sequences else 0 :]
        shapes.append(shape)
    program = function_program(op.compiled())
    results, done = emit_loop(block, program, plan.loop_spec(), n, arguments, shapes, whole=all_rows)
    return [*results, block.number_array(done)] if plan.until else results


@straight_op.register(Scan)
def _scan(node: Apply[Scan], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Run the loop with the rows of all steps, and put them behind the first rows of the buffers."""
    op: Scan = node.op

    def start(buffer: CArray, index: int, depth: int) -> CArray:
        block.at_least(buffer.shape[0], depth, f"the first {depth} rows of a state are missing")
        offset = Length(index) * buffer.strides[0]
        return block.view(buffer, buffer.shape[1:], buffer.strides[1:], str(offset))

    result = _written(op.whole_loop, block, op.loop_inputs(list(inputs), start), False)
    results, position = [], 0
    arguments = list(inputs)
    for k, (buffer, depth) in enumerate(
        zip([*op.outer_mitsot(arguments), *op.outer_sitsot(arguments)], op.depths, strict=True)
    ):
        rows = result[position]
        shape = (block.sum([Length(depth), rows.shape[0]]), *rows.shape[1:])
        output = block.result(k, rows.dtype, shape)
        first = block.view(buffer, (Length(depth), *rows.shape[1:]), buffer.strides)
        block.copy(first, block.view(output, first.shape, output.strides))
        behind = str(Length(depth) * product_of(rows.shape[1:]))
        block.copy(rows, block.view(output, rows.shape, contiguous_strides(rows.shape), behind, written=True))
        results.append(output)
        position += depth if k < op.n_mit_sot else 1
    shared = result[position : position + op.n_shared_outs]
    position += op.n_shared_outs
    return [*results, *result[position : position + op.n_nit_sot], *shared]
