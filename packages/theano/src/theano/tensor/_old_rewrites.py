"""Local optimizers by their documented names, and the op that some of them are for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from theano_graph import Apply, Op, batch_rule
from theano_linker_c import ViewOp, optdb
from theano_optimize import NodeRewriter
from theano_tensor import Tensor, as_tensor_variable, eq, max as max_over
from theano_tensor.creation import Alloc, AllocEmpty, alloc
from theano_tensor.elemwise import DimShuffle, Elemwise, dimshuffle
from theano_tensor.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from theano_tensor.indexing.entries import known_number
from theano_tensor.on_devices import device_expression
from theano_tensor.reduce import ArgMax, Max
from theano_tensor.rewrites import RULES
from theano_tensor.rewrites.allocs import is_filled_with_zeros, zeros_for_empty
from theano_tensor.shape import MakeVector, Reshape

from ..gof.opt import LocalOptGroup, LocalOptimizer, local_optimizer
from ._old_functions import check_and_normalize_axes, makeKeepDims

# ---- Rewrites of `theano.tensor.opt` that go further by themselves than compiled functions need


def is_dimshuffle_useless(new_order: Sequence[int | str], input: Tensor) -> bool:
    """Tell whether a dimshuffle returns its operand: in order, but for dimensions of length 1.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.tensor import matrix
    >>> T.opt.is_dimshuffle_useless((0, 1), matrix()), T.opt.is_dimshuffle_useless((1, 0), matrix())
    (True, False)
    """
    if len(new_order) != input.type.ndim:
        return False
    single = [axis for axis, flag in enumerate(input.type.broadcastable) if flag]
    return all(e == axis or (axis in single and (e == "x" or e in single)) for axis, e in enumerate(new_order))


@local_optimizer([DimShuffle])
def local_dimshuffle_lift(node: Apply) -> Any:
    """Move a dimshuffle to the inputs of the node below it, join it with others, or leave it out."""
    x = node.inputs[0]
    order: list[Any] = list(node.op.order)
    inner = x.owner
    if inner is not None and isinstance(inner.op, Elemwise) and len(getattr(x, "clients", ())) == 1:
        return list(inner.op(*(_lifted(v, order) for v in inner.inputs), return_list=True))
    joined = inner is not None and isinstance(inner.op, DimShuffle)
    if inner is not None and joined:
        below = inner.op.order
        x, order = inner.inputs[0], [e if e == "x" else below[e] for e in order]
    if is_dimshuffle_useless(order, x):
        return [x]
    return [_lifted(x, order)] if joined else False


def _lifted(variable: Any, order: Sequence[Any]) -> Any:
    view = DimShuffle(variable.type.broadcastable, order)(variable)
    lifted: Any = local_dimshuffle_lift.transform(view.owner) if view.owner is not None else False
    return lifted[0] if lifted else view


@local_optimizer([Alloc])
def local_canonicalize_alloc(node: Apply) -> Any:
    """Leave out an alloc that changes no length, and make dimensions of length 1 on the left by a dimshuffle."""
    x, *lengths = node.inputs
    filled = node.outputs[0]
    if x.type.ndim == len(lengths):
        same_lengths = all(n is not None and known_number(v) == n for v, n in zip(lengths, x.type.shape, strict=True))
        return [x] if same_lengths and x.type.dtype == filled.type.dtype else False
    added = 0
    while added < len(lengths) - x.type.ndim and known_number(lengths[added]) == 1:
        added += 1
    if not added:
        return False
    lengths_left = lengths[added:]
    return [dimshuffle(alloc(x, *lengths_left) if lengths_left else x, ["x"] * added + list(range(len(lengths_left))))]


class MakeVectorPrinter:
    """Prints a vector of scalars as a list of them.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.printing import pprint
    >>> T.opt.MakeVectorPrinter.__name__
    'MakeVectorPrinter'
    """

    def process(self, r: Any, pstate: Any) -> str:
        """Return the text of a variable that `MakeVector` made; TypeError for others."""
        if r.owner is None or not isinstance(r.owner.op, MakeVector):
            raise TypeError("only a vector that is made of scalars is printed as their list")
        before = getattr(pstate, "precedence", None)
        pstate.precedence = 1000
        try:
            parts = [pstate.pprinter.process(x) for x in r.owner.inputs]
        finally:
            pstate.precedence = before
        return f"[{', '.join(parts)}]"


# ---- The rewrites of `theano.tensor.opt` by their old names, as local optimizers: each stands for all rules of a name


class NamedOptimizer(LocalOptGroup):
    """The rules that a documented name stands for, as one local optimizer."""

    def __init__(self, name: str, rules: list[NodeRewriter]) -> None:
        super().__init__(*rules, name=name)
        self.__name__ = name
        self.__doc__ = "\n".join(filter(None, (rule.__doc__ for rule in rules)))

    def tracks(self) -> Any:
        """Return the ops and op classes of all rules."""
        found: list[Any] = []
        for rule in self.opts:
            tracked = rule.tracks()
            if tracked is None:
                return None
            found.extend(tracked)
        return list(dict.fromkeys(found))

    def __reduce__(self) -> tuple[Any, ...]:
        return named, (self.name,)


_NAMED: dict[str, LocalOptimizer] = {}
#: Rules that a name stood for too, which are registered on another level here.
_FURTHER = {"local_add_specialize": "sum_of_one_term", "local_mul_specialize": "sum_of_one_term"}


def _means(name: str, entry: Any) -> bool:
    return name == entry.key or name in entry.names or _FURTHER.get(name) == entry.rewriter.name


def named(name: str) -> LocalOptimizer:
    """Return the local optimizer that is registered under a documented name.

    Raises
    ------
    KeyError
        If there is none.
    """
    if name not in _NAMED:
        rules = [entry.rewriter for entry in RULES if _means(name, entry)]
        if not rules:
            raise KeyError(name)
        _NAMED[name] = NamedOptimizer(name, rules)
    return _NAMED[name]


def _fits(node: Apply, new: Any) -> Any:
    old = node.outputs[0].type
    same = new.type.dtype == old.dtype and new.type.broadcastable == old.broadcastable
    return [new] if same else False


@local_optimizer([ViewOp])
def local_view_op(node: Apply) -> Any:
    """Leave out an op that returns a view of its operand."""
    return [node.inputs[0]]


@local_optimizer([AllocEmpty])
def local_alloc_empty_to_zeros(node: Apply) -> Any:
    """Fill memory that holds anything with zeros."""
    return zeros_for_empty.transform(node.fgraph, node) or False


@local_optimizer([IncSubtensor])
def local_incsubtensor_of_zeros_to_setsubtensor(node: Apply) -> Any:
    """Set a part of zeros instead of incrementing it."""
    x = node.inputs[0]
    if node.op.set_instead_of_inc or not is_filled_with_zeros(x):
        return False
    return _fits(node, IncSubtensor(node.op.entries, set_instead_of_inc=True)(*node.inputs))


@local_optimizer([AdvancedSubtensor])
def local_adv_sub1_adv_inc_sub1(node: Apply) -> Any:
    """``set_subtensor(x[i], y)[i] -> y`` for numbers i of rows that are all different."""
    inner = node.inputs[0].owner
    if inner is None or not isinstance(inner.op, AdvancedIncSubtensor) or inner.op.entries != node.op.entries:
        return False
    if not inner.op.set_instead_of_inc and not is_filled_with_zeros(inner.inputs[0]):
        return False
    rows = node.inputs[1:]
    constant = getattr(rows[0], "data", None) if len(rows) == 1 else None
    if list(inner.inputs[2:]) != list(rows) or constant is None or len(set(constant.ravel().tolist())) != constant.size:
        return False
    return _fits(node, inner.inputs[1])


@local_optimizer([Alloc])
def local_alloc_dimshuffle(node: Apply) -> Any:
    """``alloc(dimshuffle(x), lengths) -> alloc(x, lengths)`` where the dimshuffle adds dimensions on the left only."""
    view = node.inputs[0].owner
    if view is None or not isinstance(view.op, DimShuffle):
        return False
    x = view.inputs[0]
    order = list(view.op.order)
    if order != ["x"] * (len(order) - x.type.ndim) + list(range(x.type.ndim)):
        return False
    return _fits(node, alloc(x, *node.inputs[1:]))


@local_optimizer([Reshape])
def local_reshape_dimshuffle(node: Apply) -> Any:
    """``reshape(dimshuffle(x), shape) -> reshape(x, shape)`` where the dimshuffle only adds dimensions."""
    view = node.inputs[0].owner
    if view is None or not isinstance(view.op, DimShuffle):
        return False
    x = view.inputs[0]
    if [e for e in view.op.order if not isinstance(e, str)] != list(range(x.type.ndim)):
        return False
    return _fits(node, node.op(x, node.inputs[1]))


@local_optimizer([DimShuffle])
def local_dimshuffle_alloc(node: Apply) -> Any:
    """``dimshuffle(alloc(x, lengths)) -> alloc(x, 1, lengths)`` where the dimshuffle adds dimensions on the left."""
    filled = node.inputs[0].owner
    if filled is None or not isinstance(filled.op, Alloc):
        return False
    ndim = node.inputs[0].type.ndim
    order = list(node.op.order)
    added = len(order) - ndim
    if added <= 0 or order != ["x"] * added + list(range(ndim)):
        return False
    return _fits(node, alloc(filled.inputs[0], *[1] * added, *filled.inputs[1:]))


@local_optimizer([DimShuffle])
def local_dimshuffle_subtensor(node: Apply) -> Any:
    """``dimshuffle(x[index])`` without dimensions of length 1, with these taken out by the index."""
    part = node.inputs[0].owner
    order = list(node.op.order)
    if part is None or not isinstance(part.op, Subtensor) or "x" in order or order != sorted(order):
        return False
    pattern = node.inputs[0].type.broadcastable
    dropped = [axis for axis in range(len(pattern)) if axis not in order]
    if not dropped or not all(pattern[axis] for axis in dropped):
        return False
    index = tuple(slice(None) if axis in order else 0 for axis in range(len(pattern)))
    inner = node.inputs[0]
    return _fits(node, inner[index])


OWN = {
    name: value for name, value in globals().items() if name.startswith("local_") and isinstance(value, LocalOptimizer)
}
_NAMED.update(OWN)

#: Rules that the library does not have itself, by phase: a mode applies them where it includes them by name.
_INCLUDED_BY_NAME = {
    "canonicalize": ("local_view_op", "local_incsubtensor_of_zeros_to_setsubtensor"),
    "uncanonicalize": ("local_reshape_dimshuffle", "local_dimshuffle_subtensor"),
}
for _phase, _names in _INCLUDED_BY_NAME.items():
    for _name in _names:
        optdb[_phase].register(_name, OWN[_name])

local_max_to_min = named("local_max_to_min")


# ---- Largest elements and their positions by one op


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
