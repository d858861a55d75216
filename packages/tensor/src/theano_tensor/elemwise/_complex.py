"""Parts of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import pullback
from theano_linker_c.scalar import ScalarOp

from .._convert import as_tensor_variable
from .._dtypes import COMPLEX_DTYPES
from .._operators import operation
from .._variable import TensorVariable
from ._elemwise import Elemwise
from ._functions import arctan2, zeros_like

_REAL_PART = {"complex64": "float32", "complex128": "float64"}


class Real(ScalarOp):
    """The real part of a complex number."""

    name = "real"

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the parts."""
        return (_REAL_PART.get(dtypes[0], dtypes[0]),)

    def impl(self, *values: Any) -> Any:
        """Take the part."""
        return np.real(values[0]).copy()


class Imag(ScalarOp):
    """The imaginary part of a complex number."""

    name = "imag"

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the parts."""
        return (_REAL_PART.get(dtypes[0], dtypes[0]),)

    def impl(self, *values: Any) -> Any:
        """Take the part."""
        return np.imag(values[0]).copy()


class Conj(ScalarOp):
    """The complex conjugate."""

    name = "conj"

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype of the number."""
        return (dtypes[0],)

    def impl(self, *values: Any) -> Any:
        """Conjugate."""
        return np.conj(values[0])


for _op in (Real, Imag, Conj):
    pullback.declare_absent(_op, "gradients with respect to complex numbers are not available")

_real, _imag, _conj = Elemwise(Real()), Elemwise(Imag()), Elemwise(Conj())


@operation("real")
def real(x: Any) -> TensorVariable:
    """Real part; `x` itself where it is not complex."""
    variable = as_tensor_variable(x)
    return _real(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


@operation("imag")
def imag(x: Any) -> TensorVariable:
    """Imaginary part; zeros where `x` is not complex."""
    variable = as_tensor_variable(x)
    return _imag(variable) if variable.type.dtype in COMPLEX_DTYPES else zeros_like(variable)


@operation("conj")
def conj(x: Any) -> TensorVariable:
    """Complex conjugate; `x` itself where it is not complex."""
    variable = as_tensor_variable(x)
    return _conj(variable) if variable.type.dtype in COMPLEX_DTYPES else variable


def angle(x: Any) -> TensorVariable:
    """Angle of complex numbers in the plane, from -pi to pi."""
    return arctan2(imag(x), real(x))
