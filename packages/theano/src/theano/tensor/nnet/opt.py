"""Rewrites of convolutions and of products of blocks."""

from theano_linker_c import optdb as optdb
from theano_tensor.nnet.blocksparse import SparseBlockGemv as SparseBlockGemv, SparseBlockOuter as SparseBlockOuter
from theano_tensor.nnet.convolution import (
    AbstractConv2d as AbstractConv2d,
    AbstractConv2d_gradInputs as AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights as AbstractConv2d_gradWeights,
    AbstractConv3d as AbstractConv3d,
    AbstractConv3d_gradInputs as AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights as AbstractConv3d_gradWeights,
    ConvOp as ConvOp,
    former_conv2d as conv2d,
    get_conv_output_shape as get_conv_output_shape,
)

from ..._lazy import lazy_names
from ...gof.opt import copy_stack_trace as copy_stack_trace, local_optimizer as local_optimizer
from ..type import TensorType as TensorType
from ._blocks import (
    sparse_block_gemv_inplace as sparse_block_gemv_inplace,
    sparse_block_outer_inplace as sparse_block_outer_inplace,
)
from ._conv_rewrites import (
    conv_groupopt as conv_groupopt,
    local_abstractconv3d_gemm as local_abstractconv3d_gemm,
    local_abstractconv3d_gradinputs_gemm as local_abstractconv3d_gradinputs_gemm,
    local_abstractconv3d_gradweight_gemm as local_abstractconv3d_gradweight_gemm,
    local_abstractconv_check as local_abstractconv_check,
    local_abstractconv_gemm as local_abstractconv_gemm,
    local_abstractconv_gradinputs_gemm as local_abstractconv_gradinputs_gemm,
    local_abstractconv_gradweight_gemm as local_abstractconv_gradweight_gemm,
    local_conv2d_cpu as local_conv2d_cpu,
    local_conv2d_gradinputs_cpu as local_conv2d_gradinputs_cpu,
    local_conv2d_gradweight_cpu as local_conv2d_gradweight_cpu,
    local_inplace_sparse_block_gemv as local_inplace_sparse_block_gemv,
    local_inplace_sparse_block_outer as local_inplace_sparse_block_outer,
)
from ._corr import (
    Corr3dMM as Corr3dMM,
    Corr3dMM_gradInputs as Corr3dMM_gradInputs,
    Corr3dMM_gradWeights as Corr3dMM_gradWeights,
    CorrMM as CorrMM,
    CorrMM_gradInputs as CorrMM_gradInputs,
    CorrMM_gradWeights as CorrMM_gradWeights,
)

__all__ = [
    "conv2d",
    "conv_groupopt",
    "local_abstractconv3d_gemm",
    "local_abstractconv3d_gradinputs_gemm",
    "local_abstractconv3d_gradweight_gemm",
    "local_abstractconv_check",
    "local_abstractconv_gemm",
    "local_abstractconv_gradinputs_gemm",
    "local_abstractconv_gradweight_gemm",
    "local_conv2d_cpu",
    "local_conv2d_gradinputs_cpu",
    "local_conv2d_gradweight_cpu",
    "local_inplace_sparse_block_gemv",
    "local_inplace_sparse_block_outer",
]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
