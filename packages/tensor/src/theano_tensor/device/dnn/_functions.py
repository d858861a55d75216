"""Convolutions, pooling and batch normalization of variables on devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from theano_gpuarray.codegen import DnnPoolingKernel
from theano_gpuarray.types import DeviceOp, GpuArrayType, host_from_gpu, infer_context_name
from theano_graph import Apply, Op, Variable, batch_rule, format_error, generic, pullback, pushforward, shape_rule
from theano_linker_c.kernels import Kernel, PoolingKernel

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import ShapeLike, TensorLike
from ...elemwise import cast
from ...nnet.bn import batch_normalization_test, batch_normalization_train
from ...shape import lengths_of, make_vector
from ...signal.pool import AveragePoolGrad, MaxPoolGrad, Pool
from .._table import DnnBase
from .._variables import as_gpuarray_variable
from ._convolution import GpuDnnConv, GpuDnnConvDesc, GpuDnnConvGradI, GpuDnnConvGradW, one_of, working_dtype
from ._library import NormalizationLayer, NormalizationLayerTest, library_results

# ---- Pooling on devices

MODES = ("max", "max_deterministic", "sum", "average", "average_inc_pad", "average_exc_pad")


class GpuDnnPoolBase(DnnBase):
    """The base of pooling and its gradient.

    Parameters
    ----------
    mode : {'max', 'max_deterministic', 'sum', 'average_inc_pad', 'average_exc_pad'}
        The largest element, the sum, or the mean of windows; 'average' is 'average_inc_pad'.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """

    __props__ = ("host_op", "mode")

    def __init__(self, mode: str = "max") -> None:
        one_of(type(self).__name__, "mode", mode, MODES)
        self.mode = "average_inc_pad" if mode == "average" else mode
        super().__init__(Pool(True, self.mode))

    def _axes_of(self, variable: Any) -> int:
        """Return along how many axes windows lie."""
        ndim = int(variable.type.ndim)
        if ndim not in (4, 5):
            raise TypeError(
                format_error(
                    f"{type(self).__name__}: images have {ndim} dimensions",
                    hint="use four, or five for volumes: batch and channels come first",
                )
            )
        return ndim - 2

    def device_kernel(self, kernel: Kernel) -> Kernel:
        """Return the kernel by which the library computes, where it does."""
        return (
            DnnPoolingKernel(kernel, self.mode == "max_deterministic") if isinstance(kernel, PoolingKernel) else kernel
        )


class GpuDnnPool(GpuDnnPoolBase):
    """Pooling of images or volumes; windows that reach over the border are left out.

    Operands are the images, and lengths, steps and padding of the windows.
    """

    def make_node(self, img: Any, ws: Any, stride: Any = None, pad: Any = None) -> Apply[Self]:
        """Apply to images and the layout of windows; steps are the lengths of windows by default, padding 0.

        Raises
        ------
        TypeError
            If images have other than four or five dimensions.
        ShapeError, ValueError
            If the layout cannot be.
        """
        image = as_operand(img)
        op = self.with_host_op(Pool(True, self.mode, self._axes_of(image)))
        layout = op.host_op.layout(ws, stride, pad)  # type: ignore[attr-defined]  # of Pool
        return DnnBase.make_node(op, image, *layout)


class GpuDnnPoolGrad(GpuDnnPoolBase):
    """The gradient of pooling.

    Operands are the images, the result, the gradient by the result, and lengths, steps and padding of the windows.
    """

    def make_node(self, *operands: Any) -> Apply[Self]:
        """Apply to images, result, gradient, and the layout of the windows.

        Raises
        ------
        TypeError
            If there are other than six operands, or images have other than four or five dimensions.
        ShapeError, ValueError
            If the layout cannot be.
        """
        if len(operands) == _OF_NODES_OF_MEANS and not self.mode.startswith("max"):
            return DnnBase.make_node(self, *operands)
        if len(operands) != _OPERANDS:
            raise TypeError(
                format_error(
                    f"GpuDnnPoolGrad takes {_OPERANDS} operands, got {len(operands)}",
                    hint="pass images, result, gradient, ws, stride and pad",
                )
            )
        image, result, gradient = map(as_operand, operands[:3])
        count = self._axes_of(image)
        layout = Pool(True, self.mode, count).layout(*operands[3:])
        if self.mode.startswith("max"):
            op = self.with_host_op(MaxPoolGrad(True, count))
            return DnnBase.make_node(op, image, result, gradient, *layout)
        op = self.with_host_op(AveragePoolGrad(True, self.mode, count))
        return DnnBase.make_node(op, gradient, make_vector(*lengths_of(image)[2:]), *layout)


@pullback.register(GpuDnnPool)
def _pullback(node: Apply[GpuDnnPool], cotangents: list[Variable]) -> Sequence[Variable | None]:
    """Gradients of means are nodes of the same kind; others are those of the op of the host."""
    if not node.op.mode.startswith("average"):
        return pullback.lookup(DeviceOp(node.op.host_op))(node, cotangents)
    image, *layout = node.inputs
    gradient = as_gpuarray_variable(cotangents[0], image.type.context_name)
    found = GpuDnnPoolGrad(node.op.mode)(image, node.outputs[0], gradient, *layout)
    return [host_from_gpu(found), *(None for _ in layout)]


#: How many operands the gradient has, and a node of it for sums and means, which needs no more than lengths of images.
_OPERANDS, _OF_NODES_OF_MEANS = 6, 5


def as_operand(x: Any) -> Any:
    """Return images as they are where they are variables, else as a constant of the default device."""
    return x if hasattr(x, "type") else as_gpuarray_variable(x, None)


class GpuDnnPoolDesc(Op):
    """A descriptor of pooling, which old pickles have; :class:`GpuDnnPool` takes the layout of windows itself.

    Parameters
    ----------
    ws, stride, pad : tuple of int
        Lengths, steps and padding of windows, two or three of each.
    mode : {'max', 'average_inc_pad', 'average_exc_pad'}

    Raises
    ------
    ValueError
        If they are not equally long, or the mode is unknown.
    """

    __props__ = ("ws", "stride", "mode", "pad")

    def __init__(
        self,
        ws: Sequence[int] = (1, 1),
        stride: Sequence[int] = (1, 1),
        mode: str = "max",
        pad: Sequence[int] = (0, 0),
    ) -> None:
        one_of(type(self).__name__, "mode", mode, MODES)
        if not len(ws) == len(stride) == len(pad) or len(ws) not in (2, 3):
            raise ValueError(
                format_error(
                    f"GpuDnnPoolDesc: ws={tuple(ws)}, stride={tuple(stride)} and pad={tuple(pad)} do not fit",
                    hint="give two or three numbers for each",
                )
            )
        self.ws, self.stride, self.pad = tuple(ws), tuple(stride), tuple(pad)
        self.mode = "average_inc_pad" if mode == "average" else mode

    def make_node(self) -> Apply[Self]:
        """Apply to nothing."""
        return Apply(self, [], [generic.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Give the descriptor itself."""
        output_storage[0][0] = self


