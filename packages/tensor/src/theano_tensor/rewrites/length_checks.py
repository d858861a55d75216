"""Lengths that a program compares are compared, whatever rewriting leaves out.

An elementwise operation, and a product of matrices, compares lengths of its operands: ``(x + y) - y`` is an error for
tensors x and y of different shapes. Rules about one node need not care: ``x`` replaces it. While a graph is rewritten,
what leaves it is noted, and what replaces what. At the end, :class:`LengthChecks` asks of each comparison that has left
the graph whether it follows from those that are there: lengths that are equal are in one set of
:class:`LengthClasses`. Where it does not, an operand is checked (:class:`~theano_tensor.shape.SameLengths`). Gradients
drop most of what they are made of, and nearly always compute something else that compares the same lengths.

What replaces a variable has its shape, if all comparisons hold. This defines the lengths of what has gone: each is
looked up as that of its replacement, or else of the operand that it came from, so that no comparison proves itself.

Checks stand at operands that no loop makes, so that loops are joined as they would be without them. All steps are
linear in the size of the graph and the number of replacements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from theano_graph import Apply, Feature, FunctionGraph, Variable, config, origin_from
from theano_linker_c import scalar
from theano_linker_c.program import when_needed
from theano_optimize import GraphRewriter, RewriteProfile

from .._assert import CheckAndRaise

# Declares the flag that is read here.
from .._core import _flags as _flags
from .._graph_op import GraphOp
from ..creation import Alloc
from ..elemwise import DimShuffle, Elemwise
from ..indexing import Subtensor
from ..linear import BatchedDot, Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from ..reduce import Reduce
from ..shape import SameLengths, ShapeI, ShapeOf
from ._groups import DisjointSets
from ._language import call
from ._length_links import (
    VALUE,
    Dimension,
    Term,
    beginning_of,
    compared_lengths,
    held_by,
    is_plain,
    length_of,
    sources,
    term_of,
)
from .shape_feature import ShapeFeature

#: A node and the number of an input, or "output" and that of an output of the graph.
Place: TypeAlias = tuple[Apply | Literal["output"], int]
#: Ops whose comparisons are kept.
_KEPT = (Elemwise, Dot, BatchedDot)
#: Ops whose links are found at a glance, and products. They are asked first, then all others, in three groups: parts of
#: tensors need lengths to be known, and graphs inside of ops take longest.
_FIRST = ((Elemwise, DimShuffle, Reduce), (Dot, BatchedDot, Dot22, Dot22Scalar, Gemm, Gemv, Ger))
_LATER = (Subtensor, GraphOp)
_OTHERWISE = CheckAndRaise(ValueError, "Input dimension mis-match: lengths differ that do not broadcast")


class LengthRecord(Feature):
    """What left a graph, and what replaced what, since this was attached.

    Attributes
    ----------
    gone : list of Apply
        The nodes that compare lengths.
    instead : dict
        Variable -> what replaced it last.
    users : dict
        Variable -> a place where it was replaced: a node, or "output", and a number.
    calls : dict
        Node -> the calls that need it, for those that not every call needs.
    """

    only_remembers = True

    def __init__(self) -> None:
        self.gone: list[Apply] = []
        self.instead: dict[Variable, Variable] = {}
        self.users: dict[Variable, Place] = {}
        self.calls: Mapping[Apply, int] = {}

    def clone(self) -> Feature:
        """Return a record of nothing."""
        return type(self)()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note which nodes are not always needed."""
        self.calls = when_needed(fgraph.toposort(), fgraph.outputs)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Note a node that compares lengths."""
        if isinstance(node.op, _KEPT) and len(node.inputs) > 1:
            self.gone.append(node)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Note a replacement."""
        self.instead[old] = new
        self.users[old] = node, i


