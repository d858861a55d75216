"""The rewrites that move graphs to devices, and how programs add theirs."""

from __future__ import annotations

import pdb
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from theano_gpuarray.contexts import get_context
from theano_gpuarray.types import GpuArrayType, TransferOp, host_from_gpu, infer_context_name, is_host_array
from theano_graph import (
    Apply,
    FunctionGraph,
    Op,
    TheanoError,
    Variable,
    config,
    debugprint,
    describe,
    format_error,
    toposort,
    warn_user,
)
from theano_linker_c import function_cache_depends_on
from theano_linker_c.modes import optdb
from theano_optimize import (
    EquilibriumDatabase,
    GraphRewriter,
    NodeRewriter,
    RewriteProfile,
    SequenceDatabase,
    node_rewriter,
)

from ..on_devices import Lifter, lifters
from ..shape import ShapeI, ShapeOf
from ._lift import Lifting, Placement

LEVELS = ("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe")


class CpuOpError(TheanoError, AssertionError):
    """An op of a function for a device stays on the CPU, and the flag ``assert_no_cpu_op`` says "raise"."""


class LiftToDevice(GraphRewriter):
    """Let nodes run on devices that have operands there, and remove transfers that cancel."""

    def __init__(self) -> None:
        super().__init__("gpuarray_graph_optimization")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change the graph."""
        profile = RewriteProfile(self.name)
        placement = Placement(fgraph)
        if placement.is_empty:
            return profile
        for old, new in Lifting(placement).replacements():
            fgraph.replace(old, new, reason=self.name)
            profile.count(self.name)
        return profile


class AssertNoCpuOp(GraphRewriter):
    """Tell of nodes that stay on the CPU in graphs with nodes on a device, as the flag ``assert_no_cpu_op`` says."""

    def __init__(self) -> None:
        super().__init__("assert_no_cpu_op")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Look at the graph; change nothing."""
        profile = RewriteProfile(self.name)
        action = config.assert_no_cpu_op
        if action == "ignore" or not any(isinstance(v.type, GpuArrayType) for v in fgraph.variables):
            return profile
        for node in toposort(fgraph.inputs, fgraph.outputs):
            if _is_cpu_op(node):
                _tell(node, action)
        return profile


def _told_while_built() -> str | None:
    """Return None where flags ask for something to be told of graphs while they are rewritten."""
    return "" if config.assert_no_cpu_op in ("ignore", "raise") and not config.metaopt.verbose else None


# A function that is found on disk is not rewritten, and nothing would be told.
function_cache_depends_on(_told_while_built)


def _is_cpu_op(node: Apply) -> bool:
    """Tell whether a node computes arrays on the host."""
    if isinstance(node.op, (TransferOp, ShapeI, ShapeOf)):
        return False
    return any(is_host_array(v) and v.type.ndim > 0 for v in (*node.inputs, *node.outputs))


def _tell(node: Apply, action: str) -> None:
    text = format_error(
        f"`{node.op}` stays on the CPU (flag assert_no_cpu_op={action})",
        context=[describe(v) for v in node.outputs],
        hint="use ops that devices have code for, or assert_no_cpu_op=ignore",
    )
    if action == "raise":
        raise CpuOpError(text)
    if action == "warn":
        warn_user(text)
        return
    print(text)
    debugprint(node)
    pdb.set_trace()  # as the flag asks


gpu_seqopt = SequenceDatabase("gpuarray")
#: Node rewriters of programs, which run when the graph has been moved.
gpu_optimizer = EquilibriumDatabase("gpuarray_local_optimizations")
gpu_seqopt.register("gpuarray_graph_optimization", LiftToDevice(), *LEVELS, "gpuarray", position=1)
gpu_seqopt.register("gpuarray_local_optimizations", gpu_optimizer, *LEVELS, "gpuarray", position=2)
gpu_seqopt.register("gpuarray_cut_transfers", LiftToDevice(), *LEVELS, "gpuarray", position=3)
optdb.register("gpuarray_opt", gpu_seqopt, *LEVELS, "gpuarray", position=49.2)
optdb.register("assert_no_cpu_op", AssertNoCpuOp(), *LEVELS, "gpuarray", position=49.3)


