"""Lists of values of one type."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

from theano_graph import (
    Apply,
    Constant,
    Op,
    Type,
    Variable,
    batch_rule,
    describe,
    format_error,
    pullback,
    pushforward,
    shape_rule,
)
from theano_linker_c.modes import optdb
from theano_optimize import InplaceRewriter, Phase

from ._core._convert import as_tensor_variable
from ._core._dtypes import TensorLike
from ._core._type import TensorType

#: Earlier names of its parts are found beneath it: see `_module_aliases`.
__path__: list[str] = []

# ---- The type of lists, and its variables


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


# ---- Operations on lists

_INT = TensorType("int64", ())


class ListOp(Op):
    """Base of the ops on lists."""

    __props__: ClassVar[tuple[str, ...] | None] = ()

    def __str__(self) -> str:
        return type(self).__name__


class ListChange(ListOp):
    """Base of the ops that return a changed list; its elements are those of the input.

    Parameters
    ----------
    inplace : bool
        Whether the input list itself is changed.
    """

    __props__ = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = bool(inplace)
        maps: Mapping[int, Sequence[int]] = {0: [0]}
        if self.inplace:
            self.destroy_map = maps
        else:
            self.view_map = maps

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Change the list, or a copy of it that has the same elements."""
        result = inputs[0] if self.inplace else list(inputs[0])
        self.change(node, result, *inputs[1:])
        output_storage[0][0] = result

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Change a list in place."""
        raise TypeError(f"{type(self).__name__} is only a base")

    def __str__(self) -> str:
        return f"{type(self).__name__}{{inplace}}" if self.inplace else type(self).__name__


def as_list(op: Op, x: Any) -> Variable:
    """Return `x` as a variable of a list type."""
    if isinstance(x, Variable) and isinstance(x.type, TypedListType):
        return x
    got = describe(x) if isinstance(x, Variable) else repr(x)
    raise TypeError(
        format_error(f"{op} works on lists", context=[got], hint="make one: TypedListType(...)(), or make_list")
    )


def as_element(op: Op, x: Any, element: Any) -> Variable:
    """Return `element` as a variable of the type of the elements of `x`."""
    kind: Any = x.type
    try:
        converted: Variable = kind.ttype.narrow_variable(element)
    except (TypeError, ValueError) as error:
        got = describe(element) if isinstance(element, Variable) else repr(element)
        raise TypeError(
            format_error(f"{op}: the list has elements of type {kind.ttype}", context=[got], hint="cast the element")
        ) from error
    return converted


def as_position(op: Op, index: Any) -> Variable:
    """Return `index` as a symbolic integer."""
    variable: Any = as_tensor_variable(index)
    if variable.type.ndim or not variable.type.dtype.startswith(("int", "uint")):
        raise TypeError(
            format_error(f"{op}: a position is an integer", context=[describe(variable)], hint="pass an integer")
        )
    return variable if variable.type == _INT else variable.astype("int64")  # type: ignore[no-any-return]  # a variable


def copied(value: Any) -> Any:
    """Return an element that shares no memory with another list."""
    return value.copy() if hasattr(value, "copy") else value


class GetItem(ListOp):
    """An element, or a part of the list.

    Parameters
    ----------
    parts : tuple of bool, optional
        Of a slice: whether it has a start, a stop, a step; each one is an input. None for an element.
    """

    __props__ = ("parts",)
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def __init__(self, parts: tuple[bool, bool, bool] | None = None) -> None:
        self.parts = parts

    def make_node(self, x: TensorLike, *index: Any) -> Apply:
        """Apply to a list and a position, or a slice; numbers may be symbolic."""
        list_variable = as_list(self, x)
        kind: Any = list_variable.type
        if len(index) == 1 and isinstance(index[0], slice):
            bounds = (index[0].start, index[0].stop, index[0].step)
            numbers = [as_position(self, n) for n in bounds if n is not None]
            first, second, third = (n is not None for n in bounds)
            return Apply(GetItem((first, second, third)), [list_variable, *numbers], [kind.make_variable()])
        if self.parts is None and len(index) == 1 and _is_symbolic_slice(index[0]):
            return Apply(self, [list_variable, index[0]], [kind.make_variable()])
        numbers = [as_position(self, n) for n in index]
        if len(numbers) != (1 if self.parts is None else sum(self.parts)):
            raise TypeError(
                format_error(f"{self} takes one position, not {len(numbers)}", hint="index with one number")
            )
        result = kind.ttype if self.parts is None else kind
        return Apply(self, [list_variable, *numbers], [result.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Index; IndexError where there is no such element."""
        x, *numbers = inputs
        if self.parts is not None:
            left = iter(numbers)
            output_storage[0][0] = x[slice(*(int(next(left)) if there else None for there in self.parts))]
            return
        if isinstance(numbers[0], slice):
            output_storage[0][0] = x[numbers[0]]
            return
        index = int(numbers[0])
        if not -len(x) <= index < len(x):
            raise IndexError(
                format_error(
                    f"position {index} is out of range for a list of {len(x)}", hint="count from 0 or from the end"
                )
            )
        output_storage[0][0] = x[index]