class LengthClasses:
    """Sets of lengths that are equal whenever a graph runs without an error.

    Parameters
    ----------
    fgraph : FunctionGraph
    instead : dict
        What replaced variables that have left the graph.
    """

    def __init__(self, fgraph: FunctionGraph, instead: Mapping[Variable, Variable]) -> None:
        self._there = fgraph.variables
        self._instead = instead
        self._sets = DisjointSets()
        self._found: dict[Dimension, Term] = {}
        self._sources: dict[Apply, Any] = {}

    def term(self, term: Term) -> Term:
        """Return a number, or a dimension of a variable of the graph, for a length; what has gone is looked through."""
        path: list[Dimension] = []
        seen: set[Dimension] = set()
        while not isinstance(term, int) and term not in seen:
            known = self._found.get(term)
            if known is not None:
                term = known
                break
            path.append(term)
            seen.add(term)
            below = self._below(term)
            if below is None:
                break
            term = below
        self._found.update(dict.fromkeys(path, term))
        return term

    def _below(self, term: Dimension) -> Term | None:
        variable, axis = term
        if axis == VALUE:
            return held_by(variable) or ((self._instead[variable], axis) if self._has_gone(variable) else None)
        if variable in self._there:
            return None
        if self._has_gone(variable):
            return term_of(self._instead[variable], axis)
        return self._source(variable, axis)

    def _source(self, variable: Variable, axis: int) -> Term | None:
        node = variable.owner
        if node is None:
            return None
        if node not in self._sources:
            self._sources[node] = sources(node)
        terms = self._sources[node][variable.index or 0]
        if terms is None or terms[axis] is not None:
            return None if terms is None else terms[axis]
        part = beginning_of(node, axis)
        return part[0] if part is not None and self.root(part[0]) == self.root(part[1]) else None

    def _has_gone(self, variable: Variable) -> bool:
        return variable not in self._there and variable in self._instead

    def root(self, term: Term) -> Any:
        """Return what stands for all lengths that are equal to one."""
        return self._sets.find(self.term(term))

    def join(self, terms: Iterable[Term]) -> None:
        """Note that lengths are equal."""
        first, *others = terms
        for other in others:
            self._sets.join(self.term(first), self.term(other))

    def learn(self, nodes: Iterable[Apply]) -> None:
        """Note what follows from nodes that run."""
        for node in nodes:
            for group in compared_lengths(node):
                self.join(group)
            for output in filter(is_plain, node.outputs):
                for axis, single in enumerate(output.type.broadcastable):
                    source = None if single else self._source(output, axis)
                    if source is not None:
                        self.join((term_of(output, axis), source))
        self._found.clear()  # what is known now may tell where more lengths come from


class _Dimension:
    """A dimension of a variable of the graph, as a place to read a length from, or to check it at."""

    __slots__ = ("axis", "position", "use", "variable")

    def __init__(self, variable: Variable, axis: int, position: int, use: int) -> None:
        self.variable, self.axis, self.position, self.use = variable, axis, position, use

    def is_better_than(self, other: _Dimension) -> bool:
        return (-self.use, self.position) < (-other.use, other.position)


