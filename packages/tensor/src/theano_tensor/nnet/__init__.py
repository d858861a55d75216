"""Functions for neural networks."""

from ._activations import (
    elu as elu,
    hard_sigmoid as hard_sigmoid,
    relu as relu,
    selu as selu,
    sigmoid as sigmoid,
    softplus as softplus,
    softsign as softsign,
)
from ._crossentropy import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
    sigmoid_binary_crossentropy as sigmoid_binary_crossentropy,
)
from ._softmax import logsoftmax as logsoftmax, softmax as softmax

__all__ = [
    "binary_crossentropy",
    "categorical_crossentropy",
    "elu",
    "hard_sigmoid",
    "logsoftmax",
    "relu",
    "selu",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "softmax",
    "softplus",
    "softsign",
]
