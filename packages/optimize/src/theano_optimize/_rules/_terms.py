"""Terms of equations, which Python's operators make of wildcards, numbers and operations.

Terms give the form of an expression and know no types; so one equation holds for tensors of all dtypes and numbers
of dimensions.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import EllipsisType
from typing import Any, Protocol, TypeAlias

from theano_graph import Apply, FunctionGraph, Op, Variable

from ._match import OpPattern, read_number

#: Operands: a term, a number, and ``...`` for any further operands, the same on the
#: right-hand side.
Part: TypeAlias = "Term | float | complex | EllipsisType"

#: How tightly operators bind when a term is printed; others are printed as a call.
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "@": 2, "negative": 3, "**": 4, ".T": 5}
_ATOM = 6


class Fit(enum.Enum):
    """The treatment of a right-hand side of another type than the left-hand side.

    ``CONVERTED``: the language converts it where it can. ``EXACT``: the equation does not hold there.
    ``NARROWER``: it holds where more is known of the new type. ``UNCHECKED``: the engine has the say.
    """

    CONVERTED = "converted"
    EXACT = "exact"
    NARROWER = "narrower"
    UNCHECKED = "unchecked"


class Language:
    """The meaning of Python's operators in the terms of a layer, and the forms of numbers.

    Layers subclass it. ``operators`` maps ``+``, ``-``, ``*``, ``/``, ``//``, ``**``, ``@``, ``negative``, ``abs`` and
    ``.T`` to operations.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> language = Language()
    >>> language.operators["negative"] = Operation(language, "neg", Neg(), symbol="negative")
    >>> x = Unknown(language, "x")
    >>> str(-(-x) >> x)
    '-(-x) -> x'
    """

    #: Kinds of ops that numbers are seen through.
    transparent: tuple[type, ...] = ()

    def __init__(self) -> None:
        self.operators: dict[str, Operation] = {}

    def kind(self, op: Op) -> type:
        """Return a key that tells ops apart at a glance; see :class:`OpPattern`."""
        return type(op)

    def read(self, variable: Variable) -> Any:
        """Return the number that a variable stands for, or None."""
        return read_number(variable)

    def literal(self, value: Any, node: Apply) -> Variable:
        """Return a number as a constant of the type that the replacement of `node` has."""
        result: Variable = node.outputs[0].type.make_constant(value)
        return result

    def apply(self, op: Op, inputs: list[Variable]) -> Variable:
        """Return the result of an op."""
        result: Variable = op.make_node(*inputs).default_output()
        return result

    def fitted(self, node: Apply, new: Variable, fit: Fit) -> list[Variable] | None:
        """Return the replacement of the output of `node`, made of a right-hand side; None if that does not fit."""
        return [new] if fit is Fit.UNCHECKED or node.outputs[0].type.is_super(new.type) else None


class Context(Protocol):
    """Where a right-hand side is built."""

    fgraph: FunctionGraph
    node: Apply
    language: Language


class Operation:
    """The head of a term: an op, a class or family of ops, or a function that belongs to right-hand sides alone.

    Parameters
    ----------
    language : Language
    name : str
        For printing.
    op : Op, class of ops or OpPattern, optional
        On the right-hand side, a class stands for the op that it was on the left.
    symbol : str, optional
        The operator of Python that stands for it.
    make : callable, optional
        ``make(context, *variables)`` gives the variable on right-hand sides; by default the op is applied.
    compute : callable, optional
        Its value on numbers: where all operands are numbers, so is the result.
    """

    __slots__ = ("compute", "language", "make", "name", "op", "symbol")

    def __init__(
        self,
        language: Language,
        name: str,
        op: Op | type[Op] | OpPattern | None = None,
        *,
        symbol: str | None = None,
        make: Callable[..., Variable] | None = None,
        compute: Callable[..., Any] | None = None,
    ) -> None:
        self.language = language
        self.name = name
        self.op = op
        self.symbol = symbol
        self.make = make
        self.compute = compute

    def __call__(self, *parts: Part) -> Applied:
        return Applied(self, parts)

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"


class Term:
    """An expression of an equation. Python's operators make larger ones; ``a >> b`` is the equation "a becomes b"."""

    __slots__ = ("language",)

    def __init__(self, language: Language) -> None:
        self.language = language

    def __add__(self, other: Part) -> Applied:
        return Applied(self.language.operators["+"], (self, other))

    def __radd__(self, other: Part) -> Applied:
        return Applied(self.language.operators["+"], (other, self))

    def __sub__(self, other: Part) -> Applied:
        return Applied(self.language.operators["-"], (self, other))

    def __rsub__(self, other: Part) -> Applied:
        return Applied(self.language.operators["-"], (other, self))

    def __mul__(self, other: Part) -> Applied:
        return Applied(self.language.operators["*"], (self, other))

    def __rmul__(self, other: Part) -> Applied:
        return Applied(self.language.operators["*"], (other, self))

    def __truediv__(self, other: Part) -> Applied:
        return Applied(self.language.operators["/"], (self, other))

    def __rtruediv__(self, other: Part) -> Applied:
        return Applied(self.language.operators["/"], (other, self))

    def __floordiv__(self, other: Part) -> Applied:
        return Applied(self.language.operators["//"], (self, other))

    def __rfloordiv__(self, other: Part) -> Applied:
        return Applied(self.language.operators["//"], (other, self))

    def __pow__(self, other: Part) -> Applied:
        return Applied(self.language.operators["**"], (self, other))

    def __matmul__(self, other: Part) -> Applied:
        return Applied(self.language.operators["@"], (self, other))

    def __neg__(self) -> Applied:
        return Applied(self.language.operators["negative"], (self,))

    def __abs__(self) -> Applied:
        return Applied(self.language.operators["abs"], (self,))

    @property
    def T(self) -> Applied:
        """The transpose."""
        return Applied(self.language.operators[".T"], (self,))

    def __rshift__(self, after: Part) -> Equation:
        return Equation(self, after)


