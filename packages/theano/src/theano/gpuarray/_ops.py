"""Ops on devices under their documented names: creation, products, indices, reductions, Fourier transforms."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.arrays import array
from theano_gpuarray.contexts import get_context as get_context, list_contexts
from theano_gpuarray.types import GpuArrayType as GpuArrayType, host_from_gpu, infer_context_name, is_host_array
from theano_graph import config, describe, format_error
from theano_tensor import DTypeError, TensorType, as_tensor_variable, batched_dot, cast, tri
from theano_tensor.device import GpuAllocEmpty, as_gpuarray_variable
from theano_tensor.device.dnn import LayerOp, library_results
from theano_tensor.fourier import irfft, rfft
from theano_tensor.reduce import ArgMax, Max
from theano_tensor.shape import shape_i

from ..tensor._expression_ops import ExpressionOp

# ---- Ops on devices under their documented names

# ---- Ops of Theano 1.0 on devices that are expressions of others: operands and results are on the device


class OnDevice(ExpressionOp):
    """A mix-in, before a class of expressions of the host: operands are moved to a device, and results are there.

    It computes the expression of the host, which rewriting moves to the device; or it is a node that asks cuDNN where
    the context can use that, and :meth:`layer` names one.
    """

    #: How many of the first operands go to the device; lengths stay on the host.
    moved: int | None = None

    def operands(self, *inputs: Any, **options: Any) -> list[Any]:
        """Return the operands of the op of the host, checked and moved."""
        name = infer_context_name(*inputs)
        checked = super().operands(*(_on_host(x) for x in inputs), **options)
        return [
            as_gpuarray_variable(v, name) if is_host_array(v) and (self.moved is None or i < self.moved) else v
            for i, v in enumerate(checked)
        ]

    def layer(self) -> LayerOp | None:
        """Return cuDNN's layer for this op; None where there is none."""
        return None

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the outputs of the op of the host, moved to the device of the first operand."""
        name = inputs[0].type.context_name
        layer = self.layer()
        results = None if layer is None else library_results(layer, name, *inputs)
        if results is not None:
            return results
        return [as_gpuarray_variable(v, name) for v in super().expression(*map(_on_host, inputs))]


def _on_host(x: Any) -> Any:
    return host_from_gpu(x) if isinstance(getattr(x, "type", None), GpuArrayType) else x


# ---- Arrays that are made on devices, as expressions of ops that make them there


class GpuTri(ExpressionOp):
    """A matrix on a device with ones at and below a diagonal; inputs are rows, columns and the number of the diagonal.

    Parameters
    ----------
    dtype : str, optional
        The flag ``floatX`` by default.
    context_name : str or None
    """

    __props__ = ("dtype", "context_name")

    def __init__(self, dtype: str | None = None, context_name: Hashable = None) -> None:
        self.dtype = TensorType("floatX" if dtype is None else dtype, ()).dtype
        self.context_name = context_name

    def operands(self, n: Any, m: Any, k: Any) -> list[Any]:
        """Take three integers."""
        return [as_tensor_variable(v) for v in (n, m, k)]

    def expression(self, n: Any, m: Any, k: Any) -> list[Any]:
        """Return the matrix, on the device."""
        return [as_gpuarray_variable(tri(n, m, k, dtype=self.dtype), self.context_name)]


def empty_like(var: Any) -> Any:
    """Return an array on a device of the dtype and shape of another one there; its elements are not defined."""
    lengths = [shape_i(var, d) for d in range(var.type.ndim)]
    return GpuAllocEmpty(var.type.dtype, var.type.context_name)(*lengths)


# ---- Types, variables and contexts of devices


def GpuArray_unpickler(npa: Any, ctx_name: Any) -> Any:  # the name in pickles of Theano 1.0
    """Return the array of a pickle: in its context, or on the host where the flag `unpickle_gpu_on_cpu` permits that.

    Parameters
    ----------
    npa : ndarray
    ctx_name : str or None
    """
    if ctx_name not in list_contexts() and config.experimental.unpickle_gpu_on_cpu:
        return npa
    return array(npa, context=get_context(ctx_name))


def values_eq_approx_remove_inf(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an infinite element."""
    return GpuArrayType.values_eq_approx(a, b, True)


