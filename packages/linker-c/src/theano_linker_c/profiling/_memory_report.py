"""The part of a profile that is about memory."""

from __future__ import annotations

from collections.abc import Iterable

from theano_graph import Apply, config

from ._memory import MemoryRecord, Result


def memory_lines(record: MemoryRecord, most: int) -> Iterable[str]:
    """Return the lines about the memory of one machine's results, in the last call of each node."""
    if not record.results:
        return
    yield "Memory Profile (of results; arguments, constants and shared variables are not counted)"
    yield "--------------"
    yield f"  Peak, results freed when nothing reads them any more (allow_gc=True): {_kib(record.peak())}"
    yield f"  All results kept (allow_gc=False): {_kib(record.fresh_bytes())}"
    yield f"  Spared by views: {_kib(record.view_bytes())}"
    yield f"  Spared by results in the place of inputs: {_kib(record.inplace_bytes())}"
    if config.profiling.min_peak_memory:
        yield f"  Least peak found among other orders of the nodes: {_kib(record.least_peak())}"
    yield ""
    yield "  <bytes of results> <shapes> <kind of memory> <Apply name>"
    yield from _node_lines(record, most)
    yield "  c: new memory, i: in the place of an input, v: a view of an input"
    yield ""


def _node_lines(record: MemoryRecord, most: int) -> Iterable[str]:
    rows = sorted(record.results.items(), key=lambda item: -_bytes(item[1]))
    shown = [row for row in rows if _bytes(row[1]) >= config.profiling.min_memory_size][:most]
    for i, results in shown:
        node = record.program.instructions[i].node
        shapes = " ".join(str(result.shape) for result in results)
        yield f"  {_bytes(results):15d}  [{shapes}] {_letters(node, results)} {node}"
    others = rows[len(shown) :]
    left = sum(_bytes(results) for _, results in others)
    share = 100 * left / max(1, sum(_bytes(results) for _, results in rows))
    yield f"  ... (remaining {len(others)} Apply instances: {left} bytes of results, {share:.2f}%)"


def _letters(node: Apply, results: list[Result]) -> str:
    return " ".join(result.letter(node, k) for k, result in enumerate(results))


def _bytes(results: list[Result]) -> int:
    return sum(result.nbytes for result in results)


def _kib(count: int) -> str:
    return f"{count / 1024:.1f} KiB ({count} bytes)"
