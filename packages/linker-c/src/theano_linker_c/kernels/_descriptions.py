"""Native forms of nodes: what is to be computed by compiled code, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from theano_graph import Apply, RuleTable, compose, record

from ..scalar import Composite, ScalarOp, ScalarTypeError, is_discrete, maximum, minimum
from ._indexing import Indexing, IndexReadKernel, IndexViewKernel, IndexWriteKernel
from ._libraries._lapack import LapackKernel
from ._windows import ConvolutionKernel, PoolingKernel

#: Elements whose cost is at least this many cycles are worth computing once rather than again in every consumer.
EXPENSIVE = 8


@record
class ElementwiseKernel:
    """A scalar op over all elements of its broadcast inputs.

    Parameters
    ----------
    scalar_op : ScalarOp
        What is computed; a `Composite` for fused nodes.
    input_dtypes, output_dtypes : tuple of str
    broadcast : tuple of tuple of bool
        For each input, which dimensions are broadcast: their static length is 1.
    ndim : int
        Number of dimensions of the outputs, and of every input.
    cost : int, optional
        Rough number of cycles for one element; taken from the op by default.
    """

    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    output_dtypes: tuple[str, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    cost: int = -1

    def __post_init__(self) -> None:
        _check_broadcast("elementwise kernel", self.input_dtypes, self.broadcast, self.ndim)
        if self.cost < 0:
            object.__setattr__(self, "cost", self.scalar_op.cost)

    @property
    def expensive(self) -> bool:
        """Whether one element costs enough that computing it twice would show."""
        return is_expensive(self.scalar_op)


@record
class Reduction:
    """How one result of a scalar op is reduced along axes.

    Parameters
    ----------
    combine : ScalarOp
        What joins two elements: add, mul, maximum, minimum, and_, or_, xor, or any associative op of two inputs.
    acc_dtype, output_dtype : str
        Dtype in which elements are joined, and dtype of the result.
    identity : float or int or None
        Result for no elements; None if that is an error.
    """

    combine: ScalarOp
    acc_dtype: str
    output_dtype: str
    identity: float | int | None

    @property
    def seed(self) -> float | int:
        """The value that accumulators start from, also where `identity` is None."""
        return reduction_seed(self.combine, self.acc_dtype) if self.identity is None else self.identity


@record
class ReductionKernel:
    """A scalar op over all elements; its first results are kept, each of the others is reduced along the same axes.

    Parameters
    ----------
    scalar_op : ScalarOp
        With as many results as there are kept and reduced ones together; `identity` where elements themselves are
        reduced.
    input_dtypes, kept_dtypes : tuple of str
        Mostly, nothing is kept.
    reductions : tuple of Reduction
        At least one.
    broadcast : tuple of tuple of bool
        For each input, which dimensions are known to have length 1 and broadcast.
    ndim : int
        Number of dimensions of the inputs.
    axes : tuple of int
        Axes along which is reduced, and which results do not have.
    """

    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    kept_dtypes: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_broadcast("reduction kernel", self.input_dtypes, self.broadcast, self.ndim)

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return self.scalar_op.cost + sum(max(reduction.combine.cost, 1) for reduction in self.reductions)


@record
class ArgmaxKernel:
    """Argmax (or argmin) over some axes: the position of the first extremum in the flattened axes, or of the first NaN.

    Parameters
    ----------
    dtype : str
        Of the elements; positions are int64.
    ndim : int
        Number of dimensions of the input.
    axes : tuple of int
        Axes that disappear.
    largest : bool
        Whether it is argmax, or argmin.
    """

    dtype: str
    ndim: int
    axes: tuple[int, ...]
    largest: bool = True

    @property
    def combine(self) -> ScalarOp:
        """What joins two elements."""
        return maximum if self.largest else minimum

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return 1


@record
class MatrixProductKernel:
    """A product that BLAS computes.

    The inputs of the node say what is done with it: ``(a, b)`` gives the product, ``(a, b, alpha)`` its multiple,
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

    kind: Literal["dot", "gemv", "vecmat", "gemm", "ger", "batched"]
    dtype: str

    @staticmethod
    def accumulates(n_inputs: int) -> bool:
        """Tell whether a node with so many inputs adds the product to its first input."""
        return n_inputs >= 4


@record
class TransposeKernel:
    """Transpose: a view with the axes in another order, some dropped and some inserted.

    Parameters
    ----------
    order : tuple of (int or None)
        Which axis of the input stands in each place; None for a new axis of length 1.
    drop : tuple of int
        Axes of length 1 that disappear.
    """

    order: tuple[int | None, ...]
    drop: tuple[int, ...]


@record
class LengthKernel:
    """The length of dimension `axis` of an array, as int64."""

    axis: int


@record
class StackKernel:
    """Stack scalars of `dtype` to a vector."""

    dtype: str