class _Checks:
    """The checks that a graph needs in place of nodes that have left it."""

    def __init__(self, fgraph: FunctionGraph, record: LengthRecord) -> None:
        self.fgraph, self.record = fgraph, record
        self.order = fgraph.toposort()
        self.calls = when_needed(self.order, fgraph.outputs)
        self.lengths = LengthClasses(fgraph, record.instead)
        self.positions = {v: k for k, node in enumerate(self.order) for v in node.outputs}
        self.places: dict[Any, _Dimension] = {}
        self.at: dict[Variable, list[tuple[int, Any, Apply]]] = {}
        self.before: dict[Place, list[tuple[Any, Apply]]] = {}
        self.shapes = ShapeFeature()
        self.anew: dict[Variable, Variable] = {}

    def missing(self) -> list[tuple[Apply, Term, Term]]:
        """Return the pairs of lengths that nodes compared, and nothing does now."""
        compared = [
            (node, group)
            for node in self.record.gone
            if node not in self.fgraph.apply_nodes
            for group in self._compared_by(node)
            if len(group) > 1
        ]
        if not compared:
            return []
        always = [node for node in self.order if node not in self.calls and any(map(is_plain, node.outputs))]
        turns: list[list[Apply]] = [[] for _ in range(len(_FIRST) + 1 + len(_LATER))]
        for node in always:
            turns[_turn(node)].append(node)
        for nodes in turns:
            self.lengths.learn(nodes)
            compared = [(node, group) for node, group in compared if self._differ(group)]
            if not compared:
                return []
        self.lengths.learn(turns[-len(_LATER)])
        pairs = [(node, group[0], other) for node, group in compared for other in group[1:]]
        return [(node, a, b) for node, a, b in pairs if self._differ((a, b))]

    def _compared_by(self, node: Apply) -> Iterable[list[Term]]:
        """Return what a node that has gone compared; by the user's leave filled tensors fit without a look."""
        groups = compared_lengths(node)
        if config.experimental.local_alloc_elemwise_assert:
            return groups
        return [[term for term in group if isinstance(term, int) or not _is_filled(term[0])] for group in groups]

    def _differ(self, group: Sequence[Term]) -> bool:
        first = self.lengths.root(group[0])
        return any(self.lengths.root(term) != first for term in group[1:])

    def find_places(self) -> None:
        """Find where the lengths of each set can be read, and checked."""
        for variable in (*self.fgraph.inputs, *(v for node in self.order for v in node.outputs)):
            if is_plain(variable) and variable.owner not in self.calls:
                use = max((self._use_by(user) for user, _ in self.fgraph.clients(variable)), default=0)
                for axis, single in enumerate(variable.type.broadcastable):
                    if not single:
                        place = _Dimension(variable, axis, self.positions.get(variable, -1), use)
                        self._offer(self.lengths.root(term_of(variable, axis)), place)

    def _use_by(self, user: Any) -> int:
        """Return 2 for a user in all calls, 1 for one that only asks for the shape, and 0 for others."""
        if user == "output":
            return 2
        return 0 if user in self.calls else 1 if _asks_for_shape(user) else 2

    def _offer(self, root: Any, place: _Dimension) -> None:
        known = self.places.get(root)
        if known is None or place.is_better_than(known):
            self.places[root] = place

    def add(self, node: Apply, a: Term, b: Term) -> None:
        """Have two lengths compared that a node compared, which has gone."""
        if self.lengths.root(a) == self.lengths.root(b):
            return  # an earlier check compares them
        if self._is_conditional(node):
            self._compare_where_needed(node, a, b)
            return
        if not self._compare_at_operand(node, a, b):
            self._compare_before(("output", 0), node, a, b)
        places = [self.places.get(self.lengths.root(term)) for term in (a, b)]
        self.lengths.join((a, b))
        for place in places:
            if place is not None:
                self._offer(self.lengths.root(a), place)

    def _is_conditional(self, node: Apply) -> bool:
        """Tell whether a node that has gone was, or may have been, not needed in all calls."""
        if not self.calls and not self.record.calls:
            return False
        if node in self.record.calls:
            return True
        result = self.lengths.term(term_of(node.outputs[0], 0)) if node.outputs[0].type.ndim else 1
        return not isinstance(result, int) and result[0].owner in self.calls

    def _compare_at_operand(self, node: Apply, a: Term, b: Term) -> bool:
        """Have the later of two operands checked as it comes; False where it comes too early."""
        pairs = [(self.places.get(self.lengths.root(at)), other) for at, other in ((a, b), (b, a))]
        usable = [(place, other) for place, other in pairs if place is not None and place.use]
        for place, other in sorted(usable, key=lambda pair: (pair[0].use, pair[0].position), reverse=True):
            length = self._length(other)
            if self._position(length) <= place.position:
                self.at.setdefault(place.variable, []).append((place.axis, length, node))
                return True
        return False

    def _compare_where_needed(self, node: Apply, a: Term, b: Term) -> None:
        """Have two lengths compared in the calls that need a node, where what used its result is there."""
        result, seen = node.outputs[0], set()
        while result not in seen:
            seen.add(result)
            if result in self.fgraph.variables:
                for place in self.fgraph.clients(result):
                    self._compare_before(place, node, a, b)
                return
            user, i = self.record.users.get(result, ("output", 0))
            if isinstance(user, str):
                return
            if user in self.fgraph.apply_nodes:
                self._compare_before((user, i), node, a, b)
                return
            result = user.outputs[0]

    def _compare_before(self, place: Place, node: Apply, a: Term, b: Term) -> None:
        """Have two lengths compared before a node runs, or before the graph has an output."""
        equal = call(scalar.eq, self._length(a), self._length(b))
        user = place[0]
        if isinstance(user, str) or self._position(equal) < self.positions[user.outputs[0]]:
            self.before.setdefault(place, []).append((equal, node))

    def _length(self, term: Term) -> Any:
        """Return a scalar that holds a length, computed of variables of the graph."""
        term = self.lengths.term(term)
        place = self.places.get(self.lengths.root(term))
        if place is not None and not isinstance(term, int):
            term = place.variable, place.axis
        if isinstance(term, int) or term[0] in self.fgraph.variables:
            return length_of(term)
        variable, axis = term
        return self._anew(variable if axis == VALUE else self.shapes.get_shape(variable, axis))

    def _anew(self, variable: Variable) -> Variable:
        """Return what has left the graph computed of what is there."""
        pending = [variable]
        while pending:
            v = pending[-1]
            below = self._instead_of(v)
            unknown = [x for x in below if x not in self.anew and x not in self.fgraph.variables]
            if unknown:
                pending += unknown
                continue
            pending.pop()
            if v in self.anew or v in self.fgraph.variables:
                continue
            new = [self.anew.get(x, x) for x in below]
            if v.owner is None or v in self.record.instead:
                self.anew[v] = new[0] if new else v
            else:
                self.anew.update(zip(v.owner.outputs, v.owner.clone_with_new_inputs(new).outputs, strict=True))
        return self.anew.get(variable, variable)

    def _instead_of(self, v: Variable) -> Sequence[Variable]:
        if v in self.fgraph.variables:
            return ()
        if v in self.record.instead:
            return (self.record.instead[v],)
        return () if v.owner is None else v.owner.inputs

    def _position(self, length: Variable) -> int:
        """Return after which node of the graph a length can be computed."""
        last, pending, seen = -1, [length], set()
        while pending:
            v = pending.pop()
            if v in self.positions:
                last = max(last, self.positions[v])
            elif v.owner is not None and v not in seen:
                seen.add(v)
                pending += v.owner.inputs
        return last

    def put(self, rewriter: GraphRewriter) -> int:
        """Put the checks into the graph; return their number."""
        for (user, i), pairs in self.before.items():
            variable = self.fgraph.outputs[i] if isinstance(user, str) else user.inputs[i]
            with origin_from(pairs[0][1]):
                checked = _OTHERWISE(variable, *(equal for equal, _ in pairs))
            self._put(checked, [(user, i)], rewriter)
        for variable, checks in self.at.items():
            users = list(self.fgraph.clients(variable))
            inside = [
                place for place in users if place[0] != "output" and not isinstance(place[0].op, (ShapeI, ShapeOf))
            ]
            self._put(_checked(variable, checks), inside or users, rewriter)
        return len(self.at) + len(self.before)

    def _put(self, checked: Any, users: Sequence[Any], rewriter: GraphRewriter) -> None:
        for user, i in users:
            self.fgraph.change_input(user, i, checked, reason=rewriter)


