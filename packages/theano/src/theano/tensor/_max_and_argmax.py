"""Largest elements and their positions by one op."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from theano_graph import Apply, Op, batch_rule
from theano_linker_c import optdb
from theano_tensor import Tensor, as_tensor_variable, eq, max as max_over
from theano_tensor.on_devices import device_expression
from theano_tensor.reduce import ArgMax, Max

from ..gof.opt import local_optimizer
from ._old_functions import check_and_normalize_axes, makeKeepDims


class MaxAndArgmax(Op):
    """The largest element over axes, and where it is among them.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> largest, position = T.MaxAndArgmax([1])(np.array([[1.0, 3.0, 2.0]]))
    >>> largest.eval(), position.eval()
    (array([3.]), array([1]))
    """

    __props__ = ("axis",)
    nin = 2
    nout = 2
    E_axis = "invalid axis"

    def __init__(self, axis: Sequence[int]) -> None:
        self.axis = tuple(axis)

    def get_params(self, node: Apply) -> tuple[int, ...]:
        """Return the axes."""
        return self.axis

    def make_node(self, x: Any) -> Apply:
        """Apply to a tensor."""
        variable = as_tensor_variable(x)
        gone = {axis % variable.type.ndim for axis in self.axis}
        shape = tuple(n for i, n in enumerate(variable.type.shape) if i not in gone)
        kinds = [variable.type.with_lengths(shape), variable.type.clone(dtype="int64").with_lengths(shape)]
        return Apply(self, [variable], [kind.make_variable() for kind in kinds])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        """Compute with NumPy: the axes are moved to the end and joined."""
        (x,) = inputs
        output_storage[0][0] = np.asarray(np.max(x, axis=self.axis))
        other_axes = [i for i in range(x.ndim) if i not in self.axis]
        count = prod(x.shape[i] for i in self.axis)
        rows = x.transpose([*other_axes, *self.axis]).reshape([*(x.shape[i] for i in other_axes), count])
        output_storage[1][0] = np.asarray(np.argmax(rows, axis=-1), dtype="int64")

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        """Return the lengths that are left."""
        left = tuple(n for i, n in enumerate(shapes[0]) if i not in self.axis)
        return [left, left]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Take the direction where the largest elements are."""
        (x,), (point,) = inputs, eval_points
        return [None if point is None else self._along(x, point), None]

    def _along(self, x: Any, point: Any) -> Any:
        largest = self(x)[0]
        broadcasted = largest.dimshuffle(["x" if i in self.axis else self._position(i) for i in range(x.type.ndim)])
        first = eq(x, broadcasted).astype(point.dtype)
        return (first * point).sum(axis=self.axis) / first.sum(axis=self.axis)

    def _position(self, i: int) -> int:
        return i - sum(axis < i for axis in self.axis)

    def grad(self, inp: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
        """Hand the gradient of the maximum to the elements that are the largest."""
        (x,), (g_max, _) = inp, grads
        if not isinstance(g_max, Tensor):
            return [x.zeros_like(dtype="floatX") if "float" not in x.dtype else x.zeros_like()]
        order = ["x" if i in self.axis else self._position(i) for i in range(x.type.ndim)]
        return [eq(x, max_over(x, axis=self.axis).dimshuffle(order)) * g_max.dimshuffle(order)]


def max_and_argmax(a: Any, axis: Any = None, keepdims: bool = False) -> list[Tensor]:
    """Return the largest elements over axes, and their positions; over all axes by default.

    Parameters
    ----------
    a : tensor_like
    axis : None, int or sequence of int
    keepdims : bool
        Whether reduced axes stay, with length 1.

    Returns
    -------
    tuple of two Tensor

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> largest, position = T.max_and_argmax(np.array([[1.0, 3.0, 2.0]]), axis=1)
    >>> largest.eval(), position.eval()
    (array([3.]), array([1]))
    """
    variable = as_tensor_variable(a)
    axes = sorted(set(check_and_normalize_axes(variable, axis)))
    results = MaxAndArgmax(axes or range(variable.type.ndim))(variable)
    return [makeKeepDims(variable, result, axis) if keepdims else result for result in results]


@local_optimizer([MaxAndArgmax])
def local_max_and_argmax(node: Apply) -> Any:
    """Compute only the largest elements, or only their positions, where nothing uses the others."""
    used = [bool(node.fgraph.clients(output)) for output in node.outputs]
    if all(used) or not any(used):
        return False
    (x,) = node.inputs
    return [Max(node.op.axis)(x), None] if used[0] else [None, ArgMax(node.op.axis)(x)]


optdb["canonicalize"].register("local_max_and_argmax", local_max_and_argmax, "fast_run", "fast_compile")


@device_expression.register(MaxAndArgmax)
def _on_devices(op: MaxAndArgmax, inputs: Sequence[Any]) -> list[Tensor]:
    (x,) = inputs
    return [Max(op.axis)(x), ArgMax(op.axis)(x)]


@batch_rule.register(MaxAndArgmax)
def _batch(node: Apply, inputs: list[Any], stacked: Sequence[bool]) -> list[Any]:
    ndim = node.inputs[0].type.ndim
    return list(MaxAndArgmax([axis % ndim + 1 for axis in node.op.axis])(inputs[0], return_list=True))
