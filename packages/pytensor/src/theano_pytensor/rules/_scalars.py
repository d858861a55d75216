"""Scalar ops of PyTensor as functions of tensors, and graphs of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano.tensor as T
from theano.scalar import PolyGamma
from theano_tensor import constant_value

from .._table import SCALARS, NoRule, Site, find_scalar
from .._types import engine_constant
from ._loops import loop_results

_SAME = """
    Add Mul Sub Pow Sqrt Exp Exp2 Expm1 Log Log2 Log10 Log1p Sin Cos Tan Sinh Cosh Tanh Maximum Minimum Switch LT GT LE
    GE EQ NEQ XOR Invert IsNan IsInf Second Ceil Floor Trunc Clip Erf Erfc Erfcx Erfinv Erfcinv Gamma GammaLn Psi
    GammaInc GammaIncC BetaInc J0 J1 Jv I0 I1 Iv Real Imag Conj Angle Complex Sigmoid Softplus Log1mexp Deg2Rad Rad2Deg
    GammaU GammaL GammaIncInv GammaIncCInv BetaIncInv Ive Kve Owens_t Hyp2F1
"""
_OTHERS: dict[str, Callable[..., Any]] = {
    "Abs": T.abs_, "AND": T.and_, "OR": T.or_, "ArcCos": T.arccos, "ArcCosh": T.arccosh, "ArcSin": T.arcsin,
    "ArcSinh": T.arcsinh, "ArcTan": T.arctan, "ArcTan2": T.arctan2, "ArcTanh": T.arctanh,
    "ComplexFromPolar": T.complex_from_polar, "Identity": lambda x: x, "IntDiv": T.int_div, "Mod": T.mod, "Neg": T.neg,
    "Reciprocal": T.inv, "RoundHalfAwayFromZero": T.round_half_away_from_zero,
    "RoundHalfToEven": T.round_half_to_even, "Sign": T.sgn, "Sqr": T.sqr, "TriGamma": T.tri_gamma,
    "TrueDiv": T.true_div,
}  # fmt: skip
SCALARS.update({f"scalar.{name}": getattr(T, name.lower()) for name in _SAME.split()})
SCALARS.update({f"scalar.{name}": function for name, function in _OTHERS.items()})

#: Ops whose results are numbers of the same kind as their operands, or no numbers: integers stay integers.
_KEEP_INTEGERS = """
    Add Mul Sub Abs AND OR XOR Invert Identity IntDiv Mod Neg Sign Sqr Maximum Minimum Switch Second Clip LT GT LE GE EQ
    NEQ Pow Complex Ceil Floor Trunc Real Imag Conj MulWithoutZeros
""".split()  # noqa: SIM905  (names, as in the list above)


def apply_scalar(op: Any, inputs: Sequence[Any], kind: Any) -> Any:
    """Apply a scalar op with one output to tensors.

    Parameters
    ----------
    op : pytensor.scalar.basic.ScalarOp
    inputs : sequence
    kind : pytensor.graph.type.Type
        The type of the result.

    Raises
    ------
    NoRule
        If we have no such function, or not for these numbers.
    """
    name = type(op).__name__
    if name == "Cast":
        return inputs[0] if inputs[0].dtype == kind.dtype else _cast(inputs[0], kind.dtype)
    function = find_scalar(type(op))
    if function is None:
        raise NoRule(f"there is no scalar op like {name}")
    discrete = all(np.dtype(x.dtype).kind in "biu" for x in inputs)
    if name not in _KEEP_INTEGERS and discrete and np.dtype(kind.dtype).kind in "fc":
        # PyTensor computes functions of small integers in other floats than ours.
        inputs = [T.cast(x, kind.dtype) for x in inputs]
    try:
        return function(*inputs)
    except TypeError as error:  # such as an error function of complex numbers
        raise NoRule(str(error).partition("\n")[0]) from None


def _cast(x: Any, dtype: str) -> Any:
    if np.dtype(x.dtype).kind == "c" and np.dtype(dtype).kind != "c":
        x = T.real(x)
    return T.neq(x, 0) if dtype == "bool" else T.cast(x, dtype)


def scalar_results(site: Site, op: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a scalar op to tensors, a single one or a graph of several."""
    name = type(op).__name__
    if name == "Composite":
        return _graph(site, op.fgraph, inputs)
    if any(above.__name__ == "ScalarLoop" for above in type(op).__mro__):
        return loop_results(op, inputs, lambda values: _graph(site, op.fgraph, values))
    return [apply_scalar(op, inputs, site.outputs[0].type)]


def _graph(site: Site, fgraph: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply a graph of scalar ops to tensors."""
    values = dict(zip(fgraph.inputs, inputs, strict=True))
    for node in fgraph.toposort():
        arguments = [values[v] if v in values else engine_constant(v) for v in node.inputs]
        inner = Site(node, arguments, site.translation)
        results = scalar_results(inner, node.op, arguments)
        for variable, result in zip(node.outputs, results, strict=True):
            values[variable] = result if result.dtype == variable.type.dtype else _cast(result, variable.type.dtype)
    return [values[v] if v in values else engine_constant(v) for v in fgraph.outputs]


def _without_zeros(x: Any, y: Any) -> Any:
    """Multiply, and take the other operand where one is zero."""
    return T.switch(T.eq(x, 0), y, T.switch(T.eq(y, 0), x, x * y))


def _product_with_logarithm(x: Any, y: Any) -> Any:
    """Multiply with a logarithm; the product with 0 is 0, for any logarithm."""
    return T.switch(T.eq(x, 0), T.zeros_like(x * y), x * T.log(y))


def _poly_gamma(order: Any, x: Any) -> Any:
    """The derivative of the digamma function (DLMF 5.15); other orders than small numbers are sums."""
    known = constant_value(order)
    if known is not None and np.size(known) == 1 and 0 <= int(np.ravel(known)[0]) <= 20:
        number = int(np.ravel(known)[0])
        result = T.psi(x) if number == 0 else T.Elemwise(PolyGamma(number))(x)
        return T.second(order, result) if order.ndim else result
    n = T.cast(order, x.dtype)
    sign = T.switch(T.eq(T.mod(order, 2), 0), -1, 1)
    sums = T.cast(sign, x.dtype) * T.gamma(n + 1) * T.zeta(n + 1, x)
    return T.switch(T.eq(order, 0), T.psi(x), sums)


SCALARS["scalar.PolyGamma"] = _poly_gamma
SCALARS["tensor.MulWithoutZeros"] = _without_zeros
SCALARS["tensor.XlogX"] = T.xlogx.xlogx
SCALARS["tensor.XlogY0"] = _product_with_logarithm
