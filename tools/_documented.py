"""The documented names of the library, as `docs/reference.toml` groups them by task."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from _house import ROOT

DATA = ROOT / "docs" / "reference.toml"
#: Constructors of one dtype, such as `dmatrix`; they stand on the page of the constructor without a letter.
_OF_DTYPE = re.compile(r"[bwilfdcz]((?:scalar|vector|matrix|matrices|row|col|tensor\d)s?)")


@dataclass(frozen=True, slots=True)
class Entry:
    """A documented name.

    Parameters
    ----------
    module : str
        The module that programs import the name from.
    name : str
    value : object
    group : str
        Key of its group; empty for names of layers and for old programs.
    """

    module: str
    name: str
    value: Any
    group: str = ""

    @property
    def full(self) -> str:
        """The name with its module."""
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        """The kind of object in the Python domain of Sphinx."""
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if callable(self.value) else "data"

    @property
    def doc(self) -> str:
        """The docstring; that of a class does not count for its instances."""
        if not callable(self.value) and "__doc__" not in getattr(self.value, "__dict__", {}):
            return ""
        return inspect.getdoc(self.value) or ""


@dataclass(frozen=True, slots=True)
class Group:
    """Names of one task.

    Parameters
    ----------
    key, title, about : str
    entries : tuple of Entry
    """

    key: str
    title: str
    about: str
    entries: tuple[Entry, ...]


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))


@cache
def _module(name: str) -> types.ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


def _value(module: str, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(_module(module), name)


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups in the order of their file; a name that does not exist is an error."""
    result = []
    for key, table in _data().items():
        if isinstance(table, dict):
            entries = [
                Entry(module, name, _value(module, name), key)
                for module, names in table.items()
                if module not in ("title", "about")
                for name in names.split()
            ]
            result.append(Group(key, table["title"], " ".join(table["about"].split()), tuple(entries)))
    return tuple(result)


def documented() -> Iterator[Entry]:
    """Yield the names of all groups."""
    for group in groups():
        yield from group.entries


def of_dtypes(entry: Entry) -> list[str]:
    """Return the constructors of one dtype that belong to a constructor."""
    if entry.group != "constructors":
        return []
    matches = ((name, _OF_DTYPE.fullmatch(name)) for name in dir(_module(entry.module)))
    return [name for name, match in matches if match and match[1] == entry.name]


def _names_of(module: str) -> Iterator[Entry]:
    for name in sorted(n for n in dir(_module(module)) if not n.startswith("_")):
        value = _value(module, name)
        if not inspect.ismodule(value) and value is not None:
            yield Entry(module, name, value)


def historical() -> dict[str, list[Entry]]:
    """Return the names of the umbrella that are in no group, by module."""
    listed = {entry.full for entry in documented()}
    listed |= {f"{entry.module}.{name}" for entry in documented() for name in of_dtypes(entry)}
    return {
        module: [entry for entry in _names_of(module) if entry.full not in listed]
        for module in _data()["historical"].split()
    }


def of_layers() -> dict[str, list[Entry]]:
    """Return the public names of the layers, by package."""
    return {
        package: [Entry(package, name, _value(package, name)) for name in sorted(_module(package).__all__)]
        for package in _data()["layers"].split()
    }


def signature(value: object) -> str:
    """Return the parameters of a callable as they are written in a call, without annotations."""
    try:
        parameters = inspect.signature(value)  # type: ignore[arg-type]  # anything may be asked for its signature
    except (TypeError, ValueError):
        return "(...)"
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter.default))
        for parameter in parameters.parameters.values()
    ]
    return str(parameters.replace(parameters=plain, return_annotation=inspect.Signature.empty))


class _Literal:
    """A default that is shown as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: object) -> object:
    if value is inspect.Parameter.empty:
        return value
    text = repr(value)
    return value if len(text) < 40 and "<" not in text and "\n" not in text else _Literal("...")
