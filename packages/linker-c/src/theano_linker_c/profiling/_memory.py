"""Figures of nodes, ops and classes of ops; the memory of results, and the part of a profile that is about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from theano_graph import Apply, Type, config, record

from ..program import Program

# ---- Figures of nodes, ops and classes of ops after profiled calls

Shapes = list[tuple[int, ...] | None]


@record
class NodeRecord:
    """The figures of one node.

    Attributes
    ----------
    node : Apply
    position : int
        Its number in the order of its function.
    seconds : float
        Time of all its calls.
    calls : int
    native : bool
        Whether it runs native code, here or on a device.
    shapes : tuple or None
        Shapes of its inputs and of its outputs in the last call that was looked at.
    """

    node: Apply
    position: int
    seconds: float
    calls: int
    native: bool
    shapes: tuple[Shapes, Shapes] | None = None

    @property
    def label(self) -> str:
        """The node as text."""
        return str(self.node)

    @property
    def flops(self) -> float | None:
        """Floating-point operations of one call, where the op can tell."""
        count: Any = getattr(self.node.op, "flops", None)
        if count is None or self.shapes is None or None in (*self.shapes[0], *self.shapes[1]):
            return None
        return float(count(*self.shapes))


@record(frozen=False)
class Group:
    """The figures of nodes that have something in common, their op or its class.

    Attributes
    ----------
    key : object
        Their common key.
    seconds : float
    calls : int
    nodes : int
    native, python : bool
        Whether some of them run native code, and whether some run Python.
    """

    key: Any
    seconds: float = 0.0
    calls: int = 0
    nodes: int = 0
    native: bool = False
    python: bool = False

    @property
    def kind(self) -> str:
        """The kind of code: "C", "Py" or "C & Py"."""
        return " & ".join(name for name, there in (("C", self.native), ("Py", self.python)) if there)

    def add(self, record: NodeRecord) -> None:
        """Add the figures of a node."""
        self.seconds += record.seconds
        self.calls += record.calls
        self.nodes += 1
        self.native |= record.native
        self.python |= not record.native


def grouped(records: Iterable[NodeRecord], key: Callable[[Apply], Any]) -> list[Group]:
    """Return groups of records, the one that took the most time first."""
    groups: dict[Any, Group] = {}
    for one in records:
        name = key(one.node)
        if name not in groups:
            groups[name] = Group(name)
        groups[name].add(one)
    return by_time(list(groups.values()))


def by_time(items: Sequence[Any]) -> list[Any]:
    """Return items with the one that took the most time first; equal ones keep their order."""
    return sorted(items, key=lambda item: -item.seconds)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a value that has one."""
    shape = getattr(value, "shape", None)
    return tuple(int(n) for n in shape) if isinstance(shape, tuple) else None


# ---- Memory of results: the bytes of each node, and how much is in use at once

#: How much work the search for the least memory may be; each step costs the square of the number of nodes at most.
MOST_WORK = 20_000_000


@record
class Result:
    """One output of a node as it was in a call.

    Attributes
    ----------
    nbytes : int
        Size of the value, whose memory it may be.
    shape : tuple of int or None
    source : int or None
        Number of the input whose memory it lies in.
    """

    nbytes: int
    shape: tuple[int, ...] | None
    source: int | None

    @property
    def fresh(self) -> int:
        """Bytes that were taken for it."""
        return self.nbytes if self.source is None else 0

    def letter(self, node: Apply, index: int) -> str:
        """Return the kind of memory: c(reated), v(iew of an input) or i(n place of one)."""
        if self.source is None:
            return "c"
        return "v" if self.source in node.op.view_map.get(index, ()) else "i"


@record(frozen=False)
class MemoryRecord:
    """An observer's record of one machine: the last call of each node.

    Attributes
    ----------
    program : Program
    results : dict
        Position of a node -> its outputs.
    shapes : dict
        Position of a node -> shapes of its inputs and outputs.
    """

    program: Program
    results: dict[int, list[Result]] = field(default_factory=dict)
    shapes: dict[int, tuple[Shapes, Shapes]] = field(default_factory=dict)

    def __call__(self, index: int, inputs: list[Any], outputs: list[Any]) -> None:
        """Note a call of a node."""
        node = self.program.instructions[index].node
        self.results[index] = [
            Result(size_of(variable.type, value), shape_of(value), source_of(value, inputs))
            for variable, value in zip(node.outputs, outputs, strict=True)
        ]
        self.shapes[index] = [shape_of(v) for v in inputs], [shape_of(v) for v in outputs]

    def fresh_bytes(self) -> int:
        """Return how much all results take together."""
        return sum(result.fresh for results in self.results.values() for result in results)

    def view_bytes(self) -> int:
        """Return how much more it would be without views."""
        return self._spared("v")

    def inplace_bytes(self) -> int:
        """Return how much more it would be without results in the place of inputs."""
        return self._spared("i")

    def _spared(self, letter: str) -> int:
        return sum(
            result.nbytes
            for i, results in self.results.items()
            for k, result in enumerate(results)
            if result.letter(self.program.instructions[i].node, k) == letter
        )

    def peak(self) -> int:
        """Return the most memory that results have at once when each is freed as soon as nothing reads it."""
        return Simulation(self).peak(sorted(self.results))

    def least_peak(self) -> int:
        """Return the smallest peak found among the orders that the nodes can run in."""
        return Simulation(self).least_peak()


