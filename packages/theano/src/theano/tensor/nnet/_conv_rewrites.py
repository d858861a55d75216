"""Convolutions with the rewrites that give them the ops of Theano 1.0, and diagonals, which convolutions in 3D sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from theano_graph import Apply, Op, Variable, batch_rule, format_error, pullback, pushforward, shape_rule
from theano_linker_c import optdb
from theano_tensor import Tensor, as_tensor_variable, dimshuffle, zeros_like
from theano_tensor.batching import run_in_a_loop
from theano_tensor.nnet import convolution as _convolution
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
    conv2d as conv2d,
    conv3d as conv3d,
    separable_conv2d as separable_conv2d,
    separable_conv3d as separable_conv3d,
)

from ...gof.opt import TopoOptimizer, copy_stack_trace, local_optimizer
from ...gof.optdb import LocalGroupDB, TopoDB
from ._corr import (
    Corr3dMM,
    Corr3dMM_gradInputs,
    Corr3dMM_gradWeights,
    Correlation,
    CorrMM,
    CorrMM_gradInputs,
    CorrMM_gradWeights,
)

# ---- The ops that graphs of compiled functions show for convolutions: those of Theano 1.0 for processors

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


# ---- Diagonals of tensors along two axes, of which convolutions of movies were made


def get_diagonal_subtensor_view(x: Any, i0: Any, i1: Any) -> Any:
    """Return a view of an array in which index k of axis `i1` sees the element k positions earlier along axis `i0`.

    Parameters
    ----------
    x : ndarray
    i0, i1 : int
        Axes, the first not shorter than the second.

    Returns
    -------
    ndarray
        ``result[i, k] = x[i + n - 1 - k, k]`` for these two axes, where the second has the length n.

    Raises
    ------
    NotImplementedError
        If axis `i0` is shorter.

    Examples
    --------
    >>> from theano.tensor.nnet import conv3d2d
    >>> import numpy as np
    >>> conv3d2d.get_diagonal_subtensor_view(np.arange(6).reshape(3, 2), 0, 1)
    array([[2, 1],
           [4, 3]])
    """
    first, second = int(i0), int(i1)
    if x.shape[first] < x.shape[second]:
        raise NotImplementedError(
            format_error(
                f"the diagonals of shape {x.shape} along {first} and {second}", hint="make the first axis longer"
            )
        )
    shape, strides = list(x.shape), list(x.strides)
    shape[first] -= x.shape[second] - 1
    strides[second] -= strides[first]
    start = [slice(None)] * x.ndim
    start[first] = slice(x.shape[second] - 1, None)
    return np.lib.stride_tricks.as_strided(x[tuple(start)], shape, strides)


class _Diagonals(Op):
    """Base of ops on diagonals.

    Parameters
    ----------
    inplace : bool
        Whether the memory of the first input is used.
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace}}" if self.inplace else type(self).__name__

    def _applied(self, x: Any, *rest: Any) -> Apply:
        variables = [as_tensor_variable(v) for v in (x, *rest)]
        return Apply(self, list(variables), [variables[0].type.clone(shape=(None,) * variables[0].type.ndim)()])


class DiagonalSubtensor(_Diagonals):
    """Parts of a tensor along its diagonals: see :func:`get_diagonal_subtensor_view`.

    Examples
    --------
    >>> from theano.tensor.nnet import conv3d2d
    >>> conv3d2d.DiagonalSubtensor()([[0, 1], [2, 3], [4, 5]], 0, 1).eval()
    array([[2, 1],
           [4, 3]])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        if self.inplace:
            self.view_map = {0: [0]}

    def make_node(self, x: Any, i0: Any, i1: Any) -> Apply:
        """Apply to a tensor and the numbers of two axes."""
        return self._applied(x, i0, i1)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Take a view, or a copy."""
        view = get_diagonal_subtensor_view(*inputs)
        output_storage[0][0] = view if self.inplace else view.copy()

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Nothing depends differentiably on numbers of axes."""
        return [[True], [False], [False]]


class IncDiagonalSubtensor(_Diagonals):
    """A tensor with something added along its diagonals; the gradient of :class:`DiagonalSubtensor`.

    Examples
    --------
    >>> from theano.tensor.nnet import conv3d2d
    >>> conv3d2d.IncDiagonalSubtensor()([[0, 0], [0, 0], [0, 0]], 0, 1, [[1, 2], [3, 4]]).eval()
    array([[0, 2],
           [1, 4],
           [3, 0]])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x: Any, i0: Any, i1: Any, amt: Any) -> Apply:
        """Apply to a tensor, the numbers of two axes, and the addend."""
        return self._applied(x, i0, i1, amt)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Add in place, or to a copy."""
        x, i0, i1, amount = inputs
        result = x if self.inplace else x.copy()
        get_diagonal_subtensor_view(result, i0, i1)[...] += amount
        output_storage[0][0] = result

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Nothing depends differentiably on numbers of axes."""
        return [[True], [False], [False], [True]]


