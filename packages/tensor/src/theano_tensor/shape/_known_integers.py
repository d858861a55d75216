"""Known elements of a vector of lengths while the expression is built.

Each op says it of its own results, as far as it can: a layer above registers the ops that it defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TypeAlias

from theano_graph import Apply, Constant, Op, Variable
from theano_linker_c.scalar import Cast

from ..elemwise import DimShuffle, Elemwise
from ._shape import MakeVector, ShapeI, ShapeOf

#: Elements in order, None where one is not known.
Integers: TypeAlias = list[int | None]


@singledispatch
def known_integers(op: Op, node: Apply, depth: int) -> Integers | None:
    """Return the known elements of the vector or scalar of integers that a node computes.

    Parameters
    ----------
    op : Op
        Of the node, whose class decides.
    node : Apply
    depth : int
        How many further nodes may be looked at in a row.

    Returns
    -------
    list of (int or None), or None
        None if not even the number of elements is known.
    """
    return None


def integers_in(variable: Variable, depth: int = 16) -> Integers | None:
    """Return the known elements of a vector or scalar of integers.

    Examples
    --------
    >>> from theano_tensor import concatenate, dmatrix
    >>> from theano_tensor.shape import integers_in
    >>> integers_in(concatenate([dmatrix("x").shape, [1]]))
    [None, None, 1]
    """
    dtype, static = getattr(variable.type, "dtype", ""), getattr(variable.type, "shape", (None, None))
    if not dtype.startswith(("int", "uint")) or len(static) > 1:
        return None
    if isinstance(variable, Constant):
        return [int(n) for n in variable.data.flat]
    owner = variable.owner
    integers = known_integers(owner.op, owner, depth - 1) if owner is not None and depth > 0 else None
    length = static[0] if static else 1
    return [None] * length if integers is None and length is not None else integers


def static_lengths(lengths: Sequence[Variable]) -> tuple[int | None, ...]:
    """Return the static shape given by symbolic lengths; a negative constant counts as unknown."""
    values = [(integers_in(v) or [None])[0] for v in lengths]
    return tuple(None if value is None or value < 0 else value for value in values)


@known_integers.register(MakeVector)
def _of_vector(op: MakeVector, node: Apply, depth: int) -> Integers:
    return [(integers_in(x, depth) or [None])[0] for x in node.inputs]


@known_integers.register(ShapeOf)
def _of_shape(op: ShapeOf, node: Apply, depth: int) -> Integers | None:
    static: Sequence[int | None] | None = getattr(node.inputs[0].type, "shape", None)
    return None if static is None else list(static)


@known_integers.register(ShapeI)
def _of_length(op: ShapeI, node: Apply, depth: int) -> Integers | None:
    static: Sequence[int | None] | None = getattr(node.inputs[0].type, "shape", None)
    return None if static is None else [static[op.i]]


@known_integers.register(DimShuffle)
def _of_dimshuffle(op: DimShuffle, node: Apply, depth: int) -> Integers | None:
    return integers_in(node.inputs[0], depth)


@known_integers.register(Elemwise)
def _of_elemwise(op: Elemwise, node: Apply, depth: int) -> Integers | None:
    if not isinstance(op.scalar_op, Cast):
        return None
    integers = integers_in(node.inputs[0], depth)
    narrow = op.scalar_op.o_type.dtype.endswith(("8", "16"))
    return [None] * len(integers) if integers is not None and narrow else integers
