"""Elementwise operations that do nothing, or whose result is known; constants in the dtype that they are used in."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import Exactness, Unknown

from ..elemwise import Elemwise
from ..shape import MakeVector, ShapeI
from ._conditions import gives_truth, is_negative, is_no_positive_integer, is_not_positive, is_true
from ._converted_constants import converted_constants
from ._equations import Anything, Equations, Number, Real, RealNumber, Whole, equations
from ._language import operands
from ._registry import rule
from ._terms import (
    LANGUAGE,
    add,
    and_,
    arcsinh,
    arctanh,
    conj,
    deg2rad,
    eq,
    exp2,
    expm1,
    ge,
    gt,
    le,
    log1p,
    log2,
    lt,
    maximum,
    minimum,
    mul,
    neg,
    neq,
    or_,
    rad2deg,
    reciprocal,
    sinh,
    tanh,
    wide,
    xor,
)

Found = list[Variable] | None


class Length(Unknown):
    """Fits a known length, or several of them in a vector or a sum."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name, _is_length)


def _is_length(variable: Variable) -> bool:
    if variable.owner is not None and isinstance(variable.owner.op, ShapeI):
        return True
    owner = variable.owner
    joined = owner is not None and isinstance(owner.op, MakeVector)
    terms = owner.inputs if owner is not None and joined else operands(variable, scalar.add)
    return terms is not None and all(t.owner is not None and isinstance(t.owner.op, ShapeI) for t in terms)


@equations(scalar.add, scalar.mul, reach=0, key="local_useless_elemwise")
def sum_of_one_term(a: Anything) -> Equations:
    """Sums and products of one operand are that operand."""
    return [add(a) >> a, mul(a) >> a]


@equations(
    scalar.eq,
    scalar.le,
    scalar.ge,
    scalar.neq,
    scalar.lt,
    scalar.gt,
    reach=0,
    key="local_useless_elemwise_comparison",
    names=("local_useless_elemwise",),
)
def comparison_with_itself(n: Whole, x: Real) -> Equations:
    """Comparisons with oneself; operands with NaN are left alone."""
    return [
        eq(n, n) >> True,
        le(n, n) >> True,
        ge(n, n) >> True,
        neq(n, n) >> False,
        lt(n, n) >> False,
        gt(n, n) >> False,
        lt(x, x) >> False,
        gt(x, x) >> False,
    ]


@equations(
    scalar.lt,
    scalar.le,
    scalar.gt,
    scalar.ge,
    scalar.eq,
    reach=2,
    key="local_useless_comparison_of_length",
    names=("local_useless_elemwise_comparison",),
)
def comparison_of_length(n: Length, k: Number) -> Equations:
    """Lengths of dimensions are not negative."""
    not_positive = [lt(n, k) >> False, ge(n, k) >> True, gt(k, n) >> False, le(k, n) >> True]
    negative = [le(n, k) >> False, gt(n, k) >> True, ge(k, n) >> False, lt(k, n) >> True, eq(n, k) >> False]
    return [
        *(equation.when(is_not_positive) for equation in not_positive),
        *(equation.when(is_negative) for equation in negative),
    ]


@equations(
    scalar.maximum, scalar.minimum, reach=1, key="local_useless_extremum", names=("local_useless_elemwise_comparison",)
)
def extremum_known(a: Anything, b: Anything, n: Length, k: Number) -> Equations:
    """Comparisons are not compared again; lengths are not less than 0."""
    largest, smallest = maximum(a, b), minimum(a, b)
    return [
        maximum(a, a) >> a,
        minimum(a, a) >> a,
        maximum(largest, a) >> largest,
        minimum(smallest, a) >> smallest,
        (maximum(n, k) >> n).when(is_no_positive_integer),
        (minimum(n, k) >> k).when(is_no_positive_integer),
    ]


