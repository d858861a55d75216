"""Batch normalization as ops, as graphs of Theano 1.0 had it before they were compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.optdb import LocalGroupDB
from theano_graph import Apply, describe, format_error
from theano_linker_c.scalar import Composite, ScalarType, add, mul, sub, true_div, upcast
from theano_tensor import ShapeError, Tensor, as_tensor_variable, cast, mean as mean_over, sum as sum_over
from theano_tensor.nnet.bn import batch_normalization_test, batch_normalization_train

from .._expression_ops import ExpressionOp


def as_common_dtype(*vars: Any) -> tuple[Tensor, ...]:
    """Return variables, cast to the dtype that holds all of theirs.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> [v.dtype for v in theano.scalar.as_common_dtype(T.fvector(), T.dvector())]
    ['float64', 'float64']
    """
    dtype = upcast(*(v.type.dtype for v in vars))
    return tuple(v.astype(dtype) for v in vars)


class _Normalization(ExpressionOp):
    """Base of ops that normalize over axes.

    Parameters
    ----------
    axes : tuple of int
        The averaged axes.
    """

    __props__ = ("axes",)

    def __init__(self, axes: Sequence[int] = (0,)) -> None:
        if not isinstance(axes, (tuple, list)) or not axes:
            raise ValueError(
                format_error(f"{type(self).__name__}: axes={axes!r}", hint="give a tuple of axes, from 0 up")
            )
        self.axes = tuple(int(a) for a in axes)

    def _together(self, *given: Any) -> list[Tensor]:
        """Return tensors with the same number of dimensions, in one dtype."""
        variables = [as_tensor_variable(v) for v in given]
        if len({v.type.ndim for v in variables}) > 1:
            raise ShapeError(
                format_error(
                    f"{type(self).__name__}: operands differ in dimensions",
                    context=[describe(v) for v in variables],
                    hint="keep the axes that are normalized over, of length 1",
                )
            )
        if min(self.axes) < 0 or max(self.axes) >= variables[0].type.ndim:
            raise ShapeError(
                format_error(
                    f"{type(self).__name__}: axes={self.axes} do not fit",
                    context=[describe(variables[0])],
                    hint=f"use axes from 0 to {variables[0].type.ndim - 1}",
                )
            )
        return list(as_common_dtype(*variables))


class AbstractBatchNormTrain(_Normalization):
    """Normalize a mini-batch with its own mean and variance; outputs are those of `batch_normalization_train`.

    Examples
    --------
    >>> out, mean, invstd = AbstractBatchNormTrain()([[1.0], [3.0]], [[1.0]], [[0.0]])
    >>> mean.eval()
    array([[2.]])
    """

    def operands(
        self,
        x: Any,
        scale: Any,
        bias: Any,
        epsilon: Any = 1e-4,
        running_average_factor: Any = 0.1,
        running_mean: Any = None,
        running_var: Any = None,
    ) -> list[Tensor]:
        """Take the batch, scale and shift, two numbers, and running averages or none."""
        if (running_mean is None) != (running_var is None):
            raise ValueError(
                format_error(
                    f"{type(self).__name__}: one running average is missing", hint="give both of them, or none"
                )
            )
        running = [] if running_mean is None else [running_mean, running_var]
        batch = self._together(x, scale, bias, *running)
        return [*batch[:3], *map(as_tensor_variable, (epsilon, running_average_factor)), *batch[3:]]

    def expression(self, x: Any, scale: Any, bias: Any, epsilon: Any, factor: Any, *running: Any) -> list[Tensor]:
        """Return the normalized batch, its mean, the inverse of its deviation, and new running averages."""
        return list(batch_normalization_train(x, scale, bias, self.axes, epsilon, factor, *running))

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Nothing is differentiated by the two numbers; running averages belong to their new values alone."""
        count = len(node.outputs)
        batch = [[True] * count, [True] * 3 + [False] * (count - 3), [True] * 3 + [False] * (count - 3)]
        numbers = [[False] * count] * 2
        return [*batch, *numbers, *([k == 3 + i for k in range(count)] for i in range(count - 3))]


