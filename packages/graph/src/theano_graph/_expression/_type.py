"""Types of variables, scratchpads of nodes, and the type variables of both."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .._errors import format_error

if TYPE_CHECKING:
    import typing_extensions

    from ._nodes import Constant, Node, Variable
    from ._op import PureOp
    from ._origin import Origin


# ---- Type variables of nodes, for checkers: the classes of op and variables

if TYPE_CHECKING:
    # Python has defaults of type variables from 3.13 on; checkers know them without the package.

    OpT = typing_extensions.TypeVar("OpT", bound=PureOp, covariant=True, default=Any)
    VariableT = typing_extensions.TypeVar("VariableT", bound=Variable, covariant=True, default=Any)
else:
    OpT = TypeVar("OpT", covariant=True)
    VariableT = TypeVar("VariableT", covariant=True)


# ---- Scratchpads of nodes, and the value of absent parameters of ops


class Tag:
    """A scratchpad on a node: any attribute may be set. It does not take part in comparisons.

    Attributes
    ----------
    trace : list of lists of tuple
        Where the node was made: one stack, outermost frame first, of (file, line number, function, source line). Worked
        out from the node's origin when asked for; empty when that is unknown.
    test_value : object
        A value to compute with while the graph is built; see the flag `compute_test_value`.
    nan_guard_mode_check : bool
        Set to False, it keeps the checks of NanGuardMode away from a variable, and from its replacements.
    length_source : weakref.ref
        The variable of which this one is a length, or has some, that was known beforehand. Neither copied nor pickled.
    """

    __slots__ = ("__dict__", "_origin", "length_source")
    length_source: weakref.ref[Variable]
    test_value: Any
    nan_guard_mode_check: bool
    _origin: Origin | None

    def __getattr__(self, name: str) -> Any:
        if name == "trace":
            origin = getattr(self, "_origin", None)
            return [] if origin is None else [origin.entries()]
        raise AttributeError(f"the tag has no attribute {name!r}")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return "Tag(" + ", ".join(f"{k}={v!r}" for k, v in vars(self).items()) + ")"

    def copy(self) -> Tag:
        """Return a scratchpad with the same attributes."""
        new = Tag()
        new.__dict__.update(self.__dict__)
        return new


class _NoParams:
    """Stands for the parameters of an op that has none; there is one instance."""

    def __repr__(self) -> str:
        return "NoParams"

    def __reduce__(self) -> str:
        return "NoParams"


#: The result of :meth:`Apply.run_params` for an op without parameters.
NoParams = _NoParams()


class TagOfNode:
    """The attribute `tag` of nodes: a scratchpad that is made on first use; on the class, the class of scratchpads."""

    def __get__(self, node: Node | None, owner: type[Node]) -> Any:
        if node is None:
            return Tag
        tag = node._tag
        if tag is None:
            tag = node._tag = Tag()
        if isinstance(tag, Tag):
            tag._origin = node.origin  # current also after a copy, a pickle or a change of the origin
        return tag

    def __set__(self, node: Node, value: Any) -> None:
        node._tag = value


class AutoName:
    """A name for each variable that somebody asks for one, numbered by ``Variable.__count__``; programs may set it."""

    def __get__(self, variable: Any, owner: Any = None) -> Any:
        if variable is None:
            return self
        name = vars(variable)["auto_name"] = f"auto_{next(owner.__count__)}"
        return name


# ---- The contract of types: the values of a variable


def filter_options(strict: bool, allow_downcast: bool | None) -> dict[str, Any]:
    """Return the keywords for :meth:`Type.filter` that differ from defaults, for a user's type may take none.

    Examples
    --------
    >>> filter_options(False, None), filter_options(True, None)
    ({}, {'strict': True})
    """
    options: dict[str, Any] = {"strict": True} if strict else {}
    if allow_downcast is not None:
        options["allow_downcast"] = allow_downcast
    return options


@functools.cache
def _takes_strict(method: Callable[..., Any]) -> bool:
    """Tell whether the `filter` of a type can be told to convert nothing; old ones take the value alone."""
    parameters = inspect.signature(method).parameters
    return "strict" in parameters or any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())


class Type:
    """The kind of value that a variable can have.

    A type may be instantiated as it is: it then accepts every value. Subclasses override :meth:`filter` and other
    methods that differs.

    Invariants
    ----------
    Types compare and hash by value; a type never changes after construction.
    """

    #: Class of the variables that :meth:`make_variable` makes. Set below, when the node classes exist.
    variable_class: ClassVar[type[Variable]]
    #: Class of the constants that :meth:`make_constant` makes.
    constant_class: ClassVar[type[Constant]]

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return `value` as a value of this type.

        Parameters
        ----------
        value : object
            The user's value.
        strict : bool
            If true, only a value that is already of this type is accepted, and it is returned as it is.
        allow_downcast : bool, optional
            Whether a conversion may lose precision. None lets the type choose.

        Raises
        ------
        TypeError
            If the value is of a kind that cannot be converted.
        ValueError
            If the kind fits but the value does not.
        """
        return value

    def is_valid_value(self, value: Any) -> bool:
        """Tell whether `value` is a value of this type without conversion."""
        options = {"strict": True} if _takes_strict(type(self).filter) else {}
        try:
            self.filter(value, **options)
        except (TypeError, ValueError):
            return False
        return True

    def value_validity_msg(self, value: Any) -> str:
        """Return why `value` is no value of this type, or that it is one."""
        try:
            self.filter(value, strict=True)
        except (TypeError, ValueError) as error:
            return str(error)
        return "value is valid"

    def values_eq(self, a: Any, b: Any) -> bool:
        """Tell whether two values of this type are equal."""
        return bool(a == b)

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Tell whether two values are equal up to rounding."""
        return self.values_eq(a, b)

    def may_share_memory(self, a: Any, b: Any) -> bool:
        """Tell whether changing value `a` in place could change value `b`."""
        return a is b

    def is_super(self, other: Type) -> bool:
        """Tell whether each value of `other` is a value of this type: `other` equals or refines it."""
        return self == other

    @property
    def exact(self) -> Hashable:
        """The part of a type in which two types agree if each of them has all values of the other.

        Types may be equal and differ in this: programs ask by ``==``, and `exact` decides whether the types of
        dependent variables still hold when another one takes its place.
        """
        return self

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return a variable of this type that has the value of `var`, possibly `var` itself; None if there is none."""
        return var if self.is_super(var.type) else None

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """Return `other`, a variable or a plain value, as a variable of this type or of one that is equal to it.

        Raises
        ------
        TypeError
            If `other` is a variable that does not fit (even converted, where `allow_convert` is true), or a value that
            the type refuses.
        """
        if not isinstance(other, Type.variable_class):
            constant: Variable = self.make_constant(other)
            return constant
        if self == other.type or self.is_super(other.type):
            return other
        converted = self.convert_variable(other) if allow_convert else None
        if converted is None:
            raise self._no_stand_in(other)
        return converted

    def narrow_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """Return `other` as :meth:`filter_variable` does, and such that each of its values is one of this type.

        Raises
        ------
        TypeError
            As :meth:`filter_variable`; also where the values may be others and `allow_convert` is false.
        """
        result = self.filter_variable(other, allow_convert)
        if self.is_super(result.type):
            return result
        converted = self.convert_variable(result) if allow_convert else None
        if converted is None:
            raise self._no_stand_in(result)
        return converted

    def _no_stand_in(self, other: Variable) -> TypeError:
        return TypeError(
            format_error(
                f"a variable of type {other.type.describe()} cannot stand where {self.describe()} is needed",
                context=[f"got `{other}`" + (f" made at {other.origin}" if other.origin else "")],
                hint="convert it explicitly before it is used here",
            )
        )

    def make_variable(self, name: str | None = None) -> Any:
        """Return a new variable of this type without an owner."""
        return self.variable_class(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> Any:
        """Return a constant of this type; `value` is filtered."""
        return self.constant_class(self, value, name=name)

    def __call__(self, name: str | None = None) -> Any:
        """Return a new variable of this type."""
        return self.make_variable(name)

    def describe(self) -> str:
        """Return the text of this type in errors: its ordinary text, or more where that leaves something out."""
        return str(self)

    def __str__(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return str(self)


class SingletonType(Type):
    """A type without parameters: all instances of one class are equal.

    Examples
    --------
    >>> SingletonType() == SingletonType()
    True
    """

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


class Generic(SingletonType):
    """The type of any Python object; values are passed as they are and compared with ``==``."""


#: The one instance of :class:`Generic` that is needed.
generic = Generic()
