"""Functions in C whose text is copied to where they are called: finding them in a file, and their callees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources

from ._c_names import named

__all__ = ["function_name", "functions_of", "read_code", "with_called"]

_PREFIX = "theano_"


def read_code(*path: str) -> str:
    """Return the text of a file in the folder ``c``."""
    return resources.files(__package__).joinpath("c", *path).read_text(encoding="utf-8")


def function_name(text: str) -> str:
    """Return the name of the function that a text defines; what stands in ``NAME(...)`` is the name of a template."""
    name = _defined(text)
    assert name is not None, "a text without a function has no name"
    return name


def _defined(text: str) -> str | None:
    """Return the name in the first line that begins a function; None where there is none."""
    for line in text.splitlines():
        head, bracket, tail = line.partition("(")
        if bracket and head.startswith("static "):
            name = named(head)[-1]
            name = named(tail)[0] if name == "NAME" else name
            if name.startswith(_PREFIX):
                return name
    return None


def functions_of(text: str) -> list[str]:
    """Return the functions of a file, each with the comment before it."""
    parts: list[str] = []
    for paragraph in text.split("\n\n"):
        if parts and not paragraph.startswith(("/*", "static ")):
            parts[-1] += f"\n\n{paragraph}"
        else:
            parts.append(paragraph)
    return [part.strip() for part in parts if _defined(part)]


def with_called(names: Iterable[str], definitions: Mapping[str, str]) -> list[str]:
    """Return the text of functions, and before each that of the functions that it calls.

    Parameters
    ----------
    names : iterable of str
    definitions : mapping
        Text by name; other functions that a text calls are left out.
    """
    texts: dict[str, str] = {}

    def enter(name: str) -> None:
        if name in texts:
            return
        for other in named(definitions[name]):
            if other != name and other in definitions:
                enter(other)
        texts[name] = definitions[name]

    for name in names:
        enter(name)
    return list(texts.values())
