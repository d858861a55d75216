"""Rules that are written as equations: the matcher of patterns applies them, behind a glance at the inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, compose

from .._errors import PatternError
from .._info import RewriteInfo
from ._match import Application, Conditional, Match, Named, Number, OpPattern, Pattern, Wildcard
from ._node_rewriter import NodeRewriter, Tracks, TransformResult
from ._terms import Applied, Equation, Fit, Language, Operation, Part, Unknown

Guard = Callable[[FunctionGraph, Apply], object]


class EquationRewriter(NodeRewriter):
    """Replace what the left-hand sides of equations fit by their right-hand sides.

    The equations are written, and made into patterns, when the rule is first asked.

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
        What is done where a right-hand side has another type.

    Raises
    ------
    PatternError
        When the rule is first asked, if a right-hand side has a wildcard that its left-hand side does not have.

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
        self._every = False
        self._wanted: tuple[type, ...] = ()
        self._verdicts: dict[type, bool] = {}
        self._kind = language.kind
        self.direct = self._ask
        #: The equation that gave the last answer.
        self.last: Equation | None = None

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations, in order."""
        return tuple(compiled.equation for compiled in self._all())

    def tracks(self) -> Tracks:
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        return self._ask(fgraph, node)

    def __call__(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Return what :meth:`transform` returns."""
        return self._ask(fgraph, node)

    def summary_lines(self) -> list[str]:
        return [*super().summary_lines(), *(f"  {equation}" for equation in self.equations)]

    def statement(self) -> str | None:
        return None if self.last is None else str(self.last)

    def _ask(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        """Return the answer of the first equation that fits; most nodes are seen not to fit by their inputs."""
        if self._compiled is None:
            self._all()
        if not self._every:
            verdicts, kind = self._verdicts, self._kind
            for variable in node.inputs:
                owner = variable.owner
                key = variable.__class__ if owner is None else kind(owner.op)
                verdict = verdicts.get(key)
                if verdict is None:
                    verdict = verdicts[key] = issubclass(key, self._wanted)
                if verdict:
                    break
            else:
                return None
        guard = self.info.guard
        if guard is not None and not guard(fgraph, node):
            return None
        for compiled in self._compiled or ():
            found = compiled.answer(fgraph, node)
            if found is not None:
                self.last = compiled.equation
                return found
        return None

    def _all(self) -> tuple[_Compiled, ...]:
        if self._compiled is None:
            made = tuple(_Compiled(equation, self) for equation in self._write())
            wanted = [compiled.wanted(self.language) for compiled in made]
            self._every = any(not kinds for kinds in wanted)
            self._wanted = tuple(dict.fromkeys(kind for kinds in wanted for kind in kinds))
            self._compiled = made
        return self._compiled


class _Compiled:
    """An equation whose left-hand side is a pattern.

    Attributes
    ----------
    shared : dict
        Names of the variables that parts of the left-hand side are bound to, by the `id` of the term.
    ops : dict
        Names of the variables whose op a class of ops stands for, by the `id` of the operation; None for the root.
    """

    def __init__(self, equation: Equation, rule: EquationRewriter) -> None:
        self.equation = equation
        self.language = rule.language
        self.fit = rule.fit
        self.ordered = rule.ordered
        self.shared: dict[int, str] = {}
        self.ops: dict[int, str | None] = {}
        self._right = set(_ids(equation.after))
        before = equation.before
        if not isinstance(before, Applied):
            raise PatternError(
                compose(f"the equation {equation} starts with no operation", mend="write op(...) >> ...")
            )
        self.ops[id(before.operation)] = None
        self.root = self._application(before)
        self._check_wildcards(rule.name)
        self.conditions = [(condition, _parameters(condition)) for condition in equation.conditions]
        self.numbers = {part.name for part in _parts(before) if isinstance(part, Unknown) and part.is_number}

    def _check_wildcards(self, rule: str) -> None:
        known = set(self.root.wildcards())
        for part in _parts(self.equation.after):
            if isinstance(part, Unknown) and part.name not in known:
                raise PatternError(
                    compose(
                        f"{rule}: the right-hand side of {self.equation} has the wildcard {part}",
                        mend=f"use those of the left-hand side: {', '.join(sorted(known))}",
                    )
                )

    def _pattern(self, part: Part) -> Pattern:
        if isinstance(part, Unknown):
            return self._wildcard(part)
        if not isinstance(part, Applied):
            return Number(part, self.language.read)
        pattern = self._application(part)
        name = str(part)
        if id(part) in self._right:
            self.shared[id(part)] = name
        elif isinstance(part.operation.op, type) and id(part.operation) in self._right:
            if id(part.operation) in self.ops:
                return pattern
            self.ops[id(part.operation)] = name
        else:
            return pattern
        return Named(pattern, name)

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
            raise PatternError(compose(f"{term.operation.name} stands on the left of {self.equation}, and is no op"))
        more = bool(term.parts) and term.parts[-1] is ...
        parts = term.parts[:-1] if more else term.parts
        return Application(op, tuple(map(self._pattern, parts)), self.ordered, more)

    def wanted(self, language: Language) -> tuple[type, ...]:
        """Return kinds of which one is among the inputs of each node that fits; empty if there need not be one."""
        inputs = [part.pattern if isinstance(part, Named) else part for part in self.root.inputs]
        for part in inputs:
            if isinstance(part, Application):
                op = part.op
                if isinstance(op, OpPattern):
                    return (op.kind,)
                return (op,) if isinstance(op, type) else (language.kind(op),)
        numbers = [isinstance(p, Number) or (isinstance(p, Wildcard) and p.name in self.numbers) for p in inputs]
        return (Constant, *language.transparent) if any(numbers) else ()

    def answer(self, fgraph: FunctionGraph, node: Apply) -> list[Variable] | None:
        """Return what replaces the output of a node that the equation fits, or None."""
        root = self.root
        if not root.fits_op(node.op) or not root.may_match_inputs(node) or len(node.outputs) != 1:
            return None
        for match in root.matches_inputs(node, Match({}, (node,))):
            if self._holds(fgraph, node, match):
                new = _Build(self, fgraph, node, match).variable(self.equation.after)
                found = self.language.fitted(node, new, self.fit)
                if found is not None:
                    return found
        return None

    def _holds(self, fgraph: FunctionGraph, node: Apply, match: Match) -> bool:
        if self.equation.is_alone and any(fgraph.sole_client(n.outputs[0]) is None for n in match.nodes[1:]):
            return False
        for condition, names in self.conditions:
            if not condition(*(self._given(name, fgraph, node, match) for name in names)):
                return False
        return True

    def _given(self, name: str, fgraph: FunctionGraph, node: Apply, match: Match) -> Any:
        """Return what a condition is given for one of its parameters."""
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
        made = self._made.get(id(part))
        if made is None:
            made = self._made[id(part)] = self._applied(part)
        return made

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
        assert owner is not None, f"what {operation.name} fits has a node"
        found: Op = owner.op
        return found


def _parameters(condition: Any) -> tuple[str, ...]:
    """Return the names of the parameters of a function."""
    code = condition.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount]
    return names


def _parts(part: Part) -> list[Part]:
    """Return a term and all that it is made of."""
    found: list[Part] = [part]
    for each in found:
        if isinstance(each, Applied):
            found.extend(each.parts)
    return found


def _ids(part: Part) -> list[int]:
    """Return what tells the operations of a right-hand side, and the terms in it, apart from others."""
    applied = [each for each in _parts(part) if isinstance(each, Applied)]
    return [*map(id, applied), *(id(each.operation) for each in applied)]
