"""The order list against a plain list, and the stress that makes labels run out."""

from __future__ import annotations

import unittest

from hypothesis import given, settings, strategies as st

from theano_graph import Apply
from theano_optimize._destroy._acyclic import NodeOrder
from theano_testing.tiers import examples

from .memory_language import pure, variables


def nodes(count: int) -> list[Apply]:
    (x,) = variables(1)
    return [pure.make_node(x) for _ in range(count)]


class TestNodeOrder(unittest.TestCase):
    def check(self, order: NodeOrder, expected: list[Apply]) -> None:
        self.assertEqual(order.nodes(), expected)
        labels = [order.label(node) for node in expected]
        self.assertEqual(labels, sorted(set(labels)))
        self.assertEqual(len(order), len(expected))

    @settings(deadline=None, max_examples=examples(200))
    @given(
        st.integers(0, 8), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)), max_size=40)
    )
    def test_against_a_list(self, count: int, steps: list[tuple[int, int, int]]) -> None:
        expected = nodes(count)
        order = NodeOrder(expected)
        for kind, first, second in steps:
            if kind == 0 or len(expected) < 3:
                (new,) = nodes(1)
                position = first % (len(expected) + 1)
                order.insert_after(new, expected[position - 1] if position else None)
                expected.insert(position, new)
            elif kind == 1:
                order.remove(expected.pop(first % len(expected)))
            else:
                target = expected[first % len(expected)]
                moved = [n for n in expected[second % len(expected) :][:3] if n is not target]
                expected = [n for n in expected if n not in moved]
                position = expected.index(target)
                if kind == 2:
                    order.move_after(moved, target)
                    expected[position + 1 : position + 1] = moved
                else:
                    order.move_before(moved, target)
                    expected[position:position] = moved
            self.check(order, expected)

    def test_always_at_the_same_place(self) -> None:
        for where in ("first", "after one", "before one", "last"):
            with self.subTest(where=where):
                expected = nodes(3)
                order = NodeOrder(expected)
                middle = expected[1]
                for new in nodes(2000):
                    position = {"first": 0, "last": len(expected)}.get(
                        where, expected.index(middle) + (where[0] == "a")
                    )
                    order.insert_after(new, expected[position - 1] if position else None)
                    expected.insert(position, new)
                self.check(order, expected)
                self.assertTrue(middle in order and nodes(1)[0] not in order)


if __name__ == "__main__":
    unittest.main()
