"""Write the reference: a page for each documented name, one for each group, and lists of names for old programs."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _docstrings import Links, first_sentence, sections

from _documented import Entry, Group, documented, groups, historical, of_dtypes, of_layers, signature
from _house import ROOT

#: Groups whose names have further methods in the sources of the library itself.
_ROOT_MODULES = ("theano", "theano_")
#: Layers whose further names are ops and helpers: each has its first sentence alone.
_BRIEF = ("theano_tensor", "theano_sparse")
NOTE = ".. Written by docs/_reference.py from docstrings.\n\n"


def write_reference(folder: Path) -> None:
    """Write all pages of the reference as reStructuredText, and remove pages of names that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = dict(_pages())
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        # A page that is as it was keeps its time, so that nothing is built again.
        if not path.exists() or path.read_text(encoding="utf-8") != NOTE + text:
            path.write_text(NOTE + text, encoding="utf-8")


def _pages() -> Iterator[tuple[str, str]]:
    writer = Writer()
    yield "index", writer.overview()
    for group in groups():
        yield group.key, writer.group(group)
        for entry in group.entries:
            yield entry.full, writer.page(entry, group)
    for module, entries in historical().items():
        yield f"names.{module}", writer.names(module, entries)
    for package, entries in of_layers().items():
        yield package, writer.layer(package, entries)


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


class Writer:
    """Pages of the reference; it knows all names, so that texts can refer to them."""

    def __init__(self) -> None:
        self.entries = {entry.full: entry for entry in documented()}
        names = {full: full for full in self.entries}
        self.by_value: dict[int, Entry] = {}
        for entry in self.entries.values():
            self.by_value.setdefault(id(entry.value), entry)
            names |= {f"{entry.module}.{name}": f"{entry.module}.{name}" for name in of_dtypes(entry)}
        self.aliases: dict[str, str] = {}
        for package, entries in of_layers().items():
            for other in entries:
                listed = self.by_value.get(id(other.value))
                names.setdefault(other.full, listed.full if listed else other.full)
                if listed:
                    self.aliases.setdefault(listed.full, f"{package}.{other.name}")
        for entries in historical().values():
            for other in entries:
                names.setdefault(other.full, other.full)
        self.links = Links(names)

    def overview(self) -> str:
        """Return the page that leads to all groups."""
        parts = [
            _heading("Reference"),
            "Each documented name has a page of its own. The groups follow tasks. Further down are the names of the",
            "layers below ``theano``, and the names that only programs for Theano 1.0 need.\n",
        ]
        for group in groups():
            parts += [f":doc:`{group.title} <{group.key}>`", f"    {self.links.written(group.about, 'theano.tensor')}"]
        tree = [group.key for group in groups()]
        old = [f"names.{module}" for module in historical()]
        parts += [
            "",
            _toctree("By task", tree),
            _heading("Layers", "-"),
            _toctree("", list(of_layers()), hidden=False),
            _heading("Names for old programs", "-"),
            _toctree("", old, hidden=False),
        ]
        return "\n".join(parts)

    def group(self, group: Group) -> str:
        """Return the page of a group: its names with their first sentences."""
        rows = []
        for entry in group.entries:
            about = self.links.written(first_sentence(entry.doc), entry.module)
            rows.append(f":doc:`{entry.full} <{entry.full}>`\n    {about or 'No description.'}")
        about = self.links.written(group.about, "theano.tensor")
        return "\n".join([_heading(group.title), about, "", *rows, ""])

    def page(self, entry: Entry, group: Group) -> str:
        """Return the page of a name."""
        here = self.by_value[id(entry.value)]
        forms = of_dtypes(entry)
        canonical = self.aliases.get(entry.full) if here is entry and not forms else None
        lines = [
            ":orphan:\n",
            _heading(entry.full),
            self.description(entry, canonical, forms),
            f"Group: :doc:`{group.title} <{group.key}>`",
        ]
        source = source_of(entry.value)
        if source:
            lines[-1] += f" · Source: ``{source}``"
        return "\n".join([*lines, ""])

    def description(self, entry: Entry, canonical: str | None = None, forms: list[str] | None = None) -> str:
        """Return the entry of a name in the Python domain, with its docstring and the members of a class."""
        call = signature(entry.value) if entry.kind != "data" else ""
        names = [f"{entry.name}{call}", *(f"{name}{call}" for name in forms or ())]
        indent = "\n   " + " " * len(f".. py:{entry.kind}:")
        lines = [f".. py:{entry.kind}:: {indent.join(names)}", f"   :module: {entry.module}"]
        if canonical:
            lines.append(f"   :canonical: {canonical}")
        body = self.links.written(sections(entry.doc), entry.module) if entry.doc else ""
        if entry.kind in ("class", "exception"):
            body += "\n\n" + "\n".join(self.members(entry))
        return "\n".join([*lines, "", textwrap.indent(body, "   "), ""])

    def members(self, entry: Entry) -> Iterator[str]:
        """Yield the documented public members that a class, or a private base of it, defines."""
        for name in sorted(vars_of(entry.value)):
            value = inspect.getattr_static(entry.value, name)
            doc = inspect.getdoc(getattr(entry.value, name, None)) or ""
            if isinstance(value, property):
                kind, call, doc = "property", "", inspect.getdoc(value) or ""
            elif inspect.isroutine(getattr(entry.value, name, None)):
                kind, call = "method", _without_self(value, getattr(entry.value, name))
            else:
                continue
            if not doc:
                continue
            body = self.links.written(sections(doc), entry.module)
            yield "\n".join([f".. py:{kind}:: {name}{call}", "", textwrap.indent(body, "   "), ""])

    def brief(self, entry: Entry) -> str:
        """Return the short entry of a name: signature and first sentence, or the name that it stands for."""
        listed = self.by_value.get(id(entry.value))
        about = f"Another name of :py:obj:`{listed.full}`." if listed else first_sentence(entry.doc)
        if not listed:
            about = self.links.written(about, entry.module)
        call = signature(entry.value) if entry.kind != "data" and not listed else ""
        return "\n".join(
            [f".. py:{entry.kind}:: {entry.name}{call}", f"   :module: {entry.module}", "", f"   {about}", ""]
        )

    def names(self, module: str, entries: list[Entry]) -> str:
        """Return the list of the names of a module for old programs."""
        about = f"Names of ``{module}`` that programs for Theano 1.0 use. New programs rarely need them."
        return "\n".join([_heading(module), about, "", *(self.brief(entry) for entry in entries)])

    def layer(self, package: str, entries: list[Entry]) -> str:
        """Return the page of a layer: its names in full, unless they have a page of their own."""
        undocumented = [entry for entry in entries if id(entry.value) not in self.by_value]
        others = [self.by_value[id(entry.value)].full for entry in entries if id(entry.value) in self.by_value]
        parts = [_heading(package), f".. py:module:: {package}", ""]
        if others:
            parts += ["With pages of their own: " + ", ".join(f":py:obj:`{name}`" for name in others) + ".", ""]
        write = self.brief if package in _BRIEF else self.description
        return "\n".join([*parts, *(write(entry) for entry in undocumented)])


