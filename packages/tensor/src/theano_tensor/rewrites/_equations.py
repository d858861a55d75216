"""Rules of the tensor language that are written as equations.

A function with wildcards as parameters returns the equations; it is called when the rule is first asked.

>>> from theano_linker_c import scalar
>>> @equations(scalar.log)  # doctest: +SKIP
... def log_of_exp(x: Real) -> Equations:
...     return [log(exp(x)) >> x]

The annotations are classes that define the wildcards' matches: `Real` floating-point numbers, `Whole` integers and
truth values, `Anything` every tensor, `Number` constants that hold a single number, which is known when the rule is
applied.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from theano_graph import Apply, FunctionGraph, Op, Variable, format_error
from theano_linker_c.scalar import ScalarOp
from theano_optimize import (
    Applied,
    Equation,
    EquationRewriter,
    Exactness,
    Fit,
    Operation,
    PatternError,
    Phase,
    RewriteInfo,
    Unknown,
)

from .._core._dtypes import DISCRETE_DTYPES
from ..elemwise import Elemwise
from ._language import is_float, lift
from ._registry import RULES, Entry, Tracked
from ._terms import LANGUAGE, applied, elementwise

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
