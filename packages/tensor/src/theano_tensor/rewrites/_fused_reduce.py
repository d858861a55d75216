"""Reductions that compute the elements that they reduce, and maybe keep some: all in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Op, batch_rule, format_error, pullback, shape_rule
from theano_linker_c.kernels import Kernel, Reduction, ReductionKernel, can_reduce, native_kernel
from theano_linker_c.scalar import ScalarOp

from .._core._convert import as_tensor_variable
from .._core._dtypes import TensorLike
from .._core._ops import run_in_a_loop
from .._core._type import Tensor, tensor_type
from ..elemwise import broadcast_static, check_broadcast
from ..reduce import Reduce


def is_fusible_reduction(node: Apply[Any, Tensor]) -> bool:
    """Tell whether a node is a reduction that a :class:`FusedReduce` can compute besides others."""
    op = node.op
    if not isinstance(op, Reduce) or not op.axes(node.inputs[0].type.ndim):
        return False
    return can_reduce(op.combine, op.kernel_accumulator(node.inputs[0].type.dtype))


class FusedReduce(Op):
    """Apply a scalar op to each element of some tensors; keep its first results, and reduce each of the others.

    The reduced values are not stored. Mostly there is one reduction, and nothing is kept.

    Made by fusion when functions are compiled; it therefore has no gradient.

    Parameters
    ----------
    scalar_op : ScalarOp
        With as many results as there are kept and reduced ones together.
    reductions : sequence of Reduce
        For the last results; all over the same axes.
    """

    __props__ = ("reductions", "scalar_op")

    def __init__(self, scalar_op: ScalarOp, reductions: Sequence[Reduce]) -> None:
        self.scalar_op = scalar_op
        self.reductions = tuple(reductions)

    @property
    def n_kept(self) -> int:
        """How many results are kept element by element."""
        return self.scalar_op.nout - len(self.reductions)

    def make_node(self, *inputs: TensorLike) -> Apply[Self, Tensor]:
        """Apply to tensors with one number of dimensions.

        Raises
        ------
        TypeError
            If the numbers of dimensions differ.
        """
        variables = [as_tensor_variable(x) for x in inputs]
        if len({x.type.ndim for x in variables}) != 1:
            raise TypeError(
                format_error(
                    "the inputs of a fused reduction have one number of dimensions", hint="pad them on the left"
                )
            )
        shape = broadcast_static(self.scalar_op, variables)
        dtypes = self.scalar_op.result_dtypes(*(x.type.dtype for x in variables))
        outputs = [tensor_type(dtype, shape).make_variable() for dtype in dtypes[: self.n_kept]]
        for reduction, dtype in zip(self.reductions, dtypes[self.n_kept :], strict=True):
            gone = set(reduction.axes(len(shape)))
            left = [n for i, n in enumerate(shape) if i not in gone]
            outputs.append(tensor_type(reduction.result_dtype(dtype), left).make_variable())
        return Apply(self, variables, outputs)

    def element_dtypes(self, node: Apply[Self, Tensor]) -> tuple[str, ...]:
        """Return the dtypes of all results of the scalar op."""
        return self.scalar_op.result_dtypes(*(x.type.dtype for x in node.inputs))

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        shape = check_broadcast([x.shape for x in inputs], [x.type.broadcastable for x in node.inputs])
        with np.errstate(all="ignore"):
            values = self.scalar_op.evaluate(*inputs)
            results = values if self.scalar_op.nout > 1 else (values,)
            for k, (result, dtype) in enumerate(zip(results, self.element_dtypes(node), strict=True)):
                elements = np.broadcast_to(np.asarray(result, dtype=dtype), shape)
                if k >= self.n_kept:
                    elements = self.reductions[k - self.n_kept].reduce_array(elements)
                output_storage[k][0] = np.array(elements, dtype=node.outputs[k].type.dtype)

    def __str__(self) -> str:
        if self.scalar_op.nout == 1:
            return f"{self.reductions[0]}{{{self.scalar_op}}}"
        names = ["kept"] * self.n_kept
        return f"{self.scalar_op} -> ({', '.join([*names, *map(str, self.reductions)])})"


@native_kernel.register(FusedReduce)
def _native(node: Apply[FusedReduce, Tensor]) -> Kernel | None:
    op = node.op
    dtypes, ndim = op.element_dtypes(node), node.inputs[0].type.ndim
    reduced = zip(op.reductions, dtypes[op.n_kept :], node.outputs[op.n_kept :], strict=True)
    return ReductionKernel(
        scalar_op=op.scalar_op,
        input_dtypes=tuple(x.type.dtype for x in node.inputs),
        kept_dtypes=dtypes[: op.n_kept],
        reductions=tuple(
            Reduction(r.combine, r.kernel_accumulator(dtype), v.type.dtype, r.identity) for r, dtype, v in reduced
        ),
        broadcast=tuple(x.type.broadcastable for x in node.inputs),
        ndim=ndim,
        axes=op.reductions[0].axes(ndim),
    )


pullback.declare_absent(FusedReduce, "it is made when functions are compiled, after gradients have been taken")


@shape_rule.register(FusedReduce)
def _shape(node: Apply[FusedReduce, Tensor], input_shapes: list[Any]) -> list[Any]:
    op = node.op
    ndim = node.inputs[0].type.ndim
    pairs = list(zip(input_shapes, node.inputs, strict=True))
    full = tuple(next((s[axis] for s, x in pairs if x.type.shape[axis] != 1), 1) for axis in range(ndim))
    gone = set(op.reductions[0].axes(ndim))
    left = tuple(length for axis, length in enumerate(full) if axis not in gone)
    return [full] * op.n_kept + [left] * len(op.reductions)


batch_rule.register(FusedReduce)(run_in_a_loop)
