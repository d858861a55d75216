"""`make_thunk`: the default, what ops define themselves, and how it is called."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from theano_graph import Apply, Op, call_make_thunk, config, generic, has_own_thunk, set_thunk_hook
from theano_graph._expression._op import _thunk_hook


class Double(Op):
    """Doubles anything."""

    __props__ = ()
    itypes = otypes = (generic,)

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = 2 * inputs[0]


class WithImpl(Double):
    """Wants to be told of the implementation."""

    def make_thunk(  # type: ignore[override]
        self, node: Apply, storage_map: Any, _: Any, _2: Any, impl: str | None
    ) -> Callable[[], Any]:
        def thunk() -> None:
            storage_map[node.outputs[0]][0] = [storage_map[node.inputs[0]][0], impl]

        return thunk


class WithoutImpl(Double):
    """Does not know of implementations; runs what the default gives."""

    def make_thunk(  # type: ignore[override]
        self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any
    ) -> Callable[[], Any]:
        inner = super().make_thunk(node, storage_map, compute_map, no_recycling)

        def thunk() -> None:
            inner()
            storage_map[node.outputs[0]][0] += 1

        return thunk


def run(op: Op, value: Any, impl: str | None = None) -> Any:
    """Run the thunk of an op on a value."""
    node = op.make_node(generic("x"))
    storage = {node.inputs[0]: [value], node.outputs[0]: [None]}
    computed: dict[Any, list[Any]] = {node.inputs[0]: [True], node.outputs[0]: [False]}
    call_make_thunk(node, storage, computed, impl)()
    return storage[node.outputs[0]][0]


class TestThunks(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(set_thunk_hook, _thunk_hook.function)
        set_thunk_hook(None)

    def test_default(self) -> None:
        self.assertEqual(run(Double(), 21), 42)
        node = Double().make_node(generic("x"))
        storage: dict[Any, list[Any]] = {node.inputs[0]: [1], node.outputs[0]: [None]}
        computed: dict[Any, list[Any]] = {v: [False] for v in storage}
        thunk = node.op.make_thunk(node, storage, computed, [])
        for k in (1, 5):
            storage[node.inputs[0]][0] = k
            thunk()
            self.assertEqual((storage[node.outputs[0]][0], computed[node.outputs[0]][0]), (2 * k, True))

    def test_forms(self) -> None:
        self.assertEqual(run(WithImpl(), 1, "py"), [1, "py"])
        self.assertEqual(run(WithImpl(), 1), [1, None])
        self.assertEqual(run(WithoutImpl(), 4, "py"), 9)

    def test_who_has_one(self) -> None:
        self.assertFalse(has_own_thunk(Double()))
        self.assertTrue(has_own_thunk(WithImpl()))

        class Marked(WithoutImpl):
            def make_thunk(self, *args: Any) -> Any:
                return super().make_thunk(*args)

            make_thunk.is_default = True  # type: ignore[attr-defined]

        self.assertFalse(has_own_thunk(Marked()))

    def test_another_layer_makes_them(self) -> None:
        seen: list[Any] = []

        def maker(node: Apply, storage_map: Any, compute_map: Any, impl: str | None) -> Callable[[], Any]:
            def thunk() -> None:
                seen.append(impl)
                storage_map[node.outputs[0]][0] = 7

            return thunk

        set_thunk_hook(maker)
        self.assertEqual(run(Double(), 1, "c"), 7)
        self.assertEqual(run(WithoutImpl(), 1), 8)
        self.assertEqual(seen, ["c", None])

    def test_test_values(self) -> None:
        x = generic("x")
        x.tag.test_value = 3
        with config.change_flags(compute_test_value="raise"):
            self.assertEqual(WithImpl()(x).tag.test_value, [3, None])
            self.assertEqual(WithoutImpl()(x).tag.test_value, 7)
