"""Trees of values, and arguments of functions as variables."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import singledispatch
from inspect import Parameter, signature
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from theano_graph import TheanoError, Variable, format_error
from theano_linker_c.program import dimensions
from theano_linker_c.scalar import ALL_DTYPES

# ---- Containers of values: taken apart into leaves and a structure, and put together again

#: The mark of a leaf in a structure; a container is the pair of its `rebuild` and its children's structures.
LEAF = "leaf"
Structure: TypeAlias = Hashable
Rebuild: TypeAlias = Callable[[Sequence[Any]], Any]


class StructureError(TheanoError, ValueError):
    """Two values that have to be of the same structure are not."""


class Parts(NamedTuple):
    """The children of a container, and how another one like it is made.

    Attributes
    ----------
    children : sequence
        Leaves, or containers.
    rebuild : callable
        Makes a container of the same kind from a sequence of as many children. Containers whose `rebuild` is equal
        have one structure, so that it is a function of a module or an instance of a frozen dataclass, and no lambda.
    """

    children: Sequence[Any]
    rebuild: Rebuild


@singledispatch
def parts(value: object) -> Parts | None:
    """Return the parts of a container, or None for a leaf.

    Tuples, lists, dictionaries, named tuples, dataclasses and None are containers. Others are registered:

    Examples
    --------
    >>> from theano.functional import Parts, parts, flatten
    >>> class Pair:
    ...     def __init__(self, children):
    ...         self.first, self.second = children
    >>> @parts.register
    ... def _(pair: Pair) -> Parts:
    ...     return Parts((pair.first, pair.second), Pair)
    >>> flatten(Pair([1.0, 2.0]))[0]
    [1.0, 2.0]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return _parts_of_dataclass(value)
    return None


@dataclass(frozen=True, slots=True)
class _Nothing:
    """Rebuilds None."""

    def __call__(self, children: Sequence[Any]) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Rebuilds a dictionary with the same keys in the same order."""

    kind: Callable[..., dict[Any, Any]]
    keys: tuple[Any, ...]
    #: Of a `defaultdict`: its factory.
    default: tuple[Any, ...] = ()

    def __call__(self, children: Sequence[Any]) -> dict[Any, Any]:
        return self.kind(*self.default, zip(self.keys, children, strict=True))


@dataclass(frozen=True, slots=True)
class _Fields:
    """Rebuilds a dataclass. Its `__init__` does not run: it may check values, and symbolic variables have none yet."""

    kind: type
    names: tuple[str, ...]
    #: Fields with ``metadata={"static": True}``, with the key that compares them: they are a part of the structure.
    static: tuple[tuple[str, Any], ...] = field(compare=False)
    exact: Hashable

    def __call__(self, children: Sequence[Any]) -> Any:
        instance: Any = object.__new__(self.kind)
        for name, child in (*zip(self.names, children, strict=True), *self.static):
            object.__setattr__(instance, name, child)
        return instance


def exact(value: Any) -> Hashable:
    """Return a key for values that are equal to Python but make other programs: 1, 1.0 and True; 0.0 and -0.0.

    Raises
    ------
    TypeError
        If the value has no hash.
    """
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return kind, kind(map(exact, value))
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    hash(value)
    return (kind, value.tobytes()) if isinstance(value, np.generic) else (kind, value)


def fields_of(value: Any) -> tuple[list[str], list[tuple[str, Any]]]:
    """Return the names of a dataclass's fields that are values of programs, and the static ones with their values."""
    items = fields(value)
    names = [item.name for item in items if not item.metadata.get("static")]
    return names, [(item.name, getattr(value, item.name)) for item in items if item.metadata.get("static")]


def _parts_of_dataclass(value: Any) -> Parts:
    names, static = fields_of(value)
    try:
        key = exact(tuple(static))
    except TypeError as error:
        raise StructureError(
            format_error(
                f"a static field of {type(value).__name__} has no hash: {error}",
                hint="use a tuple in place of a list, and give classes of your own __hash__ and __eq__",
            )
        ) from None
    return Parts([getattr(value, name) for name in names], _Fields(type(value), tuple(names), tuple(static), key))


@parts.register
def _(value: tuple) -> Parts:  # type: ignore[type-arg]  # single dispatch is by plain classes
    return Parts(value, getattr(type(value), "_make", type(value)))


@parts.register
def _(value: list) -> Parts:  # type: ignore[type-arg]  # as above
    return Parts(value, type(value))


@parts.register
def _(value: dict) -> Parts:  # type: ignore[type-arg]  # as above
    default = (value.default_factory,) if hasattr(value, "default_factory") else ()
    return Parts(list(value.values()), _Keyed(type(value), tuple(value), default))


