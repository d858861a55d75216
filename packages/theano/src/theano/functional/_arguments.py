"""The arguments of a call: their names, and the key that equal calls share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from inspect import Parameter, signature
from typing import Any

import numpy as np

from theano_graph import TheanoError, Variable, format_error
from theano_linker_c.program import dimensions
from theano_linker_c.scalar import ALL_DTYPES

from ._trees import exact, flatten, parts, paths

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
