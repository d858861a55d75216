"""Softmax and batch normalization on devices by documented names; functions contain the ops that they stand for."""

from __future__ import annotations

from typing import Any

from theano_graph import describe, format_error
from theano_tensor import as_tensor_variable, cast, exp, sum as sum_over
from theano_tensor.device.dnn import (
    LayerOp,
    NormalizationLayer,
    NormalizationLayerTest,
    SoftmaxLayer,
    SoftmaxLayerGrad,
)
from theano_tensor.nnet import LogSoftmax, Softmax
from theano_tensor.nnet.bn import batch_normalization_test, batch_normalization_train

from ..tensor._expression_ops import ExpressionOp
from ._ops import OnDevice

_ALGORITHMS, _SOFTMAX_MODES = ("fast", "accurate", "log"), ("instance", "channel")
_NORMALIZATION_MODES = ("per-activation", "spatial")
#: Dimensions of the operand of softmax: batch, channels, rows, columns.
_NDIM = 4


def _check(op: object, name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(
            format_error(
                f"{type(op).__name__}: unknown {name} {value!r}", hint="use one of " + ", ".join(map(repr, known))
            )
        )


class _SoftmaxBase(ExpressionOp):
    """Softmax and its gradient on the host."""

    __props__ = ("mode", "algo")
    #: How many tensors it takes.
    count = 1

    def __init__(self, algo: str, mode: str) -> None:
        _check(self, "algo", algo, _ALGORITHMS)
        _check(self, "mode", mode, _SOFTMAX_MODES)
        self.algo, self.mode = algo, mode

    def operands(self, *inputs: Any) -> list[Any]:
        """Take tensors with four dimensions."""
        variables = [as_tensor_variable(x) for x in inputs]
        if len(variables) != self.count or any(v.type.ndim != _NDIM for v in variables):
            raise TypeError(
                format_error(
                    f"{type(self).__name__} takes tensors with {_NDIM} dimensions, {self.count} of them",
                    context=[describe(v) for v in variables],
                    hint="add dimensions with dimshuffle: batch and channels come first",
                )
            )
        return variables

    def _axes(self) -> tuple[int, ...]:
        return (1,) if self.mode == "channel" else (1, 2, 3)


class _Softmax(_SoftmaxBase):
    def expression(self, x: Any) -> list[Any]:
        """Return the softmax."""
        op: Any = LogSoftmax(1) if self.algo == "log" else Softmax(1)
        return [op(x) if self.mode == "channel" else op(x.flatten(2)).reshape(x.shape, ndim=_NDIM)]


class _SoftmaxGrad(_SoftmaxBase):
    count = 2

    def expression(self, dy: Any, sm: Any) -> list[Any]:
        """Return the gradient by the scores."""
        if self.algo == "log":
            return [dy - exp(sm) * sum_over(dy, axis=self._axes(), keepdims=True)]
        return [sm * (dy - sum_over(dy * sm, axis=self._axes(), keepdims=True))]


class GpuDnnSoftmaxBase(OnDevice, _SoftmaxBase):
    """The base of softmax and its gradient on a device.

    Parameters
    ----------
    algo : {'fast', 'accurate', 'log'}
        'log' is the logarithm of softmax. Without cuDNN the others are computed alike, the largest element taken out;
        with it 'fast' overflows where exponentials do.
    mode : {'instance', 'channel'}
        Whether softmax is over all of each image, or over the channels at each position.

    Raises
    ------
    ValueError
        If one is unknown.
    """


class GpuDnnSoftmax(GpuDnnSoftmaxBase, _Softmax):
    """Softmax of images on a device, by cuDNN where it is there."""

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return SoftmaxLayer(self.algo, self.mode)


class GpuDnnSoftmaxGrad(GpuDnnSoftmaxBase, _SoftmaxGrad):
    """The gradient of softmax on a device; operands are the gradient by its result, and this result."""

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return SoftmaxLayerGrad(self.algo, self.mode)


class _BatchNorm(ExpressionOp):
    __props__ = ("mode", "running_averages")

    def __init__(
        self,
        mode: str = "per-activation",
        running_averages: bool = False,
        inplace_running_mean: bool = False,
        inplace_running_var: bool = False,
        inplace_output: bool = False,
    ) -> None:
        _check(self, "mode", mode, _NORMALIZATION_MODES)
        self.mode, self.running_averages = mode, bool(running_averages)
        self.inplace_running_mean, self.inplace_running_var = bool(inplace_running_mean), bool(inplace_running_var)
        self.inplace_output = bool(inplace_output)

    def operands(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        epsilon: Any = 1e-4,
        running_average_factor: Any = 0.1,
        running_mean: Any = None,
        running_var: Any = None,
    ) -> list[Any]:
        """Take a batch, scale and shift, and where there are running averages also these."""
        running = [running_mean, running_var]
        if self.running_averages != all(v is not None for v in running):
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: running_averages={self.running_averages}, which the operands do not fit",
                    hint="pass running_mean and running_var if it is true, and neither if it is not",
                )
            )
        variables = [as_tensor_variable(v) for v in (x, scale, bias)]
        numbers = [epsilon, running_average_factor] if self.running_averages else [epsilon]
        variables += [cast(v, variables[0].type.dtype) for v in numbers]
        return variables + [as_tensor_variable(v) for v in running if v is not None]

    def expression(self, x: Any, scale: Any, bias: Any, epsilon: Any, *running: Any) -> list[Any]:
        """Return the normalized batch, mean, inverse of the standard deviation, and new running averages."""
        return list(batch_normalization_train(x, scale, bias, self.mode, epsilon, *running))


class GpuDnnBatchNorm(OnDevice, _BatchNorm):
    """Normalization of a batch on a device with its own mean and variance.

    Operands are the batch, scale, shift, epsilon, the weight of the batch in the running averages, and these two.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
        Whether averages are over the first axis, or over all but the second.
    running_averages : bool
        Whether there are running averages.
    inplace_running_mean, inplace_running_var, inplace_output : bool
        Whether memory may be overwritten; functions decide on that themselves.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return NormalizationLayer(self.mode, self.running_averages)


class _BatchNormInference(ExpressionOp):
    __props__ = ("mode",)

    def __init__(self, mode: str = "per-activation", inplace: bool = False) -> None:
        _check(self, "mode", mode, _NORMALIZATION_MODES)
        self.mode, self.inplace = mode, bool(inplace)

    def operands(self, x: Any, scale: Any, bias: Any, mean: Any, var: Any, epsilon: Any = 1e-4) -> list[Any]:
        """Take a batch, scale, shift, mean and variance."""
        variables = [as_tensor_variable(v) for v in (x, scale, bias, mean, var)]
        return [*variables, cast(epsilon, variables[0].type.dtype)]

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the normalized batch."""
        x, scale, bias, mean, var, epsilon = inputs
        return [batch_normalization_test(x, scale, bias, mean, var, self.mode, epsilon)]


class GpuDnnBatchNormInference(OnDevice, _BatchNormInference):
    """Normalization of a batch on a device with a given mean and variance.

    Operands are the batch, scale, shift, mean, variance, and epsilon.

    Parameters
    ----------
    mode : {'per-activation', 'spatial'}
    inplace : bool
        As for :class:`GpuDnnBatchNorm`.
    """

    def layer(self) -> LayerOp:
        """Return cuDNN's layer for this op."""
        return NormalizationLayerTest(self.mode)
