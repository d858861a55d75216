"""Lengths that a program compares are compared, though rewriting leaves nodes out.

An elementwise operation, and a product of matrices, compares lengths of its operands: ``(x + y) - y`` is an error for
tensors x and y of different shapes. Rules about one node need not care: ``x`` replaces it. While a graph is rewritten,
nodes that leave it are noted, with their replacements. At the end, :class:`LengthChecks` asks of each lost comparison
whether it follows from the present ones: lengths that are equal are in one set of :class:`LengthClasses`. Where it
does not, an operand is checked (:class:`~theano_tensor.shape.SameLengths`). Gradients drop most of their operands, and
nearly always compute something else that compares the same lengths.

A check brings back no work. Where a length would take values that the graph does not compute, or that only a branch
computes, nothing is checked. A comparison inside of a branch is made in a branch, or nowhere.

A replacement has the shape of its original, if all comparisons hold. This defines the lengths of lost variables: each
is looked up as that of its replacement, or else of the operand that it came from, so that no comparison proves itself.

Checks stand at operands that no loop makes, so that loops are joined as they would be without them. All steps are
linear in the size of the graph and the number of replacements.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from theano_graph import Apply, Constant, Feature, FunctionGraph, Variable, config, origin_from
from theano_linker_c import scalar
from theano_linker_c.program import ALWAYS, lazy_form, when_needed
from theano_optimize import GraphRewriter, RewriteProfile

from .._core._dtypes import DISCRETE_DTYPES
from .._core._ops import CheckAndRaise
from .._graph_op import GraphOp
from ..creation import Alloc
from ..elemwise import DimShuffle, Elemwise
from ..indexing import Subtensor
from ..linear import BatchedDot, Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from ..reduce import Reduce
from ..shape import MakeVector, SameLengths, ShapeI, ShapeOf
from ._groups import DisjointSets
from ._language import call, maker
from ._length_links import (
    COMPARED as COMPARED,
    REFUSAL,
    VALUE as VALUE,
    Dimension,
    Term as Term,
    are_lengths,
    beginning_of,
    compared_lengths,
    equal_elementwise,
    filled_by,
    has_open_lengths,
    held_by,
    is_plain as is_plain,
    length_of,
    sources,
    term_of as term_of,
    without_filled,
)
from .shape import ShapeFeature

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
    """The nodes that left a graph, and the replacements, since this was attached.

    Attributes
    ----------
    gone : list of Apply
        The nodes that compare lengths.
    instead : dict
        Variable -> its last replacement.
    users : dict
        Variable -> a place where it was replaced, if `inside` has nodes: a node, or "output", and a number.
    written : frozenset of Apply
        The nodes that were there at first.
    inside : set of Apply
        Those of `written` that a branch of a choice is computed of.
    filled : list of Apply
        Those of `written` that filled tensors, and are gone.
    """

    only_remembers = True

    def __init__(self) -> None:
        self.gone: list[Apply] = []
        self.instead: dict[Variable, Variable] = {}
        self.users: dict[Variable, Place] = {}
        self.written: frozenset[Apply] = frozenset()
        self.inside: set[Apply] = set()
        self.filled: list[Apply] = []

    def clone(self) -> Feature:
        """Return a record of nothing."""
        return type(self)()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Note which nodes there are, and which are inside of branches."""
        self.written = frozenset(fgraph.apply_nodes)
        pending = [node.inputs[i].owner for node in self.written for i in _branches(node)]
        while pending:
            node = pending.pop()
            if node is not None and node not in self.inside:
                self.inside.add(node)
                pending += [v.owner for v in node.inputs]

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Note a node of the program that compares lengths; a rule's replacement may compare more."""
        if isinstance(node.op, Alloc) and node in self.written:
            self.filled.append(node)
        elif node in self.written and isinstance(node.op, _KEPT) and len(node.inputs) > 1:
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
        if self.inside:
            self.users[old] = node, i


