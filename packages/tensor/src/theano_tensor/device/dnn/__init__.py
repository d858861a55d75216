"""Ops and functions for neural networks on devices, by their documented names."""

from .._table import DnnBase as DnnBase
from ._convolution import (
    GpuDnnConv as GpuDnnConv,
    GpuDnnConvDesc as GpuDnnConvDesc,
    GpuDnnConvGradI as GpuDnnConvGradI,
    GpuDnnConvGradW as GpuDnnConvGradW,
)
from ._functions import (
    GpuDnnPool as GpuDnnPool,
    GpuDnnPoolBase as GpuDnnPoolBase,
    GpuDnnPoolDesc as GpuDnnPoolDesc,
    GpuDnnPoolGrad as GpuDnnPoolGrad,
    dnn_batch_normalization_test as dnn_batch_normalization_test,
    dnn_batch_normalization_train as dnn_batch_normalization_train,
    dnn_conv as dnn_conv,
    dnn_conv3d as dnn_conv3d,
    dnn_gradinput as dnn_gradinput,
    dnn_gradinput3d as dnn_gradinput3d,
    dnn_gradweight as dnn_gradweight,
    dnn_gradweight3d as dnn_gradweight3d,
    dnn_pool as dnn_pool,
)
from ._library import (
    GpuDnnLayer as GpuDnnLayer,
    LayerOp as LayerOp,
    NormalizationLayer as NormalizationLayer,
    NormalizationLayerGrad as NormalizationLayerGrad,
    NormalizationLayerTest as NormalizationLayerTest,
    SoftmaxLayer as SoftmaxLayer,
    SoftmaxLayerGrad as SoftmaxLayerGrad,
    library_results as library_results,
)
from ._selection import CudnnMissing as CudnnMissing, NoConvolution as NoConvolution

__all__ = [
    "CudnnMissing",
    "DnnBase",
    "GpuDnnConv",
    "GpuDnnConvDesc",
    "GpuDnnConvGradI",
    "GpuDnnConvGradW",
    "GpuDnnLayer",
    "GpuDnnPool",
    "GpuDnnPoolBase",
    "GpuDnnPoolDesc",
    "GpuDnnPoolGrad",
    "LayerOp",
    "NoConvolution",
    "NormalizationLayer",
    "NormalizationLayerGrad",
    "NormalizationLayerTest",
    "SoftmaxLayer",
    "SoftmaxLayerGrad",
    "dnn_batch_normalization_test",
    "dnn_batch_normalization_train",
    "dnn_conv",
    "dnn_conv3d",
    "dnn_gradinput",
    "dnn_gradinput3d",
    "dnn_gradweight",
    "dnn_gradweight3d",
    "dnn_pool",
    "library_results",
]
