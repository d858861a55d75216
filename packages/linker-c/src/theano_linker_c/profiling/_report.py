"""The text of a profile with its tips, and the profile as a page for a browser."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from theano_graph import Apply, RuleTable, config, debugprint, record, shown_name
from theano_optimize import profile_report

from ._memory import Group, NodeRecord, by_time, memory_lines

if TYPE_CHECKING:
    from ._stats import ProfileStats


# ---- Figures of higher layers for profiles

outside: dict[str, Callable[[], float]] = {}
"""Further lines of a profile: beginning of a line -> function that gives the seconds. Higher layers add theirs, such as
the time in all calls of `grad`."""

Kind: TypeAlias = Literal["cpu", "gpu", "transfer"]

device_kind: RuleTable[Callable[[Apply], Kind]] = RuleTable("device_kind")
"""Op class -> where a node of it runs, or that it moves data; nodes without a rule run on the CPU."""


def kind_of(node: Apply) -> Kind:
    """Return where a node runs, or that it moves data."""
    rule = device_kind.get(node.op)
    return "cpu" if rule is None else rule(node)


# ---- Advice that a profile can give

#: From which share of the time on something is worth a tip.
WORTH = 0.1


def tip_lines(stats: ProfileStats) -> Iterable[str]:
    """Return advice that could make the functions faster."""
    tips = [tip for tip in (_python(stats), _transfers(stats), _double(stats), _overhead(stats), _memory(stats)) if tip]
    yield "Tips"
    yield "----"
    if not tips:
        yield "  Nothing stands out."
    for tip in tips:
        yield f"  - {tip}"
    yield ""


def _python(stats: ProfileStats) -> str | None:
    slow = [group for group in stats.ops() if group.python and group.seconds > WORTH * stats.thunk_time]
    if not slow:
        return None
    names = ", ".join(str(group.key) for group in slow[:3])
    return f"These ops run Python code and take more than {WORTH:.0%} of the time each: {names}. Give them native code."


def _transfers(stats: ProfileStats) -> str | None:
    moving = sum(record.seconds for record in stats.records() if kind_of(record.node) == "transfer")
    if moving <= 0.5 * stats.thunk_time:
        return None
    return (
        "Most of the time goes into moving data between the host and a device. Keep data in shared variables, choose "
        "from them by `givens`, and return less."
    )


def _double(stats: ProfileStats) -> str | None:
    double = sum(
        record.seconds
        for record in stats.records()
        if any(getattr(v.type, "dtype", None) == "float64" for v in record.node.outputs)
    )
    if double <= 0.5 * stats.thunk_time:
        return None
    return "Most of the time goes into float64. Try the flag floatX=float32 and the constructors that follow it."


def _overhead(stats: ProfileStats) -> str | None:
    if stats.thunk_time > 0.5 * stats.fct_call_time:
        return None
    return (
        "More than half of the time is overhead of calls: the nodes have little to do. Do more in one call, or set "
        "`f.trust_input = True` and pass arrays of the right type."
    )


def _memory(stats: ProfileStats) -> str | None:
    if not config.allow_gc or len(stats.records()) < 50:
        return None
    return "Try the flag allow_gc=False: memory of intermediate results is then kept between calls."


#: Longer names of ops and nodes are cut.
_LONGEST_NAME = 100
_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


def write_report(stats: ProfileStats, file: TextIO, n_ops: int | None = None, n_apply: int | None = None) -> None:
    """Print a profile to a file."""
    width = config.profiling.output_line_width
    n_ops = config.profiling.n_ops if n_ops is None else n_ops
    n_apply = config.profiling.n_apply if n_apply is None else n_apply
    lines = [*_global_lines(stats)]
    if stats.fct_callcount:
        total = stats.thunk_time
        lines += _group_lines("Class", "Class name", "Classes", stats.classes(), total, n_ops)
        lines += _group_lines("Ops", "Op name", "Ops", stats.ops(), total, n_ops)
        lines += _apply_lines(by_time(stats.records()), total, n_apply)
        for record in stats.memory_records():
            lines += memory_lines(record, n_apply)
        lines += tip_lines(stats)
    if config.profile_optimizer and stats.optimizer_profile is not None:
        lines += [*profile_report(stats.optimizer_profile).splitlines(), ""]
    if config.profiling.debugprint:
        for fgraph in stats.fgraphs:
            lines += [*str(debugprint(fgraph, file="str", print_type=True)).splitlines(), ""]
    for line in lines:
        print(line[:width], file=file)


def _share(part: float, total: float) -> str:
    return f"{100 * part / total if total else 0.0:.3f}%"


def _global_lines(stats: ProfileStats) -> Iterable[str]:
    calls, call_time = stats.fct_callcount, stats.fct_call_time
    yield "Function profiling"
    yield "=================="
    yield f"Message: {stats.message}"
    yield f"Time in {calls} calls to Function.__call__: {readable_time(call_time)}"
    if calls:
        run_time, thunks = stats.vm_call_time, stats.thunk_time
        yield f"Time in Function.fn.__call__: {readable_time(run_time)} ({_share(run_time, call_time)})"
        yield f"Time in thunks: {readable_time(thunks)} ({_share(thunks, call_time)})"
        between, around = run_time - thunks, call_time - run_time
        yield f"Overhead between thunks: {readable_time(between)} ({_share(between, call_time)})"
        yield f"Overhead of arguments, results and updates: {readable_time(around)} ({_share(around, call_time)})"
        yield _device_line(stats.records(), thunks)
        if stats.watch_time:
            yield f"Time in measuring memory, not in the times above: {readable_time(stats.watch_time)}"
    yield f"Total compile time: {readable_time(stats.compile_time)}"
    yield f"  Number of Apply nodes: {stats.nb_nodes}"
    yield f"  Theano Optimizer time: {readable_time(stats.optimizer_time)}"
    yield f"    Theano validate time: {readable_time(stats.validate_time)}"
    yield f"  Theano Linker time (includes C, CUDA code generation/compiling): {readable_time(stats.linker_time)}"
    yield f"    Import time {readable_time(stats.import_time)}"
    remainder = stats.compile_time - stats.optimizer_time - stats.linker_time
    yield f"  Copying the graph and checks: {readable_time(max(remainder, 0.0))}"
    for text, seconds in outside.items():
        yield f"{text} {readable_time(seconds())}"
    yield ""


def _device_line(records: Iterable[NodeRecord], total: float) -> str:
    spent = {"cpu": 0.0, "gpu": 0.0, "transfer": 0.0}
    for entry in records:
        spent[kind_of(entry.node)] += entry.seconds
    parts = [f"{readable_time(seconds)} ({_share(seconds, total)}) in {name} op" for name, seconds in spent.items()]
    return f"Spent {parts[0]}, {parts[1]} and {parts[2]}"


def _group_lines(
    title: str, column: str, plural: str, groups: Sequence[Group], total: float, most: int
) -> Iterable[str]:
    if not groups:
        return
    yield title
    yield "---"
    yield f"<% time> <sum %> <apply time> <time per call> <type> <#call> <#apply> <{column}>"
    done = 0.0
    for group in groups[:most]:
        done += group.seconds
        yield (
            f" {_percent(group.seconds, total)}  {_percent(done, total)}  {readable_time(group.seconds):>14s} "
            f"{readable_time(_per_call(group)):>16s}  {group.kind:^6s} {group.calls:7d}  {group.nodes:6d}   "
            f"{short_name(group.key)}"
        )
    yield _remaining(groups[most:], plural, total)
    yield ""


def readable_time(seconds: float) -> str:
    """Return a time with three digits, in the unit that suits it.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str
        In seconds, milliseconds (``ms``), microseconds (``us``) or nanoseconds (``ns``).

    Examples
    --------
    >>> [readable_time(seconds) for seconds in (94.5, 0.106, 2.5e-5, 0.0)]
    ['94.5 s', '106 ms', '25.0 us', '0 s']
    """
    for unit, scale in _UNITS:
        value = seconds / scale
        # What would be rounded to 1000 belongs to the next unit.
        if abs(value) >= 0.9995:
            return f"{value:,.{2 - (abs(value) >= 10) - (abs(value) >= 100)}f} {unit}"
    return f"{seconds:.2g} s" if seconds else "0 s"


def short_name(key: Any) -> str:
    """Return a class without its module, or the text of an op or a node, cut where it is long."""
    text = key.__qualname__ if isinstance(key, type) else str(key)
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 18]}...{text[-15:]}"


def made_at(node: Apply) -> str:
    """Return the line of the program that made a node, or nothing where it is not known."""
    return "" if node.origin is None else str(node.origin)


def _apply_lines(records: Sequence[NodeRecord], total: float, most: int) -> Iterable[str]:
    if not records:
        return
    flops = [record.flops for record in records[:most]]
    header = "<% time> <sum %> <apply time> <time per call> <#call> <id> <made at> <Apply name>"
    widest = max(len(made_at(record.node)) for record in records[:most]) if records[:most] else 0
    if any(flops):
        header = header.replace("<#call>", "<#call> <Mflops> <Gflops/s>")
    yield "Apply"
    yield "-----"
    yield header
    done = 0.0
    for entry, count in zip(records[:most], flops, strict=True):
        done += entry.seconds
        speed = ""
        if any(flops):
            per_call = _per_call(entry)
            speed = (
                "                   "
                if count is None
                else f"{count / 1e6:8.1f} {count / per_call / 1e9 if per_call else 0.0:10.1f}"
            )
        yield (
            f" {_percent(entry.seconds, total)}  {_percent(done, total)}  {readable_time(entry.seconds):>14s} "
            f"{readable_time(_per_call(entry)):>16s} {entry.calls:6d} {speed} {entry.position:4d}   "
            f"{made_at(entry.node):{widest}s}  {short_name(entry.label)}"
        )
        yield from _shape_lines(entry)
    yield _remaining(records[most:], "Apply instances", total)
    yield ""


def _shape_lines(record: NodeRecord) -> Iterable[str]:
    if record.shapes is None:
        return
    for word, variables, shapes in zip(
        ("input", "output"), (record.node.inputs, record.node.outputs), record.shapes, strict=True
    ):
        for i, (variable, shape) in enumerate(zip(variables, shapes, strict=True)):
            yield f"    {word} {i}: type={variable.type}, shape={shape}"


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total if total else 0.0:5.1f}%"


def _per_call(item: Group | NodeRecord) -> float:
    return item.seconds / item.calls if item.calls else 0.0


def _remaining(items: Sequence[Any], plural: str, total: float) -> str:
    seconds = sum(item.seconds for item in items)
    share = 100 * seconds / total if total else 0.0
    return f"  ... (remaining {len(items)} {plural} account for {share:5.2f}%({readable_time(seconds)}) of the runtime)"


# ---- The profile as a page for a browser: tables with bars, and a flame graph of the lines that made the nodes

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
