"""Functions for neural networks.

What has to do with images is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from ..._lazy import from_module
from . import nnet as nnet
from .nnet import *

if TYPE_CHECKING:
    from theano_tensor.nnet.convolution import (
        conv2d as conv2d,
        conv2d_transpose as conv2d_transpose,
        conv3d as conv3d,
        separable_conv2d as separable_conv2d,
        separable_conv3d as separable_conv3d,
    )

    from . import (
        abstract_conv as abstract_conv,
        blocksparse as blocksparse,
        bn as bn,
        conv as conv,
        conv3d2d as conv3d2d,
        ctc as ctc,
        neighbours as neighbours,
    )
    from .bn import (
        batch_normalization as batch_normalization,
        batch_normalization_test as batch_normalization_test,
        batch_normalization_train as batch_normalization_train,
    )
else:
    _CONVOLUTIONS = ("conv2d", "conv2d_transpose", "conv3d", "separable_conv2d", "separable_conv3d")
    _NORMALIZATIONS = ("batch_normalization", "batch_normalization_test", "batch_normalization_train")
    _MODULES = ("abstract_conv", "blocksparse", "bn", "conv", "conv3d2d", "ctc", "neighbours")
    _SOURCES = {
        **dict.fromkeys(_CONVOLUTIONS, "theano_tensor.nnet.convolution"),
        **dict.fromkeys(_NORMALIZATIONS, "theano_tensor.nnet.bn"),
        **{name: f"{__name__}.{name}" for name in _MODULES},
    }

    def __getattr__(name: str) -> object:
        """Find a name whose module has not been imported yet."""
        return from_module(__name__, _SOURCES, name)
