"""Activations and losses.

What few programs need is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from theano_tensor.nnet import (
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    crossentropy_softmax_1hot as crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias as crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot as crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias as crossentropy_softmax_max_and_argmax_1hot_with_bias,
    elu as elu,
    hard_sigmoid as hard_sigmoid,
    logsoftmax as logsoftmax,
    relu as relu,
    selu as selu,
    sigmoid as sigmoid,
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)

from ..._lazy import from_module

if TYPE_CHECKING:
    from theano_tensor.nnet.blocksparse import sparse_block_dot as sparse_block_dot
    from theano_tensor.nnet.hierarchical import h_softmax as h_softmax
    from theano_tensor.nnet.tables import confusion_matrix as confusion_matrix

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
else:
    _OPS = (
        "CrossentropyCategorical1Hot",
        "CrossentropyCategorical1HotGrad",
        "CrossentropySoftmax1HotWithBiasDx",
        "CrossentropySoftmaxArgmax1HotWithBias",
        "Prepend_scalar_constant_to_each_row",
        "Prepend_scalar_to_each_row",
        "SoftmaxGrad",
        "SoftmaxWithBias",
        "crossentropy_categorical_1hot",
        "crossentropy_categorical_1hot_grad",
        "crossentropy_softmax_1hot_with_bias_dx",
        "crossentropy_softmax_argmax_1hot_with_bias",
        "logsoftmax_op",
        "prepend_0_to_each_row",
        "prepend_1_to_each_row",
        "prepend_scalar_to_each_row",
        "softmax_grad",
        "softmax_graph",
        "softmax_op",
        "softmax_with_bias",
    )
    _SOURCES = {
        **dict.fromkeys(_OPS, "theano.tensor.nnet._softmax_ops"),
        "confusion_matrix": "theano_tensor.nnet.tables",
        "h_softmax": "theano_tensor.nnet.hierarchical",
        "sparse_block_dot": "theano_tensor.nnet.blocksparse",
    }

    def __getattr__(name: str) -> object:
        """Find a name whose module has not been imported yet."""
        return from_module(__name__, _SOURCES, name)
