"""Stacks of matrices in C that stands alone: loops over the forms of single matrices; loaded for exports only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, origin_from
from theano_linker_c.kernels import LapackKernel, native_kernel
from theano_linker_c.straight import Block, CArray, emit_stack, straight_op

from .._core._type import tensor_type
from .._core._variable import Tensor
from ._equations._inverse import Det, MatrixInverse, SLogDet
from ._equations._solve import Solve
from ._factors._cholesky import Cholesky, CholeskyGrad
from ._factors._eigen import Eigh
from ._factors._orthogonal import SVD, QRFull, QRIncomplete

__all__: list[str] = []


@straight_op.register(Cholesky, CholeskyGrad, Det, Eigh, MatrixInverse, QRFull, QRIncomplete, SLogDet, Solve, SVD)
def _stack(node: Apply[Any, Tensor], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    lead = node.inputs[0].type.ndim - 2
    if lead > 0 and all(v.type.ndim == lead + 2 for v in node.inputs):
        parts = [tensor_type(v.type.dtype, v.type.shape[lead:]).make_variable() for v in node.inputs]
        with origin_from(node):
            single = node.op.make_node(*parts)
        kernel = native_kernel.lookup(node.op)(single)
        if isinstance(kernel, LapackKernel):
            return emit_stack(kernel, block, inputs)
    raise block.refuse("these matrices have no form in C", "use real matrices of float32 or float64")
