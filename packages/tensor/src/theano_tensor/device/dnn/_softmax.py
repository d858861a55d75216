"""Softmax of images as cuDNN computes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...elemwise import exp, log
from ...reduce import max as max_over, sum as sum_over
from ._library import GpuDnnLayer, LayerOp

__all__ = ["SoftmaxLayer", "SoftmaxLayerGrad"]

#: The library's numbers.
_ALGORITHMS = {"fast": 0, "accurate": 1, "log": 2}
_MODES = {"instance": 0, "channel": 1}


class SoftmaxLayer(LayerOp):
    """Softmax of images, or its logarithm.

    Parameters
    ----------
    algo : {'fast', 'accurate', 'log'}
        'fast' does not take the largest element out before where the library computes.
    mode : {'instance', 'channel'}
        Whether softmax is over all of each image, or over the channels at each position.
    """

    __props__ = ("algo", "mode")
    task = "softmax"

    def __init__(self, algo: str, mode: str) -> None:
        self.algo, self.mode = algo, mode

    def options(self) -> tuple[int, ...]:
        """Return algorithm and mode as the library has them."""
        return _ALGORITHMS[self.algo], _MODES[self.mode]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes over which sums are taken."""
        return (1,) if self.mode == "channel" else (1, 2, 3)

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the softmax of scores."""
        (x,) = inputs
        shifted = x - max_over(x, axis=self.axes, keepdims=True)
        total = sum_over(exp(shifted), axis=self.axes, keepdims=True)
        return [shifted - log(total) if self.algo == "log" else exp(shifted) / total]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shape of the scores."""
        return [shapes[0]]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the gradient by the scores, which the library computes, too."""
        return [GpuDnnLayer(SoftmaxLayerGrad(self.algo, self.mode))(cotangents[0], outputs[0])]


class SoftmaxLayerGrad(SoftmaxLayer):
    """The gradient of softmax by the scores; operands are the gradient by its result, and this result."""

    task = "softmax_grad"

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradient."""
        dy, y = inputs
        if self.algo == "log":
            return [dy - exp(y) * sum_over(dy, axis=self.axes, keepdims=True)]
        return [y * (dy - sum_over(dy * y, axis=self.axes, keepdims=True))]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Leave second derivatives to the expression."""
        return None
