"""Unification: values for the variables of two expressions that make these equal.

The expressions are lists, tuples, dictionaries and any other objects with variables in them: ``[5, A, B]`` and
``[A, C, 9]`` are unified by A = C = 5 and B = 9.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

from ._historical_utils import ANY_TYPE as ANY_TYPE, FALL_THROUGH as FALL_THROUGH, comm_guard as comm_guard


class Variable:
    """A variable of an expression that is to be unified with another; not a variable of a graph.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str = "?") -> None:
        self.name = name

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value}' for key, value in vars(self).items())})"

    __repr__ = __str__


class FreeVariable(Variable):
    """A variable that can have any value."""


class BoundVariable(Variable):
    """A variable that has a `value`."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self.value = value


class OrVariable(Variable):
    """A variable that has one of some values, its `options`."""

    def __init__(self, name: str, options: Collection[Any]) -> None:
        super().__init__(name)
        self.options = options


class NotVariable(Variable):
    """A variable that has none of some values, its `not_options`."""

    def __init__(self, name: str, not_options: Collection[Any]) -> None:
        super().__init__(name)
        self.not_options = not_options


class VariableInList:
    """Stands where a list stands on the other side: its `variable` is one of the elements."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable


_known: dict[Hashable, Variable] = {}


def var_lookup(vartype: type[Variable], name: str, *args: Any, **kwargs: Any) -> Variable:
    """Return the variable of a class and name: always the same one."""
    key = (vartype, name)
    if key not in _known:
        _known[key] = vartype(name, *args, **kwargs)
    return _known[key]


Var = V = partial(var_lookup, FreeVariable)
OrV = partial(var_lookup, OrVariable)
NV = partial(var_lookup, NotVariable)


class Unification:
    """Facts about variables: sets with the same value, and their possible values.

    Parameters
    ----------
    inplace : bool
        Whether :meth:`merge` changes this object; otherwise it returns another one, and this one stays as it is.
    """

    def __init__(self, inplace: bool = False) -> None:
        self.unif: dict[Any, tuple[Any, set[Any]]] = {}
        self.inplace = inplace

    def merge(self, new_best: Any, *vars: Any) -> Unification:
        """Let `vars`, and all that have their values, have the values of `new_best`; return the unification."""
        result = self
        if not self.inplace:
            result = Unification()
            result.unif.update(self.unif)
        pool = {new_best, *vars}
        for variable in tuple(pool):
            pool |= result.unif.get(variable, (variable, set()))[1]
        result.unif.update(dict.fromkeys(pool, (new_best, pool)))
        return result

    def __getitem__(self, v: Any) -> Any:
        """Return the variable with the narrowest choice of values that `v` is known to have."""
        return self.unif.get(v, (v, None))[0]


Answer = Any
"""A unification, or False."""


class FVar:
    """Stands in the result of :func:`unify` for a function of other expressions."""

    def __init__(self, fn: Callable[..., Any], *args: Any) -> None:
        self.fn = fn
        self.args = args

    def __call__(self, u: Unification) -> Any:
        """Return the value of the function for the expressions after the unification `u`."""
        return self.fn(*[unify_build(arg, u) for arg in self.args])


def _chosen(options: Iterable[Any]) -> Answer:
    """Return a variable that has one of `options`; False if there is none."""
    left = list(options)
    if not left:
        return False
    return BoundVariable("?", left[0]) if len(left) == 1 else OrVariable("?", left)


def _narrowed(a: Any, b: Any) -> Answer:
    """Return a variable with the values that `a`, a variable, and `b`, a variable or value, can both have; or False."""
    if isinstance(a, BoundVariable):
        return _narrowed(b, a.value) if isinstance(b, Variable) else (a if a.value == b else False)
    if not isinstance(b, Variable):
        excluded = (isinstance(a, OrVariable) and b not in a.options) or (
            isinstance(a, NotVariable) and b in a.not_options
        )
        return False if excluded else BoundVariable("?", b)
    if isinstance(a, FreeVariable):
        return b
    if isinstance(b, (FreeVariable, BoundVariable)):
        return _narrowed(b, a)
    if isinstance(a, OrVariable) and isinstance(b, OrVariable):
        return _chosen(x for x in a.options if x in b.options)
    if isinstance(a, NotVariable) and isinstance(b, NotVariable):
        return NotVariable("?", [*a.not_options, *(x for x in b.not_options if x not in a.not_options)])
    either, neither = (a, b) if isinstance(a, OrVariable) else (b, a)
    if not isinstance(either, OrVariable) or not isinstance(neither, NotVariable):
        return False
    return _chosen(x for x in either.options if x not in neither.not_options)