@parts.register
def _(value: None) -> Parts:
    return Parts((), _Nothing())


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """Take a container apart.

    Parameters
    ----------
    value : object
        A container of containers of leaves, or one leaf.

    Returns
    -------
    leaves : list
        Everything in it that is no container, in order.
    structure : hashable
        The structure: equal for containers of the same kinds, lengths, keys and fields.

    Examples
    --------
    >>> from theano.functional import flatten, unflatten
    >>> leaves, structure = flatten({"w": 1.0, "layers": [2.0, (3.0, None)]})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> unflatten(structure, [4.0, 5.0, 6.0])
    {'w': 4.0, 'layers': [5.0, (6.0, None)]}
    """
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Structure:
    children = parts(value)
    if children is None:
        leaves.append(value)
        return LEAF
    return children.rebuild, tuple([_flatten(child, leaves) for child in children.children])


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """Make a container of a structure and leaves, as :func:`flatten` has returned them.

    Raises
    ------
    StructureError
        If the number of leaves is another one.
    """
    n = n_leaves(structure)
    if n != len(leaves):
        raise StructureError(f"the structure has {n} leaves, not {len(leaves)}")
    return builder(structure)(iter(leaves))


def n_leaves(structure: Any) -> int:
    """Return how many leaves a container of a structure has."""
    return 1 if structure is LEAF else sum(map(n_leaves, structure[1]))


def builder(structure: Any) -> Callable[[Iterator[Any]], Any]:
    """Return a function that builds a container of a structure from its leaves, for many of them."""
    if structure is LEAF:
        return next
    rebuild, children = structure
    n = len(children)
    if all(child is LEAF for child in children):
        return lambda rest: rebuild(list(islice(rest, n)))
    makers = [builder(child) for child in children]
    return lambda rest: rebuild([make(rest) for make in makers])


def leaves_like(structure: Structure, value: Any, who: str, like: str) -> list[Any]:
    """Return the leaves of a value that has to have a given structure.

    Raises
    ------
    StructureError
        If it has another one.
    """
    leaves, own = flatten(value)
    if own != structure:
        raise StructureError(
            format_error(f"{who}: the structure differs from that of {like}", hint=f"pass a container like {like}")
        )
    return leaves


def paths(value: Any, name: str) -> list[str]:
    """Return for each leaf how a program gets at it: ``params['W']``, ``layers[0].bias``."""
    children = parts(value)
    if children is None:
        return [name]
    return [
        path
        for step, child in zip(_steps(value, children), children.children, strict=True)
        for path in paths(child, name + step)
    ]


def _steps(value: Any, found: Parts) -> list[str]:
    rebuild = found.rebuild
    if isinstance(rebuild, _Keyed):
        return [f"[{key!r}]" for key in rebuild.keys]
    names = rebuild.names if isinstance(rebuild, _Fields) else getattr(value, "_fields", None)
    if names is not None:
        return [f".{name}" for name in names]
    return [f"[{k}]" for k in range(len(found.children))]


# ---- The arguments of a call: their names, and the key that equal calls share

#: Python's numbers, which are symbolic scalars, each class with a dtype of its own.
NUMBERS = (bool, int, float, complex)
#: Names of dtypes that programs know, without an order of bytes.
_DTYPES = frozenset(ALL_DTYPES)
#: The value of a parameter that a call leaves out.
ABSENT = object()
#: Parameters of a function without a signature.
_ANYTHING = (Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD))


class ArgumentKindError(TheanoError, TypeError):
    """An argument is neither an array or number nor named as static."""


class SymbolicArgument(Exception):
    """An argument is, or holds, a symbolic variable."""


