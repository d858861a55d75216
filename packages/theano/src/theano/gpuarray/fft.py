"""Fourier transforms of variables on devices, by cuFFT where it is."""

from __future__ import annotations

from typing import Any

from theano_gpuarray.types import infer_context_name
from theano_graph import describe, format_error
from theano_tensor import DTypeError, as_tensor_variable
from theano_tensor.device import as_gpuarray_variable
from theano_tensor.fourier import irfft, rfft


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