def unify_walk(a: Any, b: Any, U: Unification) -> Answer:
    """Return the unification `U` with the facts that make `a` and `b` equal; False where nothing does.

    Objects of other classes may have a method ``__unify_walk__(other, U)``, which is asked for them.
    """
    if isinstance(b, Variable) and not isinstance(a, Variable):
        a, b = b, a
    if isinstance(a, Variable):
        best, other = U[a], U[b] if isinstance(b, Variable) else b
        if best is other:
            return U
        narrow = _narrowed(best, other)
        return narrow and U.merge(narrow, a, *([b] if isinstance(b, Variable) else []))
    if isinstance(b, VariableInList) or hasattr(b, "__unify_walk__"):
        a, b = b, a
    if isinstance(a, VariableInList) and isinstance(b, (list, tuple)):
        return unify_walk(a.variable, OrVariable("?", b), U)
    if hasattr(a, "__unify_walk__"):
        return a.__unify_walk__(b, U)
    pairs = _parts(a, b)
    if pairs is None:
        return False
    answer: Answer = U
    for one, two in pairs:
        answer = unify_walk(one, two, answer)
        if answer is False:
            return False
    return answer


def _parts(a: Any, b: Any) -> Sequence[tuple[Any, Any]] | None:
    """Return the pairs of parts of two expressions that have to be equal; None where the expressions cannot be."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return list(zip(a, b, strict=True)) if len(a) == len(b) else None
    if isinstance(a, dict) and isinstance(b, dict):
        return [(value, b[key]) for key, value in a.items() if key in b]
    return [] if type(a) is type(b) and a == b else None


def unify_merge(a: Any, b: Any, U: Unification) -> Any:
    """Return the expression that both `a` and `b` are after the unification `U`.

    Objects of other classes may have a method ``__unify_merge__(other, U)``, which is asked for them.
    """
    for one, two in ((a, b), (b, a)):
        if isinstance(one, Variable):
            best = U[one]
            return best.value if isinstance(best, BoundVariable) else best
        if isinstance(one, FVar):
            return one(U)
        if hasattr(one, "__unify_merge__"):
            return one.__unify_merge__(two, U)
        if isinstance(one, VariableInList) and isinstance(two, (list, tuple)):
            return [unify_build(x, U) for x in two]
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return [unify_merge(x, y, U) for x, y in zip(a, b, strict=False)]
    if isinstance(a, dict) and isinstance(b, dict):
        return type(a)((key, unify_merge(a.get(key, b.get(key)), b.get(key, a.get(key)), U)) for key in {**a, **b})
    return a


def unify_build(x: Any, U: Unification) -> Any:
    """Return the expression `x` with the values that its variables have after the unification `U`."""
    return unify_merge(x, x, U)


def unify(a: Any, b: Any) -> tuple[Any, Answer]:
    """Return `a` and `b` with the values of their variables, and the unification.

    Returns
    -------
    tuple
        ``(None, False)`` if there are no such values.

    Examples
    --------
    >>> from theano.gof import unify
    >>> A, B, C = unify.Var("A"), unify.Var("B"), unify.Var("C")
    >>> unify.unify([5, A, B], [A, C, 9])[0]
    [5, 5, 9]
    >>> unify.unify([5, [A, B]], [A, [1, 2]])
    (None, False)
    """
    unification = unify_walk(a, b, Unification())
    return (None, False) if unification is False else (unify_merge(a, b, unification), unification)
