"""Helpers for rewrites of ops on devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.types import GpuArrayType, GpuToGpu, TransferOp, host_from_gpu
from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c.scalar import Add, Mul
from theano_optimize import NodeRewriter, node_rewriter

from .._core._convert import as_tensor_variable, constant
from ..elemwise import DimShuffle, Elemwise, cast
from ..joining import stack
from .ops._elementwise import GpuDimShuffle, GpuElemwise
from .ops._memory import GpuAllocEmpty, GpuReshape

Maker = Callable[..., Any]


def find_node(v: Variable, cls: type[Any], ignore_clients: bool = False) -> Apply | None:
    """Return the node of a class of ops that computes `v`, looking through transfers.

    Parameters
    ----------
    v : Variable
    cls : type
        The class of the op.
    ignore_clients : bool
        False (default): only results that are used once are looked through, so that nothing is computed twice.

    Returns
    -------
    Apply or None
    """
    while v.owner is not None and (ignore_clients or len(v.clients) == 1):
        if isinstance(v.owner.op, cls):
            return v.owner
        if not isinstance(v.owner.op, TransferOp) or isinstance(v.owner.op, GpuToGpu):
            return None
        v = v.owner.inputs[0]
    return None


def grab_cpu_scalar(v: Any, nd: int) -> Any:
    """Return the number behind a variable, as a variable of the host without dimensions; None if there is none.

    Parameters
    ----------
    v : Variable
        Looked through for transfers, and for dimensions of length 1 that were inserted.
    nd : int
        Number of dimensions that `v` is expected to have.
    """
    if getattr(v.type, "ndim", None) != nd:
        return None
    if isinstance(v, Constant):
        data = np.asarray(v.data)
        return constant(data.reshape(()), dtype=data.dtype) if data.size == 1 else None
    node = v.owner
    if node is None:
        return None
    if isinstance(node.op, TransferOp):
        return grab_cpu_scalar(node.inputs[0], nd)
    if isinstance(node.op, (DimShuffle, GpuDimShuffle)) and node.op.new_order == ("x",) * nd:
        (x,) = node.inputs
        return host_from_gpu(x) if isinstance(x.type, GpuArrayType) else x
    return None


def is_equal(var: Variable, val: Any) -> bool:
    """Tell whether a variable is known always to be equal to a number; False where it may not be.

    Examples
    --------
    >>> from theano_tensor import constant, dscalar
    >>> from theano_tensor.device import is_equal
    >>> is_equal(constant(1.0), 1), is_equal(dscalar("x"), 1)
    (True, False)
    """
    return isinstance(var, Constant) and bool(np.all(np.asarray(var.data) == val)) and np.size(var.data) > 0


def _as_list(answer: Any) -> Any:
    if answer is None or answer is False or isinstance(answer, list):
        return answer
    return [answer]


def _named(function: Callable[[FunctionGraph, Apply], Any], maker: Maker, tracks: Sequence[Any]) -> NodeRewriter:
    function.__name__ = getattr(maker, "__name__", "rewrite")
    function.__doc__ = maker.__doc__
    return node_rewriter(list(tracks))(function)


def _operands(node: Apply, scalar_class: type[Any], cls: type[Any]) -> tuple[Any, Any] | None:
    """Return, of an elementwise node of two operands, the one that is computed by a class of ops, and the other one."""
    scalar_op = getattr(node.op, "scalar_op", None)
    if not isinstance(scalar_op, scalar_class) or len(node.inputs) != 2:
        return None
    for one, other in (node.inputs, node.inputs[::-1]):
        product = find_node(one, cls)
        if product is not None:
            return product, other
    return None


def _scaled(factor: Any, by: Any) -> Any:
    """Return a factor times a number; zeros and ones are not multiplied."""
    if is_equal(factor, 0):
        return factor
    return by if is_equal(factor, 1) else factor * by


def alpha_merge(cls: type[Any], alpha_in: int, beta_in: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which puts a factor into an op that takes one.

    The op computes ``result * alpha + like * beta``. Where its result is multiplied by a number, alpha and beta are.

    Parameters
    ----------
    cls : type
        The class of the op.
    alpha_in, beta_in : int
        Positions of alpha and beta among its inputs.

    Returns
    -------
    callable
        Takes ``maker(node, *inputs)``, which applies the op of `node` to new inputs, and returns a node rewriter of the
        same name, which is not registered.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            operands = _operands(node, Mul, cls)
            if operands is None:
                return None
            target, other = operands
            number = grab_cpu_scalar(other, node.outputs[0].type.ndim)
            alpha, beta = target.inputs[alpha_in], target.inputs[beta_in]
            if number is None or number.type.dtype != alpha.type.dtype:
                return None
            inputs: list[Any] = list(target.inputs)
            inputs[alpha_in], inputs[beta_in] = _scaled(alpha, number), _scaled(beta, number)
            return _as_list(maker(target, *inputs))

        return _named(rewrite, maker, [GpuElemwise, Elemwise])

    return decorate


def output_merge(cls: type[Any], alpha_in: int, beta_in: int, out_in: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which puts a sum into an op that adds.

    The op computes ``result * alpha + like * beta``. Where something is added to its result and beta is 0, that becomes
    `like`, and beta 1. Nothing is done where it broadcasts.

    Parameters
    ----------
    cls : type
        The class of the op.
    alpha_in, beta_in, out_in : int
        Positions of alpha, beta and `like` among its inputs.

    Returns
    -------
    callable
        As :func:`alpha_merge`.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            operands = _operands(node, Add, cls)
            if operands is None:
                return None
            target, other = operands
            like, beta = target.inputs[out_in], target.inputs[beta_in]
            same = (
                other.type.dtype == like.type.dtype
                and other.type.broadcastable == target.outputs[0].type.broadcastable
                and is_equal(beta, 0)
            )
            if not same:
                return None
            inputs: list[Any] = list(target.inputs)
            inputs[out_in] = like.type.clone(broadcastable=other.type.broadcastable).filter_variable(other)
            inputs[beta_in] = constant(1, dtype=beta.type.dtype)
            return _as_list(maker(target, *inputs))

        return _named(rewrite, maker, [GpuElemwise, Elemwise])

    return decorate


def inplace_allocempty(op: Any, idx: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which lets an op work in the memory of an empty array.

    An empty array that several nodes use is made once more, so that the op has its own.

    Parameters
    ----------
    op : type
        The class of the op.
    idx : int
        Position of the array among its inputs.

    Returns
    -------
    callable
        Takes ``maker(node, inputs)``, which returns the outputs of the op that works in place, and returns a node
        rewriter of the same name, which is not registered.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            if not isinstance(node.op, op) or node.op.inplace:
                return None
            inputs = list(node.inputs)
            array = inputs[idx]
            if array.owner is not None and isinstance(array.owner.op, GpuAllocEmpty) and len(array.clients) > 1:
                inputs[idx] = GpuAllocEmpty(array.owner.op.dtype, array.owner.op.context_name)(*array.owner.inputs)
            return _as_list(maker(node, inputs))

        return _named(rewrite, maker, [op])

    return decorate


def _reshaped(x: Any, lengths: Sequence[Any]) -> Any:
    shape = stack([cast(as_tensor_variable(n), "int64") for n in lengths])
    if isinstance(x.type, GpuArrayType):
        return GpuReshape(len(lengths))(x, shape)
    return x.reshape(shape, ndim=len(lengths))


def pad_dims(input: Any, leftdims: int, rightdims: int) -> Any:
    """Return an array with exactly ``leftdims + rightdims`` dimensions: ones are put before, or the first ones joined.

    Parameters
    ----------
    input : Variable
    leftdims, rightdims : int
        Number of dimensions before the processed ones, and of these.

    Examples
    --------
    Of shape (3, 5, 7) with 2 and 2: (1, 3, 5, 7). Of shape (3, 5, 7, 9, 11): (15, 7, 9, 11).
    """
    n_dims, ndim = leftdims + rightdims, input.type.ndim
    if ndim == n_dims:
        return input
    lengths = [input.shape[i] for i in range(ndim)]
    if ndim < n_dims:
        return _reshaped(input, [1] * (n_dims - ndim) + lengths)
    joined = lengths[0]
    for length in lengths[1 : ndim - n_dims + 1]:
        joined = joined * length
    return _reshaped(input, [joined, *lengths[ndim - n_dims + 1 :]])


def unpad_dims(output: Any, input: Any, leftdims: int, rightdims: int) -> Any:
    """Return the result for :func:`pad_dims` of `input` with the first dimensions of `input` again.

    Parameters
    ----------
    output, input : Variable
    leftdims, rightdims : int
        As for :func:`pad_dims`.
    """
    ndim = input.type.ndim
    if ndim == output.type.ndim:
        return output
    first = [input.shape[i] for i in range(ndim - rightdims)]
    return _reshaped(output, first + [output.shape[output.type.ndim - rightdims + i] for i in range(rightdims)])