def values_eq_approx_remove_nan(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an element that is NaN."""
    return GpuArrayType.values_eq_approx(a, b, False, True)


def values_eq_approx_remove_inf_nan(a: Any, b: Any) -> bool:
    """Tell whether arrays are equal up to rounding, where neither has an element that is infinite or NaN."""
    return GpuArrayType.values_eq_approx(a, b, True, True)


values_eq_approx = GpuArrayType.values_eq_approx


# ---- Products and convolutions on devices


class _AddedProducts(ExpressionOp):
    """``beta * C + alpha * A[i] @ B[i]`` for stacks of matrices."""

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)

    def operands(self, C: Any, alpha: Any, A: Any, B: Any, beta: Any) -> list[Any]:
        """Take a stack, a number, two stacks, and a number."""
        stacks = [as_tensor_variable(v) for v in (C, A, B)]
        if any(v.type.ndim != 3 for v in stacks):
            raise TypeError(
                format_error(
                    "GpuGemmBatch takes stacks of matrices, which have three dimensions",
                    context=[describe(v) for v in stacks],
                    hint="use GpuGemm for matrices",
                )
            )
        target, first, second = stacks
        factors = [cast(as_tensor_variable(v), target.type.dtype) for v in (alpha, beta)]
        return [target, factors[0], first, second, factors[1]]

    def expression(self, C: Any, alpha: Any, A: Any, B: Any, beta: Any) -> list[Any]:
        """Return the sum."""
        return [cast(beta * C + alpha * batched_dot(A, B), C.type.dtype)]


class GpuGemmBatch(OnDevice, _AddedProducts):
    """Products of the matrices of two stacks on a device, added to a third: ``b C + a A[i] B[i]``.

    Inputs are C, a, A, B and b.

    Parameters
    ----------
    inplace : bool
        States that C may be overwritten. Memory that nobody needs any more is used again either way.
    """


gpugemmbatch_no_inplace, gpugemmbatch_inplace = GpuGemmBatch(), GpuGemmBatch(inplace=True)


# ---- Parts of arrays on devices, and indices as devices want them


def check_and_convert_boolean_masks(input: Any, idx_list: Sequence[Any]) -> list[Any]:
    """Return an index with arrays of integers in the place of boolean masks.

    Parameters
    ----------
    input : object with a shape
        The array to index.
    idx_list : sequence
        Integers, slices, None, arrays of integers, and boolean masks.

    Raises
    ------
    IndexError
        If a mask has not the shape of the dimensions that it stands for.

    Examples
    --------
    >>> from theano.gpuarray import subtensor
    >>> import numpy as np
    >>> mask = np.array([[True, False, False], [False, False, True]])
    >>> subtensor.check_and_convert_boolean_masks(np.zeros((2, 3)), [mask])
    [array([0, 1]), array([0, 2])]
    """
    dimension = 0
    converted: list[Any] = []
    for index in idx_list:
        dtype = getattr(index, "dtype", None)
        if dtype is None or str(dtype) != "bool":
            converted.append(index)
            dimension += index is not None and index is not np.newaxis
            continue
        for offset, length in enumerate(index.shape):
            if length != input.shape[dimension + offset]:
                raise IndexError(
                    f"boolean index did not match indexed array along dimension {dimension + offset}; dimension is "
                    f"{input.shape[dimension + offset]} but corresponding boolean dimension is {length}"
                )
        dimension += index.ndim
        converted += index.nonzero()
    return converted


# ---- Largest elements and their positions on devices


class _LargestAndPosition(ExpressionOp):
    """The largest elements over axes, and where they are among them."""

    __props__ = ("axis",)

    def __init__(self, axis: Sequence[int] | int) -> None:
        self.axis = (axis,) if isinstance(axis, int) else tuple(axis)

    def get_params(self, node: Any) -> tuple[int, ...]:
        """Return the axes."""
        return self.axis

    def operands(self, x: Any) -> list[Any]:
        """Take an array."""
        return [as_tensor_variable(x)]

    def expression(self, x: Any) -> list[Any]:
        """Return the largest elements, and their positions as int64."""
        return [Max(self.axis)(x), ArgMax(self.axis)(x)]


class GpuMaxAndArgmax(OnDevice, _LargestAndPosition):
    """The largest elements of an array on a device over axes, and where they are among these.

    Parameters
    ----------
    axis : int or sequence of int
    """


# ---- Fourier transforms of variables on devices, by cuFFT where it is


def _single(where: str, inp: Any) -> Any:
    x = as_tensor_variable(inp)
    if x.type.dtype != "float32":
        raise DTypeError(
            format_error(
                f"{where} takes float32, got {x.type.dtype}", context=[describe(x)], hint="cast it: x.astype('float32')"
            )
        )
    return x


def curfft(inp: Any, norm: str | None = None) -> Any:
    """Return the Fourier transform of real numbers over all dimensions but the first, on a device.

    Parameters
    ----------
    inp : tensor_like of float32, shape (m, ..., n)
        m inputs of shape (..., n).
    norm : {None, 'ortho', 'no_norm'}
        Only 'ortho' scales, by one over the square root of the number of elements of an input.

    Returns
    -------
    GpuArrayVariable, shape (m, ..., n//2+1, 2)
        Real and imaginary parts are pairs in the last dimension.

    Raises
    ------
    DTypeError
        For other dtypes.
    ShapeError, ValueError
        As :func:`theano.tensor.fft.rfft`.
    """
    return as_gpuarray_variable(rfft(_single("curfft", inp), norm), infer_context_name(inp))


def cuirfft(inp: Any, norm: str | None = None, is_odd: bool = False) -> Any:
    """Return the inverse Fourier transform, with real results, over all dimensions but the first, on a device.

    Parameters
    ----------
    inp : tensor_like of float32, shape (m, ..., n//2+1, 2)
        As :func:`curfft` gives it.
    norm : {None, 'ortho', 'no_norm'}
        None: divided by the number of elements of an input; 'ortho': by its square root; 'no_norm': not scaled.
    is_odd : bool
        Whether n is odd.

    Returns
    -------
    GpuArrayVariable, shape (m, ..., n)

    Raises
    ------
    DTypeError
        For other dtypes.
    ShapeError, ValueError
        As :func:`theano.tensor.fft.irfft`.
    """
    return as_gpuarray_variable(irfft(_single("cuirfft", inp), norm, is_odd), infer_context_name(inp))


#: The name that the manual prints in one place.
cuifft = cuirfft
