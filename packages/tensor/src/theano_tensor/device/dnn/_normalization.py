"""Batch normalization as cuDNN computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Constant

from ..._core._convert import as_tensor_variable
from ...elemwise import cast
from ...nnet.bn import batch_normalization_test, batch_normalization_train
from ...reduce import sum as sum_over
from ...shape import addbroadcast, shape_i
from ._library import GpuDnnLayer, LayerOp

__all__ = ["NormalizationLayer", "NormalizationLayerGrad", "NormalizationLayerTest"]


def _is_constant(v: Any) -> bool:
    """Tell whether a variable is made of constants alone."""
    return isinstance(v, Constant) or (v.owner is not None and all(_is_constant(u) for u in v.owner.inputs))


#: The library's numbers.
_MODES = {"per-activation": 0, "spatial": 1}


class _Normalization(LayerOp):
    """The base of normalization and its gradient.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
        Whether averages are over the first axis, or over all but the second.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("mode",)
    dtypes = frozenset({"float32", "float64"})

    def __init__(self, mode: str) -> None:
        self.mode = mode

    def options(self) -> tuple[int, ...]:
        """Return the mode as the library has it."""
        return (_MODES[self.mode],)

    def axes(self, ndim: int) -> tuple[int, ...]:
        """Return the axes that are averaged over."""
        return (0,) if self.mode == "per-activation" else (0, *range(2, ndim))

    def takes(self, inputs: Sequence[Any]) -> bool:
        """Tell whether all arrays have as many dimensions as the batch, and there are channels."""
        ndim = inputs[0].type.ndim
        arrays = [v for i, v in enumerate(inputs) if i not in self.numbers]
        return ndim > _MODES[self.mode] and all(v.type.ndim == ndim for v in arrays)

    def of_channels(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """Return the shape of averages over a batch."""
        axes = self.axes(len(shape))
        return tuple(as_tensor_variable(np.int64(1)) if i in axes else n for i, n in enumerate(shape))

    def count(self, x: Any) -> Any:
        """Return how many elements are averaged, as an expression."""
        total: Any = cast(1, "float64")
        for axis in self.axes(x.type.ndim):
            total = total * shape_i(x, axis)
        return total


class NormalizationLayer(_Normalization):
    """Normalization of a batch with its own mean and variance.

    Operands are the batch, scale, shift and epsilon, and where there are running averages the weight of the batch in
    them, and these two. Results are the normalized batch, its mean, the inverse of its standard deviation, and the new
    running averages.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
    running : bool
        Whether there are running averages.
    """

    __props__ = ("mode", "running")
    task = "norm_train"

    def __init__(self, mode: str, running: bool) -> None:
        super().__init__(mode)
        self.running = running
        self.numbers = (3, 4) if running else (3,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the normalized batch, and averages."""
        x, scale, shift, epsilon, *running = inputs
        return list(batch_normalization_train(x, scale, shift, self.mode, epsilon, *running))

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the batch, and those of averages."""
        return [shapes[0], *(self.of_channels(shapes[0]) for _ in range(4 if self.running else 2))]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the library's layer, where nothing depends on averages or on a variable epsilon."""
        if cotangents[0] is None or any(v is not None for v in cotangents[1:]) or not _is_constant(inputs[3]):
            return None
        layer = GpuDnnLayer(NormalizationLayerGrad(self.mode))
        options: dict[str, Any] = {"return_list": True}
        results = layer(inputs[0], cotangents[0], inputs[1], outputs[1], outputs[2], inputs[3], **options)
        return [*results, as_tensor_variable(np.zeros((), inputs[3].type.dtype)), *(None for _ in inputs[4:])]


class NormalizationLayerTest(_Normalization):
    """Normalization of a batch with a given mean and variance; operands are the batch, scale, shift, these, epsilon."""

    task = "norm_test"
    numbers = (5,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the normalized batch."""
        x, scale, shift, mean, var, epsilon = inputs
        return [batch_normalization_test(x, scale, shift, mean, var, self.mode, epsilon)]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the batch."""
        return [shapes[0]]


class NormalizationLayerGrad(_Normalization):
    """The gradients by a batch, scale and shift.

    Operands are the batch, the gradient by the normalized one, scale, mean, the inverse of the standard deviation, and
    epsilon.
    """

    task = "norm_grad"
    numbers = (5,)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradients: Ioffe and Szegedy (2015), section 3."""
        x, dy, *parameters = inputs[:5]
        axes = self.axes(x.type.ndim)
        scale, mean, inverse = (addbroadcast(v, *axes) for v in parameters)
        normalized, many = (x - mean) * inverse, cast(self.count(x), x.type.dtype)
        by_shift = sum_over(dy, axis=axes, keepdims=True)
        by_scale = sum_over(dy * normalized, axis=axes, keepdims=True)
        by_batch = (scale * inverse) * (dy - by_shift / many - normalized * (by_scale / many))
        return [by_batch, by_scale, by_shift]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the batch, and twice that of its averages."""
        return [shapes[0], *[self.of_channels(shapes[0])] * 2]
