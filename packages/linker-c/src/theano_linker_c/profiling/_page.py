"""The profile as a page for a browser: tables with bars, and a flame graph of the lines that made the nodes."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from theano_graph import record, shown_name

from ._records import Group, NodeRecord, by_time
from ._report import made_at, readable_time, short_name

if TYPE_CHECKING:
    from ._stats import ProfileStats

#: Narrower parts of the flame graph, as shares of the whole, are left out.
_NARROWEST = 0.001
_ROW = 22
_STYLE = """
body { font: 14px sans-serif; margin: 1.5em; color: #000; background: #fff; }
table { border-collapse: collapse; margin-bottom: 2em; }
td, th { padding: 2px 10px; text-align: left; font-family: monospace; vertical-align: top; }
th { border-bottom: 1px solid #888; }
td.number { text-align: right; }
.bar { display: inline-block; height: 12px; background: #e8743b; }
.track { display: inline-block; width: 160px; background: #eee; }
#flame { position: relative; width: 100%; margin-bottom: 2em; }
#flame div { position: absolute; height: 20px; overflow: hidden; white-space: nowrap; box-sizing: border-box;
  border: 1px solid #fff; border-radius: 3px; font: 12px monospace; padding: 2px 4px; cursor: pointer; }
"""
_SCRIPT = """
const flame = document.getElementById("flame"), parts = [...flame.children];
function zoom(part) {
  const left = Number(part.dataset.left), width = Number(part.dataset.width);
  for (const other of parts) {
    const start = (Number(other.dataset.left) - left) / width, wide = Number(other.dataset.width) / width;
    other.hidden = start + wide <= 0 || start >= 1;
    const from = Math.max(start, 0), to = Math.min(start + wide, 1);
    other.style.left = 100 * from + "%";
    other.style.width = 100 * (to - from) + "%";
  }
}
for (const part of parts) part.addEventListener("click", () => zoom(part));
"""


@record(frozen=False)
class _Part:
    """A line of the program, or a node, with its callees or results."""

    name: str
    seconds: float
    parts: dict[str, _Part]

    def part(self, name: str, seconds: float) -> _Part:
        part = self.parts.setdefault(name, _Part(name, 0.0, {}))
        part.seconds += seconds
        return part


def page(stats: ProfileStats) -> str:
    """Return the page of a profile."""
    records = by_time(stats.records())
    total = stats.thunk_time
    title = html.escape(f"Profile: {stats.message or 'all functions'}")
    figures = "".join(f"<tr><td>{name}</td><td class=number>{text}</td></tr>" for name, text in _figures(stats))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{title}</h1><table>{figures}</table>"
        f"<h2>Flame graph</h2><p>The lines of the program that made the nodes, the outermost above; the width is the "
        f"time. A click widens a part, one on the first row shows all.</p>{_flame(stats, records)}"
        f"<h2>Classes of ops</h2>{_groups(stats.classes(), total)}<h2>Ops</h2>{_groups(stats.ops(), total)}"
        f"<h2>Nodes</h2>{_nodes(records, total)}<script>{_SCRIPT}</script></body></html>\n"
    )


def _figures(stats: ProfileStats) -> Iterator[tuple[str, str]]:
    yield "calls", str(stats.fct_callcount)
    yield "in calls", readable_time(stats.fct_call_time)
    yield "in nodes", readable_time(stats.thunk_time)
    yield "between nodes", readable_time(max(stats.vm_call_time - stats.thunk_time, 0.0))
    yield "arguments, results and updates", readable_time(max(stats.fct_call_time - stats.vm_call_time, 0.0))
    yield "compiling", readable_time(stats.compile_time)
    yield "of it rewriting", readable_time(stats.optimizer_time)
    yield "of it making the machine", readable_time(stats.linker_time)
    yield "nodes", str(stats.nb_nodes)


def _cells(share: float, seconds: float, calls: int) -> str:
    per_call = readable_time(seconds / calls) if calls else ""
    return (
        f"<td class=number>{share:.1%}</td><td><span class=track><span class=bar style='width:{100 * share:.2f}%'>"
        f"</span></span></td><td class=number>{readable_time(seconds)}</td><td class=number>{per_call}</td>"
        f"<td class=number>{calls}</td>"
    )


def _head(*names: str) -> str:
    columns = ("share", "", "time", "per call", "calls", *names)
    return f"<thead><tr>{''.join(f'<th>{name}</th>' for name in columns)}</tr></thead>"


def _groups(groups: Sequence[Group], total: float) -> str:
    rows = "".join(
        f"<tr>{_cells(group.seconds / total if total else 0.0, group.seconds, group.calls)}<td>{group.kind}</td>"
        f"<td class=number>{group.nodes}</td><td>{html.escape(short_name(group.key))}</td></tr>"
        for group in groups
    )
    return f"<table>{_head('code', 'nodes', 'name')}<tbody>{rows}</tbody></table>"


def _nodes(records: Sequence[NodeRecord], total: float) -> str:
    rows = "".join(
        f"<tr>{_cells(one.seconds / total if total else 0.0, one.seconds, one.calls)}"
        f"<td>{html.escape(made_at(one.node))}</td><td title='{html.escape(one.label)}'>"
        f"{html.escape(short_name(one.label))}</td></tr>"
        for one in records
    )
    return f"<table>{_head('made at', 'node')}<tbody>{rows}</tbody></table>"


def _flame(stats: ProfileStats, records: Sequence[NodeRecord]) -> str:
    """Return the parts of the flame graph; each knows its place, so that the script can widen it."""
    whole = _Part("all nodes", 0.0, {})
    for one in records:
        whole.seconds += one.seconds
        total = whole
        for filename, line, function, text in one.node.origin.entries() if one.node.origin is not None else ():
            total = total.part(f"{shown_name(filename)}:{line} {function}: {text}", one.seconds)
        total.part(one.label, one.seconds)
    pieces: list[str] = []
    deepest = 0
    waiting = [(whole, 0.0, 0)]
    while waiting and whole.seconds:
        part, left, depth = waiting.pop()
        width = part.seconds / whole.seconds
        deepest = max(deepest, depth)
        pieces.append(_piece(part, left, width, depth))
        for inner in part.parts.values():
            if inner.seconds / whole.seconds >= _NARROWEST:
                waiting.append((inner, left, depth + 1))
            left += inner.seconds / whole.seconds
    return f"<div id='flame' style='height:{_ROW * (deepest + 1)}px'>{''.join(pieces)}</div>"


def _piece(part: _Part, left: float, width: float, depth: int) -> str:
    name = html.escape(part.name)
    hue = 20 + 8 * (sum(part.name.encode()) % 5)
    title = f"{name}&#10;{readable_time(part.seconds)}, {width:.1%}"
    return (
        f"<div data-left='{left:.6f}' data-width='{width:.6f}' title='{title}' "
        f"style='left:{100 * left:.4f}%;width:{100 * width:.4f}%;top:{_ROW * depth}px;"
        f"background:hsl({hue},85%,{72 + 3 * (depth % 3)}%)'>{name}</div>"
    )
