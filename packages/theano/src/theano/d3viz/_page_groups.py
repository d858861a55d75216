"""Groups of shapes for pages of large graphs: by the lines that made them, and by repetition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from theano_graph import Apply, Diagram, DiagramShape, UserFrame, Variable

from .formatting import INPUT_KINDS

#: Graphs with more shapes than this are shown in groups.
MOST_SHAPES = 60
_LEAST_GROUP = 3
_MOST_ANCHORS = 8
#: Share of the nodes of a group that have to be in equal parts for it to be shown as a repetition.
_REPEATED_SHARE = 0.6


@dataclass
class ShapeGroup:
    """Shapes that are shown as one until they are opened.

    Attributes
    ----------
    key : str
    parent : str or None
        Key of the group around it.
    frame : UserFrame or None
        The line that made its nodes.
    title : str
        Its label, where it is not the text of `frame`.
    part : int
        Position among the groups of the same line, from 1: a line whose nodes cannot be computed in one go, such as
        one and its gradient, has several.
    times : int
        Number of equal parts that it consists of.
    shapes : list of DiagramShape
        All that it holds, in the groups inside too.
    """

    key: str
    parent: str | None
    frame: UserFrame | None = None
    title: str = ""
    part: int = 1
    times: int = 1
    shapes: list[DiagramShape] = field(default_factory=list)


#: Shapes, the level of their paths that tells them apart next, and the key of the group around them.
_Work = tuple[list[int], int, str | None]


class Grouping:
    """Groups of a diagram, made by :meth:`build`.

    No two groups beside each other depend on each other in both directions: groups are numbered along the paths of
    the graph, and a line gets a second group where a path leaves its first one and comes back.

    Attributes
    ----------
    groups : list of ShapeGroup
        Outer ones before inner ones.
    parents : dict
        Key of a shape -> key of the innermost group around it.
    """

    def __init__(self, drawn: Diagram) -> None:
        self.groups: list[ShapeGroup] = []
        self.parents: dict[str, str] = {}
        self._shapes = drawn.shapes
        self._by_key: dict[str, ShapeGroup] = {}
        position = {shape.key: i for i, shape in enumerate(drawn.shapes)}
        self._sources: list[list[int]] = [[] for _ in drawn.shapes]
        self._targets: list[list[int]] = [[] for _ in drawn.shapes]
        for edge in drawn.edges:
            if not edge.dashed:
                self._sources[position[edge.target]].append(position[edge.source])
                self._targets[position[edge.source]].append(position[edge.target])
        self._paths = [self._path_of(i) for i in range(len(drawn.shapes))]

    def build(self) -> None:
        """Find the groups."""
        computed = [i for i, shape in enumerate(self._shapes) if not self._is_end(i, shape)]
        waiting: list[_Work] = [(computed, self._common_length(), None)]
        while waiting:
            waiting += self._split(*waiting.pop())
        for i, shape in enumerate(self._shapes):
            if self._is_end(i, shape):
                self._place(i, shape)
        self._collect_ends()
        for shape in self._shapes:
            for group in self._around(self.parents.get(shape.key)):
                group.shapes.append(shape)

    def _is_end(self, i: int, shape: DiagramShape) -> bool:
        """Say whether a shape belongs to its neighbours: an input, a constant, a result that goes nowhere."""
        return shape.kind in INPUT_KINDS or (shape.kind != "apply" and not self._targets[i])

    def _path_of(self, i: int) -> tuple[UserFrame, ...]:
        """Return the lines that led to a shape, outermost first."""
        thing = self._shapes[i].thing
        node = thing if isinstance(thing, Apply) else thing.owner
        # An output in the middle of the graph stands on its own.
        if node is None or node.origin is None or self._shapes[i].kind == "output":
            return ()
        return tuple(reversed(node.origin.frames))

    def _common_length(self) -> int:
        """Return with how many lines all paths begin alike."""
        levels = list(zip(*(path for path in self._paths if path), strict=False))
        return next((i for i, level in enumerate(levels) if len(set(level)) > 1), max(len(levels) - 1, 0))

    def _split(self, members: list[int], level: int, parent: str | None) -> list[_Work]:
        """Group shapes by the lines of one level; return the parts to split further."""
        buckets = self._buckets(members, level)
        if len(buckets) == 1:
            if any(len(self._paths[i]) > level + 1 for i in members):
                return [(members, level + 1, parent)]
            exhausted = len(self._paths[members[0]]) <= level
            if parent is not None and not exhausted and self._by_key[parent].times == 1:
                return self._repetitions(members, level, self._by_key[parent])
        parts: Counter[UserFrame] = Counter()
        further: list[_Work] = []
        for (frame, _), bucket in buckets.items():
            if not isinstance(frame, UserFrame) or len(bucket) < _LEAST_GROUP:
                for i in bucket:
                    self._put(i, parent)
                continue
            parts[frame] += 1
            group = self._add(parent, frame=frame, part=parts[frame])
            further += self._repetitions(bucket, level, group)
        return further

    def _buckets(self, members: list[int], level: int) -> dict[tuple[object, int], list[int]]:
        """Return shapes by line and by how often paths to them have changed the line."""
        keys: dict[int, object] = {}
        ranks: dict[int, int] = {}
        buckets: dict[tuple[object, int], list[int]] = defaultdict(list)
        for i in members:
            path = self._paths[i]
            keys[i] = path[level] if len(path) > level else i
            ranks[i] = max((ranks[s] + (keys[s] != keys[i]) for s in self._sources[i] if s in ranks), default=0)
            buckets[keys[i], ranks[i]].append(i)
        return buckets

    def _repetitions(self, members: list[int], level: int, group: ShapeGroup) -> list[_Work]:
        """Return the contents of a group: its first part and a group of the others where parts are equal."""
        segments = self._segments(members)
        if segments is None:
            return [(members, level + 1, group.key)]
        signatures = [self._signature(segment) for segment in segments]
        usual = Counter(signatures).most_common(1)[0][0]
        group.times = signatures.count(usual)
        first = signatures.index(usual)
        further: list[_Work] = [(segments[first], level + 1, group.key)]
        for others, word in ((segments[:first], "before"), (segments[first + 1 :], "more")):
            if others:
                outer = self._add(group.key, title="others" if len(others) == 1 else f"{len(others)} {word}")
                for segment in others:
                    alone = len(others) == 1 or len(segment) < _LEAST_GROUP
                    inner = outer if alone else self._add(outer.key, frame=group.frame)
                    further.append((segment, level + 1, inner.key))
        return further

    def _signature(self, segment: list[int]) -> frozenset[tuple[str, int]]:
        return frozenset(Counter(self._shapes[i].label for i in segment).items())

    def _segments(self, members: list[int]) -> list[list[int]] | None:
        """Cut shapes into parts most of which are equal, along the graph; None where there are no such parts."""
        counts = Counter(self._shapes[i].label for i in members if self._shapes[i].kind == "apply")
        anchors = [label for label, count in counts.items() if count >= _LEAST_GROUP][:_MOST_ANCHORS]
        best, most = None, _REPEATED_SHARE
        for numbers in (self._components(members), *(self._iterations(members, label) for label in anchors)):
            parts: dict[int, list[int]] = defaultdict(list)
            for i in members:
                parts[numbers[i]].append(i)
            segments = [parts[number] for number in sorted(parts)]
            sizes: Counter[frozenset[tuple[str, int]]] = Counter()
            signatures = [self._signature(segment) for segment in segments]
            for signature, segment in zip(signatures, segments, strict=True):
                sizes[signature] += len(segment)
            usual, size = sizes.most_common(1)[0]
            if size / len(members) > most and signatures.count(usual) >= _LEAST_GROUP:
                best, most = segments, size / len(members)
        return best

    def _iterations(self, members: list[int], anchor: str) -> dict[int, int]:
        """Number shapes by how many nodes with the label `anchor` lie on a path to them.

        A shape that no such node leads to belongs to the first one that it leads to.
        """
        numbers: dict[int, int] = {}
        for i in members:
            before = max((numbers.get(s, 0) for s in self._sources[i]), default=0)
            numbers[i] = before + (self._shapes[i].label == anchor)
        for i in reversed(members):
            if numbers[i] == 0:
                numbers[i] = min((numbers[t] for t in self._targets[i] if t in numbers), default=0)
        return numbers

    def _components(self, members: list[int]) -> dict[int, int]:
        """Number shapes by the connected part that they are in."""
        inside = set(members)
        numbers: dict[int, int] = {}
        for start in members:
            waiting = [start] if start not in numbers else []
            while waiting:
                i = waiting.pop()
                if i not in numbers:
                    numbers[i] = start
                    waiting += [j for j in (*self._sources[i], *self._targets[i]) if j in inside]
        return numbers

    def _add(self, parent: str | None, frame: UserFrame | None = None, title: str = "", part: int = 1) -> ShapeGroup:
        group = ShapeGroup(f"g{len(self.groups)}", parent, frame, title, part)
        self.groups.append(group)
        self._by_key[group.key] = group
        return group

    def _put(self, i: int, parent: str | None) -> None:
        if parent is not None:
            self.parents[self._shapes[i].key] = parent

    def _around(self, key: str | None) -> list[ShapeGroup]:
        """Return the groups from one outwards."""
        groups = []
        while key is not None:
            groups.append(self._by_key[key])
            key = groups[-1].parent
        return groups

    def _place(self, i: int, shape: DiagramShape) -> None:
        """Put an end into the innermost group that holds all its neighbours; inputs and outputs stay outside."""
        if shape.kind in ("input", "output"):
            return
        chains = [self._chain(j) for j in (*self._sources[i], *self._targets[i])]
        parent = None
        for level in zip(*chains, strict=False):
            if len(set(level)) > 1:
                break
            parent = level[0]
        self._put(i, parent)

    def _chain(self, i: int) -> list[str]:
        """Return the keys of the groups around a shape, outermost first."""
        return [group.key for group in reversed(self._around(self.parents.get(self._shapes[i].key)))]

    def _collect_ends(self) -> None:
        """Group ends of a kind that the same groups read or compute."""
        ends: dict[tuple[str | None, str, frozenset[str]], list[int]] = defaultdict(list)
        for i, shape in enumerate(self._shapes):
            if self._is_end(i, shape):
                parent = self.parents.get(shape.key)
                depth = len(self._around(parent))
                chains = [self._chain(j) for j in (*self._sources[i], *self._targets[i])]
                beside = frozenset(chain[depth] for chain in chains if len(chain) > depth)
                if beside and all(len(chain) > depth for chain in chains):
                    ends[parent, shape.kind, beside].append(i)
        for (parent, kind, _), members in ends.items():
            if len(members) >= _LEAST_GROUP:
                group = self._add(parent, title=self._listed(kind, members))
                for i in members:
                    self._put(i, group.key)

    def _listed(self, kind: str, members: Sequence[int]) -> str:
        """Return a label for ends: their names as far as they have any."""
        things = [self._shapes[i].thing for i in members]
        names = [thing.name for thing in things if isinstance(thing, Variable) and thing.name]
        words = {"shared": "shared variables", "constant": "constants", "unused": "unused results"}
        count = f"{len(members)} {words.get(kind, kind + 's')}"
        if len(names) < len(members):
            return count
        return f"{count}: {names[0]}, {names[1]}, \N{HORIZONTAL ELLIPSIS} {names[-1]}"