class Unknown(Term):
    """A wildcard: fits everything, or variables for which a condition holds. Numbers are known constants."""

    __slots__ = ("condition", "is_number", "name")

    def __init__(
        self,
        language: Language,
        name: str,
        condition: Callable[[Variable], object] | None = None,
        is_number: bool = False,
    ) -> None:
        super().__init__(language)
        self.name = name
        self.condition = condition
        self.is_number = is_number

    def __str__(self) -> str:
        return self.name


class Applied(Term):
    """An operation on terms and numbers."""

    __slots__ = ("operation", "parts")

    def __init__(self, operation: Operation, parts: tuple[Part, ...]) -> None:
        super().__init__(operation.language)
        self.operation = operation
        self.parts = parts

    @property
    def is_number(self) -> bool:
        """Whether it is a number that is known when the pattern fits."""
        return self.operation.compute is not None and all(_is_number(part) for part in self.parts)

    @property
    def depth(self) -> int:
        """Number of levels of operations."""
        return 1 + max((part.depth for part in self.parts if isinstance(part, Applied)), default=0)

    def __str__(self) -> str:
        return _text(self)[0]


def _is_number(part: Part) -> bool:
    return part.is_number if isinstance(part, Unknown | Applied) else part is not ...


def _text(part: Part) -> tuple[str, int]:
    """Return the text of a term, and how tightly it holds together."""
    if not isinstance(part, Applied):
        negative = isinstance(part, int | float) and part < 0
        return ("..." if part is ... else str(part)), _STRENGTH["negative"] if negative else _ATOM
    symbol = part.operation.symbol
    strength = _STRENGTH.get(symbol or "")
    if strength is None or symbol is None:
        return f"{part.operation.name}({', '.join(_text(p)[0] for p in part.parts)})", _ATOM
    if symbol == ".T":
        return f"{_inside(part.parts[0], strength)}.T", strength
    if symbol == "negative":
        return f"-{_inside(part.parts[0], strength + 1)}", strength
    if len(part.parts) != 2:
        return f"{part.operation.name}({', '.join(_text(p)[0] for p in part.parts)})", _ATOM
    left, right = part.parts
    # Powers group to the right, all else to the left.
    to_right = symbol == "**"
    return f"{_inside(left, strength + to_right)} {symbol} {_inside(right, strength + (not to_right))}", strength


def _inside(part: Part, strength: int) -> str:
    text, precedence = _text(part)
    return text if precedence >= strength else f"({text})"


class Equation:
    """Two terms: the pattern, and its replacement, with conditions.

    Parts that both terms have in common, as the same Python object, are not built again.

    Parameters
    ----------
    before : Term
    after : Term or number
    """

    __slots__ = ("after", "before", "conditions", "is_alone")

    def __init__(self, before: Term, after: Part) -> None:
        self.before = before
        self.after = after
        self.conditions: tuple[Callable[..., object], ...] = ()
        self.is_alone = False

    def when(self, *conditions: Callable[..., object]) -> Equation:
        """Let the equation hold under conditions only, and return it.

        A condition is a function of some of the wildcards, by the names of its parameters; wildcards for numbers are
        given as numbers. `node` and `fgraph` are the node and its graph.
        """
        self.conditions += conditions
        return self

    def alone(self) -> Equation:
        """Let the equation hold only where nothing else uses the nodes below the first, and return it."""
        self.is_alone = True
        return self

    def __str__(self) -> str:
        said = [*map(condition_text, self.conditions), *(["nothing else uses its parts"] if self.is_alone else [])]
        after = _text(self.after)[0]
        return f"{self.before} -> {after}" + (f" where {' and '.join(said)}" if said else "")

    def __repr__(self) -> str:
        return f"<Equation {self}>"


def condition_text(condition: Callable[..., object]) -> str:
    """Return a condition in words: the first line of its docstring without the full stop, else its name."""
    text = (condition.__doc__ or "").strip()
    if not text:
        return str(getattr(condition, "__name__", condition))
    line = text.splitlines()[0].rstrip(".")
    return line[0].lower() + line[1:]
