"""The Fourier transform of complex numbers along one axis, with a length that may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tensor
from theano_graph import Apply, Op, Variable, batch_rule, describe, format_error
from theano_tensor import Tensor, TensorConstant, as_tensor_variable
from theano_tensor.batching import run_in_a_loop

_INTEGERS = frozenset([f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)])


class Fourier(Op):
    """Transform of `n` elements along an axis, as ``numpy.fft.fft(a, n, axis)``; always complex128.

    `n` elements are the first ones, or all and zeros after them.

    Examples
    --------
    >>> from theano.tensor import fourier
    >>> fourier.fft([1.0, 0.0], 2, 0).eval()
    array([1.+0.j, 1.+0.j])
    """

    __props__ = ()

    def make_node(self, a: Any, n: Any = None, axis: Any = None) -> Apply:
        """Apply to a tensor; by default along its last axis, and to all elements.

        Raises
        ------
        TypeError
            If the tensor has no dimension, or the length or the axis is no integer that it can have.
        """
        x = as_tensor_variable(a)
        if x.type.ndim < 1:
            raise TypeError(format_error("Fourier: input must be an array, not a scalar", context=[describe(x)]))
        axis_variable = as_tensor_variable(x.type.ndim - 1 if axis is None else axis)
        self._check("index", axis_variable, range(x.type.ndim))
        length = as_tensor_variable(x.shape[axis_variable] if n is None else n)
        self._check("length", length, None)
        pattern = [
            length_ if isinstance(axis_variable, TensorConstant) and int(axis_variable.data) != i else None
            for i, length_ in enumerate(x.type.shape)
        ]
        return Apply(self, [x, length, axis_variable], [tensor.TensorType("complex128", pattern).make_variable()])

    def _check(self, what: str, number: Tensor, known: range | None) -> None:
        fits = number.type.dtype in _INTEGERS and number.type.ndim == 0
        if fits and isinstance(number, TensorConstant):
            fits = int(number.data) in known if known is not None else int(number.data) > 0
        if not fits:
            raise TypeError(
                format_error(
                    f"Fourier: {what} of the transformed axis must be an integer "
                    f"{'from 0 to the number of dimensions' if known is not None else 'greater than 0'}",
                    context=[describe(number)],
                )
            )

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Use NumPy."""
        a, n, axis = inputs
        output_storage[0][0] = np.fft.fft(a, n=int(n), axis=int(axis)).astype("complex128", copy=False)

    def infer_shape(self, node: Apply, in_shapes: Sequence[Any]) -> list[Any]:
        """Replace one length."""
        _, n, axis = node.inputs
        return [tuple(tensor.switch(tensor.eq(axis, i), n, old) for i, old in enumerate(in_shapes[0]))]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Length and axis have no gradient."""
        return [[True], [False], [False]]

    def grad(self, inputs: Sequence[Any], cost_grad: Sequence[Any]) -> list[Variable]:
        """Return the gradient for a constant axis: the transform back, of the elements that were taken.

        Raises
        ------
        NotImplementedError
            If the axis is not a constant.
        """
        a, n, axis = inputs
        if not isinstance(axis, TensorConstant):
            raise NotImplementedError(
                format_error(
                    "Fourier: gradient is currently implemented only for axis being a Theano constant",
                    context=[describe(axis)],
                    hint="give the axis as a number",
                )
            )
        axis_number = int(axis.data)
        # conj(fft(conj(g))) is the sum with the opposite sign in the exponent.
        back = tensor.conj(self(tensor.conj(cost_grad[0]), n, axis_number))
        length = tensor.minimum(n, a.shape[axis_number])
        part = (slice(None),) * axis_number + (slice(None, length),)
        result = tensor.set_subtensor(tensor.zeros_like(a, dtype="complex128")[part], back[part])
        if a.type.dtype not in ("complex64", "complex128"):
            result = tensor.real(result)
        return [
            result.astype(a.type.dtype) if a.type.dtype in ("complex64", "float32") else result,
            *(tensor.DisconnectedType()() for _ in range(2)),
        ]


fft = Fourier()


batch_rule.register(Fourier)(run_in_a_loop)