@equations(scalar.and_, scalar.or_, scalar.xor, reach=0, key="local_useless_logic", names=("local_useless_elemwise",))
def logic_known(a: Anything, k: Number) -> Equations:
    """Logic with itself, with no bits, and of truth values with true."""
    return [
        and_(a, a) >> a,
        or_(a, a) >> a,
        xor(a, a) >> 0,
        and_(a, 0) >> 0,
        or_(a, 0) >> a,
        xor(a, 0) >> a,
        (and_(a, k) >> a).when(gives_truth, is_true),
        (or_(a, k) >> True).when(gives_truth, is_true),
    ]


#: Operations that convert their operands to the dtype of the result.
_CONVERTING = (scalar.add, scalar.sub, scalar.mul, scalar.true_div, scalar.maximum, scalar.minimum, scalar.second)


@rule(*_CONVERTING, reach=0, key="local_upcast_elemwise_constant_inputs")
def constants_in_dtype_of_result(fgraph: FunctionGraph, node: Apply) -> Found:
    """Constants of another dtype are converted to that of the result beforehand, where that loses nothing."""
    output = node.outputs[0].type.dtype
    if type(node.op) is not Elemwise or node.op.inplace_pattern or output == "bool":
        return None
    if not any(isinstance(x, Constant) and getattr(x.type, "dtype", output) != output for x in node.inputs):
        return None
    constants = converted_constants(fgraph)
    inputs: list[Variable] = []
    for i, x in enumerate(node.inputs):
        is_value = not (node.op.scalar_op == scalar.second and i == 0)
        inputs.append(constants.converted(x, output) if is_value and isinstance(x, Constant) else x)
    if all(a is b for a, b in zip(inputs, node.inputs, strict=True)):
        return None
    new: Variable = node.op.make_node(*inputs).outputs[0]
    return [new] if new.type.exact == node.outputs[0].type.exact else None


def is_inverse_pair(outer: Any, inner: Any, pair: tuple[ScalarOp, ScalarOp]) -> bool:
    """Tell whether two ops, one applied to the result of the other, are a given pair of functions in either order.

    Parameters
    ----------
    outer, inner : Elemwise or ScalarOp
    pair : pair of ScalarOp

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> T.opt.is_inverse_pair(theano.scalar.log, theano.scalar.exp, (theano.scalar.exp, theano.scalar.log))
    True
    """
    ops = tuple(getattr(op, "scalar_op", op) for op in (outer, inner))
    return ops in (tuple(pair), tuple(reversed(pair)))


@equations(
    scalar.neg,
    scalar.reciprocal,
    scalar.deg2rad,
    scalar.rad2deg,
    scalar.sinh,
    scalar.arcsinh,
    scalar.arctanh,
    scalar.log1p,
    scalar.log2,
    scalar.conj,
    reach=1,
    exactness=Exactness.STABILIZING,
    key="local_func_inv",
)
def function_of_its_inverse(a: Anything, x: Real) -> Equations:
    """Functions undo their inverses, where the inner function takes every number."""
    return [
        neg(-x) >> x,
        reciprocal(reciprocal(x)) >> x,
        deg2rad(rad2deg(x)) >> x,
        rad2deg(deg2rad(x)) >> x,
        sinh(arcsinh(x)) >> x,
        arcsinh(sinh(x)) >> x,
        arctanh(tanh(x)) >> x,
        log1p(expm1(x)) >> x,
        log2(exp2(x)) >> x,
        conj(conj(a)) >> a,
    ]


@equations(scalar.abs, reach=1, tags=("fast_run",), key="local_abs_lift", ordered=True)
def size_of_product(x: Real, k: RealNumber) -> Equations:
    """The sign of a constant factor does not matter."""
    return [
        abs(x * k) >> abs(wide(x)) * abs(k),
        abs(k * x) >> abs(k) * abs(wide(x)),
        abs(x / k) >> abs(wide(x)) / abs(k),
        abs(k / x) >> abs(k) / abs(wide(x)),
    ]