def _is_symbolic_slice(index: Any) -> bool:
    """Tell whether values of a variable are slices."""
    if not isinstance(index, Variable) or isinstance(index.type, TensorType):
        return False
    return index.type.is_valid_value(slice(None)) and not index.type.is_valid_value(0)


class Append(ListChange):
    """The list with one more element at the end."""

    def make_node(self, x: TensorLike, element: TensorLike) -> Apply[Self]:
        """Apply to a list and an element."""
        list_variable = as_list(self, x)
        return Apply(
            self, [list_variable, as_element(self, list_variable, element)], [list_variable.type.make_variable()]
        )

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Append a copy of the element."""
        result.append(copied(arguments[0]))


class Extend(ListChange):
    """The list with the elements of another one at the end."""

    def make_node(self, x: TensorLike, other: TensorLike) -> Apply[Self]:
        """Apply to two lists of one type."""
        list_variable, more = as_list(self, x), as_list(self, other)
        if not list_variable.type.is_super(more.type):
            raise TypeError(
                format_error(
                    f"{self}: the lists have different types", context=[describe(list_variable), describe(more)]
                )
            )
        return Apply(self, [list_variable, more], [list_variable.type.make_variable()])

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Append copies of the elements."""
        result.extend([copied(element) for element in arguments[0]])


class Insert(ListChange):
    """The list with one more element at a position."""

    def make_node(self, x: TensorLike, index: TensorLike, element: TensorLike) -> Apply[Self]:
        """Apply to a list, a position and an element."""
        list_variable = as_list(self, x)
        inputs = [list_variable, as_position(self, index), as_element(self, list_variable, element)]
        return Apply(self, inputs, [list_variable.type.make_variable()])

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Insert a copy of the element, as ``list.insert`` does."""
        result.insert(int(arguments[0]), copied(arguments[1]))


class Remove(ListChange):
    """The list without the first element that is equal to a given one; arrays are compared as a whole."""

    def make_node(self, x: TensorLike, element: TensorLike) -> Apply[Self]:
        """Apply to a list and an element."""
        list_variable = as_list(self, x)
        return Apply(
            self, [list_variable, as_element(self, list_variable, element)], [list_variable.type.make_variable()]
        )

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Remove the element; ValueError where there is none."""
        del result[_position(node, result, arguments[0])]


class Reverse(ListChange):
    """The list in the opposite order."""

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a list."""
        list_variable = as_list(self, x)
        return Apply(self, [list_variable], [list_variable.type.make_variable()])

    def change(self, node: Apply[Self], result: list[Any], *arguments: Any) -> None:
        """Reverse."""
        result.reverse()


class ListQuestion(ListOp):
    """Base of the ops that answer with a number; nothing is differentiated through them."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that the answer does not depend on the elements differentiably."""
        return [[False] for _ in node.inputs]


