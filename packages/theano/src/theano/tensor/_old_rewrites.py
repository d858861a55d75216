"""The rewrites of `theano.tensor.opt` by their old names, as local optimizers: each stands for all rules of a name."""

from __future__ import annotations

from typing import Any

from theano.gof.opt import LocalOptGroup, LocalOptimizer, local_optimizer
from theano_graph import Apply
from theano_linker_c import ViewOp, optdb
from theano_optimize import NodeRewriter
from theano_tensor.creation import Alloc, AllocEmpty, alloc
from theano_tensor.elemwise import DimShuffle
from theano_tensor.indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor
from theano_tensor.rewrites import RULES
from theano_tensor.rewrites.allocs import is_filled_with_zeros, zeros_for_empty
from theano_tensor.shape import Reshape

from ._old_lifts import (
    local_canonicalize_alloc as local_canonicalize_alloc,
    local_dimshuffle_lift as local_dimshuffle_lift,
)


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
