"""The ops that graphs of compiled functions show for convolutions: those of Theano 1.0 for processors."""

from __future__ import annotations

from typing import Any, cast

from theano.gof.opt import copy_stack_trace, local_optimizer
from theano.gof.optdb import LocalGroupDB, TopoDB
from theano_graph import Apply, format_error
from theano_linker_c import optdb
from theano_tensor import Tensor, dimshuffle
from theano_tensor.nnet.blocksparse import SparseBlockGemv, SparseBlockOuter
from theano_tensor.nnet.convolution import (
    AbstractConv2d,
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    BaseAbstractConv,
    ConvOp,
)

from ._corr import (
    Corr3dMM,
    Corr3dMM_gradInputs,
    Corr3dMM_gradWeights,
    Correlation,
    CorrMM,
    CorrMM_gradInputs,
    CorrMM_gradWeights,
)

_ABSTRACT: dict[type, type[Correlation]] = {
    AbstractConv2d: CorrMM,
    AbstractConv2d_gradWeights: CorrMM_gradWeights,
    AbstractConv2d_gradInputs: CorrMM_gradInputs,
    AbstractConv3d: Corr3dMM,
    AbstractConv3d_gradWeights: Corr3dMM_gradWeights,
    AbstractConv3d_gradInputs: Corr3dMM_gradInputs,
}


def _as_products(abstract: type, name: str, doc: str) -> Any:
    def by_products(node: Apply) -> Any:
        # Ops that programs derive from these compute something else.
        if type(node.op) is not abstract or node.inputs[0].type.dtype == "float16":
            return False
        op = _ABSTRACT[abstract].standing_for(cast(BaseAbstractConv, node.op))
        node_copy = Apply(op, list(node.inputs), [v.type.make_variable() for v in node.outputs])
        copy_stack_trace(node.outputs[0], node_copy.outputs[0])
        return list(node_copy.outputs)

    by_products.__name__, by_products.__doc__ = name, doc
    return local_optimizer([abstract])(by_products)


local_abstractconv_gemm = _as_products(
    AbstractConv2d, "local_abstractconv_gemm", "Compute a convolution by products of matrices."
)
local_abstractconv_gradweight_gemm = _as_products(
    AbstractConv2d_gradWeights,
    "local_abstractconv_gradweight_gemm",
    "Compute the gradient of a convolution by its filters by products of matrices.",
)
local_abstractconv_gradinputs_gemm = _as_products(
    AbstractConv2d_gradInputs,
    "local_abstractconv_gradinputs_gemm",
    "Compute the gradient of a convolution by its images by products of matrices.",
)
local_abstractconv3d_gemm = _as_products(
    AbstractConv3d, "local_abstractconv3d_gemm", "Compute a convolution of volumes by products of matrices."
)
local_abstractconv3d_gradweight_gemm = _as_products(
    AbstractConv3d_gradWeights,
    "local_abstractconv3d_gradweight_gemm",
    "Compute the gradient of a convolution of volumes by its filters by products of matrices.",
)
local_abstractconv3d_gradinputs_gemm = _as_products(
    AbstractConv3d_gradInputs,
    "local_abstractconv3d_gradinputs_gemm",
    "Compute the gradient of a convolution of volumes by these by products of matrices.",
)


def _is_former(node: Apply, kind: type) -> bool:
    """Tell whether the op `ConvOp` of Theano 1.0 is able to compute a node."""
    op: Any = node.op
    return (
        type(node.op) is kind
        and node.inputs[0].type.dtype != "float16"
        and op.border_mode in ("full", "valid")
        and op.filter_flip
        and op.num_groups == 1
        and not op.unshared
        and op.filter_dilation == (1, 1)
    )


def _swapped(x: Any) -> Tensor:
    return dimshuffle(x, [1, 0, 2, 3])


def _turned(x: Any) -> Any:
    return x[:, :, ::-1, ::-1]


def _traced(node: Apply, result: Any) -> Any:
    if not node.outputs[0].type.is_super(result.type):
        result = node.outputs[0].type.filter_variable(result, allow_convert=True)
    copy_stack_trace(node.outputs[0], result)
    return [result]


