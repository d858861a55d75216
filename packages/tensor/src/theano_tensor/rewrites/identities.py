"""Operations that do nothing, or whose result is known: conversions, choices, checks and elementwise operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_graph import AlreadyThere, Apply, Constant, Feature, FunctionGraph, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import Exactness, Fit, Unknown

from .._core._convert import constant
from .._core._ops import CheckAndRaise
from .._core._type import Tensor
from ..elemwise import Elemwise
from ..shape import MakeVector, ShapeI
from ._language import (
    cast_to,
    gives_truth,
    is_false,
    is_negative,
    is_no_positive_integer,
    is_not_positive,
    is_true,
    number,
    operands,
    rule,
)
from .equations import (
    LANGUAGE,
    Anything,
    Equations,
    Number,
    Real,
    RealNumber,
    Whole,
    add,
    and_,
    applied,
    arcsinh,
    arctanh,
    conj,
    deg2rad,
    eq,
    equations,
    exp2,
    expm1,
    ge,
    gt,
    identity,
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
    switch,
    tanh,
    wide,
    xor,
)

# ---- Constants that were converted to the dtype in which a graph uses them

#: Constants of so many elements are kept; larger ones are rarely used in many places.
FEW_ELEMENTS = 64


class ConvertedConstants(Feature):
    """For small constants of one graph, the constants of other dtypes that stand in their places.

    A number that a long expression has in many places is then converted once, and remains one constant.
    """

    only_remembers = True

    def __init__(self) -> None:
        self._converted: dict[tuple[Constant, str], Variable] = {}
        self._attached = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second graph: the constants belong to the first."""
        if self._attached:
            raise AlreadyThere("these constants belong to another graph")
        self._attached = True

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget all constants."""
        self._converted.clear()
        self._attached = False

    def converted(self, x: Constant, dtype: str) -> Variable:
        """Return `x` as a constant of another dtype; `x` itself where that is its own, or would lose something."""
        if x.data.dtype.name == dtype:
            return x
        if x.data.size > FEW_ELEMENTS:
            return _converted(x, dtype)
        conversion = self._converted.get((x, dtype))
        if conversion is None:
            conversion = self._converted[x, dtype] = _converted(x, dtype)
        return conversion


def _converted(x: Constant, dtype: str) -> Variable:
    data = x.data
    if data.dtype.name == dtype or data.dtype.kind == "c":
        return x
    with np.errstate(all="ignore"):
        new = data.astype(dtype)
        back = new.real if new.dtype.kind == "c" else new
        same = np.array_equal(back.astype(data.dtype), data) and np.array_equal(new, data)
    return constant(new) if same else x


def converted_constants(fgraph: FunctionGraph) -> ConvertedConstants:
    """Return the table of a graph, attached if there is none."""
    for feature in fgraph.features:
        if isinstance(feature, ConvertedConstants):
            return feature
    table = ConvertedConstants()
    fgraph.attach_feature(table)
    return table


# ---- Conversions and choices that do nothing

Found = list[Variable] | None


def is_cast(op: object) -> bool:
    """Tell whether an op converts the dtype of each element and does nothing else."""
    return isinstance(op, Elemwise) and isinstance(op.scalar_op, _CAST)


_CAST: type[ScalarOp] = type(scalar.cast("float64"))


@rule(Elemwise, key="local_cast_cast")
def useless_cast(fgraph: FunctionGraph, node: Apply[Elemwise, Tensor]) -> Found:
    """``cast(x, its dtype) -> x``; of two casts the inner one goes if it loses nothing."""
    if not is_cast(node.op):
        return None
    x = node.inputs[0]
    dtype = node.outputs[0].type.dtype
    if x.type.dtype == dtype:
        return [x]
    inner = x.owner
    if inner is not None and is_cast(inner.op):
        source = inner.inputs[0]
        if np.can_cast(source.type.dtype, x.type.dtype, "safe"):
            return [cast_to(source, dtype)]
    return None


@equations(scalar.identity, reach=0, key="local_useless_identity", names=("local_useless_elemwise",))
def useless_identity(a: Anything) -> Equations:
    """The identity changes nothing."""
    return [identity(a) >> a]


@equations(scalar.switch, reach=0, key="local_remove_switch_const_cond", names=("local_useless_switch",))
def switch_on_constant(a: Anything, b: Anything, c: Anything, k: Number) -> Equations:
    """A choice that is known, or between equals, is none."""
    return [switch(c, a, a) >> a, (switch(k, a, b) >> a).when(is_true), (switch(k, a, b) >> b).when(is_false)]


# ---- Elementwise operations that do nothing, or whose result is known; constants in the dtype that they are used in


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


# ---- Checks that are known to hold, or not wanted

check = applied("check", CheckAndRaise)


@rule(CheckAndRaise, reach=0, key="local_remove_useless_assert")
def assert_of_truth(fgraph: FunctionGraph, node: Apply[CheckAndRaise, Tensor]) -> Found:
    """Conditions that are constant and true, and those given twice, need no check; without conditions none is left."""
    value, *conditions = node.inputs
    checks = list(dict.fromkeys(c for c in conditions if not number(c)))
    if conditions and len(checks) == len(conditions):
        return None
    return [node.op(value, *checks)] if checks else [value]


@equations(
    CheckAndRaise, tags=("local_remove_all_assert", "unsafe"), reach=0, key="local_remove_all_assert", fit=Fit.UNCHECKED
)
def assert_left_out(a: Anything) -> Equations:
    """No check of users' arguments is made. Only where that is asked for."""
    return [check(a, ...) >> a]
