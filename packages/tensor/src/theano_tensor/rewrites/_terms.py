"""The words of equations about tensors: the meaning of operators and functions in their terms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from theano_graph import Apply, Op, Variable
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import Context, Fit, Language, Operation, OpPattern

from .._core._dtypes import TensorLike
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..linear import Dot
from ._language import can_replace, cast_to, fitted, lift, number, scalar_constant


class TensorLanguage(Language):
    """Terms about tensors: elementwise ops are told apart by their scalar ops, numbers may have inserted dimensions."""

    transparent = (DimShuffle,)

    def kind(self, op: Op) -> type:
        return op.scalar_op.__class__ if isinstance(op, Elemwise) else op.__class__

    def read(self, variable: Variable) -> Any:
        return number(variable)

    def literal(self, value: TensorLike, node: Apply[Any, Tensor]) -> Variable:
        output = node.outputs[0].type
        return scalar_constant(value, output.dtype, output.ndim)

    def apply(self, op: Op, inputs: list[Variable]) -> Variable:
        result = op.make_node(*inputs).outputs[0] if isinstance(op, Elemwise) else op(*inputs)
        return cast(Variable, result)

    def fitted(self, node: Apply[Any, Tensor], new: Variable, fit: Fit) -> list[Variable] | None:
        if fit is Fit.EXACT:
            return [new] if can_replace(node.outputs[0], new) else None
        if fit is not Fit.CONVERTED:
            return super().fitted(node, new, fit)
        if isinstance(node.op, Elemwise):
            return fitted(node, cast(Tensor, new))
        new = cast_to(cast(Tensor, new), node.outputs[0].type.dtype)
        return [new] if can_replace(node.outputs[0], new) else None


LANGUAGE = TensorLanguage()


class Elementwise(OpPattern):
    """The elementwise application of a scalar op, in place or not."""

    __slots__ = ("commutative", "kind", "scalar_op")

    def __init__(self, scalar_op: ScalarOp) -> None:
        self.scalar_op = scalar_op
        self.kind = scalar_op.__class__
        self.commutative = scalar_op.commutative

    def fits(self, op: Op) -> bool:
        if not isinstance(op, Elemwise):
            return False
        own = op.scalar_op
        return own is self.scalar_op or (own.__class__ is self.kind and own == self.scalar_op)

    def result(self) -> Op:
        return lift(self.scalar_op)


class View(OpPattern):
    """Views with the dimensions in a given order."""

    __slots__ = ("order",)
    kind = DimShuffle

    def __init__(self, *order: int | str) -> None:
        self.order = list(order)

    def fits(self, op: Op) -> bool:
        return isinstance(op, DimShuffle) and list(op.order) == self.order


def elementwise(
    op: ScalarOp, symbol: str | None = None, compute: Callable[..., Any] | None = None, name: str | None = None
) -> Operation:
    """Return the term of the elementwise application of a scalar op in equations."""
    return Operation(LANGUAGE, name or str(op.name), Elementwise(op), symbol=symbol, compute=compute)


def applied(name: str, op: Op | type[Op]) -> Operation:
    """Return the term of an op, or of the ops of a class, in equations."""
    return Operation(LANGUAGE, name, op)


def built(name: str) -> Callable[[Callable[..., Variable]], Operation]:
    """Return a decorator: ``make(context, *variables)`` becomes a function of right-hand sides."""
    return lambda make: Operation(LANGUAGE, name, make=make)


def _transposed(context: Context, x: Tensor) -> Tensor:
    return dimshuffle(x, [1, 0])


add = elementwise(scalar.add, "+", operator.add)
sub = elementwise(scalar.sub, "-", operator.sub)
mul = elementwise(scalar.mul, "*", operator.mul)
neg = elementwise(scalar.neg, "negative", operator.neg)
LANGUAGE.operators.update(
    {
        "+": add,
        "-": sub,
        "*": mul,
        "/": elementwise(scalar.true_div, "/", operator.truediv),
        "//": elementwise(scalar.int_div, "//"),
        "**": elementwise(scalar.pow, "**"),
        "negative": neg,
        "abs": elementwise(scalar.abs, None, np.abs),
        "@": Operation(LANGUAGE, "dot", Dot, symbol="@"),
        ".T": Operation(LANGUAGE, "transpose", View(1, 0), symbol=".T", make=_transposed),
    }
)

and_, or_, xor = map(elementwise, (scalar.and_, scalar.or_, scalar.xor))
eq, neq, lt, le, gt, ge = map(elementwise, (scalar.eq, scalar.neq, scalar.lt, scalar.le, scalar.gt, scalar.ge))
maximum, minimum, switch = map(elementwise, (scalar.maximum, scalar.minimum, scalar.switch))
exp, log, expm1, log1p, exp2, log2 = map(
    elementwise, (scalar.exp, scalar.log, scalar.expm1, scalar.log1p, scalar.exp2, scalar.log2)
)
sqr, sqrt, reciprocal, conj = map(elementwise, (scalar.sqr, scalar.sqrt, scalar.reciprocal, scalar.conj))
sigmoid, softplus, log1mexp = map(elementwise, (scalar.sigmoid, scalar.softplus, scalar.log1mexp))
erf, erfc, erfcx = map(elementwise, (scalar.erf, scalar.erfc, scalar.erfcx))
sinh, cosh, tanh = map(elementwise, (scalar.sinh, scalar.cosh, scalar.tanh))
arcsinh, arccosh, arctanh = map(elementwise, (scalar.arcsinh, scalar.arccosh, scalar.arctanh))
deg2rad, rad2deg = map(elementwise, (scalar.deg2rad, scalar.rad2deg))
identity, fill = elementwise(scalar.identity), elementwise(scalar.second, name="fill")

view = applied("view", DimShuffle)
#: A number in the dtype of the result.
constant = Operation(LANGUAGE, "constant", compute=lambda value: value)


@built("wide")
def wide(context: Context, x: Tensor) -> Tensor:
    """Return a tensor in the dtype of the result."""
    return cast_to(x, context.node.outputs[0].type.dtype)
