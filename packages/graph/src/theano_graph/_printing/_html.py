"""Graphs as pieces of HTML, for notebooks: trees whose branches can be folded."""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from .._expression._nodes import Apply, Variable
from ._debugprint import TreeOptions, TreePrinter
from ._diagram import FILLS, kind_of
from ._printable import printable_graph

#: From this level on branches are folded where a tree has more than so many lines.
_FOLDED_LEVEL, _MANY_LINES = 4, 40
_LONGEST_HEAD = 160
_STYLE = (
    "<style>.theano-graph{font-family:monospace;line-height:1.35}.theano-graph .tree{white-space:pre;overflow-x:auto}"
    ".theano-graph .tree details,.theano-graph .tree details>div{margin-left:1.5em}"
    ".theano-graph .tree>details,.theano-graph .tree>div{margin-left:0}"
    ".theano-graph .tree div{padding-left:1em}.theano-graph summary{cursor:pointer}</style>"
)


def to_html(obj: Any, max_lines: int) -> str:
    """Do what :func:`theano_graph.to_html` says."""
    graph = printable_graph(obj)
    lines = list(itertools.islice(TreePrinter(graph, TreeOptions(print_type=True)).lines(), max_lines + 1))
    if len(lines) > max_lines:
        lines[max_lines:] = ["..."]
    inputs = " ".join(_badge(kind_of(x), x) for x in graph.inputs[:max_lines])
    updates = "".join(f"<div>update of {_badge('shared', target)}</div>" for target in graph.updates.values())
    body = f"{inputs}{updates}<div class='tree'>{''.join(_branches(_levels(lines), len(lines)))}</div>"
    return (
        f'<div class="theano-graph">{_STYLE}<details open><summary>{html.escape(_head(obj))}</summary>{body}</details>'
        "</div>"
    )


def _head(obj: Any) -> str:
    """Return the line that stays when all is folded."""
    text = f"{obj}: {obj.type!r}" if isinstance(obj, Variable) else str(obj if isinstance(obj, Apply) else repr(obj))
    if len(text) > _LONGEST_HEAD:
        text = text[: _LONGEST_HEAD - 3] + "..."
    origin = getattr(obj, "origin", None)
    return text if origin is None else f"{text}, made at {origin}"


def _badge(kind: str, variable: Variable) -> str:
    text = html.escape(f"{variable}: {variable.type!r}")
    return f'<span style="background:{FILLS[kind]};color:#000;padding:0 0.4em">{text}</span>'


def _levels(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the level of each line of a printed tree, and the line without what stands before it."""
    for line in lines:
        before = re.match(r"(?: [|>]|  )*", line)
        start = 0 if before is None else before.end()
        yield start // 2, line[start:].rstrip()


def _branches(rows: Iterable[tuple[int, str]], count: int) -> Iterator[str]:
    """Yield the pieces of nested branches."""
    given = [*rows, (0, "")]
    opened: list[int] = []
    for (level, text), (following, _) in itertools.pairwise(given):
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
