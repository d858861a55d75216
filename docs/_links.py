"""Links of the site: names in text lead to the reference, and names of NumPy and SciPy to their pages elsewhere.

The inventories of other projects are written at build from the names that the library and the pages mention, so that a
build needs no network.
"""

from __future__ import annotations

import builtins
import importlib
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

from _documented import documented, historical, of_dtypes

#: Project -> its address, and the form of the address of a name there.
PEERS = {
    "numpy": ("https://numpy.org/doc/stable/", "reference/generated/$.html#$"),
    "scipy": ("https://docs.scipy.org/doc/scipy/", "reference/generated/$.html#$"),
    "python": ("https://docs.python.org/3/", "library/exceptions.html#$"),
}
_NAME = re.compile(r"\b((?:numpy|scipy)(?:\.[A-Za-z]\w*)+)")


def mentioned(texts: Iterable[str]) -> set[str]:
    """Return the functions and classes of NumPy and SciPy that texts mention and that exist."""
    names = {name for text in texts for name in _NAME.findall(text)}
    return {name for name in names if _exists(name)}


def _exists(name: str) -> bool:
    module, _, last = name.rpartition(".")
    try:
        return callable(getattr(importlib.import_module(module), last, None))
    except ImportError:
        return False


def write_inventories(folder: Path, texts: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project; return the mapping that intersphinx takes."""
    names = mentioned(texts)
    mapping = {}
    for project, (address, form) in PEERS.items():
        theirs = sorted(name for name in names if name.startswith(f"{project}."))
        if project == "python":
            theirs = [name for name, value in vars(builtins).items() if _is_exception(value)]
        path = folder / f"{project}.inv"
        path.write_bytes(_inventory(project, form, theirs))
        mapping[project] = (address, str(path))
    return mapping


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _inventory(project: str, form: str, names: list[str]) -> bytes:
    lines = "".join(f"{name} py:function 1 {form} -\n" for name in names)
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    return head.encode() + zlib.compress(lines.encode())


def _targets() -> Iterator[tuple[str, str]]:
    for entries in historical().values():
        yield from ((entry.full, entry.full) for entry in entries)
    for entry in documented():
        yield entry.full, entry.full
        yield from ((f"{entry.module}.{name}", f"{entry.module}.{name}") for name in of_dtypes(entry))


@cache
def _known() -> dict[str, str]:
    return dict(_targets())


def link_names(app: Any, doctree: Any) -> None:
    """Make each inline code that is the full name of a documented object, or a call of it, a link to its page."""
    for node in list(doctree.findall(nodes.literal)):
        if isinstance(node.parent, (nodes.title, nodes.reference, addnodes.pending_xref)):
            continue
        name = re.sub(r"^T\.", "theano.tensor.", node.astext().partition("(")[0])
        if name in _known() or (name.startswith(("numpy.", "scipy.")) and _exists(name)):
            target = _known().get(name, name)
            attributes = {"refdomain": "py", "reftype": "obj", "reftarget": target, "refdoc": app.env.docname}
            link = addnodes.pending_xref("", **attributes, refexplicit=True, refwarn=False)
            node.replace_self(link)
            link += node


def setup(app: Any) -> dict[str, bool]:
    """Register the handler."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