diagonal_subtensor = DiagonalSubtensor(False)
inc_diagonal_subtensor = IncDiagonalSubtensor(False)


@pullback.register(DiagonalSubtensor)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    x, i0, i1 = node.inputs
    gradient: Variable = inc_diagonal_subtensor(zeros_like(x), i0, i1, cotangents[0])
    return [gradient, None, None]


@pullback.register(IncDiagonalSubtensor)
def _pullback_inc(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    _, i0, i1, _ = node.inputs
    return [cotangents[0], None, None, diagonal_subtensor(cotangents[0], i0, i1)]


@pushforward.register(DiagonalSubtensor)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[0] is None else diagonal_subtensor(tangents[0], *node.inputs[1:])]


@pushforward.register(IncDiagonalSubtensor)
def _pushforward_inc(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    (x, i0, i1, amount), (by_x, _, _, by_amount) = node.inputs, tangents
    if by_x is None and by_amount is None:
        return [None]
    base = zeros_like(x) if by_x is None else by_x
    return [inc_diagonal_subtensor(base, i0, i1, zeros_like(amount) if by_amount is None else by_amount)]


@shape_rule.register(IncDiagonalSubtensor)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@local_optimizer([DiagonalSubtensor, IncDiagonalSubtensor], inplace=True)
def local_inplace_DiagonalSubtensor(node: Apply) -> Any:
    """Let diagonals be views, and be added to in their own memory."""
    if node.op.inplace:
        return False
    inplace = type(node.op)(inplace=True)(*node.inputs)
    copy_stack_trace(node.outputs[0], inplace)
    return [inplace]


optdb.register(
    "local_inplace_DiagonalSubtensor",
    TopoOptimizer(local_inplace_DiagonalSubtensor, failure_callback=TopoOptimizer.warn_inplace),
    "fast_run",
    "inplace",
    position=60,
)


batch_rule.register(DiagonalSubtensor, IncDiagonalSubtensor)(run_in_a_loop)


# ---- Convolutions, with the rewrites that give them the ops of Theano 1.0 in compiled functions

P = ParamSpec("P")
R = TypeVar("R")


def _with_lengths(function: Callable[P, R], name: str) -> Callable[P, R]:
    """Return the function, which then insists on the lengths along which filters slide: several may be possible."""
    declared = signature(function)
    required = declared.replace(
        parameters=[p.replace(default=p.empty) if p.name == name else p for p in declared.parameters.values()]
    )
    first_length = 2

    @wraps(function)
    def insisting(*args: P.args, **kwargs: P.kwargs) -> R:
        shape: Any = required.bind(*args, **kwargs).arguments[name]
        hint = "say at least the lengths along the axes along which filters slide"
        if shape is None:
            raise TypeError(format_error(f"{function.__name__}: {name} is None", hint=hint))
        if isinstance(shape, Variable):
            raise ValueError(
                format_error(f"{function.__name__}: {name} is a list of lengths, not one variable", hint=hint)
            )
        lengths: Sequence[Any] = list(shape)
        if None in [n for n in (lengths[first_length:] or lengths) if not isinstance(n, Variable)]:
            raise ValueError(format_error(f"{function.__name__}: {name} = {shape} has no lengths", hint=hint))
        return function(*args, **kwargs)

    insisting.__signature__ = required  # type: ignore[attr-defined]  # read by inspect.signature
    return insisting


conv2d_grad_wrt_inputs = _with_lengths(_convolution.conv2d_grad_wrt_inputs, "input_shape")
conv3d_grad_wrt_inputs = _with_lengths(_convolution.conv3d_grad_wrt_inputs, "input_shape")
conv2d_grad_wrt_weights = _with_lengths(_convolution.conv2d_grad_wrt_weights, "filter_shape")
conv3d_grad_wrt_weights = _with_lengths(_convolution.conv3d_grad_wrt_weights, "filter_shape")
conv2d_transpose = _with_lengths(_convolution.conv2d_transpose, "output_shape")
