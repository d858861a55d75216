"""Fast Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import FourierKernel, Kernel, native_kernel

from ._core._convert import as_tensor_variable
from ._core._dtypes import COMPLEX_DTYPES, TensorLike
from ._core._ops import TensorOp, one_axis, refused
from ._core._type import Tensor, tensor_type
from ._errors import DTypeError, ShapeError
from ._lazy import scipy_fft
from .creation import arange
from .elemwise import cast, dimshuffle, eq, or_, sqrt, switch
from .shape import as_length, lengths_of, reshape, shape_i, static_int

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []

# ---- The scale of transforms

_NORMS = (None, "ortho", "no_norm")
_REAL = {"complex64": "float32", "complex128": "float64"}


def scaled(result: Tensor, lengths: Sequence[Any], norm: str | None, *, inverse: bool) -> Tensor:
    """Return a transform that was computed without a factor, scaled as `norm` says.

    Parameters
    ----------
    result : Tensor
    lengths : sequence of scalars
        Of the transformed dimensions.
    norm : {None, "ortho", "no_norm"}
        None: the inverse is divided by the number of elements; "ortho": both by its square root; "no_norm": none.
    inverse : bool

    Raises
    ------
    ValueError
        If `norm` is unknown.
    """
    if norm not in _NORMS:
        raise ValueError(format_error(f"unknown norm={norm!r}", hint="use None, 'ortho' or 'no_norm'"))
    if norm == "no_norm" or (norm is None and not inverse):
        return result
    dtype = _REAL.get(result.type.dtype, result.type.dtype)
    count: Tensor = cast(lengths[0], dtype)
    for n in lengths[1:]:
        count = count * cast(n, dtype)
    result_scaled: Tensor = result * (np.ones((), dtype) / (sqrt(count) if norm == "ortho" else count))
    return result_scaled


# ---- Transforms of complex numbers

#: Axes that the runtime transforms.
_MOST_AXES = 8


class Fourier(TensorOp):
    """Transform of complex numbers over axes, without a factor in either direction.

    Parameters
    ----------
    axes : sequence of int
        From 0 up, different.
    inverse : bool
        The sign of the exponent: False for minus.
    """

    __props__ = ("axes", "inverse")

    def __init__(self, axes: Sequence[int], inverse: bool = False) -> None:
        self.axes, self.inverse = tuple(int(axis) for axis in axes), bool(inverse)
        if not self.axes or len(set(self.axes)) < len(self.axes) or min(self.axes) < 0:
            raise ValueError(format_error(f"a transform needs different axes from 0 up, not {axes}"))

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor that has these axes; real numbers become complex."""
        variable = as_tensor_variable(x)
        if max(self.axes) >= variable.type.ndim:
            raise ShapeError(format_error(f"fft: there is no axis {max(self.axes)}", context=[describe(variable)]))
        if variable.type.dtype not in COMPLEX_DTYPES:
            single = variable.type.dtype in ("float16", "float32")
            variable = cast(variable, "complex64" if single else "complex128")
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy; ValueError for an axis without elements."""
        (x,) = inputs
        if any(x.shape[axis] == 0 for axis in self.axes):
            raise ValueError(
                format_error(
                    f"fft: there is nothing to transform in shape {x.shape}", context=[describe(node.inputs[0])]
                )
            )
        library = scipy_fft()
        transformed = (
            library.ifftn(x, axes=self.axes, norm="forward") if self.inverse else library.fftn(x, axes=self.axes)
        )
        output_storage[0][0] = np.asarray(transformed, dtype=node.outputs[0].type.dtype)


@native_kernel.register(Fourier)
def _native_complex(node: Apply[Fourier, Tensor]) -> Kernel | None:
    dtype = "float32" if node.outputs[0].type.dtype == "complex64" else "float64"
    return FourierKernel("complex", dtype, node.op.axes, node.op.inverse) if len(node.op.axes) <= _MOST_AXES else None


@pullback.register(Fourier)
def _pullback_complex(node: Apply[Fourier, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    # The matrix of the transform is symmetric; that of the gradient is its conjugate.
    return [Fourier(node.op.axes, not node.op.inverse)(cotangents[0])]


@pushforward.register(Fourier)
def _pushforward_complex(node: Apply[Fourier, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(Fourier)
def _shape_complex(node: Apply[Fourier, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def _transform(
    name: str, a: TensorLike, axes: int | Sequence[int] | None, norm: str | None, *, inverse: bool
) -> Tensor:
    x = as_tensor_variable(a)
    chosen = (axes,) if isinstance(axes, int) else tuple(range(x.type.ndim)) if axes is None else tuple(axes)
    places = [one_axis(name, axis, x) for axis in chosen]
    result: Tensor = Fourier(places, inverse)(x)
    return scaled(result, [shape_i(result, axis) for axis in places], norm, inverse=inverse)


def fft(a: TensorLike, axes: int | Sequence[int] | None = -1, norm: str | None = None) -> Tensor:
    """Return the Fourier transform over axes, as complex numbers.

    Parameters
    ----------
    a : tensor_like
        Real or complex.
    axes : int or sequence of int, optional
        None: all.
    norm : {None, "ortho", "no_norm"}
        Only "ortho" scales, by one over the square root of the number of elements that are transformed.

    Returns
    -------
    Tensor
        Of the shape of `a`; complex64 for float32 and complex64, else complex128.

    Raises
    ------
    ShapeError
        If there is no such axis.
    ValueError
        If an axis is given twice, or `norm` is unknown.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import fft
    >>> fft.fft(T.constant([1.0, 0.0, 0.0, 0.0])).eval()
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return _transform("fft", a, axes, norm, inverse=False)