for _table in (pullback, pushforward, shape_rule):
    _table.declare_absent(GpuDnnPoolDesc, "descriptors have neither gradients nor shapes")


batch_rule.declare_absent(GpuDnnPoolDesc, "graphs are applied to batches before they are compiled for a device")


# ---- Convolutions, pooling and batch normalization of variables on devices

_HINTS = (None, "forward", "forward!", "bprop weights", "bprop inputs")


def _operands(where: str, precision: str | None, *given: TensorLike) -> tuple[list[Any], str, Hashable]:
    """Return operands on the device in the dtype in which is computed, the dtype of the result, and the context."""
    name = infer_context_name(*given)
    hosts = [as_tensor_variable(v) for v in given]
    dtypes = [v.type.dtype for v in hosts]
    dtype, own_dtype = working_dtype(where, precision, *dtypes), working_dtype(where, "as_input", *dtypes)
    return [as_gpuarray_variable(v if v.type.dtype == dtype else cast(v, dtype), name) for v in hosts], own_dtype, name


def _returned(result: Variable, dtype: str, name: Hashable) -> Any:
    """Return a result in a dtype."""
    return result if result.type.dtype == dtype else as_gpuarray_variable(cast(result, dtype), name)  # type: ignore[attr-defined]


def _convolved(
    where: str,
    operands: Sequence[TensorLike],
    options: tuple[Any, Sequence[int], Sequence[int], str, int],
    direction_hint: str | None,
    algo: str | None,
    precision: str | None,
) -> Any:
    one_of(where, "direction_hint", direction_hint, _HINTS)
    border_mode, subsample, dilation, conv_mode, num_groups = options
    (img, kerns), dtype, name = _operands(where, precision, *operands)
    desc = GpuDnnConvDesc(border_mode, subsample, dilation, conv_mode, img.type.dtype, num_groups)
    return _returned(GpuDnnConv(algo, num_groups=num_groups)(img, kerns, desc), dtype, name)


