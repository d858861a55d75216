"""Reverse accumulation over a graph: how one node is differentiated, choices, and the walk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Variable,
    call_with_graph,
    connection_pattern,
    describe,
    format_error,
    origin_from,
    pullback,
    shape_rule,
    toposort,
)
from theano_linker_c.program import ALWAYS, Branch, Calls, branch_of, calls_of

from .._core._convert import as_tensor_variable, constant
from .._core._type import Tensor, TensorType
from .._errors import GradNotImplementedError, GradUndefinedError, PullbackError
from .._protocols._methods import call
from ..control import ifelse
from ..elemwise import Elemwise
from ..shape import shape_i
from ._supports import (
    cast_to,
    cotangent_dtype,
    dtype_of,
    is_complex,
    is_continuous,
    is_discrete,
    pull_back_inside,
    real_part,
    shaped_as,
    static_shape,
    total,
    zeros_for,
)
from ._types import DisconnectedType, NullType, is_disconnected, is_null, written_method

# ---- How one node is differentiated: the choice of the rule, and the check of its result

GivenBack = Sequence[Variable | None]


def pull_back(node: Apply, cotangents: Sequence[Variable | None], pattern: list[list[bool]]) -> list[Variable | None]:
    """Return the cotangents of the inputs of `node`, given those of its outputs.

    Parameters
    ----------
    node : Apply
    cotangents : sequence of Variable or None
        One for each output; None where the cost does not depend on it.
    pattern : list of list of bool
        The connection pattern of the node.

    Returns
    -------
    list of Variable or None
        One for each input, of its shape; of its dtype where that is continuous. None: disconnected. NullType: unknown.

    Raises
    ------
    PullbackError
        If the rule returns a wrong number of cotangents, or one that does not fit its input.
    """
    null = next((c for c in cotangents if is_null(c)), None)
    if null is not None:
        return [null if any(row) else None for row in pattern]
    with origin_from(node):
        prepared = [_prepare(output, c) for output, c in zip(node.outputs, cotangents, strict=True)]
        rule = pullback.get(node.op, "grad", "L_op")
        if type(node.op) is Elemwise and len(prepared) == 1 and isinstance(prepared[0], Tensor):
            inside: Any = pull_back_inside(node, prepared[0])
            if inside is not None:
                return _checked(node, inside, pattern, lenient=False)
        if rule is not None:
            terms = rule(node, [DisconnectedType()() if c is None else c for c in prepared])
            return _checked(node, terms, pattern, lenient=False)
        found_by_op = _own_method(node, prepared)
        if found_by_op is not None:
            return _checked(node, found_by_op, pattern, lenient=True)
    return [_unknown(node, i) if any(row) else None for i, row in enumerate(pattern)]


def _prepare(output: Variable, cotangent: Variable | None) -> Variable | None:
    """Return a cotangent as a rule expects it: an integer output is a step function, so that it passes zeros on."""
    if cotangent is None:
        return None
    if is_discrete(output):
        return zeros_for(output)
    return cotangent


def _own_method(node: Apply, cotangents: Sequence[Variable | None]) -> Sequence[Variable | None] | None:
    """Call ``L_op`` or ``grad`` of a user-written op; None when it defines neither.

    The class nearest to the op decides, so that a subclass with ``grad`` overrides a base with ``L_op``.
    """
    cotangents_given = [DisconnectedType()() if c is None else c for c in cotangents]
    answer: GivenBack | None = None
    l_op, grad = written_method(node.op, "L_op"), written_method(node.op, "grad")
    if l_op is not None and (grad is None or _rank(node.op, "L_op") <= _rank(node.op, "grad")):
        answer = l_op(list(node.inputs), list(node.outputs), cotangents_given)
    elif grad is not None:
        answer = grad(list(node.inputs), cotangents_given)
    return answer


def _rank(op: object, method: str) -> int:
    """Return how far from the class of `op` the class is that defines a method; -1 for one of the op itself."""
    if method in getattr(op, "__dict__", ()):
        return -1
    return next((i for i, c in enumerate(type(op).__mro__) if method in vars(c)), len(type(op).__mro__))


def _unknown(node: Apply, position: int) -> Variable:
    reason = pullback.absence(node.op)
    origin = f" made at {node.origin}" if node.origin is not None else ""
    if reason is not None:
        null = NullType(f"the gradient of {node.op}{origin} is undefined: {reason}", GradUndefinedError)
    else:
        text = f"{node.op}{origin} has no gradient rule (asked for its input {position}, `{node.inputs[position]}`)"
        null = NullType(text, GradNotImplementedError)
    variable: Variable = null()
    return variable


def _checked(
    node: Apply, found: Sequence[Variable | None], pattern: list[list[bool]], *, lenient: bool
) -> list[Variable | None]:
    if not isinstance(found, (list, tuple)):
        raise PullbackError(
            _text(node, f"returned {found!r}, not a list", "return a list with one item for each input")
        )
    if len(found) != len(node.inputs):
        raise PullbackError(
            _text(
                node,
                f"returned {len(found)} gradients for {len(node.inputs)} inputs",
                "return one item for each input; DisconnectedType()() for an input that does not matter",
            )
        )
    return [_checked_term(node, i, term, connected=any(pattern[i]), lenient=lenient) for i, term in enumerate(found)]


def _checked_term(
    node: Apply, position: int, term: Variable | None, *, connected: bool, lenient: bool
) -> Variable | None:
    if term is None or not connected:
        return None
    if not isinstance(term, Variable):
        raise PullbackError(
            _text(node, f"returned {term!r} for input {position}, which is no variable", "return symbolic variables")
        )
    if is_disconnected(term):
        return None
    source = node.inputs[position]
    if is_null(term) or dtype_of(source) is None:
        return term
    _check_shape(node, position, term)
    term = shaped_as(source, term)
    if is_complex(term) and not is_complex(source):
        # The derivative by a real number has no imaginary part: a rule's imaginary part is for complex inputs.
        term = real_part(term)
    if not is_continuous(term):
        if lenient and dtype_of(term) is not None:
            # Integers are forbidden here, yet an integer constant 0 or 1 is the commonest slip: its value is right.
            return cast_to(term, cotangent_dtype(source))
        raise PullbackError(
            _text(node, f"returned a gradient of dtype {dtype_of(term)} for input {position}", "return floating point")
        )
    if is_continuous(source) and dtype_of(term) != dtype_of(source):
        # Operands of several precisions: a rule computes in that of its result.
        return cast_to(term, cotangent_dtype(source))
    return term


def _check_shape(node: Apply, position: int, term: Variable) -> None:
    expected, got = static_shape(node.inputs[position]), static_shape(term)
    if expected is None or got is None:
        return
    if len(expected) != len(got):
        problem = f"returned a gradient with {len(got)} dimensions for input {position} with {len(expected)}"
    elif any(w is not None and g is not None and w != g for w, g in zip(expected, got, strict=True)):
        problem = f"returned a gradient of shape {got} for input {position} of shape {expected}"
    else:
        return
    raise PullbackError(_text(node, problem, "a gradient has the shape of its input: sum over broadcast dimensions"))


def _text(node: Apply, problem: str, hint: str) -> str:
    origin = f" made at {node.origin}" if node.origin is not None else ""
    return format_error(
        f"the gradient rule of {node.op}{origin} {problem}",
        context=[f"input {i}: {describe(v)}" for i, v in enumerate(node.inputs)],
        hint=hint,
    )


# ---- Gradients through choices: a variable that only one branch reads gets its gradient in that branch
#
# The derivative of a branch reads values of the branch. A gradient that left the branch unmasked would compute them in
# each call, also where the branch does not run, or cannot. So cotangents stay in the branch, and only where they reach
# a
# variable that other calls need too, a choice by the same condition puts zeros in their place for those other calls.

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


# ---- Reverse accumulation over a graph. Linear in its size; no recursion

Pattern = list[list[bool]]
#: A node and the number of one of its inputs.
Edge = tuple[Apply, int]


def backward(
    seeds: Mapping[Variable, Variable],
    wrt: Sequence[Variable],
    constants: Iterable[Variable] = (),
    cuts: set[Edge] | None = None,
    *,
    additive: bool = False,
) -> list[Variable | None]:
    """Return the gradients with respect to `wrt`.

    Parameters
    ----------
    seeds : mapping
        Variable -> its complete cotangent. Contributions to such a variable from other seeds are not added, unless
        `additive` is set.
    wrt : sequence of Variable
    constants : iterable of Variable
        Nothing flows through these to their ancestors; their own gradients are known all the same.
    cuts : set of (Apply, int), optional
        Gets the node and the number of each input that a gradient rule said does not matter.
    additive : bool
        The seeds belong to several results, of which one may depend on another: all that flows to them counts.

    Returns
    -------
    list of Variable or None
        One for each of `wrt`: None where no seed depends on it.
    """
    blocked = set(constants)
    order = toposort(blocked, list(seeds))
    patterns = {node: connection_pattern(node) for node in order}
    active = _depending_on(order, patterns, wrt, blocked)
    found = _Cotangents(seeds, calls_of(order, list(seeds)))
    for node in reversed(order):
        if any(v in active for v in node.outputs):
            cotangents = [None if v in blocked else found.of(v) for v in node.outputs]
            arriving = _through(node, patterns[node], cotangents, {} if additive else seeds, active)
            found.add(node, arriving)
            if cuts is not None:
                cuts.update((node, i) for i, term in arriving.items() if term is None)
    return [found.result(v) for v in wrt]


class _Cotangents:
    """The cotangents of each variable, by the calls to which it belongs; sums take the place of their terms."""

    def __init__(self, seeds: Mapping[Variable, Variable], calls: Calls) -> None:
        self._terms: dict[Variable, Terms] = {v: {ALWAYS: [g]} for v, g in seeds.items()}
        self._calls = calls
        self._branches = Branches(calls)

    def add(self, node: Apply, arriving: Mapping[int, Variable | None]) -> None:
        """Take in a node's cotangents of its inputs."""
        calls = self._calls.of_inputs(node) if arriving and self._calls.branches else ()
        for i, term in arriving.items():
            if term is not None:
                terms = self._terms.setdefault(node.inputs[i], {})
                terms.setdefault(calls[i] if calls else ALWAYS, []).append(term)

    def of(self, variable: Variable) -> Variable | None:
        """Return the cotangent of a variable, for the calls in which it is computed."""
        terms = self._terms.get(variable)
        if not terms:
            return None
        calls = self._calls.of(variable)
        if len(terms) > 1 or len(terms.get(calls, ())) != 1:
            with origin_from(variable):
                terms = self._terms[variable] = {calls: [self._branches.sum(variable, terms, calls)]}
        return terms[calls][0]

    def result(self, variable: Variable) -> Variable | None:
        """Return the cotangent of a variable for all calls."""
        mine, calls = self.of(variable), self._calls.of(variable)
        if mine is None or calls == ALWAYS:
            return mine
        with origin_from(variable):
            return self._branches.sum(variable, {calls: [mine]}, ALWAYS)