class LengthClasses:
    """Sets of lengths that are equal whenever a graph runs without an error.

    Parameters
    ----------
    fgraph : FunctionGraph
    instead : dict
        The replacements of variables that have left the graph.
    """

    def __init__(self, fgraph: FunctionGraph, instead: Mapping[Variable, Variable]) -> None:
        self._there = frozenset(fgraph.variables)
        self._instead = instead
        self._sets = DisjointSets()
        self._found: dict[Dimension, Term] = {}
        self._sources: dict[Apply, Any] = {}

    def term(self, term: Term) -> Term:
        """Return a number, or a dimension of a variable of the graph, for a length; it looks through lost variables."""
        if isinstance(term, int) or (term[1] != VALUE and term[0] in self._there):
            return term
        asked: dict[Term, None] = {term: None}
        while True:
            last = next(reversed(asked))
            root, first = self._follow(last, asked)
            if first is not None:
                asked[first] = None
                continue
            del asked[last]
            if not asked:
                return root

    def _follow(self, term: Term, asked: Container[Term]) -> tuple[Term, Term | None]:
        """Return the result of :meth:`term`, or a second term that has to be looked up first."""
        path: list[Dimension] = []
        seen: set[Dimension] = set()
        while not isinstance(term, int) and term not in seen:
            place_known = self._found.get(term)
            if place_known is not None:
                term = place_known
                break
            for part in self._parts(term) or ():
                if not isinstance(part, int) and part not in self._found and part not in asked:
                    return term, part
            path.append(term)
            seen.add(term)
            below = self._below(term)
            if below is None:
                break
            term = below
        self._found.update(dict.fromkeys(path, term))
        return term, None

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
        """Return the length of an operand that a length of a result is."""
        source = self._handed_on(variable, axis)
        parts = None if source is not None else beginning_of(variable, axis)
        return parts[0] if parts is not None and self._are_equal(*parts) else source

    def _handed_on(self, variable: Variable, axis: int) -> Term | None:
        node = variable.owner
        if node is None:
            return None
        if node not in self._sources:
            self._sources[node] = sources(node)
        terms = self._sources[node][variable.index or 0]
        return None if terms is None else terms[axis]

    def _parts(self, term: Dimension) -> tuple[Term, Term] | None:
        """Return two lengths that have to be equal for a length that has gone to be the first of them."""
        variable, axis = term
        if axis == VALUE or variable in self._there or self._has_gone(variable):
            return None
        return beginning_of(variable, axis)

    def _are_equal(self, a: Term, b: Term) -> bool:
        """Tell whether two lengths that have been looked up are equal."""
        first, second = (self._sets.find(t if isinstance(t, int) else self._found.get(t, t)) for t in (a, b))
        return bool(first == second)

    def _has_gone(self, variable: Variable) -> bool:
        return variable not in self._there and variable in self._instead

    def root(self, term: Term) -> Any:
        """Return the representative of all lengths that are equal to one."""
        return self._sets.find(self.term(term))

    def join(self, terms: Iterable[Term]) -> None:
        """Note that lengths are equal."""
        first, *others = map(self.term, terms)
        for other in others:
            self._sets.join(first, other)

    def learn(self, nodes: Iterable[Apply]) -> None:
        """Note the consequences of nodes that run."""
        for node in nodes:
            if isinstance(node.op, Elemwise):
                for group in equal_elementwise(node):
                    self.join(group)
                continue
            for group in compared_lengths(node):
                self.join(group)
            for output in filter(is_plain, node.outputs):
                for axis, single in enumerate(output.type.broadcastable):
                    if single:
                        continue
                    for part in beginning_of(output, axis) or ():
                        self.term(part)
                    source = self._source(output, axis)
                    if source is not None:
                        self.join((term_of(output, axis), source))
        self._found.clear()  # new facts may tell where more lengths come from


class _Dimension:
    """A dimension of a variable of the graph, as a place to read a length from, or to check it at."""

    __slots__ = ("axis", "position", "use", "variable")

    def __init__(self, variable: Variable, axis: int, position: int, use: int) -> None:
        self.variable, self.axis, self.position, self.use = variable, axis, position, use

    def is_better_than(self, other: _Dimension) -> bool:
        return (-self.use, self.position) < (-other.use, other.position)


