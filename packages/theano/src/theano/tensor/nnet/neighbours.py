"""Rectangular neighbourhoods in images."""

from theano_tensor.nnet.neighbours import neibs2images as neibs2images

from ..._names import lazy_names
from ._layer_ops import Images2Neibs as Images2Neibs, images2neibs as images2neibs

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
