"""Docstrings as reStructuredText: numpydoc writes their sections, and names in them become links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2.sandbox import SandboxedEnvironment
from numpydoc.docscrape_sphinx import SphinxDocString

#: The sections in the order in which pages show them.
_TEMPLATE = """{{index}}
{{summary}}
{{extended_summary}}
{{parameters}}
{{returns}}
{{yields}}
{{raises}}
{{warns}}
{{see_also}}
{{notes}}
{{references}}
{{examples}}
{{attributes}}
"""
_ROLE = re.compile(r":(?:py:)?\w+:`[~!]?([^`<]+?)`")
_QUOTED = re.compile(r"(?<![`:\w\\])`([^`\n]+)`(?![`_\w])")
#: A section that numpydoc does not know is shown as a heading in the text.
_INVARIANTS = re.compile(r"^Invariants\n-+$", re.MULTILINE)


@cache
def _settings() -> dict[str, Any]:
    template = SandboxedEnvironment().from_string(_TEMPLATE)
    return {"template": template, "show_class_members": False, "show_inherited_class_members": False}


class Links:
    """The documented names, by which texts refer to each other.

    Parameters
    ----------
    names : mapping of str to str
        Full name -> the full name of its page entry.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._full = dict(names)
        self._last: dict[str, str] = {}
        for full, target in names.items():
            self._last.setdefault(full.rpartition(".")[2], target)

    def target(self, text: str, module: str, *, guess: bool) -> str | None:
        """Return the entry that a text names, or None.

        Parameters
        ----------
        text : str
            A name, with its module or without.
        module : str
            The module whose names come first.
        guess : bool
            Whether the last part of a name alone may decide.
        """
        name = text.strip().removesuffix("()")
        if name.startswith("T."):
            name = f"theano.tensor.{name[2:]}"
        for full in (f"{module}.{name}", f"theano.{name}", name):
            if full in self._full:
                return self._full[full]
        return self._last.get(name.rpartition(".")[2]) if guess else None

    def written(self, text: str, module: str) -> str:
        """Return a text whose roles and quoted names are links where they name an entry, and code elsewhere."""

        def of_role(match: re.Match[str]) -> str:
            target = self.target(match[1], module, guess=True)
            shown = match[1].rpartition(".")[2]
            return f":py:obj:`{shown} <{target}>`" if target else f"``{match[1].lstrip('.')}``"

        def of_quoted(match: re.Match[str]) -> str:
            target = self.target(match[1], module, guess=False)
            return f":py:obj:`{match[1]} <{target}>`" if target else f"``{match[1]}``"

        return _QUOTED.sub(of_quoted, _ROLE.sub(of_role, text))


def sections(doc: str) -> str:
    """Return a docstring with its sections in the order and form of pages, its roles as they were."""
    text = _INVARIANTS.sub("Notes\n-----" if "\nNotes\n-----" not in doc else ".. rubric:: Invariants\n", doc)
    return str(SphinxDocString(text, config=_settings())).strip()


def first_sentence(doc: str) -> str:
    """Return the first paragraph of a docstring in one line."""
    return " ".join(doc.split("\n\n")[0].split())