def op_lifter(op_classes: Iterable[type[Op] | Op], cuda_only: bool = False) -> Callable[[Lifter], NodeRewriter]:
    """Return a decorator of a function that lifts nodes of some ops; :func:`register_opt` registers its result.

    Parameters
    ----------
    op_classes : iterable of classes of ops, or of ops
    cuda_only : bool
        Whether nodes stay on the host where the device is none of CUDA.

    Returns
    -------
    callable
        Takes ``fn(op, context_name, inputs, outputs)``, which gives an op for the device, its outputs, or None.

    Examples
    --------
    >>> from theano_graph import Op
    >>> from theano_tensor.device import op_lifter, register_opt
    >>> class Flip(Op): ...
    >>> class GpuFlip(Op): ...
    >>> @register_opt("fast_compile")
    ... @op_lifter([Flip])
    ... def local_gpua_flip(op, context_name, inputs, outputs):
    ...     return GpuFlip()
    """
    tracks = list(op_classes)

    def decorate(function: Lifter) -> NodeRewriter:
        def lifter(op: Any, name: Hashable, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Any:
            if cuda_only and _kind_of(name) != "cuda":
                return None
            return function(op, name, inputs, outputs)

        def lift(fgraph: FunctionGraph, node: Apply) -> Any:
            return _lifted_alone(lifter, node)

        lift.__name__ = getattr(function, "__name__", "lift")
        lift.__doc__ = function.__doc__
        rewriter = node_rewriter(tracks)(lift)
        _functions[rewriter] = (lifter, tracks)
        return rewriter

    return decorate


#: The results of `op_lifter`, with their functions.
_functions: dict[NodeRewriter, tuple[Lifter, list[Any]]] = {}


def _kind_of(name: Hashable) -> str:
    return get_context(name).kind


def _lifted_alone(lifter: Lifter, node: Apply) -> Any:
    """Lift a node by itself, as a rewrite that programs apply by hand."""
    from_device = [v for v in node.inputs if v.owner is not None and v.owner.op == host_from_gpu]
    if not from_device:
        return None
    name = infer_context_name(*from_device)
    answer = lifter(node.op, name, node.inputs, node.outputs)
    if answer is None or answer is False:
        return None
    if callable(answer):
        answer = answer(*node.inputs, return_list=True)
    results = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    return [host_from_gpu(v) if isinstance(v.type, GpuArrayType) else v for v in results]


def register_opt(*tags: str, **kwargs: Any) -> Callable[[Any], Any]:
    """Return a decorator that registers a rewrite for devices.

    Parameters
    ----------
    *tags : str
        Further tags.
    name : str, optional
        Its name, by default that of the function.

    Returns
    -------
    callable
        Takes a node rewriter. A result of :func:`op_lifter` decides with the others which nodes go to a device; other
        rewriters are applied when the graph has been moved.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(format_error(f"register_opt does not know {sorted(kwargs)}", hint="pass tags, and name="))

    def register(rewriter: Any) -> Any:
        function = _functions.get(rewriter) if isinstance(rewriter, NodeRewriter) else None
        if function is not None:
            lifter, tracks = function
            lifters.register(*(t if isinstance(t, type) else type(t) for t in tracks))(lifter)
        else:
            label: Any = name or getattr(rewriter, "name", None) or getattr(rewriter, "__name__", "rewriter")
            gpu_optimizer.register(label, rewriter, *LEVELS, "gpuarray", *tags)
        return rewriter

    return register


def register_opt2(tracks: Iterable[Any], *tags: str, **kwargs: Any) -> Callable[[Lifter], Any]:
    """Return a decorator that makes a lifter of a function and registers it.

    Parameters
    ----------
    tracks : iterable of classes of ops, or of ops
    *tags : str
    name : str, optional
        See :func:`op_lifter` and :func:`register_opt`.
    """

    def decorate(function: Lifter) -> Any:
        return register_opt(*tags, **kwargs)(op_lifter(tracks)(function))

    return decorate
