"""Functions for neural networks.

Names that few programs need are imported on first use.
"""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from ..._names import lazy_names

from . import nnet as nnet
from .nnet import (
    LogSoftmax as LogSoftmax, ScalarSoftsign as ScalarSoftsign, Softmax as Softmax,
    binary_crossentropy as binary_crossentropy, categorical_crossentropy as categorical_crossentropy,
    crossentropy_softmax_1hot as crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias as crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot as crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias as crossentropy_softmax_max_and_argmax_1hot_with_bias,
    elu as elu, hard_sigmoid as hard_sigmoid, logsoftmax as logsoftmax, relu as relu,
    scalar_softsign as scalar_softsign, selu as selu, sigmoid as sigmoid,
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy, softmax as softmax, softplus as softplus,
    softsign as softsign, ultra_fast_sigmoid as ultra_fast_sigmoid,
)

if TYPE_CHECKING:
    from . import (
        blocksparse as blocksparse, conv as conv, conv3d2d as conv3d2d, corr as corr, corr3d as corr3d, ctc as ctc,
        neighbours as neighbours, opt as opt, tests as tests,
    )
    from . import abstract_conv as abstract_conv, bn as bn, sigm as sigm
    from theano_tensor.elemwise.inplace import sigmoid_inplace as sigmoid_inplace
    from theano_tensor.nnet.convolution import ConvOp as ConvOp, abstract_conv2d as abstract_conv2d
    from theano_tensor.nnet.bn import (
        batch_normalization as batch_normalization, batch_normalization_test as batch_normalization_test,
        batch_normalization_train as batch_normalization_train,
    )
    from ._conv_rewrites import (
        conv2d as conv2d, conv2d_grad_wrt_inputs as conv2d_grad_wrt_inputs, conv2d_transpose as conv2d_transpose,
        conv3d as conv3d, separable_conv2d as separable_conv2d, separable_conv3d as separable_conv3d,
    )
    from .sigm import ScalarSigmoid as ScalarSigmoid, scalar_sigmoid as scalar_sigmoid
    from .nnet import (
        sparse_block_dot as sparse_block_dot, confusion_matrix as confusion_matrix, h_softmax as h_softmax,
        local_advanced_indexing_crossentropy_onehot as local_advanced_indexing_crossentropy_onehot,
        local_advanced_indexing_crossentropy_onehot_grad as local_advanced_indexing_crossentropy_onehot_grad,
        CrossentropyCategorical1Hot as CrossentropyCategorical1Hot,
        CrossentropyCategorical1HotGrad as CrossentropyCategorical1HotGrad,
        CrossentropySoftmax1HotWithBiasDx as CrossentropySoftmax1HotWithBiasDx,
        CrossentropySoftmaxArgmax1HotWithBias as CrossentropySoftmaxArgmax1HotWithBias,
        Prepend_scalar_constant_to_each_row as Prepend_scalar_constant_to_each_row,
        Prepend_scalar_to_each_row as Prepend_scalar_to_each_row, SoftmaxGrad as SoftmaxGrad,
        SoftmaxWithBias as SoftmaxWithBias, crossentropy_categorical_1hot as crossentropy_categorical_1hot,
        crossentropy_categorical_1hot_grad as crossentropy_categorical_1hot_grad,
        crossentropy_softmax_1hot_with_bias_dx as crossentropy_softmax_1hot_with_bias_dx,
        crossentropy_softmax_argmax_1hot_with_bias as crossentropy_softmax_argmax_1hot_with_bias,
        logsoftmax_op as logsoftmax_op, prepend_0_to_each_row as prepend_0_to_each_row,
        prepend_1_to_each_row as prepend_1_to_each_row, prepend_scalar_to_each_row as prepend_scalar_to_each_row,
        softmax_grad as softmax_grad, softmax_graph as softmax_graph, softmax_op as softmax_op,
        softmax_with_bias as softmax_with_bias,
        crossentropy_to_crossentropy_with_softmax as crossentropy_to_crossentropy_with_softmax,
        crossentropy_to_crossentropy_with_softmax_with_bias as crossentropy_to_crossentropy_with_softmax_with_bias,
        graph_merge_softmax_with_crossentropy_softmax as graph_merge_softmax_with_crossentropy_softmax,
        local_argmax_pushdown as local_argmax_pushdown, local_logsoftmax as local_logsoftmax,
        local_logsoftmax_grad as local_logsoftmax_grad,
        local_softmax_grad_to_crossentropy_with_softmax_grad as local_softmax_grad_to_crossentropy_with_softmax_grad,
        local_softmax_with_bias as local_softmax_with_bias,
        local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc as local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc,  # noqa: E501
        softmax_simplifier as softmax_simplifier,
    )
else:
    __getattr__, __dir__ = lazy_names(__name__, __package__, {
        ".": "abstract_conv bn sigm",
        "theano_tensor.elemwise.inplace": "sigmoid_inplace",
        "theano_tensor.nnet.convolution": "ConvOp abstract_conv2d",
        "theano_tensor.nnet.bn": "batch_normalization batch_normalization_test batch_normalization_train",
        "._conv_rewrites": "conv2d conv2d_grad_wrt_inputs conv2d_transpose conv3d separable_conv2d separable_conv3d",
        ".sigm": "ScalarSigmoid scalar_sigmoid",
        ".nnet": (
            "sparse_block_dot confusion_matrix h_softmax local_advanced_indexing_crossentropy_onehot "
            "local_advanced_indexing_crossentropy_onehot_grad CrossentropyCategorical1Hot "
            "CrossentropyCategorical1HotGrad CrossentropySoftmax1HotWithBiasDx CrossentropySoftmaxArgmax1HotWithBias "
            "Prepend_scalar_constant_to_each_row Prepend_scalar_to_each_row SoftmaxGrad SoftmaxWithBias "
            "crossentropy_categorical_1hot crossentropy_categorical_1hot_grad crossentropy_softmax_1hot_with_bias_dx "
            "crossentropy_softmax_argmax_1hot_with_bias logsoftmax_op prepend_0_to_each_row prepend_1_to_each_row "
            "prepend_scalar_to_each_row softmax_grad softmax_graph softmax_op softmax_with_bias "
            "crossentropy_to_crossentropy_with_softmax crossentropy_to_crossentropy_with_softmax_with_bias "
            "graph_merge_softmax_with_crossentropy_softmax local_argmax_pushdown local_logsoftmax "
            "local_logsoftmax_grad local_softmax_grad_to_crossentropy_with_softmax_grad local_softmax_with_bias "
            "local_useless_crossentropy_softmax_1hot_with_bias_dx_alloc softmax_simplifier"
        ),
    })
# isort: on
# fmt: on
# End of the names of names.toml.

if TYPE_CHECKING:
    from . import blocksparse as blocksparse, conv as conv, ctc as ctc, neighbours as neighbours
