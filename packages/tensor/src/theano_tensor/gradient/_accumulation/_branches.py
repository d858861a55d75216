"""Gradients through choices: a variable that only one branch reads gets its gradient in that branch.

The derivative of a branch reads values of the branch. A gradient that left the branch unmasked would compute them in
each call, also where the branch does not run, or cannot. So cotangents stay in the branch, and only where they reach a
variable that other calls need too, a choice by the same condition puts zeros in their place for those other calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Apply, Variable, call_with_graph, shape_rule, toposort
from theano_linker_c.program import ALWAYS, Branch, Calls

from ..._core._convert import as_tensor_variable, constant
from ..._core._type import TensorType
from ..._protocols._operations import call
from ...control import ifelse
from ...shape import shape_i
from .._rules._arrays import cast_to, cotangent_dtype, dtype_of, is_discrete, shaped_as, total, zeros_for
from .._rules._types import is_null

#: The terms of the cotangent of a variable, by the number of the calls to which they belong.
Terms = dict[int, list[Variable]]


def through_choice(node: Apply, branch: Branch, cotangents: Sequence[Variable | None]) -> dict[int, Variable | None]:
    """Return the cotangents of the inputs between which a node chooses, for the calls in which each is chosen."""
    found: dict[int, list[Variable]] = {i: [] for i in (*branch.chosen, *branch.otherwise) if i != branch.condition}
    for output, cotangent, *places in zip(node.outputs, cotangents, branch.chosen, branch.otherwise, strict=True):
        if cotangent is None or dtype_of(output) is None:
            continue
        for i in set(places) - {branch.condition}:
            found[i].append(_fitting(node.inputs[i], zeros_for(output) if is_discrete(output) else cotangent))
    return {i: _sum(terms) if terms else None for i, terms in found.items()}


def _fitting(source: Variable, cotangent: Variable) -> Variable:
    if is_null(cotangent):
        return cotangent
    return cast_to(shaped_as(source, cotangent), cotangent_dtype(source))


def _sum(terms: list[Variable]) -> Variable:
    null = next((t for t in terms if is_null(t)), None)
    return total(terms) if null is None else null


class Branches:
    """Sums up cotangents that belong to different calls.

    Parameters
    ----------
    calls : Calls
        In which calls the nodes of the graph are needed.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._conditions: dict[int, Any] = {}

    def sum(self, variable: Variable, terms: Mapping[int, list[Variable]], target: int) -> Variable:
        """Return the sum of terms, for the calls with the number `target`, of which the terms belong to parts."""
        sums: Terms = {number: [_sum(variables)] for number, variables in terms.items()}
        null = next((found[0] for found in sums.values() if is_null(found[0])), None)
        if null is not None:
            return null
        # A part has a greater number than its whole: one that is left is put into that.
        while set(sums) != {target}:
            number = max(n for n in sums if n != target)
            mine = _sum(sums.pop(number))
            branch = self._calls.branches.get(number)
            if branch is None:  # a union, which has no whole of its own
                chosen, total = self._chosen(variable, self._condition(number), mine, None), target
            else:
                total, condition, taken = branch
                twin = self._calls.number_of_branch(total, condition, not taken)
                other = _sum(sums.pop(twin)) if twin in sums and twin != target else None
                pair = (mine, other) if taken else (other, mine)
                chosen = self._chosen(variable, condition, *pair)
                total = target if number < target else total
            sums.setdefault(total, []).append(chosen)
        return _sum(sums[target])

    def _chosen(self, variable: Variable, condition: Any, first: Variable | None, second: Variable | None) -> Variable:
        """Return one of two cotangents of a variable; None stands for zeros."""
        if first is None or second is None:
            term = first if second is None else second
            assert term is not None, "one of the two is there"
            nothing = self._zeros(variable, term)
            first, second = (term, nothing) if second is None else (nothing, term)
        chosen: Variable = ifelse(condition, first, second)
        return shaped_as(variable, chosen)

    def _condition(self, number: int) -> Any:
        """Return a scalar that tells whether a call is one of those with a number; parts are asked late."""
        needed, stack = set[int](), [number]
        while stack:
            n = stack.pop()
            if n != ALWAYS and n not in needed and n not in self._conditions:
                needed.add(n)
                stack += self._calls.unions.get(n) or [self._calls.branches[n][0]]
        for n in sorted(needed):
            self._conditions[n] = self._made_of_parts(n)
        return self._conditions[number]

    def _made_of_parts(self, number: int) -> Any:
        yes, no = (as_tensor_variable(value) for value in (True, False))
        if number in self._calls.unions:
            found = no
            for part in sorted(self._calls.unions[number]):
                found = ifelse(self._conditions[part], yes, found)
            return found
        total, condition, taken = self._calls.branches[number]
        choice = ifelse(condition, yes, no) if taken else ifelse(condition, no, yes)
        return choice if total == ALWAYS else ifelse(self._conditions[total], choice, no)

    def _zeros(self, variable: Any, term: Any) -> Variable:
        if not isinstance(variable.type, TensorType):
            zeros_of_variable: Any = zeros_for(variable)
            return term.zeros_like() if zeros_of_variable.type.exact != term.type.exact else zeros_of_variable  # type: ignore[no-any-return]
        if self._calls.of(variable) == ALWAYS and None in variable.type.shape:
            return variable.zeros_like(dtype=term.type.dtype)  # type: ignore[no-any-return]
        nothing: Variable = call("broadcast_to", constant(0, dtype=term.type.dtype), self._shape(variable))
        return nothing

    def _shape(self, variable: Any) -> tuple[Any, ...]:
        """Return the lengths of a variable of a branch, without its value where the rules of ops do without."""
        known: dict[Variable, tuple[Any, ...] | None] = {}
        for node in toposort([], [variable]) if None in variable.type.shape else ():
            if self._calls.of(node.outputs[0]) != ALWAYS:
                shapes = [known[v] if v in known else _lengths(v) for v in node.inputs]
                known.update(zip(node.outputs, _shapes(node, shapes), strict=True))
        return known.get(variable) or _lengths(variable) or ()


def _lengths(variable: Variable) -> tuple[Any, ...] | None:
    """Return the lengths of a variable, unknown ones as read off the value; None where it has no shape."""
    shape = getattr(variable.type, "shape", None)
    return None if shape is None else tuple(shape_i(variable, i) if n is None else n for i, n in enumerate(shape))


def _shapes(node: Apply, shapes: list[tuple[Any, ...] | None]) -> list[tuple[Any, ...] | None]:
    rule = shape_rule.get(node.op, "infer_shape") or getattr(node.op, "infer_shape", None)
    found = [None] * len(node.outputs) if rule is None else call_with_graph(rule, None, node, shapes)
    results = []
    for output, lengths in zip(node.outputs, found, strict=True):
        own = _lengths(output)
        pairs = None if own is None or lengths is None else zip(output.type.shape, own, lengths, strict=True)
        results.append(own if pairs is None else tuple(a if n is not None or b is None else b for n, a, b in pairs))
    return results
