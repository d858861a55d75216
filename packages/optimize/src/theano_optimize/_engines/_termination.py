"""Noticing that rewriting will not end.

Each node that a rule makes remembers what it was derived from. Two signs end a run: the same rule fires for the third
time on the same expression along one line of descent, which means that rules undo each other; and a
rule fires more often than a multiple of the number of nodes, which means that it feeds itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from theano_graph import Apply, Constant, Variable, format_error

from .._errors import RewriteCycleError
from .._text import tree_lines

#: Room for small graphs, in which a few nodes may be rewritten many times.
SPARE_NODES = 100

#: How often one rule may fire on one application along a line of descent.
ALLOWED_REPETITIONS = 2

#: How far an expression is described: levels, and inputs of nodes altogether.
MAX_DEPTH = 4
MAX_DESCRIBED = 24

#: Number of firings along a line of descent before expressions are described.
SHORT_LINE = 4

#: How far back a line of descent is searched.
MAX_LINEAGE = 2000


class Derivation:
    """One firing of a rule: its name, what it fired on, the firing that made that, and how many came before."""

    __slots__ = ("length", "parent", "rule", "state")

    def __init__(self, parent: Derivation | None, rule: str, state: Hashable) -> None:
        self.parent = parent
        self.rule = rule
        self.state = state
        self.length: int = 0 if parent is None else parent.length + 1


class TerminationGuard:
    """Counts firings and follows lines of descent; see the text of the module.

    Parameters
    ----------
    name : str
        Of the rewriter that is guarded, for errors.
    nodes : int
        Size of the graph at the start.
    max_use_ratio : float
        How many times a rule may fire for each node of the graph at the start.
    """

    def __init__(self, name: str, nodes: int, max_use_ratio: float) -> None:
        self.name = name
        self.limit = max_use_ratio * (nodes + SPARE_NODES)
        self.firings: Counter[str] = Counter()
        self._hashes: Counter[int] = Counter()
        self._lineage: dict[Apply, Derivation] = {}
        self._current: Derivation | None = None

    def before(self, rule: str, node: Apply) -> None:
        """Note that `rule` is about to fire on `node`.

        Raises
        ------
        RewriteCycleError
            If rewriting would not end.
        """
        parent = self._lineage.get(node)
        # Most lines of descent are short, and describing expressions takes time.
        long = parent is not None and parent.length >= SHORT_LINE
        state = (rule, self._expression(node) if long else (node.op, *node.inputs))
        current = Derivation(parent, rule, state)
        self.firings[rule] += 1
        if self.firings[rule] > self.limit:
            raise self._error(node, _rules_of(current), f"fired {self.firings[rule]} times, more than {self.limit:.0f}")
        # Hashes keep no nodes alive; the line of descent tells in the end.
        key = hash(state)
        self._hashes[key] += 1
        if self._hashes[key] > ALLOWED_REPETITIONS:
            cycle = _find_cycle(current)
            if cycle:
                raise self._error(node, cycle, "come back to the same expression again and again")
        self._current = current

    def _expression(self, node: Apply) -> Hashable:
        """Return what `node` computes, so that nodes made anew each time are recognised.

        Nodes that rewriting made are described by their ops, as far as a few levels and nodes; others are themselves.
        """
        budget = MAX_DESCRIBED

        def describe(variable: Variable, depth: int) -> Hashable:
            nonlocal budget
            owner = variable.owner
            if isinstance(variable, Constant):
                return (variable.type, variable.signature())
            if owner is None or depth == 0 or budget <= 0 or owner not in self._lineage:
                return variable
            budget -= owner.nin
            return (owner.op, variable.index, *(describe(v, depth - 1) for v in owner.inputs))

        return (node.op, *(describe(v, MAX_DEPTH) for v in node.inputs))

    def after(self) -> None:
        """Note that the replacement is complete."""
        self._current = None

    def made(self, node: Apply) -> None:
        """Note that `node` came into the graph."""
        if self._current is not None:
            self._lineage[node] = self._current

    def gone(self, node: Apply) -> None:
        """Note that `node` left the graph."""
        self._lineage.pop(node, None)

    def _error(self, node: Apply, rules: tuple[str, ...], how: str) -> RewriteCycleError:
        names = " and ".join(f"`{rule}`" for rule in rules)
        return RewriteCycleError(
            format_error(
                f"rewriting in {self.name} does not end: {names} {how}",
                context=tree_lines(node.outputs[:1], 4),
                hint=f"exclude one of {names}, or give it a condition that its own result does not fulfil",
            ),
            rewriters=rules,
        )


def _line(derivation: Derivation | None) -> Iterable[Derivation]:
    for _ in range(MAX_LINEAGE):
        if derivation is None:
            return
        yield derivation
        derivation = derivation.parent


def _find_cycle(current: Derivation) -> tuple[str, ...]:
    """Return the rules between firings on the same state, or nothing if the line of descent does not repeat."""
    rules: dict[str, None] = {}
    repetitions = 0
    for derivation in _line(current):
        if derivation is not current and derivation.state == current.state:
            repetitions += 1
            if repetitions == ALLOWED_REPETITIONS:
                return tuple(reversed(rules))
        rules[derivation.rule] = None
    return ()


def _rules_of(current: Derivation) -> tuple[str, ...]:
    """Return the rules of the last few firings, the one that fired most recently first."""
    rules: dict[str, None] = {}
    for derivation, _ in zip(_line(current), range(20), strict=False):
        rules[derivation.rule] = None
    return tuple(rules)
