"""NumPy's attributes and methods, on tensor variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._operations import call

if TYPE_CHECKING:
    from ._type import StaticShape, TensorType
    from ._variable import TensorVariable


class TensorAttributes:
    """What the type of a tensor variable says, and its shape."""

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
    def shape(self) -> TensorVariable:
        """Shape as a symbolic vector of int64."""
        result: TensorVariable = call("shape", self)
        return result

    @property
    def size(self) -> TensorVariable:
        """Number of elements, symbolic."""
        result: TensorVariable = call("size", self)
        return result


class OrderMethods:
    """The elements in another shape or order."""

    __slots__ = ()

    @property
    def T(self) -> TensorVariable:
        """The transpose: dimensions in reverse order."""
        result: TensorVariable = call("transpose", self)
        return result

    def transpose(self, *axes: Any) -> TensorVariable:
        """Return the dimensions in the order `axes`, given one by one or as a sequence; reversed without `axes`."""
        order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], Sequence)) else (axes or None)
        result: TensorVariable = call("transpose", self, order)
        return result

    def dimshuffle(self, *pattern: Any) -> TensorVariable:
        """Return a view with dimensions permuted, inserted (``"x"``) or, where broadcastable, dropped.

        Examples
        --------
        ``x.dimshuffle(0, "x")`` makes a column of a vector, ``x.dimshuffle(1, 0)`` transposes a matrix.
        """
        order = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], (list, tuple)) else pattern
        result: TensorVariable = call("dimshuffle", self, order)
        return result

    def reshape(self, shape: Any, ndim: int | None = None) -> TensorVariable:
        """Return this tensor with another shape; one length may be -1. `shape` is one sequence or symbolic vector."""
        result: TensorVariable = call("reshape", self, shape, ndim=ndim)
        return result

    def flatten(self, ndim: int = 1) -> TensorVariable:
        """Return this tensor with its last dimensions joined so that `ndim` are left."""
        result: TensorVariable = call("flatten", self, ndim=ndim)
        return result

    def ravel(self) -> TensorVariable:
        """Return this tensor as a vector."""
        return self.flatten()

    def squeeze(self, axis: Any = None) -> TensorVariable:
        """Return this tensor without its broadcastable dimensions (or without those in `axis`)."""
        result: TensorVariable = call("squeeze", self, axis=axis)
        return result

    def swapaxes(self, axis1: int, axis2: int) -> TensorVariable:
        """Return this tensor with two dimensions exchanged."""
        result: TensorVariable = call("swapaxes", self, axis1, axis2)
        return result

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
        """See :func:`theano_tensor.diagonal`."""
        result: TensorVariable = call("diagonal", self, offset, axis1, axis2)
        return result

    def trace(self) -> TensorVariable:
        """Return the sum of the main diagonal of this matrix."""
        result: TensorVariable = call("trace", self)
        return result

    def repeat(self, repeats: Any, axis: int | None = None) -> TensorVariable:
        """See :func:`theano_tensor.repeat`."""
        result: TensorVariable = call("repeat", self, repeats, axis)
        return result

    def sort(self, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> TensorVariable:
        """See :func:`theano_tensor.sort`."""
        result: TensorVariable = call("sort", self, axis, kind, order)
        return result

    def argsort(self, axis: int | None = -1, kind: str = "quicksort", order: None = None) -> TensorVariable:
        """See :func:`theano_tensor.argsort`."""
        result: TensorVariable = call("argsort", self, axis, kind, order)
        return result

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.searchsorted`; this is the sorted vector."""
        result: TensorVariable = call("searchsorted", self, v, side, sorter)
        return result