def dnn_conv(
    img: TensorLike,
    kerns: TensorLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    conv_mode: str = "conv",
    direction_hint: str | None = None,
    workmem: str | None = None,
    algo: str | None = None,
    precision: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Convolve images with filters on a device.

    Parameters
    ----------
    img : tensor_like
        Of shape (batch, channels, rows, columns).
    kerns : tensor_like
        Of shape (filters, channels of a group, rows, columns).
    border_mode : {'valid', 'full', 'half'}, int, or pair of int
        Zeros around the images.
    subsample : pair of int
        Steps of the filters.
    dilation : pair of int
        Distances of the elements that neighbouring elements of a filter meet.
    conv_mode : {'conv', 'cross'}
        Whether filters are flipped.
    direction_hint : {'forward', 'forward!', 'bprop weights', 'bprop inputs'}, optional
        The computation that the convolution belongs to; it is computed in the same way.
    workmem : str, optional
        The former name of `algo`.
    algo : str, optional
        A documented way of computing; all give the same, and are computed in the same way. The flag
        ``dnn.conv.algo_fwd`` by default.
    precision : {'as_input_f32', 'as_input', 'float16', 'float32', 'float64'}, optional
        In which dtype is computed; the result has that of the operands. The flag ``dnn.conv.precision`` by default.
    num_groups : int
        Number of parts of the channels, each convolved for itself.

    Returns
    -------
    GpuArrayVariable
        In the context of the operands.

    Raises
    ------
    ValueError
        If an argument cannot be, or both `workmem` and `algo` are given.
    ShapeError
        If operands have other than four dimensions.
    """
    if workmem is not None and algo is not None:
        raise ValueError(format_error("dnn_conv: workmem and algo are one argument", hint="give algo alone"))
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _convolved("dnn_conv", (img, kerns), options, direction_hint, workmem if algo is None else algo, precision)


def dnn_conv3d(
    img: TensorLike,
    kerns: TensorLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1, 1),
    dilation: Sequence[int] = (1, 1, 1),
    conv_mode: str = "conv",
    direction_hint: str | None = None,
    algo: str | None = None,
    precision: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Convolve volumes with filters on a device; as :func:`dnn_conv`, with one more dimension."""
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _convolved("dnn_conv3d", (img, kerns), options, direction_hint, algo, precision)


def _gradient(
    where: str,
    op: Any,
    operands: Sequence[TensorLike],
    shape: ShapeLike,
    options: tuple[Any, Sequence[int], Sequence[int], str, int],
    precision: str | None,
) -> Any:
    border_mode, subsample, dilation, conv_mode, num_groups = options
    (first, topgrad), dtype, name = _operands(where, precision, *operands)
    desc = GpuDnnConvDesc(border_mode, subsample, dilation, conv_mode, first.type.dtype, num_groups)
    return _returned(op(first, topgrad, shape, desc), dtype, name)


def dnn_gradweight(
    img: TensorLike,
    topgrad: TensorLike,
    kerns_shp: ShapeLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`dnn_conv` by its filters.

    Parameters
    ----------
    img, topgrad : tensor_like
        Images, and the gradient by the result of the convolution.
    kerns_shp : sequence or vector of int
        Shape of the filters.
    border_mode, subsample, dilation, conv_mode, precision, algo, num_groups
        As for the convolution; the flag ``dnn.conv.algo_bwd_filter`` says the algorithm by default.

    Raises
    ------
    ValueError, ShapeError
        As for the convolution.
    """
    op = GpuDnnConvGradW(algo=algo, num_groups=num_groups)
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _gradient("dnn_gradweight", op, (img, topgrad), kerns_shp, options, precision)


def dnn_gradweight3d(
    img: TensorLike,
    topgrad: TensorLike,
    kerns_shp: ShapeLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1, 1),
    dilation: Sequence[int] = (1, 1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`dnn_conv3d` by its filters; as :func:`dnn_gradweight`."""
    op = GpuDnnConvGradW(algo=algo, num_groups=num_groups)
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _gradient("dnn_gradweight3d", op, (img, topgrad), kerns_shp, options, precision)


def dnn_gradinput(
    kerns: TensorLike,
    topgrad: TensorLike,
    img_shp: ShapeLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1),
    dilation: Sequence[int] = (1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`dnn_conv` by its images.

    Parameters
    ----------
    kerns, topgrad : tensor_like
        Filters, and the gradient by the result of the convolution.
    img_shp : sequence or vector of int
        Shape of the images.
    border_mode, subsample, dilation, conv_mode, precision, algo, num_groups
        As for the convolution; the flag ``dnn.conv.algo_bwd_data`` says the algorithm by default.

    Raises
    ------
    ValueError, ShapeError
        As for the convolution.
    """
    op = GpuDnnConvGradI(algo=algo, num_groups=num_groups)
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _gradient("dnn_gradinput", op, (kerns, topgrad), img_shp, options, precision)


def dnn_gradinput3d(
    kerns: TensorLike,
    topgrad: TensorLike,
    img_shp: ShapeLike,
    border_mode: Any = "valid",
    subsample: Sequence[int] = (1, 1, 1),
    dilation: Sequence[int] = (1, 1, 1),
    conv_mode: str = "conv",
    precision: str | None = None,
    algo: str | None = None,
    num_groups: int = 1,
) -> Any:
    """Return the gradient of :func:`dnn_conv3d` by its volumes; as :func:`dnn_gradinput`."""
    op = GpuDnnConvGradI(algo=algo, num_groups=num_groups)
    options = border_mode, subsample, dilation, conv_mode, num_groups
    return _gradient("dnn_gradinput3d", op, (kerns, topgrad), img_shp, options, precision)


def dnn_pool(
    img: TensorLike,
    ws: TensorLike,
    stride: TensorLike | None = None,
    mode: str = "max",
    pad: TensorLike | None = None,
) -> Any:
    """Pool images or volumes on a device; windows that reach over the border are left out.

    Parameters
    ----------
    img : tensor_like
        Of shape (batch, channels, ...), with two or three more dimensions.
    ws : tuple of int, or vector of integers
        Lengths of the windows.
    stride : tuple of int, or vector of integers, optional
        Steps of the windows; 1 by default.
    mode : {'max', 'max_deterministic', 'sum', 'average_inc_pad', 'average_exc_pad'}
    pad : tuple of int, or vector of integers, optional
        Widths of borders of zeros; none by default.

    Raises
    ------
    TypeError
        If `img` has other than four or five dimensions.
    ValueError, ShapeError
        If the mode is unknown, or the layout of the windows cannot be.
    """
    image = as_gpuarray_variable(img, infer_context_name(img))
    steps = (1,) * (image.type.ndim - 2) if stride is None else stride
    return GpuDnnPool(mode)(image, ws, steps, pad)


def dnn_batch_normalization_train(
    inputs: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    mode: str = "per-activation",
    epsilon: float = 1e-4,
    running_average_factor: float = 0.1,
    running_mean: TensorLike | None = None,
    running_var: TensorLike | None = None,
) -> tuple[Any, ...]:
    """Normalize a batch on a device with its own mean and variance.

    Parameters
    ----------
    inputs : tensor_like
    gamma, beta : tensor_like
        Scale and shift, of length 1 along the normalized axes.
    mode : {'per-activation', 'spatial'}
        Whether averages are over the first axis, or over all but the second.
    epsilon : float
        Is added to the variance; at least 1e-5.
    running_average_factor : float
        Weight of the batch in the new running averages.
    running_mean, running_var : tensor_like, optional
        Running averages so far; both or none.

    Returns
    -------
    tuple of GpuArrayVariable
        The normalized inputs, their mean, the inverse of their standard deviation, and the new running averages, if
        there were any before.

    Raises
    ------
    ValueError, ShapeError
        As :func:`theano.tensor.nnet.bn.batch_normalization_train`; also if the mode is unknown.
    """
    one_of("dnn_batch_normalization_train", "mode", mode, ("per-activation", "spatial"))
    operands = [v for v in (inputs, gamma, beta, running_mean, running_var) if v is not None]
    name = infer_context_name(*operands)
    results = batch_normalization_train(
        inputs, gamma, beta, mode, epsilon, running_average_factor, running_mean, running_var
    )
    running = operands[3:]
    arrays = [_array(v) for v in operands]
    numbers = [_number(v) for v in ([epsilon, running_average_factor] if running else [epsilon])]
    layer = NormalizationLayer(mode, bool(running))
    outcomes = library_results(layer, name, *arrays[:3], *numbers, *arrays[3:])
    return tuple(outcomes or (as_gpuarray_variable(v, name) for v in results))


def _number(v: Any) -> Any:
    """Return a number as a float64."""
    return cast(v, "float64") if isinstance(v, Variable) else as_tensor_variable(np.float64(v))


def _array(v: TensorLike) -> Any:
    """Return an operand as a variable, on the device or on the host."""
    return v if isinstance(getattr(v, "type", None), GpuArrayType) else as_tensor_variable(v)


def dnn_batch_normalization_test(
    inputs: TensorLike,
    gamma: TensorLike,
    beta: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    mode: str = "per-activation",
    epsilon: float = 1e-4,
) -> Any:
    """Normalize a batch on a device with a given mean and variance.

    Parameters
    ----------
    inputs : tensor_like
    gamma, beta, mean, var : tensor_like
        Of length 1 along the normalized axes.
    mode, epsilon
        As for :func:`dnn_batch_normalization_train`.

    Raises
    ------
    ValueError, ShapeError
        As :func:`theano.tensor.nnet.bn.batch_normalization_test`; also if the mode is unknown.
    """
    one_of("dnn_batch_normalization_test", "mode", mode, ("per-activation", "spatial"))
    name = infer_context_name(inputs, gamma, beta, mean, var)
    result = batch_normalization_test(inputs, gamma, beta, mean, var, mode, epsilon)
    arrays = [_array(v) for v in (inputs, gamma, beta, mean, var)]
    results = library_results(NormalizationLayerTest(mode), name, *arrays, _number(epsilon))
    return results[0] if results is not None else as_gpuarray_variable(result, name)
