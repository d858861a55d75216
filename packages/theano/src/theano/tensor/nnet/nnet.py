"""Activations and losses."""

from theano_tensor.nnet import (
    binary_crossentropy as binary_crossentropy,
    categorical_crossentropy as categorical_crossentropy,
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
)
