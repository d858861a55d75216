"""Kernels that are routines of the runtime: products, Fourier transforms, windows, sparse matrices, and the like."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from theano_graph import record

from .._perform import perform_runner
from ._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    first_may_be_taken,
    overwrites,
    type_number,
    wait_number,
)
from ._libraries import blas_address

# ---- Arrays that are made in one pass: cumulative sums, diagonals, ranges, unit matrices

#: The array routines; the numbers are those of the runtime.
TASKS = ("cumsum", "cumprod", "diagonal", "arange", "eye", "recurrence")


@record
class ArrayRoutineKernel(Kernel):
    """An array that is made in one pass; cases beyond the runtime are left to the op's `perform`.

    Parameters
    ----------
    task : {"cumsum", "cumprod", "diagonal", "arange", "eye", "recurrence"}
        Cumulative ones take and give float32, float64, int64 or uint64; a recurrence ``y[i] = x[i] + a[i] * y[i - 1]``
        takes two arrays of one shape, of float32 or float64; a diagonal is one of a matrix; ranges are of
        int64, from, up to and in steps of whole numbers; a unit matrix takes its lengths and the diagonal.
    dtype : str
        Of the result.
    number : int
        The axis, or which diagonal: 0 is the main one, positive above it.
    """

    task: str
    dtype: str
    number: int = 0

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        one = np.ones((), self.dtype).tobytes()
        task, fallback = TASKS.index(self.task), perform_runner(site.node)
        return "routine", (task, type_number(self.dtype), self.number, one, fallback)


# ---- Compressed sparse matrices, given by the arrays that they consist of: products, sums and other forms

#: Positions are the numbers of the runtime.
CompressedTask: TypeAlias = Literal[
    "dot",
    "usmm",
    "usmm_rows",
    "change_compression",
    "to_dense",
    "sum",
    "gather",
    "sampled",
    "major_indices",
]


@record
class CompressedKernel(Kernel):
    """A task on a csr or csc matrix, whose inputs are ``data, indices, indptr`` and the length of its minor axis.

    Indices are int32 and lengths int64; the arrays are looked at before anything is read through them. The tasks:

    - "dot": the product with a dense matrix, which is the fifth input.
    - "usmm": ``alpha * dot(x, y) + z``; the inputs are alpha, the matrix, y and z.
    - "usmm_rows": the numbers of the rows of ``alpha * dot(x, y)`` in which x stores something, and these rows; alpha,
      the matrix, y, and the lengths of the addend.
    - "change_compression": the arrays of the matrix in the other format.
    - "to_dense": the dense matrix, added to the fifth input where there is one.
    - "sum": sums along the minor axis, or along the major one.
    - "gather": elements of a vector by the major, or the minor, index of each stored element; vector, indices, indptr.
    - "sampled": elements of the product of two dense matrices at some rows and columns, int32 or int64.
    - "major_indices": rows and columns of the stored elements; indices and indptr.

    Parameters
    ----------
    task : str
    dtype : {"float32", "float64"}
        Of all elements.
    flag : bool
        Whether rows are the major axis (csr); of sums and gathering, whether it is about the major axis.
    """

    task: CompressedTask
    dtype: str
    flag: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        number = get_args(CompressedTask).index(self.task)
        return "sparse", (number, type_number(self.dtype), self.flag, overwrites(site, len(site.inputs) - 1))


# ---- Fourier transforms along axes

#: Positions are the numbers of the runtime.
FourierTask: TypeAlias = Literal["complex", "real", "half"]


@record
class FourierKernel(Kernel):
    """A Fourier transform without a factor; the op's `perform` computes or refuses operands that the runtime leaves.

    The tasks:

    - "complex": complex numbers along axes, in either direction.
    - "real": real numbers, along all dimensions but the first; of the last one the first half of the results is kept,
      as pairs of real and imaginary part in a new last dimension of length 2.
    - "half": the inverse of "real"; the second input is the length of the last dimension, a number of int64.

    Parameters
    ----------
    task : {"complex", "real", "half"}
    dtype : {"float32", "float64"}
        Of the real parts.
    axes : tuple of int
        Of "complex", at most 8, from 0 up.
    inverse : bool
        Of "complex": whether the sign of the exponent is plus.
    """

    task: FourierTask
    dtype: str
    axes: tuple[int, ...] = ()
    inverse: bool = False

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        number = get_args(FourierTask).index(self.task)
        return "fourier", (number, type_number(self.dtype), self.inverse, self.axes, perform_runner(site.node))


# ---- Products of vectors and matrices by BLAS

#: The kinds of products of one pair; the numbers are those of the runtime.
_KINDS = ("dot", "gemv", "vecmat", "gemm", "ger")


@record
class MatrixProductKernel(Kernel):
    """A product that BLAS computes.

    The inputs of the node define the use of the product: ``(a, b)`` gives the product, ``(a, b, alpha)`` its multiple,
    ``(z, alpha, a, b)`` and ``(z, alpha, a, b, beta)`` add that to z or to a multiple of z. Factors are 0-d, z has the
    shape of the result and is not read where beta is 0.

    Parameters
    ----------
    kind : {"dot", "gemv", "vecmat", "gemm", "ger", "batched"}
        Vector with vector, matrix with vector, vector with matrix, matrix with matrix, outer product, each matrix of a
        stack with one of another (two inputs only).
    dtype : str
        float32, float64, complex64 or complex128.
    """

    needs_code: ClassVar[bool] = True
    overwriting: ClassVar[Overwriting | None] = Overwriting.PRODUCT
    kind: Literal["dot", "gemv", "vecmat", "gemm", "ger", "batched"]
    dtype: str

    @staticmethod
    def accumulates(n_inputs: int) -> bool:
        """Tell whether a node with so many inputs adds the product to its first input."""
        return n_inputs >= 4

    def routine(self) -> LoadedKernel | None:
        """Return the routine of BLAS; None if SciPy has none for the dtype."""
        name, address = blas_address(self.kind, self.dtype)
        return LoadedKernel(name, address) if address else None

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload; None for complex numbers, which the runtime does not multiply."""
        if code is None or self.dtype not in ("float32", "float64"):
            return None
        number = type_number(self.dtype)
        if self.kind == "batched":
            return "batched_product", (number, code.address)
        memory = first_may_be_taken(site), overwrites(site), wait_number(site)
        return "product", (_KINDS.index(self.kind), number, code.address, *memory)

    def donors(self, site: Site) -> Donors:
        """Return the first input where it is added to."""
        if not self.accumulates(len(site.inputs)):
            return ()
        first = site.inputs[0]
        return ((0,),) if first in site.release and first not in site.inputs[1:] else ()

    def changes_first(self, n_inputs: int) -> bool:
        """Tell whether the product is added to the first input."""
        return self.accumulates(n_inputs)