@local_optimizer([AbstractConv2d])
def local_conv2d_cpu(node: Apply) -> Any:
    """Compute a convolution by the op `ConvOp`."""
    if not _is_former(node, AbstractConv2d):
        return False
    op = node.op
    images, kernel, (dx, dy) = op.imshp or (None,) * 4, op.kshp or (None,) * 4, op.subsample
    former = ConvOp(images[1:], kernel[2:], kernel[0], images[0], dx, dy, op.border_mode)
    return _traced(node, former(*node.inputs))


@local_optimizer([AbstractConv2d_gradWeights])
def local_conv2d_gradweight_cpu(node: Apply) -> Any:
    """Compute the gradient of a convolution by its filters, where steps are 1, by the op `ConvOp`."""
    if not _is_former(node, AbstractConv2d_gradWeights) or node.op.subsample != (1, 1):
        return False
    images, top, _ = node.inputs
    if node.op.border_mode == "valid":
        return _traced(node, _turned(_swapped(ConvOp()(_swapped(images), _turned(_swapped(top))))))
    return _traced(node, ConvOp()(_swapped(top), _turned(_swapped(images))))


@local_optimizer([AbstractConv2d_gradInputs])
def local_conv2d_gradinputs_cpu(node: Apply) -> Any:
    """Compute the gradient of a convolution by its images, where steps are 1, by the op `ConvOp`."""
    if not _is_former(node, AbstractConv2d_gradInputs) or node.op.subsample != (1, 1):
        return False
    kernel, top, _ = node.inputs
    mode = "full" if node.op.border_mode == "valid" else "valid"
    return _traced(node, ConvOp(output_mode=mode)(top, _turned(_swapped(kernel))))


@local_optimizer(list(_ABSTRACT))
def local_abstractconv_check(node: Apply) -> Any:
    """Refuse a convolution that nothing has taken the place of.

    No mode includes this: convolutions that are left run as they are.

    Raises
    ------
    AssertionError
        For any convolution along two or three axes, or gradient of one.
    """
    if type(node.op) in _ABSTRACT:
        raise AssertionError(
            format_error(
                f"{type(node.op).__name__} is left in the graph",
                hint="include the rewrites that are called 'conv_gemm'",
            )
        )
    return False


def _in_place(kind: type, name: str) -> Any:
    def overwriting(node: Apply) -> Any:
        if node.op.inplace:
            return False
        inplace = kind(inplace=True)(*node.inputs)
        copy_stack_trace(node.outputs[0], inplace)
        return [inplace]

    overwriting.__name__ = name
    overwriting.__doc__ = "Let blocks be added in the memory of the addend."
    return local_optimizer([kind], inplace=True)(overwriting)


local_inplace_sparse_block_gemv = _in_place(SparseBlockGemv, "local_inplace_sparse_block_gemv")
local_inplace_sparse_block_outer = _in_place(SparseBlockOuter, "local_inplace_sparse_block_outer")

#: The rewrites of convolutions, of which the first that fits is used; "conv_gemm" names the usual ones.
conv_groupopt = LocalGroupDB(name="conv_opts")
_MODES = ("fast_compile", "fast_run")
for _rewrite in (
    local_abstractconv_gemm,
    local_abstractconv_gradweight_gemm,
    local_abstractconv_gradinputs_gemm,
    local_abstractconv3d_gemm,
    local_abstractconv3d_gradweight_gemm,
    local_abstractconv3d_gradinputs_gemm,
):
    conv_groupopt.register(_rewrite.name, _rewrite, "conv_gemm", *_MODES, position=30)
for _rewrite in (local_conv2d_cpu, local_conv2d_gradweight_cpu, local_conv2d_gradinputs_cpu):
    conv_groupopt.register(_rewrite.name, _rewrite, *_MODES, position=40)
optdb.register("conv_opts", TopoDB(conv_groupopt), *_MODES, "o3", "o4", "unsafe", position=48.6)