def size_of(kind: Type, value: Any) -> int:
    """Return the bytes of a value: as its type says (`get_shape_info`, `get_size`), else those of an array."""
    info: Any = getattr(kind, "get_shape_info", None)
    size: Any = getattr(kind, "get_size", None)
    if info is not None and size is not None:
        return int(size(info(value)))
    return int(getattr(value, "nbytes", 0) or 0)


def source_of(value: Any, inputs: Sequence[Any]) -> int | None:
    """Return the number of the first input in whose memory a value lies, or None."""
    for i, other in enumerate(inputs):
        if value is other and bool(getattr(value, "nbytes", 0)):
            return i
        if isinstance(value, np.ndarray) and isinstance(other, np.ndarray) and np.may_share_memory(value, other):
            return i
    return None


class Simulation:
    """Counts memory for an order of the nodes.

    Parameters
    ----------
    record : MemoryRecord
    """

    def __init__(self, record: MemoryRecord) -> None:
        self._results = record.results
        program = record.program
        needed = {*program.outputs, *(register for register, _ in program.updates)}
        owner: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._readers: dict[int, int] = {}
        self._reads: dict[int, list[int]] = {}
        self._makes: dict[int, list[int]] = {}
        self._needs: dict[int, set[int]] = {}
        producer: dict[int, int] = {}
        for i in sorted(record.results):
            x = program.instructions[i]
            self._needs[i] = {producer[r] for r in x.inputs if r in producer}
            self._makes[i] = []
            for register, result in zip(x.outputs, record.results[i], strict=True):
                producer[register] = i
                source = None if result.source is None else x.inputs[result.source]
                # A view keeps the memory alive that it lies in.
                block = owner[register] = register if source is None else owner.get(source, source)
                if source is None:
                    self._bytes[block] = result.nbytes
                    self._makes[i].append(block)
                    self._readers.setdefault(block, 0)
                if register in needed and block in self._readers:
                    self._readers[block] += 1
            self._reads[i] = [owner[r] for r in x.inputs if owner.get(r) in self._readers]
            for block in self._reads[i]:
                self._readers[block] += 1

    def peak(self, order: Sequence[int]) -> int:
        """Return the most bytes that are in use at once."""
        left, used, most = dict(self._readers), 0, 0
        for i in order:
            used += sum(self._bytes[block] for block in self._makes[i])
            most = max(most, used)
            used -= self._freed(i, left)
        return most

    def _freed(self, i: int, left: dict[int, int]) -> int:
        """Take the reads of a node from `left`, and return the bytes of the dying values."""
        freed = 0
        for block in self._reads[i]:
            left[block] -= 1
            if left[block] == 0:
                freed += self._bytes[block]
        return freed + sum(self._bytes[block] for block in self._makes[i] if left[block] == 0)

    def least_peak(self) -> int:
        """Return the smallest peak among the orders looked into: depth first, cheap steps first, without detours."""
        best = self.peak(sorted(self._results))
        stack: list[tuple[frozenset[int], dict[int, int], int, int]] = [(frozenset(), dict(self._readers), 0, 0)]
        seen: dict[frozenset[int], int] = {}
        n_nodes = len(self._needs)
        for _ in range(2 * n_nodes + MOST_WORK // (n_nodes**2 + 1)):
            if not stack:
                break
            done, left, used, most = stack.pop()
            if most >= best or seen.get(done, best) <= most:
                continue
            seen[done] = most
            if len(done) == len(self._results):
                best = most
                continue
            steps = []
            for i in self._needs:
                if i not in done and self._needs[i] <= done:
                    after = dict(left)
                    high = used + sum(self._bytes[block] for block in self._makes[i])
                    steps.append((max(most, high), high - self._freed(i, after), i, after))
            steps.sort(key=lambda step: (-step[0], -step[1], -step[2]))
            stack += [(done | {i}, after, now, high) for high, now, i, after in steps]
        return best


# ---- The part of a profile that is about memory


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