class AbstractBatchNormInference(_Normalization):
    """Normalize with a given mean and variance.

    Examples
    --------
    >>> AbstractBatchNormInference()([[5.0]], [[2.0]], [[0.0]], [[1.0]], [[4.0]]).eval().round(3)
    array([[4.]])
    """

    def operands(
        self, x: Any, scale: Any, bias: Any, estimated_mean: Any, estimated_variance: Any, epsilon: Any = 1e-4
    ) -> list[Tensor]:
        """Take the batch, scale and shift, mean and variance, and a number."""
        batch = self._together(x, scale, bias, estimated_mean, estimated_variance)
        return [*batch, as_tensor_variable(epsilon)]

    def expression(self, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, epsilon: Any) -> list[Tensor]:
        """Return the normalized batch."""
        return [batch_normalization_test(x, scale, bias, mean, variance, self.axes, epsilon)]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Nothing is differentiated by the number that is added to the variance."""
        return [[True]] * 5 + [[False]]


class AbstractBatchNormTrainGrad(_Normalization):
    """Gradients of a normalized batch by the batch, the scale and the shift, for a cotangent `dy`.

    Examples
    --------
    >>> by_batch, by_scale, by_shift = AbstractBatchNormTrainGrad()([[1.0], [3.0]], [[1.0], [2.0]], *[[[1.0]]] * 3)
    >>> by_shift.eval()
    array([[3.]])
    """

    def operands(self, x: Any, dy: Any, scale: Any, x_mean: Any, x_invstd: Any, epsilon: Any = 1e-4) -> list[Tensor]:
        """Take the batch, a cotangent, the scale, mean and inverse deviation of the batch, and a number."""
        return [*self._together(x, dy, scale, x_mean, x_invstd), as_tensor_variable(epsilon)]

    def expression(self, x: Any, dy: Any, scale: Any, x_mean: Any, x_invstd: Any, epsilon: Any) -> list[Tensor]:
        """Return the three gradients."""
        over: dict[str, Any] = {"axis": self.axes, "keepdims": True}
        shares = (x - x_mean) * x_invstd
        inner = (dy - shares * mean_over(dy * shares, **over)) * x_invstd
        gradients = [scale * (inner - mean_over(inner, **over)), sum_over(dy * shares, **over), sum_over(dy, **over)]
        return [cast(v, x.type.dtype) for v in gradients]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Only the cotangent is in all three."""
        linear = [True, True, False]
        return [linear, [True] * 3, [True, False, False], linear, linear, [False] * 3]


class BNComposite(Composite):
    """Normalization of one number: ``(x - mean) / std * gamma + beta``.

    Parameters
    ----------
    dtype : str
        Of all numbers.
    """

    init_param = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        x, mean, std, gamma, beta = (ScalarType(dtype).make_variable() for _ in range(5))
        super().__init__([x, mean, std, gamma, beta], [add(mul(true_div(sub(x, mean), std), gamma), beta)])


def _written_out(kind: type, name: str) -> Any:
    def write_out(node: Apply) -> Any:
        results = node.op.expression(*node.inputs)
        for old, new in zip(node.outputs, results, strict=True):
            copy_stack_trace(old, new)
        return results

    write_out.__name__ = name
    write_out.__doc__ = "Write a normalization out as sums, products and square roots."
    return local_optimizer([kind])(write_out)


local_abstract_batch_norm_train = _written_out(AbstractBatchNormTrain, "local_abstract_batch_norm_train")
local_abstract_batch_norm_train_grad = _written_out(AbstractBatchNormTrainGrad, "local_abstract_batch_norm_train_grad")
local_abstract_batch_norm_inference = _written_out(AbstractBatchNormInference, "local_abstract_batch_norm_inference")

#: The three rewrites, for programs that apply them themselves; modes write out all ops that are expressions.
bn_groupopt = LocalGroupDB(name="batchnorm_opts")
for _rewrite in (
    local_abstract_batch_norm_train,
    local_abstract_batch_norm_train_grad,
    local_abstract_batch_norm_inference,
):
    bn_groupopt.register(_rewrite.name, _rewrite, "bn", "fast_compile", "fast_run")
