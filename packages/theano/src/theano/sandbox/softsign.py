"""The function softsign, under its older address."""

from theano_tensor.nnet import softsign as softsign

__all__ = ["softsign"]
