"""Finding the rules that want to see a node, by its op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano_graph import Apply, Op

from ._node_rewriter import NodeRewriter, check_tracks


class _Found:
    """The rules that track an op, and those of them that look as far as a distance."""

    __slots__ = ("_near", "every", "reach")

    def __init__(self, every: tuple[NodeRewriter, ...]) -> None:
        self.every = every
        self.reach = max((rewriter.reach for rewriter in every), default=0)
        self._near: dict[int, tuple[NodeRewriter, ...]] = {}

    def within(self, distance: int) -> tuple[NodeRewriter, ...]:
        """Return the rules whose `reach` is not below `distance`, in order."""
        found = self._near.get(distance)
        if found is None:
            found = self._near[distance] = tuple(r for r in self.every if r.reach >= distance)
        return found


class RewriterIndex:
    """Rules by the ops and op classes that they track.

    The rules for an op are found once for each op class (once for each op where a rule tracks an instance of that
    class) and kept, so that a look-up is one or two dictionary accesses however many rules there are.

    Parameters
    ----------
    rewriters : iterable of NodeRewriter
        In order of priority; :meth:`for_op` keeps this order.
    """

    def __init__(self, rewriters: Iterable[NodeRewriter]) -> None:
        self.rewriters = tuple(rewriters)
        self._everywhere: list[int] = []
        self._by_class: dict[type[Op], list[int]] = {}
        self._by_instance: dict[Op, list[int]] = {}
        self._classes_of_instances: set[type[Op]] = set()
        self._found_for_class: dict[type[Op], _Found] = {}
        self._found_for_op: dict[Op, _Found] = {}
        self._found_by_identity: dict[int, tuple[Op, _Found]] = {}
        for number, rewriter in enumerate(self.rewriters):
            self._enter(number, check_tracks(rewriter.tracks(), rewriter.name))

    def _enter(self, number: int, tracks: Sequence[Op | type[Op]] | None) -> None:
        if tracks is None:
            self._everywhere.append(number)
            return
        for tracked in tracks:
            if isinstance(tracked, type):
                self._by_class.setdefault(tracked, []).append(number)
            else:
                self._by_instance.setdefault(tracked, []).append(number)
                self._classes_of_instances.add(type(tracked))

    def any_for(self, nodes: Iterable[Apply]) -> bool:
        """Tell whether a rule wants to see one of some nodes."""
        # This loop is run over whole graphs, whose nodes share most of their ops.
        asked = set[int]()
        for node in nodes:
            op = node.op
            if id(op) not in asked:
                if self.for_op(op):
                    return True
                asked.add(id(op))
        return False

    def for_op(self, op: Op, distance: int = 0) -> tuple[NodeRewriter, ...]:
        """Return the rules that track `op`, its class or a base of its class, and those that track everything.

        Parameters
        ----------
        op : Op
        distance : int
            Only rules whose `reach` is not below it.
        """
        op_class = type(op)
        if op_class in self._classes_of_instances:
            # The same op is asked about again and again, and its hash is worked out in Python.
            known = self._found_by_identity.get(id(op))
            found = self._find_for_op(op) if known is None else known[1]
        else:
            found = self._found_for_class.get(op_class) or self._find_for_class(op_class)
        if distance <= 0:
            return found.every
        return found.within(distance) if distance <= found.reach else ()

    def _find_for_class(self, op_class: type[Op]) -> _Found:
        found = self._found_for_class[op_class] = self._collect(op_class, ())
        return found

    def _find_for_op(self, op: Op) -> _Found:
        # Bounded, because ops with many different parameters would otherwise stay alive here for ever.
        if len(self._found_by_identity) > 4096:
            self._found_by_identity.clear()
            self._found_for_op.clear()
        found = self._found_for_op.get(op)
        if found is None:
            found = self._found_for_op[op] = self._collect(type(op), self._by_instance.get(op, ()))
        self._found_by_identity[id(op)] = (op, found)
        return found

    def _collect(self, op_class: type[Op], own: Iterable[int]) -> _Found:
        numbers = {*self._everywhere, *own}
        for base in op_class.__mro__:
            numbers.update(self._by_class.get(base, ()))
        return _Found(tuple(self.rewriters[number] for number in sorted(numbers)))
