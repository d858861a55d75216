"""Elementwise operations that do nothing, or whose result is known; constants in the dtype that they are used in."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import Exactness

from .._core._convert import constant
from .._core._variable import Tensor
from ..elemwise import Elemwise
from ..shape import MakeVector, ShapeI
from ._language import call, cast_to, fitted, is_float, number, operands, scalar_constant
from ._registry import rule

Found = list[Variable] | None
_EQUAL_TO_ITSELF: dict[ScalarOp, bool] = {
    scalar.eq: True,
    scalar.le: True,
    scalar.ge: True,
    scalar.neq: False,
    scalar.lt: False,
    scalar.gt: False,
}


def _known(node: Apply, value: Any) -> Found:
    output = node.outputs[0]
    return fitted(node, scalar_constant(value, output.type.dtype, output.type.ndim))


def _is_discrete(variable: Variable) -> bool:
    dtype = getattr(variable.type, "dtype", "")
    return dtype == "bool" or "int" in dtype


@rule(
    scalar.add,
    scalar.mul,
    reach=0,
    key="local_useless_elemwise",
)
def sum_of_one_term(fgraph: FunctionGraph, node: Apply) -> Found:
    """``add(x) -> x`` and ``mul(x) -> x``."""
    return fitted(node, cast(Tensor, node.inputs[0])) if len(node.inputs) == 1 else None


@rule(
    *_EQUAL_TO_ITSELF,
    reach=0,
    key="local_useless_elemwise_comparison",
    names=("local_useless_elemwise",),
)
def comparison_with_itself(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x == x`` is true and ``x < x`` is false; what NaN would answer otherwise is left alone."""
    a, b = node.inputs
    op = node.op.scalar_op
    if a is not b or not (_is_discrete(a) or (is_float(a) and op in (scalar.lt, scalar.gt))):
        return None
    return _known(node, _EQUAL_TO_ITSELF[op])


@rule(
    scalar.lt,
    scalar.le,
    scalar.gt,
    scalar.ge,
    scalar.eq,
    reach=2,
    key="local_useless_comparison_of_length",
    names=("local_useless_elemwise_comparison",),
)
def comparison_of_length(fgraph: FunctionGraph, node: Apply) -> Found:
    """Lengths of dimensions are not negative: ``x.shape[0] < 0`` is false, ``x.shape[0] >= 0`` is true."""
    a, b = node.inputs
    op = node.op.scalar_op
    if _is_length(b):
        a, b = b, a
        opposite = {scalar.lt: scalar.gt, scalar.le: scalar.ge, scalar.gt: scalar.lt, scalar.ge: scalar.le}
        op = opposite.get(op, op)
    value = number(b)
    if not _is_length(a) or not isinstance(value, (int, float)):
        return None
    if value < 0:
        return _known(node, op in (scalar.gt, scalar.ge))
    if value == 0 and op in (scalar.lt, scalar.ge):
        return _known(node, op == scalar.ge)
    return None


def _is_length(variable: Variable) -> bool:
    if variable.owner is not None and isinstance(variable.owner.op, ShapeI):
        return True
    owner = variable.owner
    joined = owner is not None and isinstance(owner.op, MakeVector)
    terms = owner.inputs if owner is not None and joined else operands(variable, scalar.add)
    return terms is not None and all(t.owner is not None and isinstance(t.owner.op, ShapeI) for t in terms)


@rule(
    scalar.maximum, scalar.minimum, reach=1, key="local_useless_extremum", names=("local_useless_elemwise_comparison",)
)
def extremum_known(fgraph: FunctionGraph, node: Apply) -> Found:
    """``maximum(x, x) -> x``, ``maximum(maximum(x, y), x) -> maximum(x, y)``; lengths are not less than 0."""
    a, b = cast("list[Tensor]", node.inputs)
    if a is b:
        return fitted(node, a)
    for one, other in ((a, b), (b, a)):
        if other in (operands(one, node.op.scalar_op) or ()):
            return fitted(node, one)
    if _is_length(b):
        a, b = b, a
    value = number(b)
    if not _is_length(a) or not isinstance(value, int) or value > 0:
        return None
    return fitted(node, a if node.op.scalar_op == scalar.maximum else b)


@rule(scalar.and_, scalar.or_, scalar.xor, reach=0, key="local_useless_logic", names=("local_useless_elemwise",))
def logic_known(fgraph: FunctionGraph, node: Apply) -> Found:
    """``x & x -> x``, ``x & 0 -> 0``, ``x | 0 -> x``, ``x ^ 0 -> x``, ``x ^ x -> 0``; for truth values also with 1."""
    if len(node.inputs) != 2:
        return None
    a, b = cast("list[Tensor]", node.inputs)
    op = node.op.scalar_op
    if a is b:
        return _known(node, 0) if op == scalar.xor else fitted(node, a)
    if number(a) is not None:
        a, b = b, a
    value = number(b)
    if value is None:
        return None
    if value == 0:
        return _known(node, 0) if op == scalar.and_ else fitted(node, a)
    if node.outputs[0].type.dtype != "bool" or op == scalar.xor:
        return None
    return fitted(node, a) if op == scalar.and_ else _known(node, True)


