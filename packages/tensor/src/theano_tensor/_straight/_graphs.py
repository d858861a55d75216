"""Ops that hold a graph, checks, and memory without values, in straight-line C.

A graph is written where the op is.
"""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Apply
from theano_linker_c.kernels import memory_type
from theano_linker_c.program import LoopSpec, ResultKind
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import Block, CArray, Length, emit_loop, function_program, inline_program, straight_op

from .._core._ops import CheckAndRaise
from .._graph_op import STACK, MapRows
from ..builders import OpFromGraph
from ..creation import AllocEmpty

__all__: list[str] = []


@straight_op.register(OpFromGraph)
def _graph(node: Apply[OpFromGraph], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return inline_program(block, function_program(node.op.compiled()), inputs)


@straight_op.register(MapRows)
def _rows(node: Apply[MapRows], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    op = node.op
    n = block.number(inputs[0])
    block.at_least(n, 0, "the number of rows is negative")
    shapes: list[tuple[Length, ...] | None] = [
        inputs[like].shape[1 if like <= op.sequences else 0 :] for like in op.likes
    ]
    kinds = tuple(ResultKind.STACK if kind == STACK else ResultKind.SUM for kind in op.kinds)
    program = function_program(op.compiled())
    results, _ = emit_loop(block, program, LoopSpec(op.sequences, 0, kinds), n, inputs[1:], shapes, counted=True)
    return results


@straight_op.register(CheckAndRaise)
def _check(node: Apply[CheckAndRaise], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    value, *conditions = inputs
    text = f"{node.op.exc_type.__name__}: {node.op.msg}" if node.op.msg else node.op.exc_type.__name__
    for condition in conditions:
        block.check(f"{condition.load('0').text} != 0", text)
    return [value]


@straight_op.register(AllocEmpty)
def _empty(node: Apply[AllocEmpty], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Return zeros: compilers would take a read of undefined memory for an error."""
    shape = [block.number(x) for x in inputs]
    for length in shape:
        block.at_least(length, 0, "a length is negative")
    target = block.result(0, node.op.dtype, shape)
    if not shape:
        block.store(target, "0", CValue("0", target.dtype, 0))
    else:
        block.line(f"memset({target.pointer}, 0, (size_t)({target.size}) * sizeof({memory_type(target.dtype)}));")
    return [target]
