"""Typed tables of rules, looked up by the class of an op.

The meaning of an op to a consumer (its gradient, its shape, its native form) is registered beside the op, in the table
of that consumer. A second registration is an error, and a missing rule names the op and the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._errors import DuplicateRuleError, MissingRuleError, asked_by_user, format_error
from .._record import record

if TYPE_CHECKING:
    from ._nodes import Apply, Variable

RuleT = TypeVar("RuleT")

_tables: list[RuleTable[Any]] = []


def rule_tables() -> tuple[RuleTable[Any], ...]:
    """Return all tables of rules of the process."""
    return tuple(_tables)


class RuleTable(Generic[RuleT]):
    """Rules of one kind, one for each op class.

    Parameters
    ----------
    name : str
        The subject of the rules; used in error messages.

    Notes
    -----
    A rule holds for subclasses that have none of their own. A second rule for one class is an error, and so is a rule
    for a class that is declared to have none. Who looks a rule up may name methods that say the same (:meth:`get`):
    a method of a subclass overrides the rule of its base.

    Examples
    --------
    >>> cost = RuleTable[int]("cost")
    >>> class Double: ...
    >>> cost.register(Double)(3)
    3
    >>> cost.get(Double())
    3
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules: dict[type, RuleT] = {}
        self._absent: dict[type, str] = {}
        self._found: dict[tuple[type | str, ...], RuleT | None] = {}
        self._listeners: list[Callable[[type, RuleT], None]] = []
        self._of_users: list[tuple[type, RuleT]] = []
        _tables.append(self)

    def register(self, *op_classes: type) -> Callable[[RuleT], RuleT]:
        """Return a decorator (or plain function) that registers its argument for all of `op_classes`.

        Raises
        ------
        DuplicateRuleError
            If one of the classes has a rule of its own, or has been declared to have none.
        """

        def accept(rule: RuleT) -> RuleT:
            if asked_by_user():
                self._of_users += [(op_class, rule) for op_class in op_classes]
            for op_class in op_classes:
                self._refuse_second(op_class)
                self._rules[op_class] = rule
                for listener in self._listeners:
                    listener(op_class, rule)
            self._found.clear()
            return rule

        return accept

    def tell(self, listener: Callable[[type, RuleT], None]) -> None:
        """Call ``listener(op_class, rule)`` for each rule that is registered, now and later."""
        for op_class, rule in self._rules.items():
            listener(op_class, rule)
        self._listeners.append(listener)

    def declare_absent(self, op_class: type, reason: str) -> None:
        """Declare that `op_class` has no rule in this table, and why; the reason appears in errors."""
        self._refuse_second(op_class)
        self._absent[op_class] = reason
        self._found.clear()

    def _refuse_second(self, op_class: type) -> None:
        if op_class in self._rules or op_class in self._absent:
            raise DuplicateRuleError(
                format_error(
                    f"table `{self.name}` already has an entry for {op_class.__module__}.{op_class.__qualname__}",
                    hint="register a rule for a subclass, or keep only one of the two registrations",
                )
            )

    def get(self, op: object, *methods: str) -> RuleT | None:
        """Return the rule of the class of `op` or of its nearest base that has one, else None.

        Parameters
        ----------
        op : Op
        *methods : str
            Names of methods that say the same. A subclass that defines one overrides the rule of its base: None.
        """
        op_class = type(op)
        key: tuple[type | str, ...] = (op_class, *methods)
        try:
            return self._found[key]
        except KeyError:
            pass
        result: RuleT | None = None
        for base in op_class.__mro__:
            if base in self._rules:
                result = self._rules[base]
                break
            if base in self._absent or any(_is_written(base, name) for name in methods):
                break
        self._found[key] = result
        return result

    def absence(self, op: object) -> str | None:
        """Return the declared reason why `op` has no rule, or None when nothing is declared."""
        for base in type(op).__mro__:
            if base in self._rules:
                return None
            if base in self._absent:
                return self._absent[base]
        return None

    def lookup(self, op: object) -> RuleT:
        """Return the rule for `op`.

        Raises
        ------
        MissingRuleError
            If there is none; the text names the table, the op, its class, and the declared reason if there is one.
        """
        rule = self.get(op)
        if rule is not None:
            return rule
        op_class = type(op)
        reason = self.absence(op)
        what = f"op {op} ({op_class.__module__}.{op_class.__qualname__}) has no rule in table `{self.name}`"
        if reason is not None:
            raise MissingRuleError(format_error(f"{what}: {reason}"))
        raise MissingRuleError(format_error(what, hint=f"register one: `@{self.name}.register({op_class.__name__})`"))

    def of_users(self) -> Sequence[tuple[type, RuleT]]:
        """Return the classes and rules that were registered from outside of the library, in their order."""
        return tuple(self._of_users)

    def classes(self) -> tuple[type, ...]:
        """Return the op classes that have a rule of their own, in order of registration."""
        return tuple(self._rules)


def _is_written(op_class: type, method: str) -> bool:
    """Return whether somebody has written a method in the body of a class; one that stands for a rule is not."""
    return method in vars(op_class) and not getattr(vars(op_class)[method], "is_rule", False)


@record
class Unstacked:
    """An output in a batch that is the same for all entries: it has no dimension of the batch.

    Attributes
    ----------
    variable : Variable
    """

    variable: Variable


PullbackRule = Callable[["Apply", "list[Variable]"], "Sequence[Variable | None]"]
PushforwardRule = Callable[["Apply", "list[Variable | None]"], "Sequence[Variable | None]"]
ShapeRule = Callable[["Apply", "list[Any]"], "Sequence[Any]"]
BatchRule = Callable[["Apply", "list[Any]", "Sequence[bool]"], "Sequence[Any] | None"]

#: Vector-Jacobian products: ``rule(node, cotangents)`` gives one cotangent per input, None where it is disconnected.
#: An op without a rule is asked for its methods `L_op` and `grad`. A cotangent is cast to the precision of its input,
#: and a real input gets the real part of a complex one.
pullback: RuleTable[PullbackRule] = RuleTable("pullback")

#: Jacobian-vector products: ``rule(node, tangents)`` gives one tangent per output; None stands for zero.
#: An op without a rule is asked for its method `R_op`; without that, its pullback is applied twice.
pushforward: RuleTable[PushforwardRule] = RuleTable("pushforward")

#: Symbolic shapes: ``rule(node, input_shapes)`` gives the shape of each output as a tuple of ints and scalar variables,
#: with None for a length that only the value tells. An input whose type has no shape comes as None, and such an output
#: is answered with None. An op without a rule is asked for its method `infer_shape`.
shape_rule: RuleTable[ShapeRule] = RuleTable("shape_rule")

#: Batches: ``rule(node, inputs, stacked)`` gives the outputs for all entries of a batch at once. An input `k` for which
#: ``stacked[k]`` is true has one more dimension in front of those of ``node.inputs[k]``, the others are the same for
#: all entries; at least one is stacked, and stacked ones have one length. Each output has the dimension in front too,
#: or is an `Unstacked`. A rule returns None where it cannot do better than a loop over the entries, as an op without a
#: rule gets.
batch_rule: RuleTable[BatchRule] = RuleTable("batch_rule")
