"""A reduction that computes the elements that it reduces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from theano_graph import Apply, Op, compose, pullback, shape_rule
from theano_linker_c.kernels import Kernel, ReductionKernel, native_kernel
from theano_linker_c.scalar import ScalarOp

from .._core._convert import as_tensor_variable
from .._core._type import tensor_type
from ..elemwise import broadcast_static, check_broadcast
from ..reduce import Reduce


class FusedReduce(Op):
    """Apply a scalar op to each element of some tensors and reduce the results, without storing them.

    Made by fusion when functions are compiled; it therefore has no gradient.

    Parameters
    ----------
    reduce_op : Reduce
    element : ScalarOp
        With one result.
    """

    __props__ = ("reduce_op", "element")

    def __init__(self, reduce_op: Reduce, element: ScalarOp) -> None:
        self.reduce_op = reduce_op
        self.element = element

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to tensors with one number of dimensions.

        Raises
        ------
        TypeError
            If the numbers of dimensions differ.
        """
        variables = [as_tensor_variable(x) for x in inputs]
        if len({x.type.ndim for x in variables}) != 1:
            raise TypeError(
                compose("the inputs of a fused reduction have one number of dimensions", mend="pad them on the left")
            )
        shape = broadcast_static(self.element, variables)
        (dtype,) = self.element.result_dtypes(*(x.type.dtype for x in variables))
        gone = set(self.reduce_op.axes(len(shape)))
        result = tensor_type(self.reduce_op.result_dtype(dtype), tuple(n for i, n in enumerate(shape) if i not in gone))
        return Apply(self, variables, [result.make_variable()])

    def element_dtype(self, node: Apply) -> str:
        """Return the dtype of the elements that are reduced."""
        return self.element.result_dtypes(*(x.type.dtype for x in node.inputs))[0]

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy."""
        shape = check_broadcast([x.shape for x in inputs], [x.type.broadcastable for x in node.inputs])
        with np.errstate(all="ignore"):
            elements = np.asarray(self.element.evaluate(*inputs), dtype=self.element_dtype(node))
            if elements.shape != shape:
                elements = np.broadcast_to(elements, shape)
            result = self.reduce_op.reduce_array(elements)
        output_storage[0][0] = np.array(result, dtype=node.outputs[0].type.dtype)

    def __str__(self) -> str:
        return f"{self.reduce_op}{{{self.element}}}"


@native_kernel.register(FusedReduce)
def _native(node: Apply) -> Kernel | None:
    op = cast(FusedReduce, node.op)
    ndim = node.inputs[0].type.ndim
    return ReductionKernel(
        combine=op.reduce_op.combine,
        element=op.element,
        input_dtypes=tuple(x.type.dtype for x in node.inputs),
        broadcast=tuple(x.type.broadcastable for x in node.inputs),
        ndim=ndim,
        axes=op.reduce_op.axes(ndim),
        acc_dtype=op.reduce_op.kernel_accumulator(op.element_dtype(node)),
        output_dtype=node.outputs[0].type.dtype,
        identity=op.reduce_op.identity,
    )


pullback.declare_absent(FusedReduce, "it is made when functions are compiled, after gradients have been taken")


@shape_rule.register(FusedReduce)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    gone = set(node.op.reduce_op.axes(node.inputs[0].type.ndim))
    result = []
    for axis in range(node.inputs[0].type.ndim):
        if axis not in gone:
            pairs = zip(input_shapes, node.inputs, strict=True)
            result.append(next((s[axis] for s, x in pairs if x.type.shape[axis] != 1), 1))
    return [tuple(result)]
