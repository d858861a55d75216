"""Patterns written as ordinary expressions over wildcards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Constant, Variable, describe, format_error, toposort

from .._errors import PatternError
from ._match import constant_scalar


def pattern_of(expression: Variable, wildcards: Sequence[Variable], *, typed: bool = False) -> object:
    """Return an expression as a pattern in nested tuples; see :class:`PatternRewriter`.

    Parameters
    ----------
    expression : Variable
    wildcards : sequence of Variable
        Variables of the expression that stand for anything. Each has a name; the pattern uses it.
    typed : bool
        Whether a wildcard fits only what has its type or a more precise one.

    Raises
    ------
    PatternError
        If the expression needs a variable that is no wildcard, or a wildcard has no name or shares it.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> pattern_of(neg(neg(x)), [x]) == (neg, (neg, "x"))
    True
    """
    parts: dict[Variable, object] = _wildcard_parts(wildcards, typed)
    for node in toposort(parts, [expression]):
        for variable in node.inputs:
            _note_leaf(variable, parts)
        if len(node.outputs) == 1 or node.op.default_output is not None:
            parts[node.default_output()] = (node.op, *(parts[v] for v in node.inputs))
    _note_leaf(expression, parts)
    return parts[expression]


def _wildcard_parts(wildcards: Sequence[Variable], typed: bool) -> dict[Variable, object]:
    parts: dict[Variable, object] = {}
    names = set()
    for wildcard in wildcards:
        name = wildcard.name
        if name is None or name in names:
            raise PatternError(
                format_error(
                    "each wildcard of a pattern needs a name of its own",
                    context=[describe(wildcard)],
                    hint="give the variable a name when it is made",
                )
            )
        names.add(name)
        parts[wildcard] = {"pattern": name, "constraint": _has_type(wildcard)} if typed else name
    return parts


def _has_type(wildcard: Variable) -> Any:
    def fits(variable: Variable) -> bool:
        return wildcard.type.is_super(variable.type)

    fits.__name__ = str(wildcard.type)
    return fits


def _note_leaf(variable: Variable, parts: dict[Variable, object]) -> None:
    """Enter a constant; raise for a variable that a pattern cannot have."""
    if variable in parts:
        return
    if isinstance(variable, Constant):
        number = constant_scalar(variable.type, variable.data)
        parts[variable] = variable if number is None else number
        return
    what = "needs an output that is not the default output of its node" if variable.owner else "is no wildcard"
    raise PatternError(
        format_error(
            f"`{variable}` cannot stand in a pattern: it {what}",
            context=[describe(variable)],
            hint="list it among the wildcards, or write the rule as a function with node_rewriter",
        )
    )


def rebuilt(expression: Variable, bindings: Mapping[Variable, Variable]) -> Variable:
    """Return an expression with its wildcards replaced: the ops are applied anew, so that types follow.

    Parameters
    ----------
    expression : Variable
    bindings : mapping
        From wildcards to what they stand for.
    """
    known: dict[Variable, Variable] = dict(bindings)
    for node in toposort(known, [expression]):
        made = node.op.make_node(*(known.get(v, v) for v in node.inputs))
        known.update(zip(node.outputs, made.outputs, strict=True))
    return known.get(expression, expression)
