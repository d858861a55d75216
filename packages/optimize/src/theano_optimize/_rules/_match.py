"""Patterns over expressions: their compiled form and matching.

A pattern is compiled once into small objects. Matching yields every binding of the wildcards under which the pattern
fits, so that commutative ops can be tried in all orders; recursion goes as deep as the pattern, never as deep as the
graph.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from typing import Any

from theano_graph import Apply, Constant, Op, Type, Variable, format_error, record

from .._info import PatternError

#: Inputs of a commutative op are tried in all orders up to this number; beyond it only in the given order.
MAX_PERMUTED = 6
#: So many choices of some inputs among more of them are tried at most.
MAX_CHOICES = 4096

#: So many identities on top of each other are seen through.
MAX_IDENTITIES = 100


@singledispatch
def constant_scalar(type_: Type, data: Any) -> Any:
    """Return the number that a constant of a type stands for, or None if it stands for no single number.

    Patterns compare numbers with it. Numbers and arrays with one element count; layers with types of their own register
    a method for them, for instance to let an array that is filled with one value count as this value.

    Parameters
    ----------
    type_ : Type
        Selects the method.
    data : object
        The value of the constant.

    Examples
    --------
    >>> from theano_graph import Generic
    >>> constant_scalar(Generic(), 2.5)
    2.5
    >>> constant_scalar(Generic(), "text") is None
    True
    """
    if isinstance(data, numbers.Number):
        return data
    if getattr(data, "shape", None) == ():
        return data[()]
    if getattr(data, "size", None) == 1 and callable(getattr(data, "item", None)):
        return data.item()
    return None


def read_number(variable: Variable) -> Any:
    """Return the number that a variable is a constant for, or None; see :func:`constant_scalar`."""
    return constant_scalar(variable.type, variable.data) if isinstance(variable, Constant) else None


class OpPattern:
    """Ops that a pattern takes, where neither one op nor a class of ops says which: :meth:`fits` decides.

    Attributes
    ----------
    kind : type
        The language's name for the kind of all these ops, so that others are left out at a glance.
    commutative : bool
        Whether inputs are tried in all orders.
    """

    kind: type
    commutative: bool = False

    def fits(self, op: Op) -> bool:
        """Tell whether the pattern takes an op."""
        raise TypeError(format_error(f"{type(self).__name__} has no `fits`"))

    def result(self) -> Op:
        """Return the op that stands for them on the right-hand side of an equation."""
        raise TypeError(format_error(f"{type(self).__name__} has no `result`"))


class Match:
    """A way in which a pattern fits: the wildcards, and the matched nodes, the root first. Never changed once made.

    `rest` are the inputs that no part of an :class:`Application` with ``more`` stands for.
    """

    __slots__ = ("bindings", "nodes", "rest")

    def __init__(
        self, bindings: dict[str, Variable], nodes: tuple[Apply, ...] = (), remainder: tuple[Variable, ...] = ()
    ) -> None:
        self.bindings = bindings
        self.nodes = nodes
        self.rest = remainder

    def bound(self, name: str, variable: Variable) -> Match:
        """Return a match in which a wildcard is bound, too."""
        return Match({**self.bindings, name: variable}, self.nodes, self.rest)

    def through(self, node: Apply) -> Match:
        """Return a match that goes through a node, too."""
        return Match(self.bindings, (*self.nodes, node), self.rest)

    def leaving(self, remainder: tuple[Variable, ...]) -> Match:
        """Return a match that leaves inputs over."""
        return Match(self.bindings, self.nodes, remainder)


class Pattern:
    """A compiled pattern.

    Attributes
    ----------
    depth : int
        Number of levels of ops.
    """

    depth = 0
    #: Whether there is one way at most in which it fits, which `only` gives without a generator.
    single: bool = False

    def only(self, variable: Variable, match: Match) -> Match | None:
        """Return the one way to extend `match` so that a single pattern fits `variable`, or None."""
        return next(self.matches(variable, match), None)

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        """Yield the ways to extend `match` so that the pattern fits `variable`."""
        raise TypeError(format_error(f"{type(self).__name__} has no `matches`"))

    def may_match(self, variable: Variable) -> bool:
        """Tell whether a glance does not rule out that the pattern fits `variable`; makes no objects."""
        return True

    def wildcards(self) -> Iterator[str]:
        """Yield the names of the wildcards in it."""
        return iter(())


class Wildcard(Pattern):
    """Fits everything; the same name fits the same variable, or an equal constant, everywhere."""

    __slots__ = ("name",)
    single = True

    def __init__(self, name: str) -> None:
        self.name = name

    def only(self, variable: Variable, match: Match) -> Match | None:
        bound = match.bindings.get(self.name)
        if bound is None:
            return match.bound(self.name, variable)
        return match if same_value(bound, variable) else None

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        value = self.only(variable, match)
        if value is not None:
            yield value

    def wildcards(self) -> Iterator[str]:
        yield self.name

    def __str__(self) -> str:
        return self.name


class Conditional(Wildcard):
    """Fits variables for which a condition holds; the same name fits the same variable everywhere."""

    __slots__ = ("condition",)

    def __init__(self, name: str, condition: Callable[[Variable], object]) -> None:
        super().__init__(name)
        self.condition = condition

    def may_match(self, variable: Variable) -> bool:
        return bool(self.condition(variable))

    def only(self, variable: Variable, match: Match) -> Match | None:
        return super().only(variable, match) if self.condition(variable) else None


class Number(Pattern):
    """Fits variables that stand for a number: constants, or variables that a language reads as such.

    `read` gives the number that a variable stands for, or None; see :func:`read_number`.
    """

    __slots__ = ("read", "value")
    single = True

    def __init__(self, value: Any, read: Callable[[Variable], Any] = read_number) -> None:
        self.value = value
        self.read = read

    def may_match(self, variable: Variable) -> bool:
        result = self.read(variable)
        return result is not None and bool(result == self.value)

    def only(self, variable: Variable, match: Match) -> Match | None:
        return match if self.may_match(variable) else None

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        if self.may_match(variable):
            yield match

    def __str__(self) -> str:
        return str(self.value)


@record
class Exactly(Pattern):
    """Fits one variable, or constants equal to it."""

    variable: Variable

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        if same_value(self.variable, variable):
            yield match

    def __str__(self) -> str:
        return str(self.variable)


@record
class Guarded(Pattern):
    """Fits where another pattern fits and a condition on the variable holds."""

    pattern: Pattern
    constraint: Callable[[Any], object]

    @property
    def depth(self) -> int:  # type: ignore[override]  # that of the pattern inside
        return self.pattern.depth

    def may_match(self, variable: Variable) -> bool:
        return self.pattern.may_match(variable)

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        for result in self.pattern.matches(variable, match):
            if self.constraint(variable):
                yield result

    def wildcards(self) -> Iterator[str]:
        return self.pattern.wildcards()

    def __str__(self) -> str:
        return f"{self.pattern} subject to {getattr(self.constraint, '__name__', self.constraint)}"


class Named(Pattern):
    """Fits where another pattern fits, and binds the variable to a name, so that the replacement can use it again."""

    __slots__ = ("depth", "name", "pattern", "single")

    def __init__(self, pattern: Pattern, name: str) -> None:
        self.pattern = pattern
        self.name = name
        self.depth = pattern.depth
        self.single = pattern.single

    def only(self, variable: Variable, match: Match) -> Match | None:
        result = self.pattern.only(variable, match)
        return None if result is None else result.bound(self.name, variable)

    def may_match(self, variable: Variable) -> bool:
        return self.pattern.may_match(variable)

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        for result in self.pattern.matches(variable, match):
            yield result.bound(self.name, variable)

    def wildcards(self) -> Iterator[str]:
        return self.pattern.wildcards()

    def __str__(self) -> str:
        return str(self.pattern)


@record
class SeenThrough(Pattern):
    """Fits where another pattern fits, or fits the variable behind an identity."""

    pattern: Pattern
    #: Gives the variable behind another one, or None if it is no identity.
    behind: Callable[[Variable], Variable | None]

    @property
    def depth(self) -> int:  # type: ignore[override]  # one more, for the identity
        return self.pattern.depth + 1

    def may_match(self, variable: Variable) -> bool:
        return self.pattern.may_match(variable) or self.behind(variable) is not None

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        for _ in range(MAX_IDENTITIES):
            has_match = False
            for extended in self.pattern.matches(variable, match):
                has_match = True
                yield extended
            behind = None if has_match else self.behind(variable)
            if behind is None:
                return
            # The identity is part of the match: its use of the variable behind it is no other use.
            if variable.owner is not None:
                match = match.through(variable.owner)
            variable = behind

    def wildcards(self) -> Iterator[str]:
        return self.pattern.wildcards()

    def __str__(self) -> str:
        return str(self.pattern)


class Application(Pattern):
    """Fits the output of a node with a given op (a class of ops, an :class:`OpPattern`) whose inputs fit."""

    __slots__ = ("_selective", "_twice", "inputs", "more", "op", "ordered", "single")

    def __init__(
        self,
        op: Op | type[Op] | OpPattern,
        inputs: tuple[Pattern, ...],
        ordered: bool = False,
        more: bool = False,
    ) -> None:
        self.op = op
        self.inputs = inputs
        #: Whether inputs are taken in the given order only, though the op is commutative.
        self.ordered = ordered
        #: Whether there may be any further inputs.
        self.more = more
        permuted = op.commutative if isinstance(op, OpPattern) else True
        in_order = ordered or not permuted or (len(inputs) < 2 and not more)
        self.single = in_order and all(p.single for p in inputs)
        #: The parts that do not fit everything, with their places.
        self._selective = tuple((i, p) for i, p in enumerate(inputs) if type(p) is not Wildcard)
        #: Whether it has two parts, both the same wildcard.
        self._twice = not more and len(inputs) == 2 and _is_same_wildcard(*inputs)

    @property
    def depth(self) -> int:  # type: ignore[override]  # one more than the deepest part
        return 1 + max((p.depth for p in self.inputs), default=0)

    def fits_op(self, op: Op) -> bool:
        """Tell whether `op` is the op, or an instance of the class, of this pattern."""
        expected = self.op
        if isinstance(expected, OpPattern):
            return expected.fits(op)
        return isinstance(op, expected) if isinstance(expected, type) else op == expected

    def may_match(self, variable: Variable) -> bool:
        node = variable.owner
        return node is not None and self.fits_op(node.op) and self.may_match_inputs(node)

    def may_match_inputs(self, node: Apply) -> bool:
        """Tell whether a glance does not rule out that the inputs of `node` fit."""
        inputs = node.inputs
        if len(inputs) != len(self.inputs) and not (self.more and len(inputs) > len(self.inputs)):
            return False
        if self._twice and not same_value(inputs[0], inputs[1]):
            return False
        permuted = None
        for i, pattern in self._selective:
            if pattern.may_match(inputs[i]):
                continue
            if permuted is None:
                permuted = self.is_permuted(node)
            if not permuted or not any(map(pattern.may_match, inputs)):
                return False
        return True

    def matches(self, variable: Variable, match: Match) -> Iterator[Match]:
        node = variable.owner
        if node is None or not self.fits_op(node.op) or not self.may_match_inputs(node):
            return iter(())
        if len(node.outputs) > 1 and variable.index != node.op.default_output:
            return iter(())
        return self.matches_inputs(node, match.through(node))

    def only(self, variable: Variable, match: Match) -> Match | None:
        node = variable.owner
        if (
            node is None
            or not self.fits_op(node.op)
            or (len(node.outputs) > 1 and variable.index != node.op.default_output)
        ):
            return None
        return self.only_inputs(node, match.through(node))

    def only_inputs(self, node: Apply, match: Match) -> Match | None:
        """Return the one way in which the inputs of `node` fit a single pattern, or None."""
        inputs, count = node.inputs, len(self.inputs)
        if len(inputs) != count:
            if not self.more or len(inputs) < count:
                return None
            match = match.leaving(tuple(inputs[count:]))
        result: Match | None = match
        for i, pattern in enumerate(self.inputs):
            result = pattern.only(inputs[i], match)
            if result is None:
                return None
            match = result
        return match

    def matches_inputs(self, node: Apply, match: Match) -> Iterator[Match]:
        """Yield the ways in which the inputs of `node` fit, in all orders where the op is commutative."""
        if self.more:
            yield from self._matches_some(node, match)
            return
        orders: Iterable[Sequence[Variable]] = _orders(node.inputs) if self.is_permuted(node) else (node.inputs,)
        for order in orders:
            yield from _match_all(self.inputs, order, match)

    def _matches_some(self, node: Apply, match: Match) -> Iterator[Match]:
        """Yield the ways in which some inputs of `node` fit; the other inputs stay in the given order."""
        inputs, count = node.inputs, len(self.inputs)
        choices: Iterable[tuple[int, ...]] = (tuple(range(count)),)
        if self.is_permuted(node):
            choices = itertools.permutations(range(len(inputs)), count)
        seen: set[tuple[Variable, ...]] = set()
        for choice in choices:
            chosen = tuple(inputs[i] for i in choice)
            if chosen in seen or not all(map(_may_match, self.inputs, chosen)):
                continue
            seen.add(chosen)
            others = tuple(x for i, x in enumerate(inputs) if i not in choice)
            yield from _match_all(self.inputs, chosen, match.leaving(others))

    def is_permuted(self, node: Apply) -> bool:
        """Tell whether the inputs of `node` are to be tried in all orders."""
        count, expected = len(node.inputs), len(self.inputs)
        if self.ordered or count < 2:
            return False
        # One operand is looked for among all of them; more only where there are not too many ways to choose them.
        if count > MAX_PERMUTED and not (self.more and (expected == 1 or math.perm(count, expected) <= MAX_CHOICES)):
            return False
        return bool(getattr(self.op if isinstance(self.op, OpPattern) else node.op, "commutative", False))

    def wildcards(self) -> Iterator[str]:
        for part in self.inputs:
            yield from part.wildcards()

    def __str__(self) -> str:
        name = self.op.__name__ if isinstance(self.op, type) else str(self.op)
        parts = [*map(str, self.inputs), *(["..."] if self.more else [])]
        return f"{name}({', '.join(parts)})"


def _is_same_wildcard(a: Pattern, b: Pattern) -> bool:
    return isinstance(a, Wildcard) and isinstance(b, Wildcard) and a.name == b.name


def _orders(inputs: Sequence[Variable]) -> Iterator[tuple[Variable, ...]]:
    """Yield the orders of `inputs`, the given one first; equal inputs are not exchanged."""
    seen = set()
    for order in itertools.permutations(inputs):
        if order not in seen:
            seen.add(order)
            yield order


def _may_match(pattern: Pattern, variable: Variable) -> bool:
    return pattern.may_match(variable)


def _match_all(patterns: Sequence[Pattern], variables: Sequence[Variable], match: Match) -> Iterator[Match]:
    result: Match | None = match
    for i, pattern in enumerate(patterns):
        if not pattern.single:
            for each in pattern.matches(variables[i], match):
                yield from _match_all(patterns[i + 1 :], variables[i + 1 :], each)
            return
        result = pattern.only(variables[i], match)
        if result is None:
            return
        match = result
    yield match


def same_value(a: Variable, b: Variable) -> bool:
    """Tell whether two variables are one, or are constants with equal signatures."""
    return a is b or (isinstance(a, Constant) and isinstance(b, Constant) and bool(a.signature() == b.signature()))


SeeThrough = Callable[[Variable], Variable | None]


def compile_pattern(pattern: object, see_through: SeeThrough | None = None) -> Pattern:
    """Turn the written form of a pattern into its compiled form.

    Parameters
    ----------
    pattern : object
        See :class:`PatternRewriter`.
    see_through : callable, optional
        Gives the variable behind an identity; parts below the root also fit there.

    Raises
    ------
    PatternError
        If it is malformed.
    """
    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(pattern, str):
        return Wildcard(pattern)
    if isinstance(pattern, tuple):
        return _compile_application(pattern, see_through)
    if isinstance(pattern, dict):
        return _compile_guarded(pattern, see_through)
    if isinstance(pattern, Variable):
        return Exactly(pattern)
    if isinstance(pattern, numbers.Number):
        return Number(pattern)
    raise PatternError(
        format_error(
            f"{pattern!r} cannot stand in a pattern",
            hint="use a tuple (op, part, ...), a string (wildcard), a number, a variable, or "
            '{"pattern": part, "constraint": function}',
        )
    )


def _compile_part(pattern: object, see_through: SeeThrough | None) -> Pattern:
    part = compile_pattern(pattern, see_through)
    if see_through is None or isinstance(part, Wildcard | Exactly):
        return part
    return SeenThrough(part, see_through)


def _compile_application(pattern: tuple[object, ...], see_through: SeeThrough | None) -> Application:
    if not pattern:
        raise PatternError(format_error("a pattern has an empty tuple in it", hint="write (op, part, ...)"))
    op = pattern[0]
    if isinstance(op, Op) or (isinstance(op, type) and issubclass(op, Op)):
        return Application(op, tuple(_compile_part(part, see_through) for part in pattern[1:]))
    raise PatternError(
        format_error(
            f"a tuple in a pattern starts with {op!r}, which is no op",
            hint="write (op, part, ...) with an op or a class of ops",
        )
    )


def _compile_guarded(pattern: dict[Any, Any], see_through: SeeThrough | None) -> Guarded:
    if set(pattern) != {"pattern", "constraint"} or not callable(pattern["constraint"]):
        raise PatternError(
            format_error(
                f"a dict in a pattern has the keys {sorted(map(str, pattern))}",
                hint='write {"pattern": part, "constraint": function of the variable}',
            )
        )
    return Guarded(compile_pattern(pattern["pattern"], see_through), pattern["constraint"])
