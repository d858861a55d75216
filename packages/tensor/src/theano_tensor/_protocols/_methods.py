"""NumPy's attributes and methods, on tensor variables; the functions behind them and behind operators, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .._core._dtypes import AxisLike, DTypeLike, ShapeLike, TensorLike
    from .._core._type import StaticShape, Tensor, TensorType


# ---- The functions behind operators and methods, by name
#
# Ops are defined on variables, and ``x + y`` is defined by ops. The knot is cut by this table: methods look
# up the function that they stand for by name, and the modules of the ops fill it when they are loaded.

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

#: Name -> the function behind the method or operator of that name.
OPERATIONS: dict[str, Callable[..., Any]] = {}


def operation(name: str) -> Callable[[FunctionT], FunctionT]:
    """Register a function as the one behind the method or operator `name`."""

    def accept(function: FunctionT) -> FunctionT:
        OPERATIONS[name] = function
        return function

    return accept


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call the function registered under `name`."""
    return OPERATIONS[name](*args, **kwargs)


# ---- NumPy's attributes and methods, on tensor variables


class TensorAttributes:
    """The attributes of a tensor variable's type, and its shape."""

    __slots__ = ()

    type: TensorType

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its length is known to be 1."""
        return self.type.broadcastable

    @property
    def static_shape(self) -> StaticShape:
        """Shape as far as known now; None for lengths known at run time."""
        return self.type.shape

    @property
    def shape(self) -> Tensor:
        """Shape as a symbolic vector of int64."""
        result: Tensor = call("shape", self)
        return result

    @property
    def size(self) -> Tensor:
        """Number of elements, symbolic."""
        result: Tensor = call("size", self)
        return result


class OrderMethods:
    """The elements in another shape or order."""

    __slots__ = ()

    @property
    def T(self) -> Tensor:
        """The transpose: dimensions in reverse order."""
        result: Tensor = call("transpose", self)
        return result

    def transpose(self, *axes: AxisLike) -> Tensor:
        """Return the dimensions in the order `axes`, given one by one or as a sequence; reversed without `axes`."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Sequence)) else (axes or None)
        result: Tensor = call("transpose", self, order)
        return result

    def dimshuffle(self, *pattern: int | str | Sequence[int | str]) -> Tensor:
        """Return a view with dimensions permuted, inserted (``"x"``) or, where broadcastable, dropped.

        Examples
        --------
        ``x.dimshuffle(0, "x")`` makes a column of a vector, ``x.dimshuffle(1, 0)`` transposes a matrix.
        """
        order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)) else pattern
        result: Tensor = call("shuffled", self, order)
        return result

    def reshape(self, shape: ShapeLike, ndim: int | None = None) -> Tensor:
        """Return this tensor with another shape; one length may be -1. `shape` is one sequence or symbolic vector."""
        result: Tensor = call("reshape", self, shape, ndim=ndim)
        return result

    def flatten(self, ndim: int = 1) -> Tensor:
        """Return this tensor with its last dimensions joined so that `ndim` are left."""
        result: Tensor = call("flatten", self, ndim=ndim)
        return result

    def ravel(self) -> Tensor:
        """Return this tensor as a vector."""
        return self.flatten()

    def squeeze(self, axis: AxisLike = None) -> Tensor:
        """Return this tensor without its broadcastable dimensions (or without those in `axis`)."""
        result: Tensor = call("squeeze", self, axis=axis)
        return result

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """Return this tensor with two dimensions exchanged."""
        result: Tensor = call("swapaxes", self, axis1, axis2)
        return result

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
        """Return the elements of a diagonal over two dimensions, `offset` places above the main one.

        See :func:`theano_tensor.diagonal` for all arguments.
        """
        result: Tensor = call("diagonal", self, offset, axis1, axis2)
        return result

    def trace(self) -> Tensor:
        """Return the sum of the main diagonal of this matrix."""
        result: Tensor = call("trace", self)
        return result

    def repeat(self, repeats: TensorLike, axis: int | None = None) -> Tensor:
        """Return each element, or each part along `axis`, repeated as often as `repeats` says.

        See :func:`theano_tensor.repeat` for all arguments.
        """
        result: Tensor = call("repeat", self, repeats, axis)
        return result

    def sort(self, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
        """Return the elements in rising order along `axis`; None sorts all of them as a vector.

        See :func:`theano_tensor.sort` for all arguments.
        """
        result: Tensor = call("sort", self, axis, kind, order)
        return result

    def argsort(self, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> Tensor:
        """Return the positions that would sort the elements along `axis`.

        See :func:`theano_tensor.argsort` for all arguments.
        """
        result: Tensor = call("argsort", self, axis, kind, order)
        return result

    def searchsorted(self, v: TensorLike, side: str = "left", sorter: TensorLike | None = None) -> Tensor:
        """Return where elements of `v` have to be put into this sorted vector to keep it sorted.

        See :func:`theano_tensor.searchsorted` for all arguments.
        """
        result: Tensor = call("searchsorted", self, v, side, sorter)
        return result


class ElementMethods:
    """Elementwise operations, and operations on the value as a whole."""

    __slots__ = ()

    def astype(self, dtype: DTypeLike) -> Tensor:
        """Return the elements converted to `dtype`."""
        result: Tensor = call("cast", self, dtype)
        return result

    def copy(self, name: str | None = None) -> Tensor:
        """Return a symbolic copy, without tags."""
        result: Tensor = call("tensor_copy", self)
        result.name = name
        return result

    def clip(self, a_min: TensorLike, a_max: TensorLike) -> Tensor:
        """Return the elements limited to the range from `a_min` to `a_max`."""
        result: Tensor = call("clip", self, a_min, a_max)
        return result

    def round(self, mode: str | None = None) -> Tensor:
        """Return the elements rounded; `mode` is ``"half_away_from_zero"`` or ``"half_to_even"``."""
        result: Tensor = call("round", self, mode)
        return result

    def fill(self, value: TensorLike) -> Tensor:
        """Return a tensor of this shape filled with `value`."""
        result: Tensor = call("fill", self, value)
        return result

    def zeros_like(self, dtype: DTypeLike | None = None) -> Tensor:
        """Return zeros of this shape."""
        result: Tensor = call("zeros_like", self, dtype=dtype)
        return result

    def ones_like(self, dtype: DTypeLike | None = None) -> Tensor:
        """Return ones of this shape."""
        result: Tensor = call("ones_like", self, dtype=dtype)
        return result

    @property
    def real(self) -> Tensor:
        """The real part."""
        result: Tensor = call("real", self)
        return result

    @property
    def imag(self) -> Tensor:
        """The imaginary part."""
        result: Tensor = call("imag", self)
        return result

    def conj(self) -> Tensor:
        """Return the complex conjugate."""
        result: Tensor = call("conj", self)
        return result

    conjugate = conj

    def get_scalar_constant_value(self) -> Any:
        """Return the number that this scalar is known to be; an error where it is not known.

        See :func:`theano_tensor.get_scalar_constant_value` for all arguments.
        """
        return call("get_scalar_constant_value", self)

    def transfer(self, target: object) -> Tensor:
        """Return this tensor on another device.

        See :func:`theano_tensor.transfer` for all arguments.
        """
        result: Tensor = call("transfer", self, target)
        return result


class ReductionMethods:
    """Operations over all elements, or along an axis."""

    __slots__ = ()

    def sum(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Return the sum of all elements, or of those along `axis` (an int, or several).

        See :func:`theano_tensor.sum` for all arguments.
        """
        result: Tensor = call("sum", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def prod(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Return the product of all elements, or of those along `axis` (an int, or several).

        See :func:`theano_tensor.prod` for all arguments.
        """
        result: Tensor = call("prod", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def mean(
        self,
        axis: AxisLike = None,
        dtype: DTypeLike | None = None,
        keepdims: bool = False,
        acc_dtype: DTypeLike | None = None,
    ) -> Tensor:
        """Return the mean of all elements, or of those along `axis` (an int, or several).

        See :func:`theano_tensor.mean` for all arguments.
        """
        result: Tensor = call("mean", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def var(self, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Tensor:
        """Return the variance of all elements, or of those along `axis`; divided by n - `ddof`.

        See :func:`theano_tensor.var` for all arguments.
        """
        result: Tensor = call("var", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def std(self, axis: AxisLike = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> Tensor:
        """Return the standard deviation of all elements, or of those along `axis`; divided by n - `ddof`.

        See :func:`theano_tensor.std` for all arguments.
        """
        result: Tensor = call("std", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def max(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return the largest of all elements, or of those along `axis` (an int, or several).

        See :func:`theano_tensor.max` for all arguments.
        """
        result: Tensor = call("max", self, axis=axis, keepdims=keepdims)
        return result

    def min(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return the smallest of all elements, or of those along `axis` (an int, or several).

        See :func:`theano_tensor.min` for all arguments.
        """
        result: Tensor = call("min", self, axis=axis, keepdims=keepdims)
        return result

    def argmax(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return the position of the largest element, of all of them or along `axis`.

        See :func:`theano_tensor.argmax` for all arguments.
        """
        result: Tensor = call("argmax", self, axis=axis, keepdims=keepdims)
        return result

    def argmin(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return the position of the smallest element, of all of them or along `axis`.

        See :func:`theano_tensor.argmin` for all arguments.
        """
        result: Tensor = call("argmin", self, axis=axis, keepdims=keepdims)
        return result

    def ptp(self, axis: AxisLike = None) -> Tensor:
        """Return the largest element less the smallest, of all of them or along `axis`.

        See :func:`theano_tensor.ptp` for all arguments.
        """
        result: Tensor = call("ptp", self, axis=axis)
        return result

    def any(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return whether one of all elements, or of those along `axis`, is true.

        See :func:`theano_tensor.any` for all arguments.
        """
        result: Tensor = call("any", self, axis=axis, keepdims=keepdims)
        return result

    def all(self, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return whether all elements, or all of those along `axis`, are true.

        See :func:`theano_tensor.all` for all arguments.
        """
        result: Tensor = call("all", self, axis=axis, keepdims=keepdims)
        return result

    def norm(self, L: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        """Return the L-norm along `axis`: ``sum(abs(x) ** L) ** (1 / L)``."""
        result: Tensor = call("norm", self, L, axis=axis, keepdims=keepdims)
        return result

    def dot(self, other: TensorLike) -> Tensor:
        """Return the product with another tensor: the last dimension of this one meets the last but one of the other.

        See :func:`theano_tensor.dot` for all arguments.
        """
        result: Tensor = call("dot", self, other)
        return result

    def cumsum(self, axis: int | None = None) -> Tensor:
        """Return the sums of the elements up to each one, along `axis` or of all of them as a vector.

        See :func:`theano_tensor.cumsum` for all arguments.
        """
        result: Tensor = call("cumsum", self, axis)
        return result

    def cumprod(self, axis: int | None = None) -> Tensor:
        """Return the products of the elements up to each one, along `axis` or of all of them as a vector.

        See :func:`theano_tensor.cumprod` for all arguments.
        """
        result: Tensor = call("cumprod", self, axis)
        return result
