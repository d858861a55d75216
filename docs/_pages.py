"""Write the pages of the site that are made from the library: flags, rewrites, errors, contracts and the gallery."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _gallery import gallery_pages
from _made import made_page

import generate_contracts
from theano._old_flags import UNHEEDED
from theano.compile.mode import optdb
from theano_graph import TheanoError, config
from theano_optimize import NodeRewriter, RewriteDatabase

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: The first line of every page of this folder.
NOTE = "<!-- Written by docs/_pages.py from the library; edit its sources. -->\n\n"


def write_pages(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(exist_ok=True)
    pages = {
        "flags": flags_page(),
        "rewrites": rewrites_page(),
        "errors": errors_page(),
        "made": made_page(),
        "contracts": generate_contracts.page(),
        **dict(gallery_pages(folder)),
    }
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        full = NOTE + text
        # A page that is as it was keeps its time, so that nothing is built again.
        if not path.exists() or path.read_text(encoding="utf-8") != full:
            path.write_text(full, encoding="utf-8")


def flags_page() -> str:
    """Return the page of all flags; flags without effect stand apart at its end."""
    text = [
        "# Flags\n",
        "Set a flag in the variable `THEANO_FLAGS` of the environment",
        "(`THEANO_FLAGS=floatX=float32,mode=FAST_COMPILE`), in the file `~/.theanorc`, or in the program",
        "(`theano.config.floatX = 'float32'`, or in a block",
        "`with theano.config.change_flags(floatX='float32')`).\n",
    ]
    names = sorted(config.flag_names(), key=str.lower)
    text += ["## Flags with an effect\n", *(_flag(name) for name in names if name not in UNHEEDED)]
    text += [
        "## Flags without effect\n",
        "Programs and configuration files for Theano 1.0 may set these. Each accepts its former values.\n",
        *(f"`{name}`\n: {_escaped(config.flag(name).doc)}\n" for name in names if name in UNHEEDED),
    ]
    return "\n".join(text)


def _flag(name: str) -> str:
    """Return the entry of a flag, to which other texts refer as an attribute of `theano.config`."""
    flag = config.flag(name)
    about = re.sub(r"`+([^`]+)`+", r"``\1``", flag.doc)
    head = f".. py:attribute:: {name}\n   :module: theano.config\n   :no-index-entry:"
    body = f"   {about}\n\n   Default: ``{_default(flag.kind.default())}``."
    return f"```{{eval-rst}}\n{head}\n\n{body}\n```\n"


def _default(value: object) -> str:
    return repr(value).replace(str(Path.home()), "~")


def rewrites_page() -> str:
    """Return the page of all rewrites."""
    rows = [
        "# Rewrites\n",
        "Rewrites of the optimizer, by name. `including` and `excluding` of a mode take either name: the one under",
        "which a rewrite is registered, or the one that profiles and traces print, which is that of its function.",
        "An *exact* rewrite keeps values up to rounding; a *stabilizing* one gives more accurate values.\n",
        "| name | in profiles and traces | phase | exactness | purpose |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows += sorted(set(_rewrite_rows(optdb, "")))
    return "\n".join(rows) + "\n"


def _rewrite_rows(database: RewriteDatabase[Any], position: str) -> Iterator[str]:
    for entry in database.entries():
        if isinstance(entry.item, RewriteDatabase):
            yield from _rewrite_rows(entry.item, entry.name)
            continue
        info = entry.info
        phase = info.phase.tag if info is not None and info.phase is not None else position
        exactness = info.exactness.value if info is not None else ""
        printed = f"`{entry.item.name}`" if isinstance(entry.item, NodeRewriter) else ""
        yield f"| `{entry.name}` | {printed} | {phase} | {exactness} | {_what(entry.item)} |"


def _what(item: object) -> str:
    """Return the equations of a rule, or the first sentence about it."""
    equations = getattr(item, "equations", None)
    if equations:
        return "; ".join(f"`{str(equation).replace('|', ' or ')}`" for equation in equations)
    function = getattr(item, "function", None) or getattr(item, "_function", None)
    for source in (function, item):
        text = inspect.getdoc(source) if source is not None else None
        if text and (source is function or type(item).__doc__ != getattr(source, "__doc__", None)):
            return _escaped(text.split("\n\n")[0].replace("\n", " ")).replace("|", "\\|")
    return ""


def errors_page() -> str:
    """Return the page of all error classes, with the classes that they derive from."""
    text = [
        "# Errors\n",
        "Each message has three parts: the problem, the line of your program that made its parts, and a hint that says",
        "how to correct it. All of these classes derive from `theano_graph.TheanoError`, and from the error of Python",
        "that a program would expect.\n",
    ]
    classes = {cls for cls in _subclasses(TheanoError) if not cls.__name__.startswith("_")}
    for cls in sorted(classes, key=lambda c: c.__name__.lower()):
        bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
        about = _escaped((inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "))
        text.append(f"`{cls.__module__.partition('.')[0]}.{cls.__name__}` ({bases})\n: {about}\n")
    return "\n".join(text)


def _subclasses(cls: type) -> Iterator[type]:
    below: type
    for below in cls.__subclasses__():
        yield below
        yield from _subclasses(below)


def _escaped(text: str) -> str:
    """Return a docstring's text for Markdown: roles become plain names."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return text.replace("<", "&lt;").replace("*", "\\*") if "`" not in text else text
