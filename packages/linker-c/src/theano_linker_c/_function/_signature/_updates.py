"""Updates of shared variables: the container type, and the checks that `function` makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theano_graph import Constant, Type, Variable, ancestors, describe, format_error

from ...runtime._storage import SharedVariable
from ._errors import DuplicateUpdateError, UpdateError


class OrderedUpdates(dict[SharedVariable, Any]):
    """A dictionary from shared variables to their new expressions; keys are checked and collisions refused.

    Examples
    --------
    >>> import theano
    >>> s = theano.shared("a", name="s")
    >>> both = theano.OrderedUpdates({s: s}) + {}
    >>> list(both)
    [s]
    """

    def __init__(self, *pairs: Any) -> None:
        super().__init__()
        for pairs_of_user in pairs:
            self.update(pairs_of_user)

    def __setitem__(self, key: SharedVariable, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            raise TypeError(
                format_error(
                    f"OrderedUpdates: a key must be a shared variable, not {type(key).__name__}",
                    context=[describe(key)] if isinstance(key, Variable) else [repr(key)],
                    hint="make it with `shared(value)`.",
                )
            )
        super().__setitem__(key, value)

    def update(self, other: Any = None, /, **_: Any) -> None:
        """Add the pairs of `other`.

        Raises
        ------
        KeyError
            If a variable has another expression already.
        """
        for key, value in _pairs(other, "OrderedUpdates.update"):
            if key in self and self[key] is not value:
                raise KeyError(
                    format_error(
                        "OrderedUpdates: one variable would have two different updates",
                        context=[describe(key)],
                        hint="combine the two expressions into one.",
                    )
                )
            self[key] = value

    def __add__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates(self, other)

    def __radd__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates(other, self)


def _pairs(pairs: Any, where: str) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of a mapping or of an iterable of pairs; None has none."""
    if pairs is None:
        return ()
    if isinstance(pairs, Mapping):
        return list(pairs.items())
    try:
        items = [tuple(item) for item in pairs]
    except TypeError:
        items = [()]
    for item in items:
        if len(item) != 2:
            raise UpdateError(
                format_error(
                    f"{where}: neither a dictionary nor a list of pairs: {pairs!r}",
                    hint="write `{variable: expression}` or `[(variable, expression)]`.",
                )
            )
    return [(item[0], item[1]) for item in items]


def as_pairs(pairs: Any, where: str) -> list[tuple[Any, Any]]:
    """Return `pairs`, a dictionary or an iterable of pairs or None, as a list of pairs.

    Raises
    ------
    UpdateError
        If it is anything else.
    """
    return list(_pairs(pairs, where))


def as_updates(updates: Any, where: str) -> dict[SharedVariable, Variable]:
    """Return the `updates` argument of `function`, checked.

    Raises
    ------
    UpdateError
        For a target that is not a shared variable, or an expression of another type.
    DuplicateUpdateError
        For two expressions for one variable.
    """
    checked: dict[SharedVariable, Variable] = {}
    for target, expression in as_pairs(updates, f"{where}: updates"):
        if not isinstance(target, SharedVariable):
            named = describe(target) if isinstance(target, Variable) else repr(target)
            raise UpdateError(
                format_error(
                    f"{where}: an update target must be a SharedVariable: it must be a shared variable, not "
                    f"{type(target).__name__}",
                    context=[named],
                    hint="make the target with `shared(value)`, or give an input that keeps its value between calls: "
                    "`In(x, value=..., update=...)`.",
                )
            )
        if target in checked:
            raise DuplicateUpdateError(
                format_error(
                    f"{where}: `{target}` has two update expressions: it already has an update expression",
                    context=[describe(target), describe(checked[target]), describe_any(expression)],
                    hint="combine them into one expression.",
                )
            )
        checked[target] = check_update(target, expression, where)
    return checked


def check_update(target: SharedVariable, expression: Any, where: str) -> Variable:
    """Return `expression` as a variable whose values can be stored in `target`.

    Raises
    ------
    UpdateError
        If the types differ; the message tells where a different dtype entered the expression.
    """
    try:
        return _of_same_pattern(target, target.type.narrow_variable(expression, allow_convert=False))
    except (TypeError, ValueError) as error:
        lines = [f"shared variable {describe(target)}", f"its update {describe_any(expression)}"]
        hint = f"give the update the type {target.type.describe()}."
        if isinstance(expression, Variable):
            target_dtype, expression_dtype = _dtype(target.type), _dtype(expression.type)
            if target_dtype is not None and expression_dtype is not None and target_dtype != expression_dtype:
                lines += _dtype_entries(expression, expression_dtype)
                update = f"({target}, new_value.astype({target_dtype!r}))"
                hint = f"cast the update: `{update}`, or cast what brings {expression_dtype} in."
            elif target_dtype is not None and target_dtype == expression_dtype:
                hint = (
                    f"give the update the shape of {target.type.describe()}: reduce or add axes; "
                    "for an axis of length 1, `unbroadcast` or `patternbroadcast`."
                )
        raise UpdateError(
            format_error(
                f"{where}: the update of `{target}` has another type: it must have the same type as the original",
                context=lines,
                hint=hint,
            )
        ) from error


def _of_same_pattern(target: SharedVariable, value: Variable) -> Variable:
    """Return `value`; refuse one that is known to broadcast where the variable is not: it would lose its shape."""
    if hasattr(target.type, "broadcastable") and value.type != target.type:
        raise TypeError(f"{value.type.describe()} differs from {target.type.describe()}")
    return value


def describe_any(value: Any) -> str:
    """Return :func:`describe` of a variable, and the representation of anything else."""
    return describe(value) if isinstance(value, Variable) else f"{value!r} ({type(value).__name__})"


def _dtype(type_: Type) -> str | None:
    dtype = getattr(type_, "dtype", None)
    return None if dtype is None else str(dtype)


def _dtype_entries(expression: Variable, dtype: str, limit: int = 3) -> list[str]:
    """Return lines that tell at which nodes or leaves `dtype` enters the graph of `expression`."""
    lines: list[str] = []
    # Only paths on which every variable has the dtype lead to where it entered.
    foreign = [v for v in ancestors([expression]) if _dtype(v.type) != dtype]
    for variable in ancestors([expression], blockers=foreign):
        if _dtype(variable.type) != dtype:
            continue
        node = variable.owner
        if node is None:
            kind = "constant" if isinstance(variable, Constant) else "variable"
            lines.append(f"{dtype} comes from the {kind} {describe(variable)}")
        elif not any(_dtype(v.type) == dtype for v in node.inputs):
            origin = f" made at {node.origin}" if node.origin is not None else ""
            operands = ", ".join(f"`{v}`: {v.type.describe()}" for v in node.inputs)
            lines.append(f"{dtype} comes from {node.op} of {operands}{origin}")
        if len(lines) == limit:
            break
    return lines