def _turn(node: Apply) -> int:
    """Return when a node is asked which lengths are equal."""
    for k, ops in enumerate(_FIRST):
        if isinstance(node.op, ops):
            return k
    return len(_FIRST) + next((k for k, op in enumerate(_LATER, 1) if isinstance(node.op, op)), 0)


def _asks_for_shape(user: Apply) -> bool:
    return isinstance(user.op, (ShapeI, ShapeOf))


def _is_filled(variable: Variable) -> bool:
    return variable.owner is not None and isinstance(variable.owner.op, Alloc)


def _checked(variable: Any, checks: Sequence[tuple[int, Any, Apply]]) -> Any:
    """Return a variable with some of its dimensions checked, each against a number of lengths."""
    left = list(checks)
    while left:
        now: dict[int, tuple[Any, Apply]] = {}
        rest = []
        for axis, length, node in left:
            if axis in now:
                rest.append((axis, length, node))
            else:
                now[axis] = length, node
        left = rest
        axes = sorted(now)
        with origin_from(now[axes[0]][1]):
            variable = SameLengths(axes)(variable, *(now[axis][0] for axis in axes))
    return variable


class RecordLengths(GraphRewriter):
    """Have what leaves a graph noted, for :class:`LengthChecks`."""

    def __init__(self) -> None:
        super().__init__("RecordLengths")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Attach a record to the graph."""
        if not any(isinstance(f, LengthRecord) for f in fgraph.features):
            fgraph.attach_feature(LengthRecord())
        return RewriteProfile(self.name)


class LengthChecks(GraphRewriter):
    """Keep the comparisons of lengths that other rewriters left out, where they do not follow from what is left."""

    def __init__(self) -> None:
        super().__init__("LengthChecks")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Put checks where lengths are compared no more."""
        profile = RewriteProfile(self.name)
        for record in [f for f in fgraph.features if isinstance(f, LengthRecord)]:
            fgraph.remove_feature(record)
            checks = _Checks(fgraph, record)
            missing = checks.missing() if record.gone and fgraph.outputs else []
            if missing:
                checks.find_places()
                for node, a, b in missing:
                    checks.add(node, a, b)
                checks.put(self)
        return profile