class ElementMethods:
    """What is done to each element, and with the value as a whole."""

    __slots__ = ()

    def astype(self, dtype: Any) -> TensorVariable:
        """Return the elements converted to `dtype`."""
        result: TensorVariable = call("cast", self, dtype)
        return result

    def copy(self, name: str | None = None) -> TensorVariable:
        """Return a symbolic copy, without tags."""
        result: TensorVariable = call("tensor_copy", self)
        result.name = name
        return result

    def clip(self, a_min: Any, a_max: Any) -> TensorVariable:
        """Return the elements limited to the range from `a_min` to `a_max`."""
        result: TensorVariable = call("clip", self, a_min, a_max)
        return result

    def round(self, mode: str | None = None) -> TensorVariable:
        """Return the elements rounded; `mode` is ``"half_away_from_zero"`` or ``"half_to_even"``."""
        result: TensorVariable = call("round", self, mode)
        return result

    def fill(self, value: Any) -> TensorVariable:
        """Return a tensor of this shape filled with `value`."""
        result: TensorVariable = call("fill", self, value)
        return result

    def zeros_like(self, dtype: Any = None) -> TensorVariable:
        """Return zeros of this shape."""
        result: TensorVariable = call("zeros_like", self, dtype=dtype)
        return result

    def ones_like(self, dtype: Any = None) -> TensorVariable:
        """Return ones of this shape."""
        result: TensorVariable = call("ones_like", self, dtype=dtype)
        return result

    @property
    def real(self) -> TensorVariable:
        """The real part."""
        result: TensorVariable = call("real", self)
        return result

    @property
    def imag(self) -> TensorVariable:
        """The imaginary part."""
        result: TensorVariable = call("imag", self)
        return result

    def conj(self) -> TensorVariable:
        """Return the complex conjugate."""
        result: TensorVariable = call("conj", self)
        return result

    conjugate = conj

    def get_scalar_constant_value(self) -> Any:
        """See :func:`theano_tensor.get_scalar_constant_value`."""
        return call("get_scalar_constant_value", self)

    def transfer(self, target: Any) -> TensorVariable:
        """See :func:`theano_tensor.transfer`."""
        result: TensorVariable = call("transfer", self, target)
        return result


class ReductionMethods:
    """What is computed of all elements, or of those along an axis."""

    __slots__ = ()

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.sum`."""
        result: TensorVariable = call("sum", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def prod(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> TensorVariable:
        """See :func:`theano_tensor.prod`."""
        result: TensorVariable = call("prod", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def mean(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, acc_dtype: Any = None
    ) -> TensorVariable:
        """See :func:`theano_tensor.mean`."""
        result: TensorVariable = call("mean", self, axis=axis, dtype=dtype, keepdims=keepdims, acc_dtype=acc_dtype)
        return result

    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.var`."""
        result: TensorVariable = call("var", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False, corrected: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.std`."""
        result: TensorVariable = call("std", self, axis=axis, ddof=ddof, keepdims=keepdims, corrected=corrected)
        return result

    def max(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.max`."""
        result: TensorVariable = call("max", self, axis=axis, keepdims=keepdims)
        return result

    def min(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.min`."""
        result: TensorVariable = call("min", self, axis=axis, keepdims=keepdims)
        return result

    def argmax(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.argmax`."""
        result: TensorVariable = call("argmax", self, axis=axis, keepdims=keepdims)
        return result

    def argmin(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.argmin`."""
        result: TensorVariable = call("argmin", self, axis=axis, keepdims=keepdims)
        return result

    def ptp(self, axis: Any = None) -> TensorVariable:
        """See :func:`theano_tensor.ptp`."""
        result: TensorVariable = call("ptp", self, axis=axis)
        return result

    def any(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.any`."""
        result: TensorVariable = call("any", self, axis=axis, keepdims=keepdims)
        return result

    def all(self, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """See :func:`theano_tensor.all`."""
        result: TensorVariable = call("all", self, axis=axis, keepdims=keepdims)
        return result

    def norm(self, L: Any, axis: Any = None, keepdims: bool = False) -> TensorVariable:
        """Return the L-norm along `axis`: ``sum(abs(x) ** L) ** (1 / L)``."""
        result: TensorVariable = call("norm", self, L, axis=axis, keepdims=keepdims)
        return result

    def dot(self, other: Any) -> TensorVariable:
        """See :func:`theano_tensor.dot`."""
        result: TensorVariable = call("dot", self, other)
        return result

    def cumsum(self, axis: int | None = None) -> TensorVariable:
        """See :func:`theano_tensor.cumsum`."""
        result: TensorVariable = call("cumsum", self, axis)
        return result

    def cumprod(self, axis: int | None = None) -> TensorVariable:
        """See :func:`theano_tensor.cumprod`."""
        result: TensorVariable = call("cumprod", self, axis)
        return result
