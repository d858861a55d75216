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
    for record in records:
        spent[kind_of(record.node)] += record.seconds
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
            f" {_percent(record.seconds, total)}  {_percent(done, total)}  {readable_time(record.seconds):>14s} "
            f"{readable_time(_per_call(record)):>16s} {record.calls:6d} {speed} {record.position:4d}   "
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


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total if total else 0.0:5.1f}%"


def _per_call(item: Group | NodeRecord) -> float:
    return item.seconds / item.calls if item.calls else 0.0


def _remaining(items: Sequence[Any], plural: str, total: float) -> str:
    seconds = sum(item.seconds for item in items)
    share = 100 * seconds / total if total else 0.0
    return f"  ... (remaining {len(items)} {plural} account for {share:5.2f}%({readable_time(seconds)}) of the runtime)"
