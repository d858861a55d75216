"""Write the pages of the site that are made from the library: flags, rewrites, errors, contracts and programs."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import runpy
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from _gallery import gallery_pages
from _made import made_page

import generate_contracts
from theano.compile.mode import optdb
from theano_graph import TheanoError, config
from theano_optimize import NodeRewriter, RewriteDatabase

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
#: What every page of this folder begins with.
NOTE = "<!-- Written by docs/_pages.py from the library; edit what it is made from. -->\n\n"


def write_pages(folder: Path) -> None:
    """Write all pages."""
    folder.mkdir(exist_ok=True)
    pages = {
        "flags": flags_page(),
        "rewrites": rewrites_page(),
        "errors": errors_page(),
        "names": names_page(),
        "made": made_page(),
        "contracts": generate_contracts.page(),
        **dict(chapter_pages()),
        **dict(gallery_pages(folder)),
    }
    for name, text in pages.items():
        path = folder / f"{name}.md"
        whole = NOTE + text
        # A page that is as it was keeps its time, so that nothing is built again.
        if not path.exists() or path.read_text(encoding="utf-8") != whole:
            path.write_text(whole, encoding="utf-8")


def flags_page() -> str:
    """Return the page of all flags."""
    text = [
        "# Flags\n",
        "Set a flag in the variable `THEANO_FLAGS` of the environment",
        "(`THEANO_FLAGS=floatX=float32,mode=FAST_COMPILE`), in the file `~/.theanorc`, or in the program",
        "(`theano.config.floatX = 'float32'`, or in a block",
        "`with theano.config.change_flags(floatX='float32')`).\n",
    ]
    for name in sorted(config.flag_names(), key=str.lower):
        flag = config.flag(name)
        text += [f"## `{name}`\n", f"{_escaped(flag.doc)}\n", f"Default: `{_default(flag.kind.default())}`.\n"]
    return "\n".join(text)


def _default(value: object) -> str:
    return repr(value).replace(str(Path.home()), "~")


def rewrites_page() -> str:
    """Return the page of all rewrites."""
    rows = [
        "# Rewrites\n",
        "What the optimizer may do to a graph. `including` and `excluding` of a mode take either name: the one under",
        "which a rewrite is registered, or the one that profiles and traces print, which is that of its function.",
        "An *exact* rewrite keeps values up to rounding; a *stabilizing* one gives more accurate values.\n",
        "| name | in profiles and traces | phase | exactness | what it does |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows += sorted(set(_rewrite_rows(optdb, "")))
    return "\n".join(rows) + "\n"


def _rewrite_rows(database: RewriteDatabase[Any], place: str) -> Iterator[str]:
    for entry in database.entries():
        if isinstance(entry.item, RewriteDatabase):
            yield from _rewrite_rows(entry.item, entry.name)
            continue
        info = entry.info
        phase = info.phase.tag if info is not None and info.phase is not None else place
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
    """Return the page of all error classes, with what they derive from."""
    rows = [
        "# Errors\n",
        "Each message says what was wrong, in which line of your program the parts were made, and how to correct it.",
        "All of these are `theano_graph.TheanoError`, and the kind of error of Python that a program would expect.\n",
        "| class | derives from | when |",
        "| --- | --- | --- |",
    ]
    found = {cls for cls in _subclasses(TheanoError) if not cls.__name__.startswith("_")}
    for cls in sorted(found, key=lambda c: c.__name__.lower()):
        bases = ", ".join(f"`{base.__name__}`" for base in cls.__bases__)
        about = _escaped((inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "))
        rows.append(f"| `{cls.__module__.partition('.')[0]}.{cls.__name__}` | {bases} | {about} |")
    return "\n".join(rows) + "\n"


def _subclasses(cls: type) -> Iterator[type]:
    below: type
    for below in cls.__subclasses__():
        yield below
        yield from _subclasses(below)


AREAS = (
    "theano", "theano.tensor", "theano.tensor.nnet", "theano.tensor.nlinalg", "theano.tensor.slinalg",
    "theano.tensor.signal.pool", "theano.tensor.fft", "theano.tensor.shared_randomstreams",
    "theano.sandbox.rng_mrg", "theano.sparse", "theano.gradient", "theano.ifelse", "theano.printing", "theano.gof",
    "theano.distributed",
)  # fmt: skip


def names_page() -> str:
    """Return the page of public names by area, each with its first sentence."""
    text = ["# Names by area\n", "`help(name)` in Python prints the whole page of a name, with examples.\n"]
    for area in AREAS:
        module = sys.modules.get(area) or __import__(area, fromlist=["_"])
        text += [f"## `{area}`\n", "| name | what it is |", "| --- | --- |"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = sorted(name for name in dir(module) if not name.startswith("_"))
            text += [row for name in names if (row := _name_row(module, name))]
        text.append("")
    return "\n".join(text)


def _name_row(module: object, name: str) -> str:
    value = getattr(module, name, None)
    if inspect.ismodule(value) or value is None:
        return ""
    about = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return f"| `{name}` | {_escaped(about)} |"


def chapter_pages() -> Iterator[tuple[str, str]]:
    """Yield a page for each chapter: what it is about, the program, and what it prints."""
    pages: list[tuple[str, str]] = []
    for path in sorted(EXAMPLES.glob("chapter_*.py")):
        about, code = about_and_code(path.read_text(encoding="utf-8"))
        title = path.stem.removeprefix("chapter_").replace("_", " ").capitalize()
        lines = [f"# {title}\n", _escaped(about.split("\n\n")[0]) + "\n", f"```python\n{code}\n```\n"]
        printed = _output(path)
        if printed.strip():
            lines += [f"It prints:\n\n```text\n{printed.rstrip()}\n```\n"]
        pages.append((path.stem, "\n".join(lines)))
    yield from pages
    yield "chapters", _listing(pages)


def about_and_code(source: str) -> tuple[str, str]:
    """Return the docstring of a program, and the program without it."""
    tree = ast.parse(source)
    about = ast.get_docstring(tree)
    if about is None:
        return "", source.strip()
    return about, "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()


def _listing(pages: Iterable[tuple[str, str]]) -> str:
    names = "\n".join(name for name, _ in pages)
    about = "Each chapter is a program of the folder `examples`, shown with what it prints. It ran for this page."
    return f"# Tutorial, chapter by chapter\n\n{about}\n\n```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n"


def _output(path: Path) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = sys.argv
        sys.argv = [str(path)]
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as ended:
            if ended.code not in (None, 0):
                raise RuntimeError(f"{path.name} ended with status {ended.code}") from ended
        finally:
            sys.argv = before
    return out.getvalue()


def _escaped(text: str) -> str:
    """Return a docstring's text for Markdown: roles become plain names."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return text.replace("<", "&lt;").replace("*", "\\*") if "`" not in text else text
