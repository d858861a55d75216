"""Which part of a cotangent is divided by the variable that it belongs to: the mark of logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import Apply, Variable
from theano_linker_c import scalar

from .._core._convert import as_tensor_variable
from .._core._type import Tensor
from ..creation import Alloc
from ..elemwise import Elemwise, add, fill
from ..indexing import AdvancedIncSubtensor, AdvancedSubtensor, IncSubtensor, Subtensor


def share_divided(g: Tensor, p: Tensor) -> tuple[list[Tensor], Tensor | None]:
    """Write a cotangent as ``h1 / p + h2 / p + ... + rest``.

    Parameters
    ----------
    g : Tensor
        A cotangent of `p`.
    p : Tensor

    Returns
    -------
    list of Tensor, and Tensor or None
        h1, h2, ... in the shape of `p`, and the rest; None where nothing is left.
    """
    divided: list[Tensor] = []
    others: list[Tensor] = []
    pending = [g]
    while pending:
        term = pending.pop()
        node = term.owner
        if node is not None and _applies(node, scalar.add):
            pending.extend(as_tensor_variable(v) for v in reversed(node.inputs))
            continue
        h = _dividend(term, p)
        if h is None:
            others.append(term)
        else:
            divided.append(h if h.type.broadcastable == p.type.broadcastable else fill(p, h))
    if not divided:
        return [], g
    return divided, None if not others else others[0] if len(others) == 1 else add(*others)


def _applies(node: Apply, op: scalar.ScalarOp) -> bool:
    return type(node.op) is Elemwise and node.op.scalar_op == op


def _dividend(term: Tensor, p: Tensor) -> Tensor | None:
    """Return h if a variable is ``h / p``, also if it is zero but for a part where it is ``h / p[index]``."""
    node = term.owner
    if node is None:
        return None
    if _applies(node, scalar.true_div):
        return as_tensor_variable(node.inputs[0]) if node.inputs[1] is p else None
    if not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)) or node.op.set_instead_of_inc:
        return None
    base, part, *index = node.inputs
    quotient = part.owner
    if not _is_zero(base) or quotient is None or not _applies(quotient, scalar.true_div):
        return None
    read = quotient.inputs[1].owner
    if read is None or not isinstance(read.op, (Subtensor, AdvancedSubtensor)):
        return None
    same = len(read.inputs) == 1 + len(index) and all(a is b for a, b in zip(read.inputs, [p, *index], strict=True))
    if not same or read.op.entries != node.op.entries:
        return None
    changed: Tensor = node.op(base, quotient.inputs[0], *index)
    return changed


def _is_zero(variable: Variable) -> bool:
    """Tell whether a variable is made as zeros."""
    node = variable.owner
    value: Any = variable
    if node is not None and isinstance(node.op, Alloc):
        value = node.inputs[0]
    elif node is not None and _applies(node, scalar.second):
        value = node.inputs[1]
    data = getattr(value, "data", None)
    while data is None and getattr(value, "owner", None) is not None and len(value.owner.inputs) == 1:
        # A number with more dimensions.
        value = value.owner.inputs[0]
        data = getattr(value, "data", None)
    return isinstance(data, np.ndarray) and not data.any()
