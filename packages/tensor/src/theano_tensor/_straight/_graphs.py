"""Ops that hold a graph, checks, derivatives and matrices in straight-line C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, Variable
from theano_linker_c import Function, function
from theano_linker_c.export import Jacobian, set_jacobian_maker
from theano_linker_c.kernels import memory_type
from theano_linker_c.program import LoopSpec, ResultKind
from theano_linker_c.scalar import CValue
from theano_linker_c.straight import Block, CArray, Length, emit_loop, function_program, inline_program, straight_op

from .._core._convert import constant
from .._core._ops import CheckAndRaise
from .._core._type import Tensor
from .._graph_op import STACK, MapRows
from ..builders import OpFromGraph
from ..creation import AllocEmpty
from ..gradient import grad
from ..joining import stack
from ..linalg._cholesky import Cholesky, CholeskyGrad
from ..linalg._eigen import Eigh, EighGrad
from ..linalg._inverse import Det, MatrixInverse, SLogDet
from ..linalg._orthogonal import SVD, QRFull, QRIncomplete
from ..linalg._solve import Solve

# ---- Ops that hold a graph, checks, and memory without values, in straight-line C
#
# A graph is written where the op is.


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


# ---- Jacobians of functions that are exported for programs which differentiate


def jacobian_function(fn: Function, sizes: Sequence[int]) -> Jacobian:
    """Compile the derivatives of the outputs of a function with respect to its inputs.

    Parameters
    ----------
    fn : Function
        Of float64, without updates. Its shared variables are taken for constants.
    sizes : sequence of int
        Number of elements of each output.

    Returns
    -------
    Jacobian
    """
    with fn.maker.decisions.withdrawn():
        graph = fn.maker.source.build()
    fixed, inputs = {}, []
    for variable, item, box in zip(graph.inputs, fn.maker.inputs, fn.input_storage, strict=True):
        if item.implicit or item.shared:
            fixed[variable] = constant(box.value)
        else:
            inputs.append(variable)
    blocks, outputs = [], []
    for k, (output, size) in enumerate(zip(graph.outputs, sizes, strict=False)):
        for i, block in enumerate(_split_vector(output.T.flatten(), size, inputs)):
            if block is not None:
                blocks.append((k, i))
                outputs.append(block.T.flatten())
    compiled = function(inputs, outputs, givens=fixed, mode=fn.maker.mode, on_unused_input="ignore")
    return Jacobian(compiled, tuple(blocks))


def _split_vector(vector: Any, size: int, inputs: Sequence[Variable]) -> list[Any]:
    """Return the matrix of derivatives with respect to each input; None where there are none.

    Elements are differentiated one by one, without a loop: rewriting merges their common parts.
    """
    first = grad(vector.sum(), inputs, disconnected_inputs="ignore", return_disconnected="None")
    connected = [x for x, value in zip(inputs, first, strict=True) if value is not None]
    rows: dict[Variable, list[Any]] = {x: [] for x in connected}
    for k in range(size):
        for x, row in zip(connected, grad(vector[k], connected, disconnected_inputs="ignore"), strict=True):
            rows[x].append(row.T.flatten())
    return [stack(rows[x]) if x in rows else None for x in inputs]


set_jacobian_maker(jacobian_function)


# ---- Matrices that have no form in C that stands alone; loaded for exports only


@straight_op.register(Cholesky, CholeskyGrad, Det, Eigh, EighGrad)
@straight_op.register(MatrixInverse, QRFull, QRIncomplete, SLogDet, Solve, SVD)
def _refuse(node: Apply[Any, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Refuse an op without a native kernel, whose form would have been asked first."""
    raise block.refuse("these matrices have no form in C", "use real matrices of float32 or float64")


__all__ = ["jacobian_function"]
