"""The text of a profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from theano_graph import Apply, config, debugprint
from theano_optimize import profile_report

from ._memory_report import memory_lines
from ._outside import kind_of, outside
from ._records import Group, NodeRecord, by_time
from ._tips import tip_lines

if TYPE_CHECKING:
    from ._stats import ProfileStats

#: Longer names of ops and nodes are cut.
_LONGEST_NAME = 100


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


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0.0:.3f}%"


def _global_lines(stats: ProfileStats) -> Iterable[str]:
    calls, call_time = stats.fct_callcount, stats.fct_call_time
    yield "Function profiling"
    yield "=================="
    yield f"Message: {stats.message}"
    yield f"Time in {calls} calls to Function.__call__: {call_time:e}s"
    if calls:
        run_time, thunks = stats.vm_call_time, stats.thunk_time
        yield f"Time in Function.fn.__call__: {run_time:e}s ({_share(run_time, call_time)})"
        yield f"Time in thunks: {thunks:e}s ({_share(thunks, call_time)})"
        between, around = run_time - thunks, call_time - run_time
        yield f"Overhead between thunks: {between:e}s ({_share(between, call_time)})"
        yield f"Overhead of arguments, results and updates: {around:e}s ({_share(around, call_time)})"
        yield _device_line(stats.records(), thunks)
        if stats.watch_time:
            yield f"Time in measuring memory, not in the times above: {stats.watch_time:e}s"
    yield f"Total compile time: {stats.compile_time:e}s"
    yield f"  Number of Apply nodes: {stats.nb_nodes}"
    yield f"  Theano Optimizer time: {stats.optimizer_time:e}s"
    yield f"    Theano validate time: {stats.validate_time:e}s"
    yield f"  Theano Linker time (includes C, CUDA code generation/compiling): {stats.linker_time:e}s"
    yield f"    Import time {stats.import_time:e}s"
    rest = stats.compile_time - stats.optimizer_time - stats.linker_time
    yield f"  Copying the graph and checks: {max(rest, 0.0):e}s"
    for text, seconds in outside.items():
        yield f"{text} {seconds():e}s"
    yield ""


def _device_line(records: Iterable[NodeRecord], total: float) -> str:
    spent = {"cpu": 0.0, "gpu": 0.0, "transfer": 0.0}
    for record in records:
        spent[kind_of(record.node)] += record.seconds
    parts = [f"{seconds:.3e}s({_share(seconds, total)}) in {name} op" for name, seconds in spent.items()]
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
            f" {_percent(group.seconds, total)}  {_percent(done, total)}  {microseconds(group.seconds):>14s} "
            f"{microseconds(_per_call(group)):>16s}  {group.kind:^6s} {group.calls:7d}  {group.nodes:6d}   "
            f"{short_name(group.key)}"
        )
    yield _remaining(groups[most:], plural, total)
    yield ""


def microseconds(seconds: float) -> str:
    """Return a time in microseconds, the unit of all columns."""
    return f"{seconds * 1e6:,.1f} us"


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
    for record, count in zip(records[:most], flops, strict=True):
        done += record.seconds
        speed = ""
        if any(flops):
            per_call = _per_call(record)
            speed = (
                "                   "
                if count is None
                else f"{count / 1e6:8.1f} {count / per_call / 1e9 if per_call else 0.0:10.1f}"
            )
        yield (
            f" {_percent(record.seconds, total)}  {_percent(done, total)}  {microseconds(record.seconds):>14s} "
            f"{microseconds(_per_call(record)):>16s} {record.calls:6d} {speed} {record.position:4d}   "
            f"{made_at(record.node):{widest}s}  {short_name(record.label)}"
        )
        yield from _shape_lines(record)
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


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole if whole else 0.0:5.1f}%"


def _per_call(item: Group | NodeRecord) -> float:
    return item.seconds / item.calls if item.calls else 0.0


def _remaining(items: Sequence[Any], plural: str, total: float) -> str:
    seconds = sum(item.seconds for item in items)
    share = 100 * seconds / total if total else 0.0
    return f"  ... (remaining {len(items)} {plural} account for {share:5.2f}%({seconds:.2f}s) of the runtime)"