# ---- Filters and windows that slide over images: the runtime's convolutions and pooling

ConvolutionTask: TypeAlias = Literal["forward", "input_grad", "weight_grad"]
PoolingTask: TypeAlias = Literal["pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad"]
PoolingMode: TypeAlias = Literal["max", "sum", "average_inc_pad", "average_exc_pad"]
#: The tasks, and the modes of pooling; positions are the numbers of the runtime.
CONVOLUTION_TASKS: tuple[ConvolutionTask, ...] = ("forward", "input_grad", "weight_grad")
POOLING_TASKS: tuple[PoolingTask, ...] = ("pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad")
POOLING_MODES: tuple[PoolingMode, ...] = ("max", "sum", "average_inc_pad", "average_exc_pad")
#: Widths of borders that depend on the lengths of the filters, as the runtime has them.
_BORDERS = {"valid": 0, "half": -1, "full": -2}


@record
class ConvolutionKernel(Kernel):
    """A convolution of images (n, channels, ...) with filters (filters, channels of a group, ...), or a gradient of it.

    Inputs are images and filters; filters, the cotangent of the result and the lengths of the images (int64); or
    images, the cotangent and the lengths of the filters. Other cases are left to the op's `perform`.

    Parameters
    ----------
    task : {"forward", "input_grad", "weight_grad"}
    dtype : {"float32", "float64"}
        Of all operands.
    strides, dilations : tuple of int
        One for each of the one to three axes.
    border : {"valid", "half", "full"} or tuple of pairs of int
        Zeros before and after each axis.
    flip : bool
        Whether filters are flipped.
    groups : int
    """

    task: ConvolutionTask
    dtype: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    border: str | tuple[tuple[int, int], ...]
    flip: bool = False
    groups: int = 1

    @property
    def sides(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Zeros before the axes, and behind them, as numbers of the runtime."""
        if isinstance(self.border, str):
            widths = (_BORDERS[self.border],) * len(self.strides)
            return widths, widths
        return tuple(before for before, _ in self.border), tuple(after for _, after in self.border)

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        numbers = CONVOLUTION_TASKS.index(self.task), type_number(self.dtype), self.flip, self.groups
        return "convolution", (*numbers, self.strides, self.dilations, *self.sides, perform_runner(site.node))


@record
class PoolingKernel(Kernel):
    """Pooling over windows of the last axes, or a gradient of it.

    The last three inputs are the sizes of the windows, their steps and their padding, vectors of int64. Before come:
    the tensor ("pool"); the gradient of the result and the lengths of the axes ("average_pool_grad", of sums too); the
    tensor, its maxima and the gradient of the result ("max_pool_grad": added to the first largest elements); or the
    tensor, its maxima and another tensor ("max_pool_grad_grad": its elements where the maxima are). Other cases
    is left to the op's `perform`.

    Parameters
    ----------
    task : {"pool", "average_pool_grad", "max_pool_grad", "max_pool_grad_grad"}
    dtype : {"float32", "float64"}
        Of all but the vectors.
    ndim : int
        Number of axes of the windows, up to 3.
    mode : {"max", "sum", "average_inc_pad", "average_exc_pad"}
    ignore_border : bool
        Whether windows that reach over the border are left out.
    """

    task: PoolingTask
    dtype: str
    ndim: int
    mode: PoolingMode
    ignore_border: bool

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        numbers = POOLING_TASKS.index(self.task), type_number(self.dtype), self.ndim, POOLING_MODES.index(self.mode)
        return "pooling", (*numbers, self.ignore_border, perform_runner(site.node))


__all__ = [
    "TASKS",
    "ArrayRoutineKernel",
    "CompressedKernel",
    "CompressedTask",
    "FourierKernel",
    "FourierTask",
    "MatrixProductKernel",
    "CONVOLUTION_TASKS",
    "POOLING_MODES",
    "POOLING_TASKS",
    "ConvolutionKernel",
    "ConvolutionTask",
    "PoolingKernel",
    "PoolingMode",
    "PoolingTask",
]
