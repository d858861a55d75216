"""Functions for neural networks.

What few programs need is imported when it is asked for.
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
    from theano_tensor.nnet.hierarchical import h_softmax as h_softmax
    from theano_tensor.nnet.tables import (
        confusion_matrix as confusion_matrix,
        prepend_0_to_each_row as prepend_0_to_each_row,
        prepend_1_to_each_row as prepend_1_to_each_row,
        prepend_scalar_to_each_row as prepend_scalar_to_each_row,
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
    _TABLES = ("confusion_matrix", "prepend_0_to_each_row", "prepend_1_to_each_row", "prepend_scalar_to_each_row")
    _MODULES = ("abstract_conv", "blocksparse", "bn", "conv", "conv3d2d", "ctc", "neighbours")
    _SOURCES = {
        **dict.fromkeys(_CONVOLUTIONS, "theano_tensor.nnet.convolution"),
        **dict.fromkeys(_NORMALIZATIONS, "theano_tensor.nnet.bn"),
        **dict.fromkeys(_TABLES, "theano_tensor.nnet.tables"),
        "h_softmax": "theano_tensor.nnet.hierarchical",
        **{name: f"{__name__}.{name}" for name in _MODULES},
    }

    def __getattr__(name: str) -> object:
        """Find a name whose module has not been imported yet."""
        return from_module(__name__, _SOURCES, name)
