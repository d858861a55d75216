"""Functions for neural networks.

What few programs need is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from ..._lazy import from_module
from . import nnet as nnet
from .nnet import *

if TYPE_CHECKING:
    from theano_tensor.elemwise.inplace import sigmoid_inplace as sigmoid_inplace
    from theano_tensor.nnet.convolution import ConvOp as ConvOp, abstract_conv2d as abstract_conv2d
    from theano_tensor.nnet.hierarchical import h_softmax as h_softmax
    from theano_tensor.nnet.tables import confusion_matrix as confusion_matrix

    from . import (
        abstract_conv as abstract_conv,
        blocksparse as blocksparse,
        bn as bn,
        conv as conv,
        conv3d2d as conv3d2d,
        corr as corr,
        corr3d as corr3d,
        ctc as ctc,
        neighbours as neighbours,
        opt as opt,
        sigm as sigm,
    )
    from ._convolutions import (
        conv2d as conv2d,
        conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs,
        conv2d_transpose as conv2d_transpose,
        conv3d as conv3d,
        separable_conv2d as separable_conv2d,
        separable_conv3d as separable_conv3d,
    )
    from ._softmax_ops import (
        CrossentropyCategorical1Hot as CrossentropyCategorical1Hot,
        CrossentropyCategorical1HotGrad as CrossentropyCategorical1HotGrad,
        CrossentropySoftmax1HotWithBiasDx as CrossentropySoftmax1HotWithBiasDx,
        CrossentropySoftmaxArgmax1HotWithBias as CrossentropySoftmaxArgmax1HotWithBias,
        Prepend_scalar_constant_to_each_row as Prepend_scalar_constant_to_each_row,
        Prepend_scalar_to_each_row as Prepend_scalar_to_each_row,
        SoftmaxGrad as SoftmaxGrad,
        SoftmaxWithBias as SoftmaxWithBias,
        crossentropy_categorical_1hot as crossentropy_categorical_1hot,
        crossentropy_categorical_1hot_grad as crossentropy_categorical_1hot_grad,
        crossentropy_softmax_1hot_with_bias_dx as crossentropy_softmax_1hot_with_bias_dx,
        crossentropy_softmax_argmax_1hot_with_bias as crossentropy_softmax_argmax_1hot_with_bias,
        logsoftmax_op as logsoftmax_op,
        prepend_0_to_each_row as prepend_0_to_each_row,
        prepend_1_to_each_row as prepend_1_to_each_row,
        prepend_scalar_to_each_row as prepend_scalar_to_each_row,
        softmax_grad as softmax_grad,
        softmax_graph as softmax_graph,
        softmax_op as softmax_op,
        softmax_with_bias as softmax_with_bias,
    )
    from .bn import (
        batch_normalization as batch_normalization,
        batch_normalization_test as batch_normalization_test,
        batch_normalization_train as batch_normalization_train,
    )
    from .sigm import ScalarSigmoid as ScalarSigmoid, scalar_sigmoid as scalar_sigmoid
else:
    _CONVOLUTIONS = (
        "conv2d",
        "conv2d_grad_wrt_inputs",
        "conv2d_transpose",
        "conv3d",
        "separable_conv2d",
        "separable_conv3d",
    )
    _NORMALIZATIONS = ("batch_normalization", "batch_normalization_test", "batch_normalization_train")
    _MODULES = (
        "abstract_conv",
        "blocksparse",
        "bn",
        "conv",
        "conv3d2d",
        "corr",
        "corr3d",
        "ctc",
        "neighbours",
        "opt",
        "sigm",
    )
    _SOURCES = {
        **nnet._SOURCES,
        **dict.fromkeys(_CONVOLUTIONS, f"{__name__}._convolutions"),
        **dict.fromkeys(_NORMALIZATIONS, "theano_tensor.nnet.bn"),
        **{name: f"{__name__}.{name}" for name in _MODULES},
        "ConvOp": "theano_tensor.nnet.convolution",
        "ScalarSigmoid": f"{__name__}.sigm",
        "abstract_conv2d": "theano_tensor.nnet.convolution",
        "scalar_sigmoid": f"{__name__}.sigm",
        "sigmoid_inplace": "theano_tensor.elemwise.inplace",
    }

    def __getattr__(name: str) -> object:
        """Find a name whose module has not been imported yet; a star import asks for all that is public."""
        if name == "__all__":
            return sorted({key for key in [*globals(), *_SOURCES] if not key.startswith("_")})
        return from_module(__name__, _SOURCES, name)