def _toctree(caption: str, pages: list[str], *, hidden: bool = True) -> str:
    options = [
        "   :maxdepth: 1",
        *(["   :hidden:"] if hidden else []),
        *([f"   :caption: {caption}"] if caption else []),
    ]
    return "\n".join([".. toctree::", *options, "", *(f"   {page}" for page in pages), ""])


def vars_of(cls: type) -> set[str]:
    """Return the public names that a class takes from its own definition and from private classes of the library."""
    names: set[str] = set()
    for base in cls.__mro__:
        ours = base.__module__.split(".")[0].startswith(_ROOT_MODULES)
        if base is cls or (ours and (base.__name__.startswith("_") or base.__name__ == "TensorOperators")):
            names |= {name for name in vars(base) if not name.startswith("_")}
    return names


def _without_self(static: object, value: Any) -> str:
    text = signature(value)
    if isinstance(static, staticmethod | classmethod):
        return text
    return text.replace("(self, ", "(", 1).replace("(self)", "()", 1).replace("(self, /)", "()", 1)


def source_of(value: object) -> str:
    """Return the file and line of a definition, from the root of the repository, or nothing."""
    try:
        target: Any = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
        path = inspect.getsourcefile(inspect.unwrap(target))
        line = inspect.unwrap(target).__code__.co_firstlineno if inspect.isfunction(target) else 0
    except (TypeError, OSError):
        return ""
    if path is None or not Path(path).is_relative_to(ROOT):
        return ""
    return f"{Path(path).relative_to(ROOT)}" + (f":{line}" if line else "")
