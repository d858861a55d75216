"""Which implementation computes a convolution on a device, by rules or by measurement."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from theano_gpuarray.arrays import asarray
from theano_gpuarray.contexts import cudnn_problem, get_context, has_cudnn, list_contexts
from theano_gpuarray.region import run_kernel
from theano_gpuarray.types import DeviceOp, device_kernel
from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    TheanoError,
    Variable,
    config,
    describe,
    format_error,
    toposort,
)
from theano_linker_c.kernels import ConvolutionTask
from theano_optimize import GraphRewriter, RewriteProfile

from ...nnet.convolution import (
    AbstractConv2d_gradInputs,
    AbstractConv2d_gradWeights,
    AbstractConv3d_gradInputs,
    AbstractConv3d_gradWeights,
    BaseAbstractConv,
    get_conv_output_shape,
)
from ...rewrites.opt_in import give_choice
from ..ops import (
    GpuCorr3dMM,
    GpuCorr3dMM_gradInputs,
    GpuCorr3dMM_gradWeights,
    GpuCorrMM,
    GpuCorrMM_gradInputs,
    GpuCorrMM_gradWeights,
)
from ._convolution import GpuDnnConv, GpuDnnConvGradI, GpuDnnConvGradW

# ---- Measures implementations of a convolution on the device where it runs, for operands of its shapes

_RUNS = 3


def fastest(node: Apply, candidates: Mapping[str, Op]) -> Op | None:
    """Return the op that takes the least time on the device.

    Parameters
    ----------
    node : Apply
        A convolution on a device.
    candidates : mapping of str to Op
        The candidates, by names that the flag ``metaopt.verbose`` shows.

    Returns
    -------
    Op or None
        None where there is no candidate, or the shapes of the operands are not known. They are where types tell them,
        the arguments `input_shape` and `filter_shape` of convolutions, or test values.
    """
    shapes = known_shapes(node)
    if shapes is None:
        _tell(1, f"conv_meta: the shapes of {describe(node.outputs[0])} are not known, and nothing was measured")
        return None
    name = node.outputs[0].type.context_name
    rng = np.random.default_rng(0)
    values: list[Any] = []
    for v, shape in zip(node.inputs, shapes, strict=True):
        if isinstance(shape, np.ndarray):
            values.append(shape)
        else:
            values.append(asarray(rng.normal(size=shape).astype(v.type.dtype), context=get_context(name)))
    times = {label: _seconds(op, node, values) for label, op in candidates.items()}
    for label, seconds in times.items():
        _tell(2, f"conv_meta: {seconds * 1e6:.0f} us by {label} for {describe(node.outputs[0])}")
    best = min(times, key=lambda label: times[label], default=None)
    return None if best is None else candidates[best]


def _seconds(op: Any, node: Apply, values: list[Any]) -> float:
    """Return the least time of some runs, after one that compiles kernels."""
    name = node.outputs[0].type.context_name
    context = get_context(name)
    kernel = device_kernel(op.applied(node.op.host_node(node), node.inputs, context_name=name))
    best = float("inf")
    for run in range(_RUNS + 1):
        context.synchronize()
        begin = time.perf_counter()
        run_kernel(kernel, context, values)
        context.synchronize()
        if run:
            best = min(best, time.perf_counter() - begin)
    return best


def known_shapes(node: Apply) -> list[Any] | None:
    """Return the shapes of the arrays that a convolution on a device reads, and lengths that it is given.

    Returns
    -------
    list of (tuple of int or ndarray), or None
        Arrays where the operand is a vector of lengths; None where something is not known.
    """
    host: BaseAbstractConv = node.op.host_op
    images, filters = _complete(host.imshp), _complete(host.kshp)
    arrays = [_shape_of(v) for v in node.inputs[:2]]
    if len(node.inputs) == 2:
        shapes = [arrays[0] or images, arrays[1] or filters]
        return None if None in shapes else shapes
    lengths = _value_of(node.inputs[2])
    by_filters = "gradWeights" in type(host).__name__
    result, other = (filters, images) if by_filters else (images, filters)
    if lengths is None and result is not None:
        lengths = np.asarray(result[2:])
    first = arrays[0] or other
    if first is None or lengths is None:
        return None
    top = arrays[1]
    if top is None and images is not None and filters is not None:
        top = tuple(get_conv_output_shape(images, filters, host.border_mode, host.subsample, host.filter_dilation))
    return None if top is None else [first, top, np.asarray(lengths, "int64")]


def _complete(shape: Any) -> tuple[int, ...] | None:
    return None if shape is None or any(n is None for n in shape) else tuple(int(n) for n in shape)


def _shape_of(variable: Variable) -> tuple[int, ...] | None:
    """Return the shape that a type tells, or a test value has."""
    lengths = _complete(getattr(variable.type, "shape", None))
    if lengths is None:
        value = _value_of(variable)
        lengths = None if value is None else tuple(np.shape(value))
    return lengths


def _value_of(variable: Variable) -> Any:
    if isinstance(variable, Constant):
        return variable.data
    shared = getattr(variable, "get_value", None)
    if shared is not None:
        return shared(borrow=True)
    test_value = getattr(variable.tag, "test_value", None) if variable.has_tag() else None
    # A transferred variable has the test value of its source.
    node = variable.owner
    if test_value is None and node is not None and len(node.inputs) == 1 and type(node.op).__name__ == "GpuFromHost":
        return _value_of(node.inputs[0])
    return test_value


def _tell(level: int, text: str) -> None:
    if config.metaopt.verbose >= level:
        print(text, file=sys.stderr)


# ---- Which implementation computes a convolution on a device: cuDNN, or products of matrices of our own
#
# Convolutions are moved to devices as they are; the rewrites here then choose, in this order: by the tags
# ``conv_gemm`` and ``conv_meta`` ask for where somebody includes them, cuDNN (``conv_dnn``), and products
# (``conv_gemm``). Each can be excluded. ``cudnn`` is included to get an error where that library cannot be used.

_PRODUCTS: dict[ConvolutionTask, tuple[Any, Any]] = {
    "forward": (GpuCorrMM, GpuCorr3dMM),
    "input_grad": (GpuCorrMM_gradInputs, GpuCorr3dMM_gradInputs),
    "weight_grad": (GpuCorrMM_gradWeights, GpuCorr3dMM_gradWeights),
}
_LIBRARY: dict[ConvolutionTask, tuple[Any, str]] = {
    "forward": (GpuDnnConv, "algo_fwd"),
    "input_grad": (GpuDnnConvGradI, "algo_bwd_data"),
    "weight_grad": (GpuDnnConvGradW, "algo_bwd_filter"),
}
#: The values of the flags where nobody has set them.
_DEFAULTS = {"algo_fwd": "small", "algo_bwd_data": "none", "algo_bwd_filter": "none"}


class CudnnMissing(TheanoError, AssertionError):
    """A function was compiled with ``optimizer_including=cudnn``, and a device cannot use cuDNN."""


class NoConvolution(TheanoError, AssertionError):
    """All implementations of a convolution on devices are excluded."""


def _task(op: Op) -> ConvolutionTask:
    if isinstance(op, (AbstractConv2d_gradInputs, AbstractConv3d_gradInputs)):
        return "input_grad"
    return "weight_grad" if isinstance(op, (AbstractConv2d_gradWeights, AbstractConv3d_gradWeights)) else "forward"


def _is_open(node: Apply) -> bool:
    """Tell whether a node is a convolution on a device for which nothing has been chosen yet."""
    return type(node.op) is DeviceOp and isinstance(node.op.host_op, BaseAbstractConv)


def by_products(node: Apply) -> Op:
    """Return the op that computes an open node by products of matrices."""
    op: Op = _PRODUCTS[_task(node.op.host_op)][node.op.host_op.convdim - 2].of(node.op.host_op)
    return op


def by_library(node: Apply, algo: str | None = None) -> Op | None:
    """Return the op that computes an open node by cuDNN; None where its context has none."""
    if not has_cudnn(get_context(node.outputs[0].type.context_name)):
        return None
    op: Op = _LIBRARY[_task(node.op.host_op)][0].of(node.op.host_op, algo)
    return op


def by_library_with_memory(node: Apply) -> Op | None:
    """As `by_library`, but where the flags do not say how, the fastest algorithm is guessed, of any memory.

    That is left to do where the rewrite before, which has the tag ``low_memory``, is excluded.
    """
    flag = _LIBRARY[_task(node.op.host_op)][1]
    is_default = getattr(config.dnn.conv, flag) == _DEFAULTS[flag]
    return by_library(node, "guess_on_shape_change" if is_default else None)


def by_measuring(node: Apply) -> Op | None:
    """Return the op that was the fastest of all; None where the shapes of the operands are not known."""
    excluded = set(str(config.metaopt.optimizer_excluding).split(":"))
    candidates: dict[str, Op] = {}
    if "conv_gemm" not in excluded:
        candidates["conv_gemm"] = by_products(node)
    if not excluded & {"conv_dnn", "cudnn"}:
        for algo in (None, "time_on_shape_change"):
            op = by_library(node, algo)
            if op is not None:
                candidates[f"conv_dnn {algo or 'as the flag says'}"] = op
    return fastest(node, candidates)


class ChooseConvolutions(GraphRewriter):
    """Replace convolutions on devices for which nothing has been chosen yet.

    Parameters
    ----------
    name : str
    choose : callable
        ``node -> op``, or None where this is no implementation of the node.
    """

    def __init__(self, name: str, choose: Callable[[Apply], Op | None]) -> None:
        super().__init__(name)
        self._choose = choose

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph."""
        profile = RewriteProfile(self.name)
        for node in [node for node in fgraph.apply_nodes if _is_open(node)]:
            op: Any = self._choose(node)
            if op is not None:
                name = node.outputs[0].type.context_name
                new = op.applied(node.op.host_node(node), node.inputs, context_name=name)
                fgraph.replace(node.outputs[0], new.outputs[0], reason=self.name)
                profile.count(self.name)
        return profile