def ifft(a: TensorLike, axes: int | Sequence[int] | None = -1, norm: str | None = None) -> Tensor:
    """Return the inverse of :func:`fft`: divided by the number of elements for `norm` None, by its root for "ortho".

    Parameters
    ----------
    a : tensor_like
        Complex, in the form that :func:`fft` returns.
    axes : int or sequence of int
    norm : {None, "ortho"}

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.fft.ifft(T.fft.fft([1.0, 2.0])).eval().real.round(6)
    array([1., 2.])
    """
    return _transform("ifft", a, axes, norm, inverse=True)


@batch_rule.register(Fourier)
def _batch_complex(node: Apply[Fourier, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Fourier([axis + 1 for axis in node.op.axes], node.op.inverse)(inputs[0])]


# ---- Transforms of real numbers. Complex numbers are pairs of real ones in a last dimension of length 2
#
# The transform runs over all dimensions but the first, which is the batch; of the last one the half is kept that
# determines the other.

_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def _real_tensor(name: str, x: TensorLike, least: int, shape: str) -> Tensor:
    """Return `x` as float32 or float64 with enough dimensions."""
    variable = as_tensor_variable(x)
    if variable.type.dtype in COMPLEX_DTYPES:
        raise DTypeError(
            format_error(
                f"{name} takes real numbers", context=[describe(variable)], hint="use T.fft.fft for complex ones"
            )
        )
    if variable.type.ndim < least:
        raise ShapeError(
            format_error(
                f"{name} takes shape {shape}: {least} dimensions at least",
                context=[describe(variable)],
                hint="put a batch of length 1 in front: x.dimshuffle('x', 0)",
            )
        )
    if variable.type.dtype in _COMPLEX:
        return variable
    return cast(variable, "float32" if variable.type.dtype == "float16" else "float64")


class RealFourier(TensorOp):
    """Transform of real numbers over all dimensions but the first, without a factor; see :func:`rfft`."""

    __props__ = ()

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor with two dimensions at least."""
        variable = _real_tensor("rfft", x, 2, "(m, ..., n)")
        *front, n = variable.type.shape
        half = None if n is None else n // 2 + 1
        return Apply(self, [variable], [tensor_type(variable.type.dtype, (*front, half, 2)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy; ValueError where there is nothing to transform."""
        (x,) = inputs
        if 0 in x.shape[1:]:
            raise ValueError(
                format_error(
                    f"rfft: there is nothing to transform in shape {x.shape}", context=[describe(node.inputs[0])]
                )
            )
        transformed = np.ascontiguousarray(scipy_fft().rfftn(x, axes=tuple(range(1, x.ndim))))
        output_storage[0][0] = transformed.view(x.dtype).reshape(*transformed.shape, 2)


class InverseRealFourier(TensorOp):
    """Inverse of :class:`RealFourier`, without a factor; inputs are the pairs and the length of the last dimension."""

    __props__ = ()

    def make_node(self, y: TensorLike, n: TensorLike) -> Apply[Self, Tensor]:
        """Apply to pairs, with three dimensions at least, and an integer."""
        variable, length = _real_tensor("irfft", y, 3, "(m, ..., n//2+1, 2)"), as_length(n)
        if variable.type.shape[-1] not in (None, 2):
            error = ShapeError(
                format_error(
                    f"irfft: the last dimension holds real and imaginary part, its length is {variable.type.shape[-1]}",
                    context=[describe(variable)],
                    hint="stack them: T.stack([real, imag], axis=-1)",
                )
            )
            variable = refused(error, variable, (*variable.type.shape[:-1], None))
        known = static_int(length)
        # Of no pairs there is no inverse: that is for the call to say.
        shape = (*variable.type.shape[:-2], None if known is not None and known < 0 else known)
        return Apply(self, [variable, length], [tensor_type(variable.type.dtype, shape).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Use SciPy; ValueError for lengths that do not fit."""
        y, n = inputs[0], int(inputs[1])
        if y.shape[-1] != 2 or n < 1 or 0 in y.shape[1:] or y.shape[-2] != n // 2 + 1:
            raise ValueError(
                format_error(
                    f"irfft: shape {y.shape} does not fit {n} elements",
                    context=[describe(v) for v in node.inputs],
                    hint="the last two lengths are n//2 + 1 and 2; set is_odd for an odd n",
                )
            )
        pairs = np.ascontiguousarray(y).view(_COMPLEX[str(y.dtype)])[..., 0]
        lengths, axes = (*pairs.shape[1:-1], n), tuple(range(1, pairs.ndim))
        output_storage[0][0] = scipy_fft().irfftn(pairs, s=lengths, axes=axes, norm="forward")

    def connection_pattern(self, node: Apply[Self, Tensor]) -> list[list[bool]]:
        """The result does not depend differentiably on the length."""
        return [[True], [False]]


@native_kernel.register(RealFourier)
def _native_real(node: Apply[RealFourier, Tensor]) -> Kernel | None:
    return FourierKernel("real", node.outputs[0].type.dtype)


@native_kernel.register(InverseRealFourier)
def _native_inverse(node: Apply[InverseRealFourier, Tensor]) -> Kernel | None:
    return FourierKernel("half", node.outputs[0].type.dtype)


def _times_kept(pairs: Tensor, n: Tensor, factor: float) -> Tensor:
    """Multiply elements that stand for two of the full transform: all but the first and, for even n, the last."""
    numbers = arange(shape_i(pairs, pairs.type.ndim - 2))
    alone = or_(eq(numbers, 0), eq(numbers * 2, n))
    dtype = pairs.type.dtype
    factors = switch(alone, np.ones((), dtype), np.asarray(factor, dtype))
    result: Tensor = pairs * dimshuffle(factors, [*["x"] * (pairs.type.ndim - 2), 0, "x"])
    return result


@pullback.register(RealFourier)
def _pullback_real(node: Apply[RealFourier, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    x = as_tensor_variable(node.inputs[0])
    n = shape_i(x, x.type.ndim - 1)
    return [InverseRealFourier()(_times_kept(as_tensor_variable(cotangents[0]), n, 0.5), n)]


@pushforward.register(RealFourier)
def _pushforward_real(node: Apply[RealFourier, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@pullback.register(InverseRealFourier)
def _pullback_inverse(node: Apply[InverseRealFourier, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    pairs: Tensor = RealFourier()(cotangents[0])
    return [_times_kept(pairs, as_tensor_variable(node.inputs[1]), 2.0), None]


@pushforward.register(InverseRealFourier)
def _pushforward_inverse(
    node: Apply[InverseRealFourier, Tensor], tangents: list[Variable | None]
) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0], node.inputs[1])]


@shape_rule.register(RealFourier)
def _shape_real(node: Apply[RealFourier, Tensor], input_shapes: list[Any]) -> list[Any]:
    *front, n = input_shapes[0]
    return [(*front, n // 2 + 1, as_length(2))]


@shape_rule.register(InverseRealFourier)
def _shape_inverse(node: Apply[InverseRealFourier, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(*input_shapes[0][:-2], node.inputs[1])]


def rfft(inp: TensorLike, norm: str | None = None) -> Tensor:
    """Return the Fourier transform of real numbers over all dimensions but the first.

    Parameters
    ----------
    inp : tensor_like, shape (m, ..., n)
        m inputs of shape (..., n).
    norm : {None, "ortho", "no_norm"}
        Only "ortho" scales, by one over the square root of the number of elements of an input.

    Returns
    -------
    Tensor, shape (m, ..., n//2+1, 2)
        The non-trivial elements; real and imaginary parts are pairs in the last dimension.

    Raises
    ------
    ShapeError
        If there are less than two dimensions.
    ValueError
        If `norm` is unknown.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import fft
    >>> fft.rfft(T.constant([[1.0, 1.0]])).eval().tolist()
    [[[2.0, 0.0], [0.0, 0.0]]]
    """
    result: Tensor = RealFourier()(inp)
    x = as_tensor_variable(inp)
    return scaled(result, [shape_i(x, i) for i in range(1, x.type.ndim)], norm, inverse=False)


def irfft(inp: TensorLike, norm: str | None = None, is_odd: bool = False) -> Tensor:
    """Return the inverse Fourier transform, with real results, over all dimensions but the first.

    Parameters
    ----------
    inp : tensor_like, shape (m, ..., n//2+1, 2)
        As :func:`rfft` gives it.
    norm : {None, "ortho", "no_norm"}
        None: divided by the number of elements of an input; "ortho": by its square root; "no_norm": not scaled.
    is_odd : bool
        Whether n is odd, which cannot be seen from `inp`.

    Returns
    -------
    Tensor, shape (m, ..., n)

    Raises
    ------
    ShapeError
        If there are less than three dimensions, or the last is known not to have length 2.
    ValueError
        If `norm` is unknown, or `is_odd` is no bool.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import fft
    >>> fft.irfft(fft.rfft(T.constant([[1.0, 2.0, 3.0]])), is_odd=True).eval().round(6)
    array([[1., 2., 3.]])
    """
    if is_odd not in (True, False):
        raise ValueError(format_error(f"irfft: is_odd is True or False, not {is_odd!r}"))
    y = _real_tensor("irfft", inp, 3, "(m, ..., n//2+1, 2)")
    static = y.type.shape[-2]
    half: Any = shape_i(y, y.type.ndim - 2) if static is None else static
    n = (half - 1) * 2 + int(is_odd)
    result: Tensor = InverseRealFourier()(y, n)
    lengths = [*(shape_i(y, i) for i in range(1, y.type.ndim - 2)), as_length(n)]
    return scaled(result, lengths, norm, inverse=True)


@batch_rule.register(RealFourier, InverseRealFourier)
def _batch_real(
    node: Apply[RealFourier | InverseRealFourier, Tensor], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable] | None:
    """The first dimension is a batch already: both are joined."""
    if any(stacked[1:]):
        return None
    x, *length = inputs
    n, rows, *lengths = lengths_of(x)
    result = node.op(reshape(x, [n * rows, *lengths]), *length)
    return [reshape(result, [n, rows, *lengths_of(result)[1:]])]


__all__ = ["Fourier", "InverseRealFourier", "RealFourier", "fft", "ifft", "irfft", "rfft"]
