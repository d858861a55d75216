"""Rules for scalar ops, elementwise functions and reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano.tensor as T
from theano.scalar import PolyGamma
from theano_tensor import constant_value

from .._translation import SCALARS, NoRule, Site, engine_constant, find_scalar, rule
from ._scan import loop_results

# ---- Scalar ops of PyTensor as functions of tensors, and graphs of them

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


# ---- Elementwise functions, reductions, and axes that move


@rule("tensor.Elemwise")
def _elemwise(site: Site) -> Any:
    """Apply functions of tensors; lengths of 1 that only PyTensor knows to be such are declared."""
    inputs = list(site.inputs)
    rank = site.outputs[0].type.ndim
    for axis in range(rank):
        lengths = [v.type.shape[axis] for v in site.node.inputs]
        if 1 in lengths and any(length != 1 for length in lengths):
            inputs = [
                T.addbroadcast(x, axis) if length == 1 and not x.type.broadcastable[axis] else x
                for x, length in zip(inputs, lengths, strict=True)
            ]
    return scalar_results(site, site.op.scalar_op, inputs)


@rule("tensor.DimShuffle")
def _dimshuffle(site: Site) -> Any:
    x, order = site.inputs[0], tuple(site.op.new_order)
    dropped = [axis for axis in range(x.ndim) if axis not in order and not x.type.broadcastable[axis]]
    return (T.addbroadcast(x, *dropped) if dropped else x).dimshuffle(order)


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "Add": T.sum, "Mul": T.prod, "Maximum": T.max, "Minimum": T.min, "AND": T.all, "OR": T.any,
    "MulWithoutZeros": T.prod,
}  # fmt: skip


@rule("tensor.CAReduce", "tensor.ProdWithoutZeros")
def _reduce(site: Site) -> Any:
    """Reduce by the scalar op: Sum, Prod, Max, Min, All and Any are classes of PyTensor for some of them."""
    (x,), op, dtype = site.inputs, site.op, site.outputs[0].type.dtype
    name = type(op.scalar_op).__name__
    axes = list(range(x.ndim)) if op.axis is None else list(op.axis)
    if not axes:
        return x
    if name in ("Add", "Mul", "MulWithoutZeros"):
        return _accumulated(op, name, x, axes, dtype)
    if name in ("AND", "OR") and dtype != "bool":
        raise NoRule(f"{name} of the bits of integers along axes")
    if name == "XOR" or name not in _REDUCTIONS:
        raise NoRule(f"there is no reduction by {name}")
    return _REDUCTIONS[name](x, axis=axes)


def _accumulated(op: Any, name: str, x: Any, axes: list[int], dtype: str) -> Any:
    """Return a sum, a product, or a product of all that is not zero."""
    accumulator = getattr(op, "acc_dtype", None) or getattr(op, "dtype", None) or dtype
    if x.dtype.startswith("complex") and not dtype.startswith("complex"):
        # Like NumPy, PyTensor drops imaginary parts.
        if name != "Add":
            raise NoRule("a product of complex numbers as a real one")
        x = T.real(x)
    if name == "MulWithoutZeros":
        x = T.switch(T.eq(x, 0), T.ones_like(x), x)
    return _REDUCTIONS[name](x, axis=axes, dtype=dtype, acc_dtype=accumulator)


@rule("tensor.Argmax")
def _argmax(site: Site) -> Any:
    """The place of the largest element, by the order of the axes that are reduced together."""
    (x,), axes = site.inputs, site.op.axis
    if axes is None or len(axes) == x.ndim:
        return T.argmax(x.flatten() if x.ndim != 1 else x, axis=0)
    if len(axes) == 1:
        return T.argmax(x, axis=axes[0])
    others = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.dimshuffle([*others, *axes])
    joined = T.concatenate([moved.shape[: len(others)], T.stack([T.prod(moved.shape[len(others) :])])])
    return T.argmax(T.reshape(moved, joined, ndim=len(others) + 1), axis=len(others))


def _axes(x: Any, axis: int | None) -> Any:
    return list(range(x.ndim)) if axis is None else axis


@rule("tensor.Softmax")
def _softmax(site: Site) -> Any:
    (x,), axis = site.inputs, _axes(site.inputs[0], site.op.axis)
    powers = T.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@rule("tensor.LogSoftmax")
def _log_softmax(site: Site) -> Any:
    (x,), axis = site.inputs, _axes(site.inputs[0], site.op.axis)
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - T.log(T.exp(shifted).sum(axis=axis, keepdims=True))


@rule("tensor.SoftmaxGrad")
def _softmax_gradient(site: Site) -> Any:
    gradient, probabilities = site.inputs
    weighted = gradient * probabilities
    return weighted - weighted.sum(axis=_axes(weighted, site.op.axis), keepdims=True) * probabilities
