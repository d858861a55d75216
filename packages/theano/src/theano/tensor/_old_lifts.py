"""Rewrites of `theano.tensor.opt` that go further by themselves than compiled functions need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano.gof.opt import local_optimizer
from theano_graph import Apply
from theano_tensor import Tensor
from theano_tensor.creation import Alloc, alloc
from theano_tensor.elemwise import DimShuffle, Elemwise, dimshuffle
from theano_tensor.indexing.entries import known_number
from theano_tensor.shape import MakeVector


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
