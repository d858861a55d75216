"""Ops of layers: batch normalization, neighbourhoods in images, products of blocks, and CTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Apply, describe, format_error
from theano_linker_c.cop import EnumList
from theano_linker_c.scalar import Composite, ScalarType, add, mul, sub, true_div, upcast
from theano_tensor import ShapeError, Tensor, as_tensor_variable, cast, mean as mean_over, sum as sum_over
from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from theano_tensor.nnet.bn import batch_normalization_test, batch_normalization_train
from theano_tensor.nnet.neighbours import images2neibs as neighbourhoods
from theano_tensor.on_devices import device_expression

from ...gof.opt import copy_stack_trace, local_optimizer
from ...gof.optdb import LocalGroupDB
from .._expression_ops import ExpressionOp

# ---- Batch normalization as ops, as graphs of Theano 1.0 had it before they were compiled


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


# ---- Neighbourhoods in images as an op

_MODES = ("valid", "half", "full", "wrap_centered", "ignore_borders")


class Images2Neibs(ExpressionOp):
    """Neighbourhoods in images as rows of a matrix: see `images2neibs`.

    Parameters
    ----------
    mode : {'valid', 'half', 'full', 'wrap_centered', 'ignore_borders'}

    Raises
    ------
    NotImplementedError
        For other modes.

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> neighbours.Images2Neibs()(np.arange(8.0).reshape(1, 1, 2, 4), [2, 2]).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """

    __props__ = ("mode",)
    # Its expression is long, and does not become shorter beside others.
    inline = False
    BORDER_MODE = EnumList(*((f"MODE_{mode.upper()}", mode) for mode in _MODES))

    def __init__(self, mode: str = "valid") -> None:
        if mode not in _MODES:
            raise NotImplementedError(
                format_error(f"Images2Neibs: unknown mode {mode!r}", hint=f"use one of {', '.join(_MODES)}")
            )
        self.mode = mode

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.mode}}}"

    def operands(self, ten4: Any, neib_shape: Any, neib_step: Any = None) -> list[Tensor]:
        """Take images, and the shape and the step of the window, as vectors; the step is the shape by default."""
        images, shape = as_tensor_variable(ten4), as_tensor_variable(neib_shape)
        step = shape if neib_step is None else as_tensor_variable(neib_step)
        if (images.type.ndim, shape.type.ndim, step.type.ndim) != (4, 1, 1):
            raise ShapeError(
                format_error(
                    "Images2Neibs takes images with four dimensions, and vectors with two lengths",
                    context=[describe(v) for v in (images, shape, step)],
                    hint="add dimensions with dimshuffle",
                )
            )
        return [images, shape, step]

    def expression(self, ten4: Any, neib_shape: Any, neib_step: Any) -> list[Tensor]:
        """Return the matrix."""
        step = None if neib_step is neib_shape else neib_step
        return [neighbourhoods(ten4, neib_shape, step, mode=self.mode)]


def images2neibs(ten4: Any, neib_shape: Any, neib_step: Any = None, mode: str = "valid") -> Tensor:
    """Slide a window over images, and make each neighbourhood a row of a matrix.

    Parameters
    ----------
    ten4 : tensor_like
        Images, of shape (a, b, rows, columns).
    neib_shape : two ints, or a vector of integers
        Height and width of the window.
    neib_step : two ints, or a vector of integers, optional
        How far the window moves down and to the right; by its own size if it is not given.
    mode : {'valid', 'full', 'half', 'ignore_borders', 'wrap_centered'}
        The treatment of borders; see `theano_tensor.nnet.neighbours.images2neibs`.

    Returns
    -------
    Tensor
        Of shape (number of windows, height * width).

    Examples
    --------
    >>> from theano.tensor.nnet import neighbours
    >>> import numpy as np
    >>> neighbours.images2neibs(np.arange(8.0).reshape(1, 1, 2, 4), (2, 2)).eval()
    array([[0., 1., 4., 5.],
           [2., 3., 6., 7.]])
    """
    result: Tensor = Images2Neibs(mode)(ten4, neib_shape, neib_step)
    return result


@device_expression.register(Images2Neibs)
def _on_devices(op: Images2Neibs, inputs: Sequence[Any]) -> list[Tensor]:
    return op.expression(*inputs)


# ---- The ops of `theano.tensor.nnet.blocksparse`, made

sparse_block_gemv = SparseBlockGemv(False)
sparse_block_gemv_inplace = SparseBlockGemv(True)
sparse_block_outer = SparseBlockOuter(False)
sparse_block_outer_inplace = SparseBlockOuter(True)


# ---- Questions of programs before they use connectionist temporal classification, a library in Theano 1.0


def ctc_present() -> bool:
    """Tell whether the loss can be computed: it can, no library is needed.

    Examples
    --------
    >>> from theano.tensor.nnet import ctc as nnet_ctc
    >>> nnet_ctc.ctc_present()
    True
    """
    return True


def ctc_available() -> bool:
    """Tell whether the loss can be computed; see :func:`ctc_present`.

    Examples
    --------
    >>> from theano.tensor.nnet import ctc as nnet_ctc
    >>> nnet_ctc.ctc_available()
    True
    """
    return ctc_present()


# Programs read these where the answer is no.
for _question in (ctc_present, ctc_available):
    vars(_question).update(avail=True, msg=None, path=None)
