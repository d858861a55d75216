"""Looking at tensor expressions and building new ones, for rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp

from .._core._convert import constant
from .._core._type import TensorType
from .._core._typing import TensorLike
from .._core._variable import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle

FLOATS = frozenset({"float16", "float32", "float64"})


def lift(op: ScalarOp) -> Elemwise:
    """Return the tensor op that applies a scalar op to each element; one instance for each scalar op."""
    name = _LIFTED.get(op)
    if name is None:
        name = _LIFTED[op] = Elemwise(op)
    return name


_LIFTED: dict[ScalarOp, Elemwise] = {}


def call(op: ScalarOp, *inputs: Tensor) -> Tensor:
    """Apply a scalar op with one result to tensors."""
    return lift(op).make_node(*inputs).outputs[0]


def operands(variable: Variable, *ops: ScalarOp) -> list[Tensor] | None:
    """Return the operands of one of the scalar `ops` that makes `variable`, or None if it is made otherwise."""
    node = variable.owner
    if node is None or not isinstance(node.op, Elemwise):
        return None
    own = node.op.scalar_op
    kind = type(own)
    for op in ops:
        # Equality of ops is a call; that of classes is not, and settles nearly all questions.
        if own is op or (kind is type(op) and own == op):
            inputs: list[Tensor] = node.inputs
            return inputs
    return None


def kind_of(variable: Variable) -> type[ScalarOp] | None:
    """Return the class of the scalar op that is applied to each element to make `variable`, or None."""
    node = variable.owner
    return type(node.op.scalar_op) if node is not None and isinstance(node.op, Elemwise) else None


def number(variable: Variable) -> Any:
    """Return the single number that a constant holds, also one with inserted dimensions; None for all else."""
    while True:
        node = variable.owner
        if node is None:
            if not isinstance(variable, Constant):
                return None
            data = variable.data
            return data.item() if isinstance(data, np.ndarray) and data.size == 1 else None
        if not isinstance(node.op, DimShuffle):
            return None
        variable = node.inputs[0]


def scalar_constant(value: TensorLike, dtype: str, ndim: int) -> Tensor:
    """Return a constant with `ndim` dimensions of length 1."""
    return constant(np.full((1,) * ndim, value, dtype=dtype))


def cast_to(variable: Tensor, dtype: str) -> Tensor:
    """Return `variable` with another dtype."""
    return variable if variable.type.dtype == dtype else call(scalar.cast(dtype), variable)


def can_replace(old: Variable, new: Variable) -> bool:
    """Tell whether `new` has the type of `old` or a more precise one, and the same dimensions to broadcast."""
    pattern = getattr(old.type, "broadcastable", None)
    return old.type.is_super(new.type) and pattern == getattr(new.type, "broadcastable", None)


def fitted(node: Apply[Any, Tensor], new: Tensor, donors: Sequence[Variable] | None = None) -> list[Variable] | None:
    """Return `new` as the replacement for the only output of an elementwise node, or None if it cannot be made to fit.

    Parameters
    ----------
    node : Apply
    new : Tensor
        With as many dimensions as the output. It is converted to the dtype of the output, and filled into its shape.
    donors : sequence of Variable, optional
        Where a shape may be taken from; the inputs of the node by default.
    """
    old: TensorType = node.outputs[0].type
    new = cast_to(new, old.dtype)
    if can_replace(node.outputs[0], new):
        return [new]
    if new.type.ndim != old.ndim:
        return None
    for donor in node.inputs if donors is None else donors:
        if isinstance(donor, Tensor) and donor.type.ndim == old.ndim:
            filled = call(scalar.second, donor, new)
            if can_replace(node.outputs[0], filled):
                return [filled]
    return None


def is_float(variable: Variable) -> bool:
    """Tell whether a tensor holds real floating-point numbers."""
    return getattr(variable.type, "dtype", None) in FLOATS


def is_broadcast(variable: Tensor) -> bool:
    """Tell whether all dimensions of a tensor have static length 1: it holds one number."""
    return all(variable.type.broadcastable)


def negated(variable: Variable) -> Tensor | None:
    """Return x if `variable` is ``-x`` for real floating-point x; the negative of an unsigned integer wraps around."""
    inner = operands(variable, scalar.neg)
    return inner[0] if inner is not None and is_float(inner[0]) else None


def maker(variable: Tensor) -> Apply[Any, Tensor]:
    """Return the node that makes a variable which is known to be made by one."""
    node = variable.owner
    assert node is not None
    return node


def sole_client(fgraph: FunctionGraph, variable: Variable) -> Apply[Any, Tensor] | None:
    """Return the node that is the only user of `variable`, or None."""
    return fgraph.sole_client(variable)


#: So many users of a variable are looked at to find something that is there already.
MAX_CLIENTS = 64


def remade(fgraph: FunctionGraph, op: Op, *inputs: Variable) -> Tensor:
    """Return the result of an op on some inputs: the one that the graph has, or a new one.

    Two places that are rewritten one after the other then have the same variables, and their common factors can
    cancel before equal nodes are merged.
    """
    clients = fgraph.clients(inputs[0]) if inputs[0] in fgraph.variables else []
    for node, _ in clients[:MAX_CLIENTS]:
        if isinstance(node, Apply) and node.op == op and len(node.inputs) == len(inputs):
            if all(map(_is_same, node.inputs, inputs)):
                there: Tensor = node.outputs[0]
                return there
    node_copy: Tensor = op.make_node(*inputs).outputs[0]
    return node_copy


def shuffled(fgraph: FunctionGraph, variable: Tensor, order: Sequence[int | str]) -> Tensor:
    """Return `variable` with its dimensions in another order: the one that the graph has, or a new one."""
    view = dimshuffle(variable, list(order))
    node = view.owner
    return (
        remade(fgraph, node.op, variable)
        if node is not None and view is not variable and variable is node.inputs[0]
        else view
    )


def _is_same(a: Variable, b: Variable) -> bool:
    if a is b:
        return True
    return isinstance(a, Constant) and isinstance(b, Constant) and a.type == b.type and a.signature() == b.signature()
