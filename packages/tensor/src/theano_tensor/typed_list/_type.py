"""The type of lists, and its variables."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, NoReturn

from theano_graph import Constant, Type, Variable, describe, format_error


class TypedListType(Type):
    """Python lists whose elements are values of one type.

    Parameters
    ----------
    ttype : Type
        Of the elements; it may be a type of lists itself.
    depth : int
        How many lists are put around `ttype`: 0 for a list of elements, 1 for a list of lists of them, ...

    Raises
    ------
    TypeError
        If `ttype` is no type.
    ValueError
        If `depth` is negative.

    Examples
    --------
    >>> import theano.typed_list
    >>> import theano.tensor as T
    >>> theano.typed_list.TypedListType(T.fvector)("l").type.ttype == T.fvector
    True
    """

    def __init__(self, ttype: Any, depth: int = 0) -> None:
        if not isinstance(ttype, Type):
            raise TypeError(
                format_error(
                    f"TypedListType: {ttype!r} is no type", hint="pass the type of the elements, such as T.fvector"
                )
            )
        if depth < 0:
            raise ValueError(
                format_error(f"TypedListType: depth {depth} is negative", hint="pass 0 for a list of elements")
            )
        self.ttype: Type = TypedListType(ttype, depth - 1) if depth else ttype

    def filter(self, value: object, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return a list whose elements are values of `ttype`.

        Raises
        ------
        TypeError
            If `value` is no list (or, unless `strict`, no tuple), or an element does not fit.
        """
        if not (isinstance(value, list) or (not strict and isinstance(value, tuple))):
            raise TypeError(
                format_error(f"a list is wanted here, not {type(value).__name__}", hint=f"pass a list of {self.ttype}")
            )
        elements = []
        for i, element in enumerate(value):
            try:
                elements.append(self.ttype.filter(element, strict, allow_downcast))
            except (TypeError, ValueError) as error:
                raise TypeError(
                    format_error(f"element {i} does not fit: {error}", hint=f"pass a list of {self.ttype}")
                ) from error
        same = isinstance(value, list) and all(a is b for a, b in zip(elements, value, strict=True))
        return value if same else elements

    def values_eq(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Tell whether two lists have equal elements."""
        return len(a) == len(b) and all(self.ttype.values_eq(x, y) for x, y in zip(a, b, strict=True))

    def values_eq_approx(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Tell whether two lists have elements that are equal up to rounding."""
        return len(a) == len(b) and all(self.ttype.values_eq_approx(x, y) for x, y in zip(a, b, strict=True))

    def may_share_memory(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Tell whether the lists, or elements of them, may be the same memory; `b` may also be an element."""
        if a is b:
            return True
        others = b if isinstance(b, list) else [b]
        return any(self.ttype.may_share_memory(x, y) for x in a for y in others)

    def is_super(self, other: Type) -> bool:
        """Tell whether each value of `other` is a value of this type."""
        return isinstance(other, TypedListType) and self.ttype.is_super(other.ttype)

    @property
    def exact(self) -> Hashable:
        """The exact part of the type of the elements."""
        return TypedListType, self.ttype.exact

    def get_depth(self) -> int:
        """Return how many lists are around the innermost elements, beyond the first."""
        return self.ttype.get_depth() + 1 if isinstance(self.ttype, TypedListType) else 0

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, TypedListType) and other.ttype == self.ttype

    def __hash__(self) -> int:
        return hash((TypedListType, self.ttype))

    def __str__(self) -> str:
        return f"TypedList <{self.ttype}>"

    def __repr__(self) -> str:
        return f"TypedListType({self.ttype!r})"


class _Operators:
    """The operators and methods of lists; the ops that carry them out are set when they exist."""

    ops: ClassVar[dict[str, Any]] = {}

    @property
    def ttype(self) -> Type:
        """The type of the elements."""
        kind: Any = self.type  # type: ignore[attr-defined]  # every variable has a type
        element_type: Type = kind.ttype
        return element_type

    def __getitem__(self, index: Any) -> Any:
        return self.ops["getitem"](self, index)

    def __len__(self) -> Any:
        # Python's len() has no use for a symbolic number, and says so; `x.__len__()` is the same as `length(x)`.
        return self.ops["length"](self)

    def __iter__(self) -> NoReturn:
        raise TypeError(
            format_error(
                "a symbolic list cannot be iterated over: its length is not known yet",
                context=[describe(self)] if isinstance(self, Variable) else [],
                hint="take elements by number: x[0], x[1], ...",
            )
        )

    def append(self, element: Any) -> Any:
        """Return the list with one more element at the end."""
        return self.ops["append"](self, element)

    def extend(self, other: Any) -> Any:
        """Return the list with the elements of another one at the end."""
        return self.ops["extend"](self, other)

    def insert(self, index: Any, element: Any) -> Any:
        """Return the list with one more element at a position."""
        return self.ops["insert"](self, index, element)

    def remove(self, element: Any) -> Any:
        """Return the list without the first element that is equal to `element`."""
        return self.ops["remove"](self, element)

    def reverse(self) -> Any:
        """Return the list in the opposite order."""
        return self.ops["reverse"](self)

    def count(self, element: Any) -> Any:
        """Return how many elements are equal to `element`."""
        return self.ops["count"](self, element)

    def ind(self, element: Any) -> Any:
        """Return the position of the first element that is equal to `element`."""
        return self.ops["index"](self, element)


class TypedListVariable(_Operators, Variable):
    """A symbolic list."""


class TypedListConstant(_Operators, Constant):
    """A list that is known."""


TypedListType.variable_class = TypedListVariable
TypedListType.constant_class = TypedListConstant
