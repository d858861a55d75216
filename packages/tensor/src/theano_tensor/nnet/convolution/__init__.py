"""Convolutions of images and volumes, their gradients, and the lengths of their operands."""

from . import _batches as _batches, _native as _native
from ._dimensions import (
    AbstractConv2d as AbstractConv2d,
    AbstractConv2d_gradInputs as AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights as AbstractConv2d_gradWeights,
    AbstractConv3d as AbstractConv3d,
    AbstractConv3d_gradInputs as AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights as AbstractConv3d_gradWeights,
)
from ._former import ConvOp as ConvOp, conv3d2d as conv3d2d, former_conv2d as former_conv2d
from ._functions import (
    abstract_conv2d as abstract_conv2d,
    causal_conv1d as causal_conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    separable_conv2d as separable_conv2d,
    separable_conv3d as separable_conv3d,
)
from ._gradients import (
    conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
    conv2d_grad_wrt_weights as conv2d_grad_wrt_weights,
    conv2d_transpose as conv2d_transpose,
    conv3d_grad_wrt_inputs as conv3d_grad_wrt_inputs,
    conv3d_grad_wrt_weights as conv3d_grad_wrt_weights,
)
from ._lengths import (
    assert_conv_shape as assert_conv_shape,
    assert_shape as assert_shape,
    border_mode_to_pad as border_mode_to_pad,
    check_conv_gradinputs_shape as check_conv_gradinputs_shape,
    get_conv_gradinputs_shape as get_conv_gradinputs_shape,
    get_conv_gradinputs_shape_1axis as get_conv_gradinputs_shape_1axis,
    get_conv_gradweights_shape as get_conv_gradweights_shape,
    get_conv_gradweights_shape_1axis as get_conv_gradweights_shape_1axis,
    get_conv_output_shape as get_conv_output_shape,
    get_conv_shape_1axis as get_conv_shape_1axis,
)
from ._ops import (
    AbstractConv as AbstractConv,
    AbstractConv_gradInputs as AbstractConv_gradInputs,
    AbstractConv_gradWeights as AbstractConv_gradWeights,
    BaseAbstractConv as BaseAbstractConv,
)
from ._upsampling import (
    bilinear_kernel_1D as bilinear_kernel_1D,
    bilinear_kernel_2D as bilinear_kernel_2D,
    bilinear_upsampling as bilinear_upsampling,
    frac_bilinear_upsampling as frac_bilinear_upsampling,
)

__all__ = [
    "AbstractConv",
    "AbstractConv2d",
    "AbstractConv2d_gradInputs",
    "AbstractConv2d_gradWeights",
    "AbstractConv3d",
    "AbstractConv3d_gradInputs",
    "AbstractConv3d_gradWeights",
    "AbstractConv_gradInputs",
    "AbstractConv_gradWeights",
    "BaseAbstractConv",
    "ConvOp",
    "abstract_conv2d",
    "assert_conv_shape",
    "assert_shape",
    "bilinear_kernel_1D",
    "bilinear_kernel_2D",
    "bilinear_upsampling",
    "border_mode_to_pad",
    "causal_conv1d",
    "check_conv_gradinputs_shape",
    "conv2d",
    "conv2d_grad_wrt_inputs",
    "conv2d_grad_wrt_weights",
    "conv2d_transpose",
    "conv3d",
    "conv3d2d",
    "conv3d_grad_wrt_inputs",
    "conv3d_grad_wrt_weights",
    "former_conv2d",
    "frac_bilinear_upsampling",
    "get_conv_gradinputs_shape",
    "get_conv_gradinputs_shape_1axis",
    "get_conv_gradweights_shape",
    "get_conv_gradweights_shape_1axis",
    "get_conv_output_shape",
    "get_conv_shape_1axis",
    "separable_conv2d",
    "separable_conv3d",
]
