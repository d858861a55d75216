"""HTML for notebooks: graphs as trees whose branches fold, and the table of flags. Imported when one is shown."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .._expression._nodes import Apply, Variable
from ._debugprint import TreeOptions, TreePrinter
from ._diagram import FILLS, kind_of
from ._formula import formula
from ._printable import printable_graph

#: From this level on branches are folded where a tree has more than so many lines.
_FOLDED_LEVEL, _MANY_LINES = 4, 40
_LONGEST_HEAD = 160
_MOST_VALUE_LINES = 8
_STYLE = (
    "<style>.theano-graph{font-family:monospace;line-height:1.35}.theano-graph .tree{white-space:pre;overflow-x:auto}"
    ".theano-graph .tree details,.theano-graph .tree details>div{margin-left:1.5em}"
    ".theano-graph .tree>details,.theano-graph .tree>div{margin-left:0}"
    ".theano-graph .tree div{padding-left:1em}.theano-graph summary{cursor:pointer}</style>"
)


def to_html(obj: Any, max_lines: int) -> str:
    """Return the page of :func:`theano_graph.to_html`."""
    graph = printable_graph(obj)
    lines = list(itertools.islice(TreePrinter(graph, TreeOptions(print_type=True)).lines(), max_lines + 1))
    if len(lines) > max_lines:
        lines[max_lines:] = ["..."]
    inputs = " ".join(_badge(kind_of(x), x) for x in graph.inputs[:max_lines])
    updates = "".join(f"<div>update of {_badge('shared', target)}</div>" for target in graph.updates.values())
    body = f"{inputs}{updates}<div class='tree'>{''.join(_branches(_levels(lines), len(lines)))}</div>"
    below, opened = "", " open"
    if isinstance(obj, Variable):
        below, opened = "".join(_below(obj)), ""
    return (
        f'<div class="theano-graph">{_STYLE}<details{opened}><summary>{html.escape(_head(obj))}</summary>{body}'
        f"</details>{below}</div>"
    )


def _below(variable: Variable) -> Iterator[str]:
    """Yield the text below the line of a variable: its formula, or its value where it has one."""
    text = formula(variable)
    if text is not None:
        # The notebook's MathJax sets the text between the signs.
        yield f"<div>$\\displaystyle {html.escape(text)}$</div>"
    value = _value(variable)
    if value is not None:
        lines = str(value).splitlines() or [""]
        if len(lines) > _MOST_VALUE_LINES:
            lines[_MOST_VALUE_LINES:] = ["..."]
        cut = "\n".join(line[:_LONGEST_HEAD] for line in lines)
        yield f'<div style="white-space:pre">{html.escape(cut)}</div>'


def _value(variable: Any) -> Any:
    """Return the value that a shared variable has now, None for all others."""
    return variable.get_value(borrow=True) if kind_of(variable) == "shared" else None


def _type_text(variable: Variable) -> str:
    """Return dtype and shape of a variable, of a value that it has where it has one; the type where it has neither."""
    value = _value(variable)
    holder = variable.type if value is None else value
    dtype, shape = getattr(variable.type, "dtype", None), getattr(holder, "shape", None)
    if dtype is None or not isinstance(shape, tuple):
        return repr(variable.type)
    lengths = ", ".join("?" if length is None else str(length) for length in shape)
    return f"{dtype}, shape ({lengths}{',' if len(shape) == 1 else ''})"


def _head(obj: Any) -> str:
    """Return the line that stays when all is folded."""
    text = (
        f"{obj}: {_type_text(obj)}" if isinstance(obj, Variable) else str(obj if isinstance(obj, Apply) else repr(obj))
    )
    if len(text) > _LONGEST_HEAD:
        text = text[: _LONGEST_HEAD - 3] + "..."
    origin = getattr(obj, "origin", None)
    return text if origin is None else f"{text}, made at {origin}"


def _badge(kind: str, variable: Variable) -> str:
    text = html.escape(f"{variable}: {variable.type!r}")
    return f'<span style="background:{FILLS[kind]};color:#000;padding:0 0.4em">{text}</span>'


def _levels(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the level of each line of a printed tree, and the line without its indentation."""
    for line in lines:
        before = re.match(r"(?: [|>]|  )*", line)
        start = 0 if before is None else before.end()
        yield start // 2, line[start:].rstrip()


def _branches(rows: Iterable[tuple[int, str]], count: int) -> Iterator[str]:
    """Yield the pieces of nested branches."""
    arguments = [*rows, (0, "")]
    opened: list[int] = []
    for (level, text), (following, _) in itertools.pairwise(arguments):
        while opened and opened[-1] >= level:
            opened.pop()
            yield "</details>"
        if following > level:
            folded = count > _MANY_LINES and level >= _FOLDED_LEVEL
            yield f"<details{'' if folded else ' open'}><summary>{html.escape(text)}</summary>"
            opened.append(level)
        else:
            yield f"<div>{html.escape(text)}&#8203;</div>"
    yield "</details>" * len(opened)


# ---- Flags as tables: text for a terminal, HTML for a notebook

Row = tuple[str, str, str, str]
"""Name, value, source of the value, and purpose of the flag."""

_HEAD: Row = ("flag", "value", "from", "meaning")
_LONGEST_VALUE = 40
_LONGEST_MEANING = 60
_DEFAULT = "the default"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3].rstrip() + "..."


def as_text(rows: Iterable[Row]) -> str:
    """Return rows as columns; long values and meanings are cut, and defaults have no source."""
    shown = [_HEAD]
    for name, value, source, meaning in rows:
        source = "" if source == _DEFAULT else source
        shown.append((name, _cut(value, _LONGEST_VALUE), source, _cut(meaning, _LONGEST_MEANING)))
    widths = [max(len(row[i]) for row in shown) for i in range(3)]
    lines = [
        "  ".join([*(text.ljust(width) for text, width in zip(row, widths, strict=False)), row[3]]) for row in shown
    ]
    lines.insert(1, "  ".join("-" * width for width in [*widths, len(_HEAD[3])]))
    return "\n".join(line.rstrip() for line in lines)


def as_html(rows: Iterable[Row], title: str) -> str:
    """Return rows as a table that can be folded; settings that are no defaults are bold."""
    cells = []
    for name, value, source, meaning in rows:
        weight = "" if source == _DEFAULT else " style='font-weight:bold'"
        texts = (name, value, source, meaning)
        cells.append(f"<tr{weight}>{''.join(f'<td>{html.escape(text)}</td>' for text in texts)}</tr>")
    head = "".join(f"<th>{text}</th>" for text in _HEAD)
    return (
        "<style>.theano-config td,.theano-config th{font-family:monospace;text-align:left;vertical-align:top}</style>"
        f"<details open class='theano-config'><summary>{html.escape(title)}: {len(cells)} flags</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table></details>"
    )
