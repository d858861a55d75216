"""Functions for neural networks."""

from ._activations import (
    elu as elu,
    hard_sigmoid as hard_sigmoid,
    relu as relu,
    selu as selu,
    sigmoid as sigmoid,
    softplus as softplus,
    softsign as softsign,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)
from ._crossentropy import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    crossentropy_categorical_1hot as crossentropy_categorical_1hot,
    crossentropy_softmax_1hot as crossentropy_softmax_1hot,
    crossentropy_softmax_1hot_with_bias as crossentropy_softmax_1hot_with_bias,
    crossentropy_softmax_argmax_1hot_with_bias as crossentropy_softmax_argmax_1hot_with_bias,
    crossentropy_softmax_max_and_argmax_1hot as crossentropy_softmax_max_and_argmax_1hot,
    crossentropy_softmax_max_and_argmax_1hot_with_bias as crossentropy_softmax_max_and_argmax_1hot_with_bias,
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy,
)
from ._hierarchical import h_softmax as h_softmax
from ._softmax import (
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    logsoftmax as logsoftmax,
    softmax as softmax,
    softmax_with_bias as softmax_with_bias,
)
from ._tables import (
    confusion_matrix as confusion_matrix,
    prepend_0_to_each_row as prepend_0_to_each_row,
    prepend_1_to_each_row as prepend_1_to_each_row,
    prepend_scalar_to_each_row as prepend_scalar_to_each_row,
)

__all__ = [
    "LogSoftmax",
    "Softmax",
    "binary_crossentropy",
    "categorical_crossentropy",
    "confusion_matrix",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "elu",
    "h_softmax",
    "hard_sigmoid",
    "logsoftmax",
    "prepend_0_to_each_row",
    "prepend_1_to_each_row",
    "prepend_scalar_to_each_row",
    "relu",
    "selu",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "softmax",
    "softmax_with_bias",
    "softplus",
    "softsign",
    "ultra_fast_sigmoid",
]