class _Known(NamedTuple):
    """A variable, after which node of the graph it can be computed, and in which calls that adds no work."""

    variable: Any
    position: int
    calls: int


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
        self.anew: dict[Variable, _Known | None] = {}
        self.filled: dict[Any, Apply] = {}

    def missing(self) -> list[tuple[Apply, Term, Term]]:
        """Return the pairs of lengths that nodes compared, and nothing does now."""
        there = self.fgraph.apply_nodes
        gone = [node for node in self.record.gone if node not in there]
        compared = [(node, group) for node in gone for group in compared_lengths(node)]
        if not config.experimental.local_alloc_elemwise_assert:
            compared = [(node, without_filled(group)) for node, group in compared]
        compared = [(node, group) for node, group in compared if len(group) > 1]
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
                        dimension = _Dimension(variable, axis, self.positions.get(variable, -1), use)
                        self._offer(self.lengths.root(term_of(variable, axis)), dimension)

    def _use_by(self, user: Any) -> int:
        """Return 2 for a user in all calls, 1 for one that only asks for the shape, and 0 for others."""
        if user == "output":
            return 2
        return 0 if user in self.calls else 1 if _asks_for_shape(user) else 2

    def _offer(self, root: Any, place: _Dimension) -> None:
        dimension = self.places.get(root)
        if dimension is None or place.is_better_than(dimension):
            self.places[root] = place

    def add(self, node: Apply, a: Term, b: Term) -> None:
        """Have two lengths compared that a node compared, which has gone."""
        if self.lengths.root(a) == self.lengths.root(b):
            return  # an earlier check compares them
        if node in self.record.inside:
            self._compare_in_branch(node, a, b)
            return
        if not self._compare_at_operand(node, a, b) and not self._compare_before(("output", 0), node, a, b):
            return  # it would take values that are not computed
        places = [self.places.get(self.lengths.root(term)) for term in (a, b)]
        self.lengths.join((a, b))
        for dimension in places:
            if dimension is not None:
                self._offer(self.lengths.root(a), dimension)

    def _compare_at_operand(self, node: Apply, a: Term, b: Term) -> bool:
        """Have the later of two operands checked as it comes; False where it comes too early."""
        pairs = [(self.places.get(self.lengths.root(at)), other) for at, other in ((a, b), (b, a))]
        usable = [(place, other) for place, other in pairs if place is not None and place.use]
        for dimension, other in sorted(usable, key=lambda pair: (pair[0].use, pair[0].position), reverse=True):
            length = self._length(other)
            if length is not None and length.calls == ALWAYS and length.position <= dimension.position:
                self.at.setdefault(dimension.variable, []).append((dimension.axis, length.variable, node))
                return True
        return False

    def _compare_in_branch(self, node: Apply, a: Term, b: Term) -> None:
        """Have two lengths compared in a branch, where the users of the node's result are there."""
        result, seen = node.outputs[0], set()
        while result not in seen:
            seen.add(result)
            if result in self.fgraph.variables:
                self._compare_at_users(self.fgraph.clients(result), node, a, b)
                return
            user, i = self.record.users.get(result, ("output", 0))
            if isinstance(user, str):
                return
            if user in self.fgraph.apply_nodes:
                self._compare_at_users([(user, i)], node, a, b)
                return
            result = user.outputs[0]

    def _compare_at_users(self, places: Iterable[Any], node: Apply, a: Term, b: Term) -> None:
        for user, i in places:
            if isinstance(user, str) or not (user in self.calls or i in _branches(user)):
                continue
            if not self._compares(user, a, b) and not self._compares(user.inputs[i].owner, a, b):
                self._compare_before((user, i), node, a, b)

    def _compares(self, node: Apply | None, a: Term, b: Term) -> bool:
        """Tell whether a node compares two lengths."""
        both = {self.lengths.root(a), self.lengths.root(b)}
        return node is not None and any(both <= set(map(self.lengths.root, group)) for group in compared_lengths(node))

    def _compare_before(self, place: Place, node: Apply, a: Term, b: Term) -> bool:
        """Have two lengths compared before a node runs, or before the graph has an output, if no work is added."""
        user, i = place
        lengths = [n for n in map(self._length, (a, b)) if n is not None]
        if isinstance(user, str):
            calls, end = self.calls.get(self.fgraph.outputs[i].owner, ALWAYS), len(self.order)
        else:
            conditions = self.calls.get(user, ALWAYS)
            # The operand of a choice is needed when it is taken.
            calls, end = self.calls.get(user.inputs[i].owner, conditions), self.positions[user.outputs[0]]
        if len(lengths) < 2 or any(n.calls not in (ALWAYS, calls) or n.position >= end for n in lengths):
            return False
        equal = call(scalar.eq, *(n.variable for n in lengths))
        self.before.setdefault(place, []).append((equal, node))
        return True

    def _length(self, term: Term) -> _Known | None:
        """Return a scalar that holds a length, computed of variables of the graph; None where that takes more work."""
        term = self.lengths.term(term)
        dimension = self.places.get(self.lengths.root(term))
        if dimension is not None and not isinstance(term, int):
            term = dimension.variable, dimension.axis
        if isinstance(term, int):
            return _Known(length_of(term), -1, ALWAYS)
        variable, axis = term
        if axis != VALUE and variable not in self.fgraph.variables:
            return self._anew(self.shapes.get_shape(variable, axis))
        length = self._anew(variable)
        return (
            None if length is None else length._replace(variable=length_of(term) if axis != VALUE else length.variable)
        )

    def _anew(self, variable: Variable) -> _Known | None:
        """Return a lost variable computed from present ones; None where that takes more than lengths."""
        pending, opened = [variable], set()
        while pending:
            v = pending[-1]
            below = self._made_of(v)
            unknown = [x for x in below or () if x not in self.anew]
            # An open variable with unknown parts is a part of itself.
            if unknown and v not in opened and v not in self.anew:
                opened.add(v)
                pending += unknown
                continue
            pending.pop()
            if v not in self.anew:
                self.anew[v] = None if below is None or unknown else self._remade(v, [self.anew[x] for x in below])
        return self.anew[variable]

    def _made_of(self, v: Variable) -> Sequence[Variable] | None:
        """Return the inputs of a variable; None where that takes more than lengths."""
        if v in self.fgraph.variables or isinstance(v, Constant):
            return ()
        if v in self.record.instead:
            return (self.record.instead[v],)
        return v.owner.inputs if v.owner is not None and _is_about_lengths(v.owner) else None

    def _remade(self, v: Variable, parts: Sequence[_Known | None]) -> _Known | None:
        if v in self.fgraph.variables or isinstance(v, Constant):
            calls = ALWAYS if v.owner is None else self.calls.get(v.owner, ALWAYS)
            return _Known(v, self.positions.get(v, -1), calls)
        parts_known = [part for part in parts if part is not None]
        branches = {part.calls for part in parts_known} - {ALWAYS}
        if len(parts_known) < len(parts) or len(branches) > 1:
            return None
        if v in self.record.instead:
            return parts_known[0]
        new = maker(cast(Any, v)).clone_with_new_inputs([part.variable for part in parts_known]).outputs[v.index or 0]
        return _Known(new, max(part.position for part in parts_known), next(iter(branches), ALWAYS))

    def check_filled(self) -> None:
        """Have numbers checked by which tensors were filled that have gone."""
        out = self.fgraph.apply_nodes | self.record.inside
        gone = [node for node in self.record.filled if node not in out and has_open_lengths(node)]
        if not gone:
            return
        always = [node for node in self.order if node not in self.calls]
        self.lengths.learn(node for node in always if any(map(is_plain, node.outputs)))
        self.find_places()
        seen = {self.lengths.root((n, VALUE)) for n in filled_by(always)}.union(self.places)
        for node in gone:
            for condition in are_lengths(node, lambda n: self.lengths.root((n, VALUE)) not in seen, self._always_there):
                self.filled.setdefault(condition, node)
            seen.update(self.lengths.root((n, VALUE)) for n in node.inputs[1:])

    def _always_there(self, number: Variable) -> Any:
        length = self._length((number, VALUE))
        return length.variable if length is not None and length.calls == ALWAYS else None

    def put(self, rewriter: GraphRewriter) -> int:
        """Put the checks into the graph; return their number."""
        if self.filled:
            with origin_from(next(iter(self.filled.values()))):
                checked = REFUSAL(self.fgraph.outputs[0], *self.filled)
            self._put(checked, [("output", 0)], rewriter)
        for (user, i), pairs in self.before.items():
            variable = self.fgraph.outputs[i] if isinstance(user, str) else user.inputs[i]
            with origin_from(pairs[0][1]):
                checked = _OTHERWISE(variable, *(equal for equal, _ in pairs))
            self._put(checked, [(user, i)], rewriter)
        for variable, checks in self.at.items():
            users = list(self.fgraph.clients(variable))
            inside = [
                dimension
                for dimension in users
                if dimension[0] != "output" and not isinstance(dimension[0].op, (ShapeI, ShapeOf))
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


def _branches(node: Apply) -> Sequence[int]:
    """Return the numbers of the inputs of a node that not every call needs."""
    rule = lazy_form.get(node.op)
    branch = None if rule is None else rule(node)
    return () if branch is None else (*branch.chosen, *branch.otherwise)


def _is_lazy(node: Apply) -> bool:
    return lazy_form.get(node.op) is not None


def _is_about_lengths(node: Apply) -> bool:
    """Tell whether a node computes lengths of lengths or of shapes, for next to nothing, in any call."""
    if isinstance(node.op, (ShapeI, ShapeOf, MakeVector)):
        return True
    ndim = 1 if isinstance(node.op, Subtensor) else 0
    return not _is_lazy(node) and all(
        is_plain(v) and v.type.ndim <= ndim and v.type.dtype in DISCRETE_DTYPES for v in (*node.inputs, *node.outputs)
    )


def _checked(variable: Any, checks: Sequence[tuple[int, Any, Apply]]) -> Any:
    """Return a variable with some of its dimensions checked, each against a number of lengths."""
    left = list(checks)
    while left:
        now: dict[int, tuple[Any, Apply]] = {}
        unchecked = []
        for axis, length, node in left:
            if axis in now:
                unchecked.append((axis, length, node))
            else:
                now[axis] = length, node
        left = unchecked
        axes = sorted(now)
        with origin_from(now[axes[0]][1]):
            variable = SameLengths(axes)(variable, *(now[axis][0] for axis in axes))
    return variable


class RecordLengths(GraphRewriter):
    """Have nodes that leave a graph noted, for :class:`LengthChecks`."""

    def __init__(self) -> None:
        super().__init__("RecordLengths")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Attach a record to the graph."""
        if not any(isinstance(f, LengthRecord) for f in fgraph.features):
            fgraph.attach_feature(LengthRecord())
        return RewriteProfile(self.name)


class LengthChecks(GraphRewriter):
    """Keep the comparisons of lengths that other rewriters left out, where they do not follow from the present ones."""

    def __init__(self) -> None:
        super().__init__("LengthChecks")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Put checks where lengths are compared no more."""
        profile = RewriteProfile(self.name)
        for record in [f for f in fgraph.features if isinstance(f, LengthRecord)]:
            fgraph.remove_feature(record)
            if not (record.gone or record.filled) or not fgraph.outputs:
                continue
            checks = _Checks(fgraph, record)
            missing = checks.missing()
            if missing:
                checks.find_places()
                for node, a, b in missing:
                    checks.add(node, a, b)
            checks.check_filled()
            checks.put(self)
        return profile