class Index(ListQuestion):
    """The position of the first element that is equal to a given one."""

    def make_node(self, x: TensorLike, element: TensorLike) -> Apply[Self]:
        """Apply to a list and an element."""
        list_variable = as_list(self, x)
        return Apply(self, [list_variable, as_element(self, list_variable, element)], [_INT.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Search; ValueError where there is none."""
        output_storage[0][0] = _INT.filter(_position(node, *inputs))


class Count(ListQuestion):
    """How many elements are equal to a given one; arrays are compared as a whole."""

    def make_node(self, x: TensorLike, element: TensorLike) -> Apply[Self]:
        """Apply to a list and an element."""
        list_variable = as_list(self, x)
        return Apply(self, [list_variable, as_element(self, list_variable, element)], [_INT.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Count."""
        x, element = inputs
        equal = node.inputs[1].type.values_eq
        output_storage[0][0] = _INT.filter(sum(equal(found, element) for found in x))


class Length(ListQuestion):
    """How many elements a list has."""

    def make_node(self, x: TensorLike) -> Apply[Self]:
        """Apply to a list."""
        return Apply(self, [as_list(self, x)], [_INT.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Count all."""
        output_storage[0][0] = _INT.filter(len(inputs[0]))


class MakeList(ListOp):
    """A list of variables of one type."""

    def make_node(self, a: TensorLike) -> Apply[Self]:
        """Apply to a list or tuple of variables or values, one or more.

        Raises
        ------
        TypeError
            If their types differ.
        """
        if not isinstance(a, (list, tuple)) or not a:
            raise TypeError(
                format_error(f"make_list: {a!r} is no list of variables", hint="pass a list with one or more")
            )
        elements = [v if isinstance(v, Variable) else as_tensor_variable(v) for v in a]
        if any(v.type != elements[0].type for v in elements):
            raise TypeError(
                format_error(
                    "make_list: the elements have different types",
                    context=[describe(v) for v in elements],
                    hint="cast or reshape them to one type",
                )
            )
        kind = elements[0].type
        # Known lengths of these elements need not hold for later elements of the list.
        kind = kind.pattern_type() if isinstance(kind, TensorType) and kind.found else kind
        return Apply(self, list(elements), [TypedListType(kind).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Make the list of copies."""
        output_storage[0][0] = [copied(value) for value in inputs]


def _position(node: Apply, x: Sequence[Any], element: Any) -> int:
    equal = node.inputs[1].type.values_eq
    for i, found in enumerate(x):
        if equal(found, element):
            return i
    raise ValueError(
        format_error(f"{node.op}: the list has no such element: {element!r}", hint="look with count first")
    )


append, extend, insert, remove, reverse = Append(), Extend(), Insert(), Remove(), Reverse()
getitem, index_, count, length, make_list = GetItem(), Index(), Count(), Length(), MakeList()
_Operators.ops.update(
    append=append,
    extend=extend,
    insert=insert,
    remove=remove,
    reverse=reverse,
    getitem=getitem,
    index=index_,
    count=count,
    length=length,
)
for _op in (ListChange, GetItem, MakeList, ListQuestion):
    for _table in (pullback, pushforward, shape_rule):
        _table.declare_absent(_op, "lists have neither gradients nor shapes")


batch_rule.declare_absent(ListOp, "lists have no dimension for a batch")


# ---- Lists are changed in place where nobody sees it


def _forms(node: Apply) -> Sequence[Op]:
    return [] if node.op.inplace else [type(node.op)(inplace=True)]


#: In-place changes of lists, by the ops that copy.
typed_list_inplace = InplaceRewriter(_forms, [ListChange], "typed_list_inplace_opt")
optdb.register("typed_list_inplace_opt", typed_list_inplace, "fast_run", "inplace", position=Phase.INPLACE)


__all__ = [
    "Append",
    "Count",
    "Extend",
    "GetItem",
    "Index",
    "Insert",
    "Length",
    "MakeList",
    "Remove",
    "Reverse",
    "TypedListConstant",
    "TypedListType",
    "TypedListVariable",
    "append",
    "count",
    "extend",
    "getitem",
    "index_",
    "insert",
    "length",
    "make_list",
    "remove",
    "reverse",
]