class CheckConvolutions(GraphRewriter):
    """Raise where a convolution on a device is left for which nothing has been chosen."""

    def __init__(self) -> None:
        super().__init__("conv_check")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Look at the graph; change nothing.

        Raises
        ------
        NoConvolution
            If implementations are excluded, and no other one computes this.
        """
        for node in toposort(fgraph.inputs, fgraph.outputs):
            if _is_open(node):
                raise NoConvolution(_left(node.outputs[0], node.op))
        return RewriteProfile(self.name)


def _left(variable: Variable, op: Op) -> str:
    return format_error(
        f"no implementation of `{op}` is left on the device: conv_gemm is excluded, and conv_dnn is, too, or cuDNN "
        "cannot be used",
        context=[describe(variable)],
        hint="take one of the two out of optimizer_excluding, or leave the convolution on the host with device=cpu",
    )


class RequireCudnn(GraphRewriter):
    """Raise where a device that has been opened cannot use cuDNN."""

    def __init__(self) -> None:
        super().__init__("cudnn")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Look at the contexts.

        Raises
        ------
        CudnnMissing
            If one cannot use it.
        """
        for name in list_contexts():
            problem = cudnn_problem(get_context(name))
            if problem is not None:
                raise CudnnMissing(
                    format_error(
                        f"optimizer_including=cudnn, and cuDNN cannot be used in the context {name}",
                        context=problem.splitlines(),
                        hint="theano-doctor lists libraries and devices; without that tag convolutions are computed by "
                        "kernels of our own",
                    )
                )
        return RewriteProfile(self.name)


for _rewriter in (
    RequireCudnn(),
    ChooseConvolutions("conv_gemm_alone", by_products),
    ChooseConvolutions("conv_meta", by_measuring),
    ChooseConvolutions("low_memory", by_library),
    ChooseConvolutions("conv_dnn", by_library_with_memory),
    ChooseConvolutions("conv_gemm", by_products),
    CheckConvolutions(),
):
    give_choice(_rewriter)

__all__ = ["fastest", "known_shapes", "CudnnMissing", "NoConvolution"]
