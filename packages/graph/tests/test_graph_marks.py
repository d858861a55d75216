"""Walks that write on nodes what they know of them: side by side, one inside another, one after another."""

from __future__ import annotations

import io
import pickle
import threading
import unittest
from collections.abc import Iterator, Set as AbstractSet
from typing import Any

from support import chain, halves, join, names, other

from theano_graph import (
    CycleError,
    FunctionGraph,
    Variable,
    clone_graph,
    equal_computations,
    is_same_graph,
    toposort,
)


class Nested(AbstractSet[Any]):
    """Stops at nothing, and walks the same graph again whenever it is asked."""

    def __init__(self, output: Variable) -> None:
        self.output = output
        self.orders: list[list[Any]] = []

    def __contains__(self, item: object) -> bool:
        if item is not self.output and len(self.orders) < 5:
            self.orders.append(toposort([], [self.output]))
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0


def braid(length: int) -> tuple[Variable, Variable]:
    x = a = b = names("x")[0]
    for _ in range(length):
        a, b = join(a, b), other(*halves(a))
    return x, join(a, b)


class TestWalksWithMarks(unittest.TestCase):
    def test_a_walk_inside_of_a_walk(self) -> None:
        x, out = braid(20)
        expected = toposort([x], [out])
        nested = Nested(out)
        self.assertEqual(toposort(nested, [out]), expected)
        self.assertEqual(nested.orders, [expected] * 5)

    def test_the_order_is_that_of_walks_without_marks(self) -> None:
        x, out = braid(50)
        clients: dict[Any, list[Any]] = {}
        self.assertEqual(toposort([x], [out]), toposort([x], [out], clients=clients))

    def test_walks_in_threads(self) -> None:
        x, out = braid(2000)
        expected = toposort([x], [out])
        results: list[bool] = []

        def walk() -> None:
            results.extend(toposort([x], [out]) == expected for _ in range(10))
            results.append(equal_computations([out], [out], [x], [x]))

        threads = [threading.Thread(target=walk) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [True] * 44)

    def test_a_cycle_leaves_nothing_behind(self) -> None:
        x, out = braid(3)
        node = toposort([x], [out])[0]
        saved = node.inputs[0]
        node.inputs[0] = out
        with self.assertRaisesRegex(CycleError, "(?s)cycle.*Hint"):
            toposort([x], [out])
        node.inputs[0] = saved
        self.assertEqual(len(toposort([x], [out])), 10)


class TestComparisons(unittest.TestCase):
    def test_graphs_that_share_different_parts(self) -> None:
        x = names("x")[0]
        shared = join(x)
        once, twice = other(shared, shared), other(join(x), join(x))
        for first, second in ((once, twice), (twice, once), (twice, other(join(x), join(x)))):
            self.assertTrue(is_same_graph(first, second, debug=True))
        self.assertFalse(equal_computations([once], [other(join(x), other(x))]))

    def test_sharing_may_differ_at_each_step(self) -> None:
        def doubled(split: bool) -> Variable:
            y: Any = x
            for step in range(60):
                y = join(other(y), other(y)) if split == bool(step % 2) else join(*[other(y)] * 2)
            assert isinstance(y, Variable)
            return y

        x = names("x")[0]
        self.assertTrue(equal_computations([doubled(True)], [doubled(False)]))

    def test_outputs_of_one_node_are_told_apart(self) -> None:
        x = names("x")[0]
        first, second = halves(x)
        again = halves(x)
        self.assertTrue(equal_computations([first, second], again))
        self.assertFalse(equal_computations([first, second], again[::-1]))
        self.assertFalse(equal_computations([join(first)], [join(second)]))

    def test_a_changed_graph_is_compared_anew(self) -> None:
        x = names("x")[0]
        out = chain(x, 30)
        (x2,), (out2,) = clone_graph([x], [out])
        self.assertTrue(equal_computations([out], [out2], [x], [x2]))
        graph = FunctionGraph([x2], [out2], clone=False)
        node = graph.toposort()[10]
        graph.replace(node.outputs[0], other(node.inputs[0]))
        self.assertFalse(equal_computations([out], graph.outputs, [x], [x2]))
        self.assertFalse(equal_computations(graph.outputs, [out], [x2], [x]))


class TestPickles(unittest.TestCase):
    def test_each_pickler_meets_the_ancestors_first(self) -> None:
        for dump in (pickle.dumps, _dump_in_python):
            for length in (999, 1000, 2500):  # picklers take a thousand things at once
                x = names("x")[0]
                out = chain(x, length)
                again = pickle.loads(dump([out, FunctionGraph([x], [out]), x]))
                self.assertEqual(len(toposort([again[2]], [again[0]])), length)
                self.assertIs(again[0].owner.outputs[0], again[0])
                again[1].check_integrity()


def _dump_in_python(obj: object) -> bytes:
    file = io.BytesIO()
    pickle._Pickler(file).dump(obj)  # the pickler that the C one replaces
    return file.getvalue()


if __name__ == "__main__":
    unittest.main()
