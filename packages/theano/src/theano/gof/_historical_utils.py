"""Helpers that programs for Theano 1.0 find in `theano.gof.utils`, and that nothing here needs."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from theano_graph import Constant, Tag, Type, Variable
from theano_graph.utils import deprecated
from theano_tensor.gradient import NullType

T = TypeVar("T")
ClassT = TypeVar("ClassT", bound="MetaObject")
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

__module_name__ = "theano.gof.utils"

#: The scratchpad of variables and nodes.
scratchpad = Tag
null_type = NullType()
#: Says that an argument was not given, where None is a value.
undef = object()


class Keyword:
    """A word that is nothing but itself.

    Parameters
    ----------
    name : str
    nonzero : bool
        Its truth value.
    """

    __module__ = __module_name__

    def __init__(self, name: str, nonzero: bool = True) -> None:
        self.name = name
        self.nonzero = nonzero

    def __bool__(self) -> bool:
        return self.nonzero

    def __str__(self) -> str:
        return f"<{self.name}>"

    __repr__ = __str__


ABORT = Keyword("ABORT", False)
RETRY = Keyword("RETRY", False)
FAILURE = Keyword("FAILURE", False)
ANY_TYPE = Keyword("ANY_TYPE")
FALL_THROUGH = Keyword("FALL_THROUGH")
integer_types = (int,)
string_types = (str,)
simple_types = (int, str, float, bool, type(None), Keyword)


class MetaObject(type):
    """Gives classes with `__props__`, a tuple of names of attributes, equality, a hash and a text by these."""

    __module__ = __module_name__

    def __new__(mcs: type[ClassT], name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> ClassT:
        props = dct.get("__props__")
        if props is None:
            return super().__new__(mcs, name, bases, dct)
        if not isinstance(props, tuple) or not all(isinstance(prop, str) for prop in props):
            raise TypeError(f"__props__ of {name} has to be a tuple of names of attributes, not {props!r}")
        names: tuple[str, ...] = props

        def _props(self: Any) -> tuple[Any, ...]:
            return tuple(getattr(self, prop) for prop in names)

        def _props_dict(self: Any) -> dict[str, Any]:
            return {prop: getattr(self, prop) for prop in names}

        def __hash__(self: Any) -> int:
            return hash((type(self), _props(self)))

        def __eq__(self: Any, other: object) -> bool:
            return type(self) is type(other) and _props(self) == _props(other)

        def __str__(self: Any) -> str:
            listed = ", ".join(f"{prop}={getattr(self, prop)!r}" for prop in names)
            return f"{type(self).__name__}{{{listed}}}" if listed else type(self).__name__

        namespace = {"_props": _props, "_props_dict": _props_dict}
        defaults = {"__hash__": __hash__, "__eq__": __eq__, "__str__": __str__}
        return super().__new__(mcs, name, bases, {**defaults, **dct, **namespace})


class object2(metaclass=MetaObject):
    """Base of classes that compare by the attributes in their `__props__`."""

    __module__ = __module_name__
    __slots__: ClassVar[tuple[str, ...]] = ()

    def __ne__(self, other: object) -> bool:
        return not self == other


class D:
    """An object with the attributes that it is given."""

    __module__ = __module_name__

    def __init__(self, **d: Any) -> None:
        vars(self).update(d)


def to_return_values(values: Sequence[T]) -> T | Sequence[T]:
    """Return the only one of `values`, or all of them."""
    return values[0] if len(values) == 1 else values


def from_return_values(values: Any) -> Any:
    """Return a list of values: `values` if it is one or a tuple, else a list with it."""
    return values if isinstance(values, (list, tuple)) else [values]


def unique(x: Sequence[Any]) -> bool:
    """Tell whether no two of some hashable things are equal."""
    return len(set(x)) == len(x)


def hist(coll: Iterable[T]) -> dict[T, int]:
    """Return how often each thing is there."""
    counts: dict[T, int] = {}
    for thing in coll:
        counts[thing] = counts.get(thing, 0) + 1
    return counts


def _name_variables(variables: Iterable[Variable]) -> Iterable[Variable]:
    """Give variables without a name, or with a name that is there twice, a number as part of it; return them."""
    listed = list(variables)
    counts = hist(variable.name for variable in listed)
    doubtful = [v for v in listed if not v.name or counts[v.name] > 1]
    for number, variable in enumerate(doubtful):
        variable.name = f"{variable.name or ''}_{number}"
    if not unique([str(variable) for variable in listed]):
        raise ValueError("the names are not unique even with numbers: some variables were named like others with one")
    return variables


_name_variables.__name__ = "give_variables_names"
give_variables_names = deprecated("theano.gof.utils", msg="Use a_theano_variable.auto_name instead")(_name_variables)


def get_variable_trace_string(v: Variable) -> str:
    """Return where a variable was made, as lines of text; empty where that is not known."""
    trace = getattr(v.tag, "trace", None) or []
    stacks = [trace] if trace and isinstance(trace[0], tuple) else trace
    parts = [] if not stacks else [" \nBacktrace when that variable is created:\n\n"]
    for number, stack in enumerate(stacks):
        if len(stacks) > 1:
            parts.append(f"trace {number}\n")
        parts += traceback.format_list(stack)
    return "".join(parts)


def _named(kind: Any) -> str:
    if isinstance(kind, Keyword):
        return str(kind)
    return f"({', '.join(k.__name__ for k in kind)})" if isinstance(kind, (tuple, list)) else str(kind.__name__)


def _guarded(
    function: FunctionT, fits: Callable[..., Sequence[Any] | None], kinds: Sequence[Any]
) -> Callable[..., Any]:
    """Return `function`, which falls back to the former function of its name for arguments that do not fit."""
    before = function.__globals__[function.__name__]

    def guarded(*args: Any) -> Any:
        ordered = fits(*args)
        answer = FALL_THROUGH if ordered is None else function(*ordered)
        return before(*args) if answer is FALL_THROUGH else answer

    guarded.__name__ = function.__name__
    guarded.__doc__ = f"{before.__doc__}\n{', '.join(map(_named, kinds))}\n{function.__doc__ or ''}"
    return guarded


def _is(kind: Any, value: object) -> bool:
    return kind is ANY_TYPE or isinstance(value, kind)


def comm_guard(type1: Any, type2: Any) -> Callable[[FunctionT], Callable[..., Any]]:
    """Return a decorator: the function is for two first arguments of some types, in either order.

    For others, and where it returns ``FALL_THROUGH``, the function is called that had its name before.

    Parameters
    ----------
    type1, type2 : class, tuple of classes, or ANY_TYPE
    """

    def fits(one: Any, two: Any, *rest: Any) -> Sequence[Any] | None:
        if _is(type1, one) and _is(type2, two):
            return (one, two, *rest)
        return (two, one, *rest) if _is(type1, two) and _is(type2, one) else None

    return lambda function: _guarded(function, fits, (type1, type2))


def type_guard(type1: Any) -> Callable[[FunctionT], Callable[..., Any]]:
    """Return a decorator: the function is for a first argument of some type; see :func:`comm_guard`."""
    return lambda function: _guarded(function, lambda *args: args if _is(type1, args[0]) else None, (type1,))


_WORDS = """
_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Pragma _Static_assert _Thread_local NULL
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const
const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or
or_eq private protected public register reinterpret_cast restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
unsigned using virtual void volatile wchar_t while xor xor_eq
"""
#: Words that C and C++ keep for themselves.
c_cpp_keywords = frozenset(_WORDS.split())


class CachedConstantError(Exception):
    """A constant that is kept to be used again is put into a graph; no graph minds that here."""


class PureType(Type):
    """A type that names the classes of its variables and constants `Variable` and `Constant`, also in subclasses."""

    Variable: type[Variable] = Variable
    Constant: type[Constant] = Constant

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.variable_class = cls.Variable
        cls.constant_class = cls.Constant
