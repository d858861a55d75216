"""Elementwise functions, reductions, and axes that move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import theano.tensor as T

from .._table import NoRule, Site, rule
from ._scalars import scalar_results


@rule("tensor.Elemwise")
def _elemwise(site: Site) -> Any:
    """Apply functions of tensors; lengths of 1 that only PyTensor knows to be such are declared."""
    inputs = list(site.inputs)
    rank = site.outputs[0].type.ndim
    for axis in range(rank):
        lengths = [v.type.shape[axis] for v in site.node.inputs]
        if 1 in lengths and any(length != 1 for length in lengths):
            inputs = [
                T.addbroadcast(x, axis) if length == 1 and not x.type.broadcastable[axis] else x
                for x, length in zip(inputs, lengths, strict=True)
            ]
    return scalar_results(site, site.op.scalar_op, inputs)


@rule("tensor.DimShuffle")
def _dimshuffle(site: Site) -> Any:
    x, order = site.inputs[0], tuple(site.op.new_order)
    dropped = [axis for axis in range(x.ndim) if axis not in order and not x.type.broadcastable[axis]]
    return (T.addbroadcast(x, *dropped) if dropped else x).dimshuffle(order)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "Add": T.sum, "Mul": T.prod, "Maximum": T.max, "Minimum": T.min, "AND": T.all, "OR": T.any,
    "MulWithoutZeros": T.prod,
}  # fmt: skip


@rule("tensor.CAReduce", "tensor.ProdWithoutZeros")
def _reduce(site: Site) -> Any:
    """Reduce by the scalar op: Sum, Prod, Max, Min, All and Any are classes of PyTensor for some of them."""
    (x,), op, dtype = site.inputs, site.op, site.outputs[0].type.dtype
    name = type(op.scalar_op).__name__
    axes = list(range(x.ndim)) if op.axis is None else list(op.axis)
    if not axes:
        return x
    if name in ("Add", "Mul", "MulWithoutZeros"):
        return _accumulated(op, name, x, axes, dtype)
    if name in ("AND", "OR") and dtype != "bool":
        raise NoRule(f"{name} of the bits of integers along axes")
    if name == "XOR" or name not in _REDUCTIONS:
        raise NoRule(f"there is no reduction by {name}")
    return _REDUCTIONS[name](x, axis=axes)


def _accumulated(op: Any, name: str, x: Any, axes: list[int], dtype: str) -> Any:
    """Return a sum, a product, or a product of all that is not zero."""
    accumulator = getattr(op, "acc_dtype", None) or getattr(op, "dtype", None) or dtype
    if x.dtype.startswith("complex") and not dtype.startswith("complex"):
        # Like NumPy, PyTensor drops imaginary parts.
        if name != "Add":
            raise NoRule("a product of complex numbers as a real one")
        x = T.real(x)
    if name == "MulWithoutZeros":
        x = T.switch(T.eq(x, 0), T.ones_like(x), x)
    return _REDUCTIONS[name](x, axis=axes, dtype=dtype, acc_dtype=accumulator)


@rule("tensor.Argmax")
def _argmax(site: Site) -> Any:
    """The place of the largest element, by the order of the axes that are reduced together."""
    (x,), axes = site.inputs, site.op.axis
    if axes is None or len(axes) == x.ndim:
        return T.argmax(x.flatten() if x.ndim != 1 else x, axis=0)
    if len(axes) == 1:
        return T.argmax(x, axis=axes[0])
    others = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.dimshuffle([*others, *axes])
    joined = T.concatenate([moved.shape[: len(others)], T.stack([T.prod(moved.shape[len(others) :])])])
    return T.argmax(T.reshape(moved, joined, ndim=len(others) + 1), axis=len(others))


def _axes(x: Any, axis: int | None) -> Any:
    return list(range(x.ndim)) if axis is None else axis


@rule("tensor.Softmax")
def _softmax(site: Site) -> Any:
    (x,), axis = site.inputs, _axes(site.inputs[0], site.op.axis)
    powers = T.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@rule("tensor.LogSoftmax")
def _log_softmax(site: Site) -> Any:
    (x,), axis = site.inputs, _axes(site.inputs[0], site.op.axis)
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - T.log(T.exp(shifted).sum(axis=axis, keepdims=True))


@rule("tensor.SoftmaxGrad")
def _softmax_gradient(site: Site) -> Any:
    gradient, probabilities = site.inputs
    weighted = gradient * probabilities
    return weighted - weighted.sum(axis=_axes(weighted, site.op.axis), keepdims=True) * probabilities
