"""The former place of `theano.tensor.nnet.conv`."""

from ..tensor.nnet.conv import *
