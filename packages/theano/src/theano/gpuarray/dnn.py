"""Convolutions, pooling and normalization on devices; questions about NVIDIA's library for them, which is not used."""

from __future__ import annotations

from typing import Any

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device.dnn import (
    DnnBase as DnnBase, GpuDnnConv as GpuDnnConv, GpuDnnConvDesc as GpuDnnConvDesc, GpuDnnConvGradI as GpuDnnConvGradI,
    GpuDnnConvGradW as GpuDnnConvGradW, GpuDnnPool as GpuDnnPool, GpuDnnPoolBase as GpuDnnPoolBase,
    GpuDnnPoolDesc as GpuDnnPoolDesc, GpuDnnPoolGrad as GpuDnnPoolGrad,
    dnn_batch_normalization_test as dnn_batch_normalization_test,
    dnn_batch_normalization_train as dnn_batch_normalization_train, dnn_conv as dnn_conv, dnn_conv3d as dnn_conv3d,
    dnn_gradinput as dnn_gradinput, dnn_gradinput3d as dnn_gradinput3d, dnn_gradweight as dnn_gradweight,
    dnn_gradweight3d as dnn_gradweight3d, dnn_pool as dnn_pool,
)
from ._dnn_ops import (
    GpuDnnBatchNorm as GpuDnnBatchNorm, GpuDnnBatchNormInference as GpuDnnBatchNormInference,
    GpuDnnSoftmax as GpuDnnSoftmax, GpuDnnSoftmaxBase as GpuDnnSoftmaxBase, GpuDnnSoftmaxGrad as GpuDnnSoftmaxGrad,
)
from ._dnn_rnn import RNNBlock as RNNBlock
from ._dnn_transformer import (
    GpuDnnTransformerGradI as GpuDnnTransformerGradI, GpuDnnTransformerGradT as GpuDnnTransformerGradT,
    GpuDnnTransformerGrid as GpuDnnTransformerGrid, GpuDnnTransformerSampler as GpuDnnTransformerSampler,
    dnn_spatialtf as dnn_spatialtf,
)
# isort: on
# fmt: on
# End of the names of names.toml.

_NO_LIBRARY = "kernels are generated for each device, and cuDNN is not used"

#: The ways of choosing a convolution that the flags ``dnn.conv.*`` know.
DNN_CONV_ALGO_CHOOSE_ONCE = ["guess_once", "time_once"]
DNN_CONV_ALGO_CHOOSE_TIME = ["time_once", "time_on_shape_change"]


class _Question:
    """A question that is answered with no; `msg` says why."""

    def __init__(self, name: str, doc: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.avail: bool | None = False
        self.msg: str | None = _NO_LIBRARY

    def __call__(self, context_name: Any = None) -> bool:
        return False


dnn_present = _Question("dnn_present", "Tell whether the library is installed: never; `msg` says why.")
dnn_available = _Question("dnn_available", "Tell whether the library can be used: never; `msg` says why.")


def version(raises: bool = True) -> int:
    """Return the version of the library, or -1.

    Parameters
    ----------
    raises : bool
        Whether it is an error that the library cannot be used.

    Raises
    ------
    RuntimeError
        Unless `raises` is false.
    """
    if raises:
        raise RuntimeError(f"the version of cuDNN is not known: {dnn_available.msg}")
    return -1
