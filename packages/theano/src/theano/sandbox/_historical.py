"""Arrays and variables of the first back-end for devices, Fourier transforms, and the smallest op."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from theano_gpuarray.arrays import GpuArray, zeros
from theano_gpuarray.contexts import get_context
from theano_graph import Apply, Op, Variable, batch_rule, format_error
from theano_tensor.batching import run_in_a_loop
from theano_tensor.device import as_gpuarray_variable

from .. import function, gof, tensor
from ..gof import generic

# ---- Arrays of float32 in the default context, and the base of ops on them

#: The first back-end itself is not there.
cuda_available = False
cuda_enabled = False


class CudaNdarray(GpuArray):
    """An array on the default device; only :meth:`zeros` is left of it, and it makes a GpuArray."""

    __slots__ = ()

    @staticmethod
    def zeros(shape: Sequence[int]) -> GpuArray:
        """Return an array of zeros of float32.

        Parameters
        ----------
        shape : sequence of int

        Raises
        ------
        ContextNotDefined
            If no device is in use.
        """
        return zeros(tuple(shape), "float32", context=get_context(None))


class GpuOp(Op):
    """The base of ops on devices, which need none any more."""


batch_rule.declare_absent(GpuOp, "graphs are applied to batches before they are compiled for a device")


# ---- How variables come to the default device


def as_cuda_ndarray_variable(x: Any) -> Variable:
    """Return a variable, or an array, as a variable on the default device.

    Parameters
    ----------
    x : Variable or array_like
    """
    variable: Variable = as_gpuarray_variable(x, None)
    return variable


# ---- Fourier transforms of matrices along an axis, and the matrix of the cosine transform; see `theano.tensor.fft`


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
            format_error("transforms of theano.sandbox._historical have no gradient", hint="use theano.tensor.fft")
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


# ---- The smallest op: a start for one's own


class Minimal(gof.Op):
    """Prints how many arguments there are, and the largest element of the first; the result is 0."""

    __props__ = ()

    def make_node(self, *args: Any) -> gof.Apply:
        """Apply to variables."""
        return gof.Apply(op=self, inputs=args, outputs=[tensor.lscalar()])

    def perform(
        self, node: gof.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Print, and give 0."""
        print(f"perform got {len(inputs)} arguments")
        print("Max of input[0] is ", np.max(inputs[0]))
        output_storage[0][0] = np.asarray(0, dtype="int64")


minimal = Minimal()


class T_minimal(unittest.TestCase):
    """Runs the op."""

    def setUp(self) -> None:
        """Make random numbers."""
        self.rng = np.random.RandomState(import_module("theano.tests.unittest_tools").fetch_seed(666))

    def test0(self) -> None:
        """Apply it to a vector and a matrix."""
        A, b = tensor.matrix(), tensor.vector()
        f = function([A, b], minimal(A, A, b, b, A))
        self.assertEqual(f(self.rng.randn(5, 5), -np.arange(5, dtype=tensor.config.floatX)), 0)


__all__ = ["CudaNdarray", "GpuOp"]
