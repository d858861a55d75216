"""The rewrites that move graphs to devices, how programs add theirs, and helpers for these."""

from __future__ import annotations

import pdb
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.contexts import get_context
from theano_gpuarray.types import GpuArrayType, GpuToGpu, TransferOp, host_from_gpu, infer_context_name, is_host_array
from theano_graph import (
    Apply,
    Constant,
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
from theano_linker_c.scalar import Add, Mul
from theano_optimize import (
    EquilibriumDatabase,
    GraphRewriter,
    NodeRewriter,
    RewriteProfile,
    SequenceDatabase,
    node_rewriter,
)

from .._core._convert import as_tensor_variable, constant
from ..elemwise import DimShuffle, Elemwise, cast
from ..joining import stack
from ..shape import ShapeI, ShapeOf
from ._lift import Lifting, Placement
from ._table import Lifter, lifters
from .ops._elementwise import GpuDimShuffle, GpuElemwise
from .ops._memory import GpuAllocEmpty, GpuReshape

# ---- The rewrites that move graphs to devices, and how programs add theirs

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


# ---- Helpers for rewrites of ops on devices

Maker = Callable[..., Any]


def find_node(v: Variable, cls: type[Any], ignore_clients: bool = False) -> Apply | None:
    """Return the node of a class of ops that computes `v`, looking through transfers.

    Parameters
    ----------
    v : Variable
    cls : type
        The class of the op.
    ignore_clients : bool
        False (default): only results that are used once are looked through, so that nothing is computed twice.

    Returns
    -------
    Apply or None
    """
    while v.owner is not None and (ignore_clients or len(v.clients) == 1):
        if isinstance(v.owner.op, cls):
            return v.owner
        if not isinstance(v.owner.op, TransferOp) or isinstance(v.owner.op, GpuToGpu):
            return None
        v = v.owner.inputs[0]
    return None


def grab_cpu_scalar(v: Any, nd: int) -> Any:
    """Return the number behind a variable, as a variable of the host without dimensions; None if there is none.

    Parameters
    ----------
    v : Variable
        Looked through for transfers, and for dimensions of length 1 that were inserted.
    nd : int
        Number of dimensions that `v` is expected to have.
    """
    if getattr(v.type, "ndim", None) != nd:
        return None
    if isinstance(v, Constant):
        data = np.asarray(v.data)
        return constant(data.reshape(()), dtype=data.dtype) if data.size == 1 else None
    node = v.owner
    if node is None:
        return None
    if isinstance(node.op, TransferOp):
        return grab_cpu_scalar(node.inputs[0], nd)
    if isinstance(node.op, (DimShuffle, GpuDimShuffle)) and node.op.new_order == ("x",) * nd:
        (x,) = node.inputs
        return host_from_gpu(x) if isinstance(x.type, GpuArrayType) else x
    return None


def is_equal(var: Variable, val: Any) -> bool:
    """Tell whether a variable is known always to be equal to a number; False where it may not be.

    Examples
    --------
    >>> from theano_tensor import constant, dscalar
    >>> from theano_tensor.device import is_equal
    >>> is_equal(constant(1.0), 1), is_equal(dscalar("x"), 1)
    (True, False)
    """
    return isinstance(var, Constant) and bool(np.all(np.asarray(var.data) == val)) and np.size(var.data) > 0


def _as_list(answer: Any) -> Any:
    if answer is None or answer is False or isinstance(answer, list):
        return answer
    return [answer]


def _named(function: Callable[[FunctionGraph, Apply], Any], maker: Maker, tracks: Sequence[Any]) -> NodeRewriter:
    function.__name__ = getattr(maker, "__name__", "rewrite")
    function.__doc__ = maker.__doc__
    return node_rewriter(list(tracks))(function)


def _operands(node: Apply, scalar_class: type[Any], cls: type[Any]) -> tuple[Any, Any] | None:
    """Return, of an elementwise node of two operands, the one that is computed by a class of ops, and the other one."""
    scalar_op = getattr(node.op, "scalar_op", None)
    if not isinstance(scalar_op, scalar_class) or len(node.inputs) != 2:
        return None
    for one, other in (node.inputs, node.inputs[::-1]):
        product = find_node(one, cls)
        if product is not None:
            return product, other
    return None


def _scaled(factor: Any, by: Any) -> Any:
    """Return a factor times a number; zeros and ones are not multiplied."""
    if is_equal(factor, 0):
        return factor
    return by if is_equal(factor, 1) else factor * by


def alpha_merge(cls: type[Any], alpha_in: int, beta_in: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which puts a factor into an op that takes one.

    The op computes ``result * alpha + like * beta``. Where its result is multiplied by a number, alpha and beta are.

    Parameters
    ----------
    cls : type
        The class of the op.
    alpha_in, beta_in : int
        Positions of alpha and beta among its inputs.

    Returns
    -------
    callable
        Takes ``maker(node, *inputs)``, which applies the op of `node` to new inputs, and returns a node rewriter of the
        same name, which is not registered.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            operands = _operands(node, Mul, cls)
            if operands is None:
                return None
            target, other = operands
            number = grab_cpu_scalar(other, node.outputs[0].type.ndim)
            alpha, beta = target.inputs[alpha_in], target.inputs[beta_in]
            if number is None or number.type.dtype != alpha.type.dtype:
                return None
            inputs: list[Any] = list(target.inputs)
            inputs[alpha_in], inputs[beta_in] = _scaled(alpha, number), _scaled(beta, number)
            return _as_list(maker(target, *inputs))

        return _named(rewrite, maker, [GpuElemwise, Elemwise])

    return decorate


def output_merge(cls: type[Any], alpha_in: int, beta_in: int, out_in: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which puts a sum into an op that adds.

    The op computes ``result * alpha + like * beta``. Where something is added to its result and beta is 0, that becomes
    `like`, and beta 1. Nothing is done where it broadcasts.

    Parameters
    ----------
    cls : type
        The class of the op.
    alpha_in, beta_in, out_in : int
        Positions of alpha, beta and `like` among its inputs.

    Returns
    -------
    callable
        As :func:`alpha_merge`.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            operands = _operands(node, Add, cls)
            if operands is None:
                return None
            target, other = operands
            like, beta = target.inputs[out_in], target.inputs[beta_in]
            same = (
                other.type.dtype == like.type.dtype
                and other.type.broadcastable == target.outputs[0].type.broadcastable
                and is_equal(beta, 0)
            )
            if not same:
                return None
            inputs: list[Any] = list(target.inputs)
            inputs[out_in] = like.type.clone(broadcastable=other.type.broadcastable).filter_variable(other)
            inputs[beta_in] = constant(1, dtype=beta.type.dtype)
            return _as_list(maker(target, *inputs))

        return _named(rewrite, maker, [GpuElemwise, Elemwise])

    return decorate


def inplace_allocempty(op: Any, idx: int) -> Callable[[Maker], NodeRewriter]:
    """Return a decorator that makes a rewrite which lets an op work in the memory of an empty array.

    An empty array that several nodes use is made once more, so that the op has its own.

    Parameters
    ----------
    op : type
        The class of the op.
    idx : int
        Position of the array among its inputs.

    Returns
    -------
    callable
        Takes ``maker(node, inputs)``, which returns the outputs of the op that works in place, and returns a node
        rewriter of the same name, which is not registered.
    """

    def decorate(maker: Maker) -> NodeRewriter:
        def rewrite(fgraph: FunctionGraph, node: Apply) -> Any:
            if not isinstance(node.op, op) or node.op.inplace:
                return None
            inputs = list(node.inputs)
            array = inputs[idx]
            if array.owner is not None and isinstance(array.owner.op, GpuAllocEmpty) and len(array.clients) > 1:
                inputs[idx] = GpuAllocEmpty(array.owner.op.dtype, array.owner.op.context_name)(*array.owner.inputs)
            return _as_list(maker(node, inputs))

        return _named(rewrite, maker, [op])

    return decorate


def _reshaped(x: Any, lengths: Sequence[Any]) -> Any:
    shape = stack([cast(as_tensor_variable(n), "int64") for n in lengths])
    if isinstance(x.type, GpuArrayType):
        return GpuReshape(len(lengths))(x, shape)
    return x.reshape(shape, ndim=len(lengths))


def pad_dims(input: Any, leftdims: int, rightdims: int) -> Any:
    """Return an array with exactly ``leftdims + rightdims`` dimensions: ones are put before, or the first ones joined.

    Parameters
    ----------
    input : Variable
    leftdims, rightdims : int
        Number of dimensions before the processed ones, and of these.

    Examples
    --------
    Of shape (3, 5, 7) with 2 and 2: (1, 3, 5, 7). Of shape (3, 5, 7, 9, 11): (15, 7, 9, 11).
    """
    n_dims, ndim = leftdims + rightdims, input.type.ndim
    if ndim == n_dims:
        return input
    lengths = [input.shape[i] for i in range(ndim)]
    if ndim < n_dims:
        return _reshaped(input, [1] * (n_dims - ndim) + lengths)
    joined = lengths[0]
    for length in lengths[1 : ndim - n_dims + 1]:
        joined = joined * length
    return _reshaped(input, [joined, *lengths[ndim - n_dims + 1 :]])


def unpad_dims(output: Any, input: Any, leftdims: int, rightdims: int) -> Any:
    """Return the result for :func:`pad_dims` of `input` with the first dimensions of `input` again.

    Parameters
    ----------
    output, input : Variable
    leftdims, rightdims : int
        As for :func:`pad_dims`.
    """
    ndim = input.type.ndim
    if ndim == output.type.ndim:
        return output
    first = [input.shape[i] for i in range(ndim - rightdims)]
    return _reshaped(output, first + [output.shape[output.type.ndim - rightdims + i] for i in range(rightdims)])
