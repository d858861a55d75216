"""Fourier transforms of matrices along an axis, and the matrix of the cosine transform; see `theano.tensor.fft`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano import tensor
from theano.gof import generic
from theano_graph import Apply, Op, Variable, batch_rule, format_error
from theano_tensor.batching import run_in_a_loop


class GradTodo(Op):
    """Stands for a gradient that nobody has written: to compute it is an error."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor."""
        return Apply(self, [x], [x.type.make_variable()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Refuse."""
        raise NotImplementedError(
            format_error("transforms of theano.sandbox.fourier have no gradient", hint="use theano.tensor.fft")
        )


grad_todo = GradTodo()


class FFT(Op):
    """Transform of `n` elements of a matrix along an axis: complex128, and None in the place of a plan.

    Parameters
    ----------
    half : bool
        Only the first half of the frequencies.
    inverse : bool
        The transform back.
    """

    __props__ = ("half", "inverse")
    default_output = 0
    half = False

    def __init__(self, half: bool = False, inverse: bool = False) -> None:
        self.half, self.inverse = half, inverse

    def make_node(self, frames: Any, n: Any, axis: Any) -> Apply:
        """Apply to a matrix and two numbers; TypeError for half of the transform of complex numbers."""
        matrix = tensor.as_tensor_variable(frames, ndim=2)
        numbers = [tensor.as_tensor_variable(number, ndim=0) for number in (n, axis)]
        if self.half and matrix.type.dtype.startswith("complex"):
            raise TypeError(format_error("half of a transform is enough for real numbers only", hint="use fft"))
        return Apply(self, [matrix, *numbers], [tensor.zmatrix(), generic()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Use NumPy; ValueError for half of an odd number of frequencies."""
        frames, n, axis = inputs
        transform = np.fft.ifft if self.inverse else np.fft.fft
        transformed = transform(frames, int(n), int(axis))
        if self.half:
            if transformed.shape[int(axis)] % 2:
                raise ValueError(
                    format_error("half of an odd number of frequencies is undefined", hint="use an even n")
                )
            transformed = np.take(transformed, range(transformed.shape[int(axis)] // 2), axis=int(axis))
        output_storage[0][0] = transformed.astype("complex128", copy=False)
        output_storage[1][0] = None

    def grad(self, inp: Sequence[Any], out: Sequence[Any]) -> list[Variable | None]:
        """Return an expression that cannot be computed."""
        return [grad_todo(inp[0]), None, None]


fft, half_fft = FFT(half=False, inverse=False), FFT(half=True, inverse=False)
ifft, half_ifft = FFT(half=False, inverse=True), FFT(half=True, inverse=True)


def dct_matrix(rows: int, cols: int, unitary: bool = True) -> np.ndarray[Any, Any]:
    """Return the matrix of the discrete cosine transform.

    Parameters
    ----------
    rows, cols : int
    unitary : bool
        Whether the first row is scaled so that rows are orthonormal.

    Examples
    --------
    >>> from theano.sandbox import fourier
    >>> fourier.dct_matrix(2, 2).round(3)
    array([[ 0.707,  0.707],
           [ 0.707, -0.707]])
    """
    angles = np.outer(np.arange(rows), 2 * np.arange(cols) + 1) * np.pi / (2.0 * cols)
    matrix: np.ndarray[Any, Any] = np.cos(angles) * np.sqrt(2.0 / cols)
    if unitary:
        matrix[0] *= np.sqrt(0.5)
    return matrix


batch_rule.register(FFT, GradTodo)(run_in_a_loop)