@record
class ReshapeKernel:
    """Reshape an array to the shape that the second input (int64) gives; a view where the array is contiguous.

    Parameters
    ----------
    dtype : str
    ndim, ndim_out : int
        Numbers of dimensions of the array and of the result.
    """

    dtype: str
    ndim: int
    ndim_out: int


@record
class FullKernel:
    """A new array full of a value of `dtype`; further inputs are the lengths, int64.

    Parameters
    ----------
    dtype : str
    broadcastable : tuple of bool
        Which dimensions of the value are broadcast.
    """

    dtype: str
    broadcastable: tuple[bool, ...]


@record
class ConcatenateKernel:
    """Concatenate arrays of `dtype` along `axis`; the first input is the axis again."""

    dtype: str
    ndim: int
    axis: int


@record
class SpecifyShapeKernel:
    """The array itself, if dimensions have the lengths that further inputs (int64) give, or 1 without inputs.

    Parameters
    ----------
    checked : tuple of bool
        Which dimensions are checked.
    """

    checked: tuple[bool, ...]


@record
class SplitKernel:
    """Split an array of `dtype` along `axis` into views; further inputs are the axis again and the lengths, int64."""

    dtype: str
    ndim: int
    axis: int


#: What array routines there are; the numbers are those of the runtime.
TASKS = ("cumsum", "cumprod", "diagonal", "arange", "eye")


@record
class ArrayRoutineKernel:
    """An array that is made in one pass; what the runtime does not take is left to the op's `perform`.

    Parameters
    ----------
    task : {"cumsum", "cumprod", "diagonal", "arange", "eye"}
        Cumulative ones take and give float32, float64, int64 or uint64; a diagonal is one of a matrix; ranges are of
        int64, from, up to and in steps of whole numbers; a unit matrix takes its lengths and the diagonal.
    dtype : str
        Of the result.
    number : int
        The axis, or which diagonal: 0 is the main one, positive above it.
    """

    task: str
    dtype: str
    number: int = 0


Shaping: TypeAlias = (
    LengthKernel | StackKernel | ReshapeKernel | FullKernel | ConcatenateKernel | SpecifyShapeKernel | SplitKernel
)

Kernel: TypeAlias = (
    ElementwiseKernel
    | ReductionKernel
    | ArgmaxKernel
    | MatrixProductKernel
    | LapackKernel
    | ArrayRoutineKernel
    | ConvolutionKernel
    | PoolingKernel
    | TransposeKernel
    | Indexing
    | Shaping
)

#: Kernels that the runtime runs itself, without machine code of their own.
BUILT_IN = (
    TransposeKernel,
    IndexViewKernel,
    IndexReadKernel,
    IndexWriteKernel,
    LengthKernel,
    StackKernel,
    ReshapeKernel,
    FullKernel,
    ConcatenateKernel,
    SpecifyShapeKernel,
    SplitKernel,
    LapackKernel,
    ArrayRoutineKernel,
    ConvolutionKernel,
    PoolingKernel,
)

#: Native form of a node, by the class of its op; a rule gives None where this node has none.
native_kernel: RuleTable[Callable[[Apply], Kernel | None]] = RuleTable("native_kernel")


def is_expensive(op: ScalarOp) -> bool:
    """Say whether an element of `op` costs enough that fusion must not compute it more than once."""
    if isinstance(op, Composite):
        return any(step.op.cost >= EXPENSIVE for step in op.program.steps)
    return op.cost >= EXPENSIVE


def reduction_seed(combine: ScalarOp, dtype: str) -> float | int:
    """Give the value that changes nothing when it is joined by `combine` with a value of `dtype`.

    Raises
    ------
    TypeError
        If `combine` is not add, mul, maximum, minimum, and_, or_ or xor.

    Examples
    --------
    >>> from theano_linker_c.scalar import maximum
    >>> reduction_seed(maximum, "float64")
    -inf
    """
    name = combine.name
    if name in ("add", "or_", "xor"):
        return 0
    if name == "mul":
        return 1
    if name == "and_":
        return 1 if dtype == "bool" else int(np.array(-1).astype(dtype))
    if name in ("maximum", "minimum"):
        lowest = name == "maximum"
        if dtype == "bool":
            return int(not lowest)
        if is_discrete(dtype):
            return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
        return float("-inf") if lowest else float("inf")
    raise ScalarTypeError(
        compose(f"a reduction with {combine} has no starting value", mend="give the kernel an identity")
    )


def _check_broadcast(what: str, dtypes: tuple[str, ...], broadcast: tuple[tuple[bool, ...], ...], ndim: int) -> None:
    if len(dtypes) != len(broadcast) or any(len(pattern) != ndim for pattern in broadcast):
        raise ScalarTypeError(
            compose(
                f"{what}: {len(dtypes)} inputs of {ndim} dimensions do not fit the broadcast pattern {broadcast}",
                mend="give one pattern for each input, with one entry for each dimension",
            )
        )
