"""Parts of complex numbers, and complex numbers made of parts."""

from __future__ import annotations

from theano_linker_c import scalar

from .._core._convert import as_tensor_variable
from .._core._dtypes import COMPLEX_DTYPES, TensorLike
from .._core._type import Tensor
from .._protocols._methods import operation
from ._elemwise import Elemwise
from ._functions import zeros_like

_real, _imag, _conj = Elemwise(scalar.real), Elemwise(scalar.imag), Elemwise(scalar.conj)
_angle, _complex = Elemwise(scalar.angle), Elemwise(scalar.make_complex)
_from_polar = Elemwise(scalar.complex_from_polar)


@operation("real")
def real(x: TensorLike) -> Tensor:
    """Real part; `x` itself where it is not complex.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.real([1 + 2j]).eval()
    array([1.])
    """
    variable = as_tensor_variable(x)
    return _real(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


@operation("imag")
def imag(x: TensorLike) -> Tensor:
    """Imaginary part; zeros where `x` is not complex.

    Parameters
    ----------
    x : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.imag([1 + 2j]).eval()
    array([2.])
    """
    variable = as_tensor_variable(x)
    return _imag(variable) if variable.type.dtype in COMPLEX_DTYPES else zeros_like(variable)


@operation("conj")
def conj(x: TensorLike) -> Tensor:
    """Complex conjugate; `x` itself where it is not complex."""
    variable = as_tensor_variable(x)
    return _conj(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


@operation("angle")
def angle(a: TensorLike) -> Tensor:
    """Angle of complex numbers in the plane, from -pi to pi; 0 or pi for real ones.

    Parameters
    ----------
    a : tensor_like

    Returns
    -------
    Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.angle([1j, -1.0]).eval()
    array([1.57079633, 3.14159265])
    """
    return _angle(a)


def complex(real: TensorLike, imag: TensorLike) -> Tensor:
    """Complex numbers with the given real and imaginary parts.

    Parameters
    ----------
    real, imag : tensor_like
        Real numbers.

    Returns
    -------
    Tensor
        complex64 for parts of float32 or float16, else complex128.

    Raises
    ------
    TypeError
        If a part is complex.

    Examples
    --------
    >>> import theano.tensor as T
    >>> T.complex(T.fvector("x"), T.fvector("y")).dtype
    'complex64'
    """
    return _complex(real, imag)


def complex_from_polar(abs: TensorLike, angle: TensorLike) -> Tensor:
    """Complex numbers with the given lengths and angles; see :func:`complex`."""
    return _from_polar(abs, angle)
