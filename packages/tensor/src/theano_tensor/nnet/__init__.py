"""Functions for neural networks.

Activations, softmax and losses are imported with the package; `bn`, `blocksparse`, `convolution`, `ctc` and
`neighbours` are modules that are imported when they are needed.
"""

from ..elemwise import sigmoid as sigmoid, softplus as softplus
from ._activations import (
    LogSoftmax as LogSoftmax,
    Softmax as Softmax,
    elu as elu,
    hard_sigmoid as hard_sigmoid,
    logsoftmax as logsoftmax,
    relu as relu,
    selu as selu,
    softmax as softmax,
    softmax_with_bias as softmax_with_bias,
    softsign as softsign,
    ultra_fast_sigmoid as ultra_fast_sigmoid,
)
from .losses import (
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

__all__ = [
    "LogSoftmax",
    "Softmax",
    "binary_crossentropy",
    "categorical_crossentropy",
    "crossentropy_categorical_1hot",
    "crossentropy_softmax_1hot",
    "crossentropy_softmax_1hot_with_bias",
    "crossentropy_softmax_argmax_1hot_with_bias",
    "crossentropy_softmax_max_and_argmax_1hot",
    "crossentropy_softmax_max_and_argmax_1hot_with_bias",
    "elu",
    "hard_sigmoid",
    "logsoftmax",
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