def _depending_on(
    order: list[Apply], patterns: Mapping[Apply, Pattern], wrt: Sequence[Variable], blocked: set[Variable]
) -> set[Variable]:
    """Return the variables that depend differentiably on one of `wrt`, these included."""
    active = set(wrt)
    for node in order:
        inputs = [i for i, v in enumerate(node.inputs) if v in active]
        if not inputs:
            continue
        pattern = patterns[node]
        for o, output in enumerate(node.outputs):
            if output not in blocked and any(pattern[i][o] for i in inputs):
                active.add(output)
    return active


def _through(
    node: Apply,
    pattern: Pattern,
    cotangents: list[Variable | None],
    seeds: Mapping[Variable, Variable],
    active: set[Variable],
) -> dict[int, Variable | None]:
    """Pull the cotangents of the outputs of `node` back to those of its inputs for which it matters."""
    positions = [
        i
        for i, v in enumerate(node.inputs)
        if v in active
        and v not in seeds
        and any(p and c is not None for p, c in zip(pattern[i], cotangents, strict=True))
    ]
    if not positions:
        return {}
    branch = branch_of(node)
    chosen = {} if branch is None else through_choice(node, branch, cotangents)
    others = [None] * len(node.inputs) if all(i in chosen for i in positions) else pull_back(node, cotangents, pattern)
    return {i: chosen.get(i, others[i]) for i in positions}
