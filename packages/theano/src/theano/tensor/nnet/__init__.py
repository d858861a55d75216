"""Functions for neural networks."""

from . import bn as bn, nnet as nnet
from .nnet import *
