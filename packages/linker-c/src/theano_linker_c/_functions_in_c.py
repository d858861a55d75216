"""Functions in C whose text is copied to where they are called: finding them in a file, and their callees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import resources

__all__ = ["function_name", "functions_of", "read_code", "with_called"]

_FUNCTION = re.compile(r"^static [\w ]+[ *](?:NAME\()?(theano_\w+)\)?\(", re.MULTILINE)
_NAME = re.compile(r"\btheano_\w+\b")


def read_code(*path: str) -> str:
    """Return the text of a file in the folder ``c``."""
    return resources.files(__package__).joinpath("c", *path).read_text(encoding="utf-8")


def function_name(text: str) -> str:
    """Return the name of the function that a text defines; the text in ``NAME(...)`` is the name of a template."""
    return _FUNCTION.search(text)[1]  # type: ignore[index]


def functions_of(text: str) -> list[str]:
    """Return the functions of a file, each with the comment before it."""
    parts = re.split(r"\n(?=\n(?:/\*|static ))", text)
    return [part.strip() for part in parts if _FUNCTION.search(part)]


def with_called(names: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """Return the text of functions, and before each that of the functions that it calls.

    Parameters
    ----------
    names : iterable of str
    known : mapping
        Text by name; other functions that a text calls are left out.
    """
    found: dict[str, str] = {}

    def enter(name: str) -> None:
        if name in found:
            return
        for other in _NAME.findall(known[name]):
            if other != name and other in known:
                enter(other)
        found[name] = known[name]

    for name in names:
        enter(name)
    return list(found.values())
