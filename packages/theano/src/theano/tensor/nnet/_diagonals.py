"""Diagonals of tensors along two axes, of which convolutions of movies were made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano.gof.opt import TopoOptimizer, copy_stack_trace, local_optimizer
from theano_graph import Apply, Op, Variable, batch_rule, format_error, pullback, pushforward, shape_rule
from theano_linker_c import optdb
from theano_tensor import as_tensor_variable, zeros_like
from theano_tensor.batching import run_in_a_loop


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