#: Operations that convert what they take to the dtype of the result.
_CONVERTING = (scalar.add, scalar.sub, scalar.mul, scalar.true_div, scalar.maximum, scalar.minimum, scalar.second)


@rule(*_CONVERTING, reach=0, key="local_upcast_elemwise_constant_inputs")
def constants_in_dtype_of_result(fgraph: FunctionGraph, node: Apply) -> Found:
    """Constants of another dtype are converted to that of the result beforehand, where that loses nothing."""
    output = node.outputs[0].type.dtype
    if type(node.op) is not Elemwise or node.op.inplace_pattern or output == "bool":
        return None
    if not any(isinstance(x, Constant) and x.type.dtype != output for x in node.inputs):
        return None
    inputs: list[Variable] = []
    for i, x in enumerate(node.inputs):
        is_value = not (node.op.scalar_op == scalar.second and i == 0)
        inputs.append(_converted(x, output) if is_value and isinstance(x, Constant) else x)
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return None
    new: Variable = node.op.make_node(*inputs).outputs[0]
    return [new] if new.type.exact == node.outputs[0].type.exact else None


def _converted(x: Constant, dtype: str) -> Variable:
    data = x.data
    if data.dtype.name == dtype or data.dtype.kind == "c":
        return x
    with np.errstate(all="ignore"):
        new = data.astype(dtype)
        back = new.real if new.dtype.kind == "c" else new
        same = np.array_equal(back.astype(data.dtype), data) and np.array_equal(new, data)
    return constant(new) if same else x


#: Functions and what undoes them: ``f(g(x))`` is x for all numbers that g takes.
INVERSES: tuple[tuple[ScalarOp, ScalarOp], ...] = (
    (scalar.neg, scalar.neg),
    (scalar.reciprocal, scalar.reciprocal),
    (scalar.deg2rad, scalar.rad2deg),
    (scalar.rad2deg, scalar.deg2rad),
    (scalar.sinh, scalar.arcsinh),
    (scalar.arcsinh, scalar.sinh),
    (scalar.arctanh, scalar.tanh),
    (scalar.log1p, scalar.expm1),
    (scalar.log2, scalar.exp2),
    (scalar.conj, scalar.conj),
)


def is_inverse_pair(outer: Any, inner: Any, pair: tuple[ScalarOp, ScalarOp]) -> bool:
    """Tell whether two ops, one applied to the result of the other, are a given pair of functions in either order.

    Parameters
    ----------
    outer, inner : Elemwise or ScalarOp
    pair : pair of ScalarOp

    Examples
    --------
    >>> from theano_linker_c import scalar
    >>> is_inverse_pair(scalar.log, scalar.exp, (scalar.exp, scalar.log))
    True
    """
    given = tuple(getattr(op, "scalar_op", op) for op in (outer, inner))
    return given in (tuple(pair), tuple(reversed(pair)))


@rule(*dict.fromkeys(outer for outer, _ in INVERSES), reach=1, exactness=Exactness.STABILIZING, key="local_func_inv")
def function_of_its_inverse(fgraph: FunctionGraph, node: Apply) -> Found:
    """``rad2deg(deg2rad(x)) -> x`` and the like, where the inner function takes every number."""
    for outer, inner in INVERSES:
        if node.op.scalar_op == outer:
            found = operands(node.inputs[0], inner)
            if found is not None and (is_float(found[0]) or outer == scalar.conj):
                return fitted(node, found[0])
    return None


@rule(scalar.abs, reach=1, tags=("fast_run",), key="local_abs_lift")
def size_of_product(fgraph: FunctionGraph, node: Apply) -> Found:
    """``abs(x * y) -> abs(x) * abs(y)`` where one factor is a number: the sign of a constant goes."""
    for op in (scalar.mul, scalar.true_div):
        inner = operands(node.inputs[0], op)
        if inner is None or len(inner) != 2 or not is_float(inner[0]) or not is_float(inner[1]):
            continue
        a, b = inner
        if number(a) is None and number(b) is None:
            continue
        return fitted(node, call(op, *(_size(cast_to(v, node.outputs[0].type.dtype)) for v in (a, b))))
    return None


def _size(variable: Tensor) -> Tensor:
    value = number(variable)
    if value is None:
        return call(scalar.abs, variable)
    return scalar_constant(abs(value), variable.type.dtype, variable.type.ndim)
