"""Transforms of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, pullback, pushforward, shape_rule
from theano_linker_c.kernels import FourierKernel, Kernel, native_kernel

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, TensorLike
from .._core._ops import TensorOp, one_axis
from .._core._type import Tensor
from .._errors import ShapeError
from ..elemwise import cast
from ..shape import shape_i
from ._lazy import scipy_fft
from ._norm import scaled

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
def _native(node: Apply[Fourier, Tensor]) -> Kernel | None:
    dtype = "float32" if node.outputs[0].type.dtype == "complex64" else "float64"
    return FourierKernel("complex", dtype, node.op.axes, node.op.inverse) if len(node.op.axes) <= _MOST_AXES else None


@pullback.register(Fourier)
def _pullback(node: Apply[Fourier, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    # The matrix of the transform is symmetric; that of the gradient is its conjugate.
    return [Fourier(node.op.axes, not node.op.inverse)(cotangents[0])]


@pushforward.register(Fourier)
def _pushforward(node: Apply[Fourier, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else node.op(tangents[0])]


@shape_rule.register(Fourier)
def _shape(node: Apply[Fourier, Tensor], input_shapes: list[Any]) -> list[Any]:
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
def _batch(node: Apply[Fourier, Tensor], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable]:
    return [Fourier([axis + 1 for axis in node.op.axes], node.op.inverse)(inputs[0])]
