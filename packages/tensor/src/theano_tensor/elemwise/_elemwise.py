"""Scalar ops on each element of tensors, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Op, Variable, compose, describe, pullback, pushforward, shape_rule
from theano_linker_c.kernels import ElementwiseKernel, Kernel, native_kernel
from theano_linker_c.scalar import ScalarOp

from .._convert import as_tensor_variable
from .._dtypes import COMPLEX_DTYPES, DISCRETE_DTYPES
from .._operators import call
from .._type import tensor_type
from .._variable import TensorVariable
from ._broadcast import broadcast_static, check_broadcast
from ._dimshuffle import dimshuffle
from ._lift import lifted_pullback, lifted_pushforward

#: Dtypes without a C form: nodes that touch them run in NumPy.
_NO_NATIVE_FORM = COMPLEX_DTYPES | {"float16"}


class Elemwise(Op):
    """Apply a scalar op to each element.

    Inputs with fewer dimensions get dimensions of length 1 on the left. A dimension stretches if its static length
    is 1; a length
    that is known at run time only does not, so 1 against n is an error there (NumPy would stretch it).

    Parameters
    ----------
    scalar_op : ScalarOp
        Says the dtypes of the results, the value, the C form and the gradient.
    inplace_pattern : mapping, optional
        Accepted for programs written for in-place variants; the runtime reuses memory by itself, so it has no effect.
    name : str, optional
        Name for printing.

    Examples
    --------
    >>> from theano_linker_c import scalar
    >>> from theano_tensor import dmatrix, dvector
    >>> str(Elemwise(scalar.add)(dmatrix("x"), dvector("v")).owner.op)
    'Elemwise{add,no_inplace}'
    """

    __props__ = ("scalar_op",)

    def __init__(
        self, scalar_op: ScalarOp, inplace_pattern: Any = None, name: str | None = None, nfunc_spec: Any = None
    ) -> None:
        self.scalar_op = scalar_op
        self.label = name
        self.nfunc_spec = nfunc_spec
        self._hash = hash((Elemwise, scalar_op))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(self) is type(other) and isinstance(other, Elemwise) and self.scalar_op == other.scalar_op
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # The kept hash holds for one process only, so a pickle builds the op anew.
        return type(self), (self.scalar_op, None, self.label, self.nfunc_spec)

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to tensors.

        Raises
        ------
        ShapeError
            If static lengths differ and neither is 1.
        TypeError
            If the number of inputs or a dtype does not fit the scalar op.
        """
        given = [as_tensor_variable(x) for x in inputs]
        dtypes = self._result_dtypes(given)
        ndim = max((x.type.ndim for x in given), default=0)
        padded = [x if x.type.ndim == ndim else _pad_left(x, ndim) for x in given]
        shape = broadcast_static(self.scalar_op.name, padded, given)
        outputs = [tensor_type(dtype, shape).make_variable() for dtype in dtypes]
        return Apply(self, padded, outputs)

    def _result_dtypes(self, inputs: Sequence[TensorVariable]) -> tuple[str, ...]:
        nin = self.scalar_op.nin
        if nin is not None and nin >= 0 and len(inputs) != nin:
            raise TypeError(
                compose(
                    f"{self.scalar_op.name} takes {nin} arguments, got {len(inputs)}",
                    where=[describe(x) for x in inputs],
                )
            )
        try:
            return self.scalar_op.result_dtypes(*(x.type.dtype for x in inputs))
        except TypeError as error:
            first, *rest = str(error).split("\n  To mend: ")
            mend = rest[0] if rest else "convert the operands with T.cast"
            raise TypeError(compose(first, where=[describe(x) for x in inputs], mend=mend)) from error

    def __call__(self, *inputs: Any, **kwargs: Any) -> TensorVariable:
        """Return the result on tensors (for scalar ops with several results: the list of them)."""
        result: TensorVariable = super().__call__(*inputs, **kwargs)
        return result

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy, after the check of lengths."""
        shape = check_broadcast([x.shape for x in inputs], [x.type.broadcastable for x in node.inputs])
        with np.errstate(all="ignore"):
            results = self.scalar_op.impl(*inputs)
        if len(node.outputs) == 1:
            results = (results,)
        for output, result, storage in zip(node.outputs, results, output_storage, strict=True):
            array = np.asarray(result, dtype=output.type.dtype)
            if array.shape != shape:
                array = np.array(np.broadcast_to(array, shape))
            elif array.base is not None or any(array is x for x in inputs):
                array = array.copy()
            storage[0] = array

    def __str__(self) -> str:
        if self.label is not None:
            return self.label
        return f"Elemwise{{{self.scalar_op},no_inplace}}"


def _pad_left(x: TensorVariable, ndim: int) -> TensorVariable:
    have = x.type.ndim
    return dimshuffle(x, ["x"] * (ndim - have) + list(range(have)))


def elemwise(scalar_op: ScalarOp, inputs: Sequence[Any]) -> Sequence[TensorVariable]:
    """Return all outputs of a scalar op lifted to tensors."""
    op: Any = Elemwise(scalar_op)
    outputs: Sequence[TensorVariable] = op(*inputs, return_list=True)
    return outputs


def _unbroadcast(value: TensorVariable, like: TensorVariable) -> TensorVariable:
    """Sum `value` over the dimensions in which `like` was stretched; stretch it where it is smaller than `like`."""
    axes = [i for i, (v, x) in enumerate(zip(value.type.shape, like.type.shape, strict=True)) if x == 1 and v != 1]
    if axes:
        value = call("sum", value, axis=axes, keepdims=True)
    if any(v == 1 and x != 1 for v, x in zip(value.type.shape, like.type.shape, strict=True)):
        value = call("second", like, value)
    return value


@pullback.register(Elemwise)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    # An output that the cost does not depend on has no cotangent.
    given = [g if isinstance(g, TensorVariable) else _zero(node.outputs[0].type.ndim) for g in cotangents]
    values: list[TensorVariable] = [*node.inputs, *node.outputs, *given]
    dtypes = [v.type.dtype for v in values]
    nin, nout = len(node.inputs), len(node.outputs)
    rule = lifted_pullback(node.op.scalar_op, tuple(dtypes[:nin]), tuple(dtypes[nin + nout :]))
    results = rule.apply(values, node.outputs[0].type.ndim, elemwise)
    return [None if r is None else _unbroadcast(r, x) for r, x in zip(results, node.inputs, strict=True)]


@pushforward.register(Elemwise)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    ndim = node.outputs[0].type.ndim
    present = [as_tensor_variable(t) for t in tangents if t is not None]
    if not present:
        return [None] * len(node.outputs)
    op = node.op.scalar_op
    dtypes = tuple(x.type.dtype for x in node.inputs)
    given = tuple(None if t is None else as_tensor_variable(t).type.dtype for t in tangents)
    rule = lifted_pushforward(op, dtypes, given)
    if rule is not None:
        results = rule.apply([*node.inputs, *node.outputs, *present], ndim, elemwise)
        return [None if r is None else _stretch(r, node.outputs[0]) for r in results]
    return [_derived(node, k, tangents) for k in range(len(node.outputs))]


def _derived(node: Apply, k: int, tangents: list[Variable | None]) -> Variable | None:
    """Return the tangent of output `k`.

    The Jacobian is diagonal, so the pullback of a tangent is its pushforward too.
    """
    if node.outputs[k].type.dtype in DISCRETE_DTYPES:
        return None
    op, ndim = node.op.scalar_op, node.outputs[0].type.ndim
    dtypes = tuple(x.type.dtype for x in node.inputs)
    total: Any = None
    for i, tangent in enumerate(tangents):
        if tangent is None:
            continue
        directions = [as_tensor_variable(tangent) if j == k else _zero(ndim) for j in range(len(node.outputs))]
        rule = lifted_pullback(op, dtypes, tuple(d.type.dtype for d in directions))
        part = rule.apply([*node.inputs, *node.outputs, *directions], ndim, elemwise)[i]
        if part is not None:
            total = part if total is None else total + part
    return None if total is None else _stretch(total, node.outputs[k])


def _zero(ndim: int) -> TensorVariable:
    return as_tensor_variable(np.zeros((1,) * ndim, dtype="float32"))


def _stretch(value: TensorVariable, like: TensorVariable) -> TensorVariable:
    if any(v == 1 and x != 1 for v, x in zip(value.type.shape, like.type.shape, strict=True)):
        stretched: TensorVariable = call("second", like, value)
        return stretched
    return value


@shape_rule.register(Elemwise)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    shape = []
    for axis, static in enumerate(node.outputs[0].type.shape):
        if static is not None:
            shape.append(static)
            continue
        # The first dimension that does not stretch decides; they are all equal, or running the node is an error.
        shape.append(next(s[axis] for s, x in zip(input_shapes, node.inputs, strict=True) if x.type.shape[axis] != 1))
    return [tuple(shape)] * len(node.outputs)


@native_kernel.register(Elemwise)
def _native(node: Apply) -> Kernel | None:
    types = [v.type for v in (*node.inputs, *node.outputs)]
    if any(t.dtype in _NO_NATIVE_FORM for t in types) or not node.inputs:
        return None
    op = node.op.scalar_op
    dtypes = tuple(x.type.dtype for x in node.inputs)
    return ElementwiseKernel(
        scalar_op=op,
        input_dtypes=dtypes,
        output_dtypes=tuple(y.type.dtype for y in node.outputs),
        broadcast=tuple(x.type.broadcastable for x in node.inputs),
        ndim=node.outputs[0].type.ndim,
    )
