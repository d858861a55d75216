"""Rules that are written as equations: the matcher of patterns applies them, behind a glance at the inputs."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, format_error

from .._info import PatternError, RewriteInfo
from ._match import Application, Conditional, Match, Named, Number, OpPattern, Pattern, Wildcard, same_value
from ._node_rewriter import NodeRewriter, Tracks
from ._terms import Applied, Equation, Fit, Language, Operation, Part, Unknown

Guard = Callable[[FunctionGraph, Apply], object]


class EquationRewriter(NodeRewriter):
    """Replace matches of the left-hand sides of equations by their right-hand sides.

    The equations are written when the rule is first asked, and made into patterns when a node first may fit.

    Parameters
    ----------
    write : callable
        Returns the equations. The first that fits is applied.
    tracks : sequence of Op and op classes, or None
        The ops of the left-hand sides.
    language : Language
    info : RewriteInfo
        Its guard, ``guard(fgraph, node)``, is asked before any equation.
    reach : int
        See :class:`NodeRewriter`.
    ordered : bool
        Whether operands of commutative ops are taken in the given order only.
    fit : Fit
        The treatment of a right-hand side of another type.

    Raises
    ------
    PatternError
        When a node first may fit, if a right-hand side has a wildcard that its left-hand side does not have.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> from theano_optimize import WalkRewriter
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> language = Language()
    >>> language.operators["negative"] = Operation(language, "neg", Neg(), symbol="negative")
    >>> x = Unknown(language, "x")
    >>> rule = EquationRewriter(lambda: [-(-x) >> x], [Neg()], language, info=RewriteInfo("neg_of_neg"))
    >>> a = Generic()("a")
    >>> fgraph = FunctionGraph([a], [Neg()(Neg()(a))])
    >>> WalkRewriter(rule).rewrite(fgraph).changes
    1
    >>> print(*rule.equations)
    -(-x) -> x
    """

    #: The classes of the wildcards, where a program has said them: the text of annotations does not tell.
    wildcards: Mapping[str, Callable[[str], Unknown]] | None = None

    def __init__(
        self,
        write: Callable[[], Sequence[Equation]],
        tracks: Tracks,
        language: Language,
        *,
        info: RewriteInfo,
        reach: int = 1,
        ordered: bool = False,
        fit: Fit = Fit.CONVERTED,
    ) -> None:
        super().__init__(info=info, reach=reach)
        self._write = write
        self._tracks = tracks
        self.language = language
        self.ordered = ordered
        self.fit = fit
        self._compiled: tuple[_Compiled, ...] | None = None
        self._always: tuple[int, ...] = ()
        self._by_kind: dict[type, tuple[int, ...]] = {}
        self._kind = language.kind
        self._guard = info.guard
        self.direct = self._ask

    @property
    def last(self) -> Equation | None:
        """The equation that gave the last answer in this thread."""
        return _answers.by_rule.get(self)

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations, in order."""
        return tuple(compiled.equation for compiled in self._all())

    def tracks(self) -> Tracks:
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        return self._ask(fgraph, node)

    def __call__(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        """Return the result of :meth:`transform`."""
        return self._ask(fgraph, node)

    def summary_lines(self) -> list[str]:
        return [*super().summary_lines(), *(f"  {equation}" for equation in self.equations)]

    def statement(self) -> str | None:
        last = self.last
        return None if last is None else str(last)

    def _ask(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        """Return the answer of the first equation that fits; for most nodes the inputs show that there is none."""
        if self._compiled is None:
            self._all()
        chosen = self._always
        by_kind, kind = self._by_kind, self._kind
        for variable in node.inputs:
            owner = variable.owner
            key = variable.__class__ if owner is None else kind(owner.op)
            entry = by_kind.get(key)
            if entry is None:
                entry = by_kind[key] = self._wanting(key)
            if entry and entry is not chosen:
                chosen = tuple(sorted({*chosen, *entry})) if chosen else entry
        if not chosen or (self._guard is not None and not self._guard(fgraph, node)):
            return None
        equations = self._all()
        for number in chosen:
            answer = equations[number].answer(fgraph, node)
            if answer is not None:
                _answers.by_rule[self] = equations[number].equation
                return answer
        return None

    def _wanting(self, kind: type) -> tuple[int, ...]:
        """Return the numbers of the equations that may fit where an input is of a kind."""
        return tuple(n for n, compiled in enumerate(self._all()) if issubclass(kind, compiled.wanted))

    def _all(self) -> tuple[_Compiled, ...]:
        if self._compiled is None:
            rules = tuple(_Compiled(equation, self) for equation in self._write())
            self._always = tuple(n for n, compiled in enumerate(rules) if not compiled.wanted)
            self._compiled = rules
        return self._compiled


class _Answers(threading.local):
    """The equations that gave the last answers of the rules, in each thread."""

    def __init__(self) -> None:
        self.by_rule: weakref.WeakKeyDictionary[EquationRewriter, Equation] = weakref.WeakKeyDictionary()


_answers = _Answers()
#: Functions may be compiled by several threads, which share the rules.
_compiling = threading.Lock()


class _Compiled:
    """An equation whose left-hand side is a pattern.

    Attributes
    ----------
    shared : dict
        Names of the variables that parts of the left-hand side are bound to, by the `id` of the term.
    ops : dict
        Names of the variables whose op a class of ops stands for, by the `id` of the operation; None for the root.
    wanted : tuple of type
        Kinds of which one is among the inputs of each node that fits; empty if there need not be one.
    """

    def __init__(self, equation: Equation, rule: EquationRewriter) -> None:
        before = equation.before
        if not isinstance(before, Applied) or before.operation.op is None:
            raise PatternError(format_error(f"the equation {equation} starts with no op", hint="write op(...) >> ..."))
        self.equation = equation
        self.rule = rule
        self.language = rule.language
        self.shared: dict[int, str] = {}
        self.ops: dict[int, str | None] = {id(before.operation): None}
        self._same: dict[int, list[str | None]] = {}
        self.numbers: set[str] = set()
        self.wanted = self._wanted(before.parts)
        self._fits = _fitting(before.operation.op)
        self._twice = len(before.parts) == 2 and before.parts[0] is before.parts[1]
        self._more = bool(before.parts) and before.parts[-1] is ...
        self._count = len(before.parts) - self._more
        self._is_conditional = equation.is_alone or bool(equation.conditions)
        self._before = before
        self._root: Application | None = None
        self._conditions: list[tuple[Callable[..., object], tuple[str, ...]]] = []

    def _compile(self) -> Application:
        """Make the pattern of the left-hand side, when a node is first seen that may fit."""
        with _compiling:
            return self._root or self._made()

    def _made(self) -> Application:
        equation = self.equation
        self.shared, self.ops = {}, {id(self._before.operation): None}
        self._right = set(_ids(equation.after))
        self._same = {key: [] for key in _repeated_classes(self._before) & self._right}
        if id(self._before.operation) in self._same:
            self._same[id(self._before.operation)].append(None)
        self.numbers = {part.name for part in _parts(self._before) if isinstance(part, Unknown) and part.is_number}
        root = self._application(self._before)
        self._check_wildcards(root)
        self._conditions = [(condition, self._names(condition, root)) for condition in equation.conditions]
        self._root = root
        return root

    def _names(self, condition: Callable[..., object], root: Application) -> tuple[str, ...]:
        """Return the names of the parameters of a condition, each of which has to be known."""
        seen = {*root.wildcards(), "node", "fgraph"}
        names = tuple(inspect.signature(condition).parameters)
        strange = [name for name in names if name not in seen]
        if strange:
            raise PatternError(
                format_error(
                    f"{self.rule.name}: a condition of {self.equation} has the parameter {strange[0]}",
                    hint=f"name it as one of {', '.join(sorted(seen))}",
                )
            )
        return names

    def _check_wildcards(self, root: Application) -> None:
        seen = set(root.wildcards())
        for part in _parts(self.equation.after):
            if isinstance(part, Unknown) and part.name not in seen:
                raise PatternError(
                    format_error(
                        f"{self.rule.name}: the right-hand side of {self.equation} has the wildcard {part}",
                        hint=f"use those of the left-hand side: {', '.join(sorted(seen))}",
                    )
                )

    def _pattern(self, part: Part) -> Pattern:
        if isinstance(part, Unknown):
            return self._wildcard(part)
        if not isinstance(part, Applied):
            return Number(part, self.language.read)
        pattern = self._application(part)
        name, operation = str(part), id(part.operation)
        is_named = id(part) in self._right
        if is_named:
            self.shared[id(part)] = name
        if operation in self._same:
            self._same[operation].append(name)
            self.ops.setdefault(operation, name)
            is_named = True
        elif not is_named and isinstance(part.operation.op, type) and operation in self._right:
            self.ops[operation] = name
            is_named = True
        return Named(pattern, name) if is_named else pattern

    def _wildcard(self, part: Unknown) -> Pattern:
        condition, read = part.condition, self.language.read
        if not part.is_number:
            return Wildcard(part.name) if condition is None else Conditional(part.name, condition)
        if condition is None:
            return Conditional(part.name, lambda variable: read(variable) is not None)
        return Conditional(part.name, lambda variable: read(variable) is not None and condition(variable))

    def _application(self, term: Applied) -> Application:
        op = term.operation.op
        if op is None:
            raise PatternError(
                format_error(f"{term.operation.name} stands on the left of {self.equation}, and is no op")
            )
        more = bool(term.parts) and term.parts[-1] is ...
        parts = term.parts[:-1] if more else term.parts
        return Application(op, tuple(map(self._pattern, parts)), self.rule.ordered, more)

    def _wanted(self, parts: Sequence[Part]) -> tuple[type, ...]:
        numbers = False
        for part in parts:
            if isinstance(part, Applied):
                op = part.operation.op
                if isinstance(op, OpPattern):
                    return (op.kind,)
                return (op,) if isinstance(op, type) else (self.language.kind(cast(Op, op)),)
            numbers = numbers or (part.is_number if isinstance(part, Unknown) else part is not ...)
        return (Constant, *self.language.transparent) if numbers else ()

    def answer(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        """Return the replacement of the output of a node that the equation fits, or None."""
        inputs = node.inputs
        if len(inputs) != self._count and (not self._more or len(inputs) < self._count):
            return None
        if self._twice and not same_value(inputs[0], inputs[1]):
            return None
        if not self._fits(node.op) or len(node.outputs) != 1:
            return None
        root = self._root or self._compile()
        if not root.single and not root.may_match_inputs(node):
            return None
        start = Match({}, (node,))
        matches: Iterable[Match | None] = (
            (root.only_inputs(node, start),) if root.single else root.matches_inputs(node, start)
        )
        for match in matches:
            if match is None or (self._same and not self._has_one_op_each(node, match)):
                continue
            if self._is_conditional and not self._holds(fgraph, node, match):
                continue
            after = self.equation.after
            if isinstance(after, Unknown):
                new = match.bindings[after.name]
            else:
                new = _Build(self, fgraph, node, match).variable(after)
            result = self.language.fitted(node, new, self.rule.fit)
            if result is not None:
                return result
        return None

    def _has_one_op_each(self, node: Apply, match: Match) -> bool:
        """Tell whether each class that the left-hand side uses several times, and the right one, stands for one op."""
        for names in self._same.values():
            nodes = (node if name is None else match.bindings[name].owner for name in names)
            first, *others = (each.op for each in nodes if each is not None)
            if any(op != first for op in others):
                return False
        return True

    def _holds(self, fgraph: FunctionGraph, node: Apply, match: Match) -> bool:
        if self.equation.is_alone and not all(_has_one_client(fgraph, inner) for inner in match.nodes[1:]):
            return False
        for condition, names in self._conditions:
            if not condition(*(self._given(name, fgraph, node, match) for name in names)):
                return False
        return True

    def _given(self, name: str, fgraph: FunctionGraph, node: Apply, match: Match) -> Any:
        """Return the argument of a condition for one of its parameters."""
        if name == "node":
            return node
        if name == "fgraph":
            return fgraph
        variable = match.bindings[name]
        return self.language.read(variable) if name in self.numbers else variable


class _Build:
    """Makes the variables of a right-hand side; each term is made once."""

    __slots__ = ("_bindings", "_compiled", "_made", "_rest", "fgraph", "language", "node")

    def __init__(self, compiled: _Compiled, fgraph: FunctionGraph, node: Apply, match: Match) -> None:
        self.fgraph = fgraph
        self.node = node
        self.language = compiled.language
        self._compiled = compiled
        self._bindings = match.bindings
        self._rest = match.rest
        self._made: dict[int, Variable] = {}

    def variable(self, part: Part) -> Variable:
        """Return the variable that a part stands for."""
        if isinstance(part, Unknown):
            return self._bindings[part.name]
        if not isinstance(part, Applied):
            return self.language.literal(part, self.node)
        result = self._made.get(id(part))
        if result is None:
            result = self._made[id(part)] = self._applied(part)
        return result

    def _applied(self, term: Applied) -> Variable:
        name = self._compiled.shared.get(id(term))
        if name is not None:
            return self._bindings[name]
        if term.is_number:
            return self.language.literal(self._value(term), self.node)
        operation = term.operation
        inputs: list[Variable] = []
        for part in term.parts:
            if part is ...:
                inputs.extend(self._rest)
            else:
                inputs.append(self.variable(part))
        if operation.make is not None:
            return operation.make(self, *inputs)
        return self.language.apply(self.op(operation), inputs)

    def _value(self, part: Part) -> Any:
        """Return the number that a part stands for."""
        if isinstance(part, Unknown):
            return self.language.read(self._bindings[part.name])
        if isinstance(part, Applied) and part.operation.compute is not None:
            return part.operation.compute(*map(self._value, part.parts))
        return part

    def op(self, operation: Operation) -> Op:
        """Return the op that an operation stands for: of a class, the one that it was on the left-hand side."""
        op = operation.op
        if isinstance(op, Op):
            return op
        if isinstance(op, OpPattern):
            return op.result()
        name = self._compiled.ops[id(operation)]
        owner = self.node if name is None else self._bindings[name].owner
        assert owner is not None, f"a match of {operation.name} has a node"
        result: Op = owner.op
        return result


def _fitting(op: Op | type[Op] | OpPattern) -> Callable[[Op], bool]:
    """Return the function that tells whether an op is one that a left-hand side starts with."""
    if isinstance(op, OpPattern):
        return op.fits
    return (
        (lambda candidate: isinstance(candidate, op)) if isinstance(op, type) else (lambda candidate: candidate == op)
    )


def _has_one_client(fgraph: FunctionGraph, node: Apply) -> bool:
    """Tell whether one node alone uses the outputs of a node, all of them, in one place."""
    used = node.outputs if len(node.outputs) == 1 else [v for v in node.outputs if fgraph.has_clients(v)]
    return len(used) == 1 and fgraph.sole_client(used[0]) is not None


def _repeated_classes(before: Applied) -> set[int]:
    """Return the ids of the operations that stand for classes of ops, and are applied several times."""
    applied = {id(part): part for part in _parts(before) if isinstance(part, Applied)}
    classes = [id(part.operation) for part in applied.values() if isinstance(part.operation.op, type)]
    return {operation for operation in classes if classes.count(operation) > 1}


def _parts(part: Part) -> list[Part]:
    """Return a term and all that it is made of."""
    result: list[Part] = [part]
    for each in result:
        if isinstance(each, Applied):
            result.extend(each.parts)
    return result


def _ids(part: Part) -> list[int]:
    """Return a key that tells the operations of a right-hand side, and the terms in it, apart from others."""
    applied = [each for each in _parts(part) if isinstance(each, Applied)]
    return [*map(id, applied), *(id(each.operation) for each in applied)]