class Parameters:
    """The parameters of a function, and which of them are static or donated.

    Parameters
    ----------
    function : callable
    static, donate : str or iterable of str
        Names of parameters.

    Raises
    ------
    TypeError
        If the function has no parameter of one of the names.
    """

    __slots__ = ("donate", "header", "name", "names", "others", "static")

    def __init__(self, function: Callable[..., Any], static: str | Iterable[str], donate: str | Iterable[str]) -> None:
        self.static, self.donate = _as_names(static), _as_names(donate)
        self.name = _name_of(function)
        try:
            items = tuple(signature(function).parameters.values())
        except (TypeError, ValueError):  # functions in C may have no signature
            items = _ANYTHING
        #: Parameters as Python binds them. A wrapper shows the signature of its function, and may take more.
        self.header = items if _ANYTHING is items or not hasattr(function, "__wrapped__") else _ANYTHING
        self._set_names(items)
        keywords = {item.name for item in items}
        takes_any = any(item.kind is item.VAR_KEYWORD for item in items)
        for what, names in (("static_argnames", self.static), ("donate", self.donate)):
            unknown = sorted(names - keywords)
            if unknown and not takes_any:
                raise TypeError(
                    format_error(
                        f"{what}: {self.name} has no parameter {unknown[0]!r}",
                        hint=f"use names of its parameters: {', '.join(sorted(keywords))}",
                    )
                )

    def _set_names(self, items: Iterable[Parameter]) -> None:
        #: Names of parameters that are passed by position, and of `*args`.
        self.names: list[str] = []
        self.others = "args"
        for item in items:
            if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD):
                # A name with a space is no keyword of any call.
                self.names.append(item.name + (" " if item.kind is item.POSITIONAL_ONLY else ""))
            elif item.kind is item.VAR_POSITIONAL:
                self.others = item.name

    def without_first(self) -> Parameters:
        """Return the parameters of the bound method."""
        bound = object.__new__(Parameters)
        bound.static, bound.donate, bound.name, bound.others = self.static, self.donate, self.name, self.others
        bound.names = self.names[1:]
        bound.header = self.header[1:] if len(self.names) and self.header is not _ANYTHING else self.header
        return bound

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with as many by position as can be; omitted ones keep their defaults."""
        if not kwargs:
            return args, kwargs
        named = dict(kwargs)
        placed = list(args)
        for name in self.names[len(args) :]:
            if name not in named:
                break
            placed.append(named.pop(name))
        return tuple(placed), dict(sorted(named.items()))

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[str, str, Any]]:
        """Return for each argument its parameter, how messages call it, and its value."""
        n = len(self.names)
        placed = [(name.rstrip(), name.rstrip(), value) for name, value in zip(self.names, args, strict=False)]
        more = [(self.others, f"{self.others}[{k}]", value) for k, value in enumerate(args[n:])]
        return [*placed, *more, *((name, name, value) for name, value in kwargs.items())]

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Hashable, list[Any]]:
        """Return the key that all calls of one program share, and the leaves of this call.

        Of arrays given by position, it is the tuple of their classes, dtypes and dimensions.

        Raises
        ------
        SymbolicArgument
            If a leaf is a variable.
        ArgumentKindError
            If an argument is of a kind that is passed only as a static one, or a static one has no hash.
        """
        leaves: list[Any] = []
        values: list[tuple[str | None, Any]]
        if not self.static:
            values = [(None, value) for value in (*args, *kwargs.values())]
        else:
            values = [(name, value) for name, _, value in self.named(args, kwargs)]
        keys: list[Hashable] = []
        for k, (name, value) in enumerate(values):
            if name is not None and name in self.static:
                keys.append(_static_key(name, value))
                continue
            try:
                keys.append(_key(value, leaves))
            except ArgumentKindError:
                raise _refusal(*self.named(args, kwargs)[k]) from None
        return (tuple(keys) if not kwargs else (len(args), tuple(kwargs), *keys)), leaves


def _as_names(names: str | Iterable[str]) -> frozenset[str]:
    return frozenset([names] if isinstance(names, str) else names)


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _key(value: Any, leaves: list[Any]) -> Hashable:
    kind = type(value)
    if kind is np.ndarray:
        leaves.append(value)
        return kind, value.dtype, dimensions(value.shape)
    if kind in NUMBERS:
        leaves.append(value)
        return ("number", kind)
    # The usual containers, without a search for the rule of their class: each call of a program comes here.
    if kind is dict:
        return kind, (*value,), *[_key(child, leaves) for child in value.values()]
    if kind is list or kind is tuple:
        return kind, *[_key(child, leaves) for child in value]
    if isinstance(value, Variable):
        raise SymbolicArgument
    if isinstance(value, (np.ndarray, np.generic)):
        leaves.append(value)
        return np.ndarray, value.dtype, dimensions(value.shape)
    container = parts(value)
    if container is not None:
        return container.rebuild, tuple([_key(child, leaves) for child in container.children])
    for base in NUMBERS:
        if isinstance(value, base):
            leaves.append(value)
            return ("number", base)
    raise ArgumentKindError


def _static_key(name: str, value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        raise ArgumentKindError(
            format_error(
                f"the static argument `{name}` has no hash, so that calls with equal values are not recognised: "
                f"{type(value).__name__}",
                hint="pass a tuple in place of a list, and give classes of your own __hash__ and __eq__",
            )
        ) from None
    return "static", exact(value)


def is_leaf(value: Any) -> bool:
    """Tell whether something is a value that jitted functions take, and no container."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.name in _DTYPES
    return isinstance(value, (Variable, *NUMBERS))


def _refusal(name: str, label: str, value: Any) -> ArgumentKindError:
    leaves, _ = flatten(value)
    pairs = zip(paths(value, label), leaves, strict=True)
    return refused(name, *next((path, leaf) for path, leaf in pairs if not is_leaf(leaf)))


def refused(name: str, label: str, value: Any) -> ArgumentKindError:
    """Return the error for a value that is not symbolic, of the parameter `name`."""
    kind = f"a value of type {type(value).__name__}"
    if isinstance(value, (np.ndarray, np.generic)):
        kind = f"an array of {value.dtype}"
        hint = "convert it, such as by x.astype('float64'), or pass its parts"
    elif label == name:
        hint = (
            f"theano.jit(f, static_argnames={name!r}) takes it as it is and compiles for each value; "
            "classes that are containers are registered with theano.functional.parts"
        )
    else:
        hint = "pass it as an argument of its own, named in static_argnames, or register its class: functional.parts"
    return ArgumentKindError(
        format_error(
            f"argument `{label}` is {kind}: neither an array of numbers nor a number, nor a container of these",
            hint=hint,
        )
    )
