"""The language of rules that are equations: terms, wildcards, and the decorator of a rule."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, cast

import numpy as np

from theano_graph import Apply, FunctionGraph, Op, Variable, format_error
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import (
    Applied,
    Context,
    Equation,
    EquationRewriter,
    Exactness,
    Fit,
    Language,
    Operation,
    OpPattern,
    PatternError,
    Phase,
    RewriteInfo,
    Unknown,
)

from .._core._dtypes import DISCRETE_DTYPES, TensorLike
from .._core._type import Tensor
from ..elemwise import DimShuffle, Elemwise, dimshuffle
from ..linear import Dot
from ._language import RULES, Entry, Tracked, can_replace, cast_to, fitted, is_float, lift, number, scalar_constant

# ---- The words of equations about tensors: the meaning of operators and functions in their terms


class TensorLanguage(Language):
    """Terms about tensors: elementwise ops differ by their scalar ops, numbers may have inserted dimensions."""

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


# ---- Rules of the tensor language that are written as equations
#
# A function with wildcards as parameters returns the equations; it is called when the rule is first asked.
#
# >>> from theano_linker_c import scalar
# >>> @equations(scalar.log)  # doctest: +SKIP
# ... def log_of_exp(x: Real) -> Equations:
# ...     return [log(exp(x)) >> x]
#
# The annotations are classes that define the wildcards' matches: `Real` floating-point numbers, `Whole` integers and
# truth values, `Anything` every tensor, `Number` constants that hold a single number, which is known when the rule is
# applied.

Equations = list[Equation]


class Anything(Unknown):
    """Fits every tensor."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name)


class Real(Unknown):
    """Fits tensors of real floating-point numbers."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name, is_float)


class Whole(Unknown):
    """Fits tensors of integers and of truth values."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name, _is_whole)


class Number(Unknown):
    """Fits a tensor that holds a single known number."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name, is_number=True)


class RealNumber(Unknown):
    """Fits a tensor that holds a single known floating-point number."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(LANGUAGE, name, is_float, is_number=True)


def _is_whole(variable: Variable) -> bool:
    return getattr(variable.type, "dtype", None) in DISCRETE_DTYPES


def equations(
    *tracks: Tracked,
    phases: Sequence[Phase] = (Phase.CANONICALIZE,),
    exactness: Exactness = Exactness.EXACT,
    tags: Iterable[str] = ("fast_run", "fast_compile"),
    reference: str | None = None,
    reach: int = 1,
    key: str | None = None,
    names: Iterable[str] = (),
    guard: Callable[[FunctionGraph, Apply], object] | None = None,
    ordered: bool = False,
    fit: Fit = Fit.CONVERTED,
) -> Callable[[Callable[..., Equations]], EquationRewriter]:
    """Return a decorator that makes a rule of a function that returns equations, and lists it.

    Parameters
    ----------
    *tracks, phases, exactness, tags, reference, reach, key, names
        As of :func:`rule`.
    guard : callable, optional
        Asked before all equations.
    ordered, fit
        See :class:`theano_optimize.EquationRewriter`.
    """
    ops: list[Op | type[Op]] = [lift(t) if isinstance(t, ScalarOp) else t for t in tracks]

    def decorate(write: Callable[..., Equations]) -> EquationRewriter:
        info = RewriteInfo(write.__name__, phases[0] if phases else None, (), exactness, reference, guard)
        rewriter = EquationRewriter(
            lambda: _written(write), ops, LANGUAGE, info=info, reach=reach, ordered=ordered, fit=fit
        )
        rewriter.__doc__ = write.__doc__
        rewriter.label = key
        if phases:
            RULES.append(
                Entry(
                    rewriter,
                    tuple(phases),
                    (*tags, *([rewriter.name] if key else [])),
                    key or rewriter.name,
                    tuple(names),
                )
            )
        return rewriter

    return decorate


def equation_rewriter(*tracks: Tracked, **options: Any) -> Callable[[Callable[..., Equations]], EquationRewriter]:
    """Return a decorator that makes a rule of a function that returns equations, for a program to register.

    Parameters
    ----------
    *tracks : ScalarOp, Op or class of ops
        The first op of the left-hand sides.
    **options
        `exactness`, `reference`, `guard`, `ordered` and `fit` of :class:`theano_optimize.EquationRewriter`.

    Examples
    --------
    >>> import theano_tensor as T
    >>> exp, log = term(T.exp), term(T.log)
    >>> @equation_rewriter(T.exp)
    ... def exp_of_log(x: Real) -> Equations:
    ...     return [exp(log(x)) >> x]
    >>> print(*exp_of_log.equations)
    exp(log(x)) -> x
    """

    def decorate(write: Callable[..., Equations]) -> EquationRewriter:
        depths = [e.before.depth for e in _written(write) if isinstance(e.before, Applied)]
        rewriter = equations(*tracks, phases=(), reach=max(depths, default=1), **options)(write)
        rewriter.wildcards = {name: _kind_of(write, name) for name in inspect.signature(write).parameters}
        return rewriter

    return decorate


def term(op: Op | type[Op]) -> Operation:
    """Return the term of an op, or of the ops of a class, in equations.

    Examples
    --------
    >>> import theano_tensor as T
    >>> str(term(T.exp)(Real("x")) ** 2)
    'exp(x) ** 2'
    """
    if isinstance(op, Elemwise):
        return elementwise(op.scalar_op)
    return applied(op.__name__ if isinstance(op, type) else str(op), op)


def stabilizing_equations(*tracks: Tracked, **options: Any) -> Callable[[Callable[..., Equations]], EquationRewriter]:
    """Return the decorator of equations whose right-hand sides give right numbers where the left ones do not.

    Parameters
    ----------
    *tracks
    **options
        As of :func:`equations`. The rule is for all modes.
    """
    return equations(
        *tracks,
        phases=(Phase.STABILIZE,),
        exactness=Exactness.STABILIZING,
        tags=("fast_run", "fast_compile", "stabilize"),
        **options,
    )


def _written(write: Callable[..., Equations]) -> Equations:
    """Call a function with the wildcards that its annotations ask for."""
    return write(**{name: _kind_of(write, name)(name) for name in inspect.signature(write).parameters})


def _kind_of(write: Callable[..., Equations], name: str) -> Callable[[str], Unknown]:
    """Return the class that a parameter is annotated with, which may be text such as ``module.Class``."""
    kind: Any = write.__annotations__.get(name)
    if isinstance(kind, str):
        first, *others = kind.split(".")
        kind = reduce(lambda value, part: getattr(value, part, None), others, write.__globals__.get(first))
    if not (isinstance(kind, type) and issubclass(kind, Unknown)):
        raise PatternError(
            format_error(
                f"{write.__name__}: the wildcard {name} has no annotation",
                hint=f"annotate it with a class of the module, for example {name}: Real",
            )
        )
    unknown: Callable[[str], Unknown] = kind
    return unknown


__all__ = [
    "Anything",
    "Equations",
    "Number",
    "Real",
    "RealNumber",
    "Whole",
    "built",
    "equation_rewriter",
    "term",
    "wide",
]
