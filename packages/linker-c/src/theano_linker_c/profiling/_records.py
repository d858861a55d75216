"""Figures of nodes, ops and classes of ops after profiled calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from theano_graph import Apply, record

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
