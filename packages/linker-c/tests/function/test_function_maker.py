"""Makers of functions: their attributes, functions made again, graphs saved before and after rewriting."""

from __future__ import annotations

import copy
import pickle
import unittest
from typing import Any

import numpy as np

from theano_graph import Op, config
from theano_linker_c import Container, Function, Mode, function, orig_function

from .function_support import POINTWISE, add, mul, scalar, shared, vector


def ops_of(fn: Function) -> list[Op]:
    return [node.op for node in fn.maker.fgraph.toposort()]


class TestMaker(unittest.TestCase):
    def setUp(self) -> None:
        self.x = scalar("x")
        self.state = shared(10.0, name="state")
        self.f = function(
            [self.x], add(self.x, self.state), updates={self.state: add(self.state, self.x)}, name="adder"
        )

    def test_attributes(self) -> None:
        maker = self.f.maker
        self.assertEqual((maker.name, maker.unpack_single, maker.output_keys), ("adder", True, None))
        self.assertEqual([str(i.variable) for i in maker.inputs], ["x", "state"])
        self.assertEqual(len(maker.outputs), 1)
        self.assertEqual(maker.linker, maker.mode.linker)
        self.assertEqual(len(maker.fgraph.outputs), 2)
        self.assertEqual((self.f.unpack_single, self.f.output_keys), (True, None))

    def test_the_linker_has_accepted_the_graph_of_the_function(self) -> None:
        maker = self.f.maker
        self.assertIs(maker.linker, maker.linker)
        self.assertEqual(maker.linker.make_all()[-1], maker.fgraph.toposort())
        self.assertIsNone(getattr(maker.mode.linker, "accepted", None))
        again = pickle.loads(pickle.dumps(self.f)).maker
        self.assertEqual(again.linker.make_all()[-1], again.fgraph.toposort())

    def test_inputs_of_containers(self) -> None:
        boxes = self.f.inv_finder
        self.assertEqual([boxes[box] for box in self.f.input_storage], self.f.maker.inputs)
        self.assertIs(self.f.finder.find("state"), self.state.container)
        self.assertEqual(self.f.get_shared(), [self.f.maker.inputs[1].variable])

    def test_create_makes_another_function_on_the_same_shared_variables(self) -> None:
        twin = self.f.maker.create()
        self.assertEqual([self.f(1.0), twin(1.0), self.f(1.0)], [11.0, 12.0, 13.0])
        self.assertIs(twin.maker, self.f.maker)

    def test_create_with_storage(self) -> None:
        apart = self.f.maker.create([None, 100.0])
        self.assertEqual([apart(1.0), apart(1.0)], [101.0, 102.0])
        self.assertEqual(self.state.get_value(), 10.0)
        box = Container(self.state.type)
        box.value = 5.0
        self.f.maker.create([None, box])(1.0)
        self.assertEqual(box.value, 6.0)

    def test_create_filters_values(self) -> None:
        with self.assertRaises(TypeError):
            self.f.maker.create([None, "text"])

    def test_orig_function(self) -> None:
        self.assertEqual(orig_function([self.x], [add(self.x, 1.0)])(1.0), [2.0])
        named = orig_function([self.x], [self.x, add(self.x, 1.0)], output_keys=["b", "a"], name="n")
        self.assertEqual((named(1.0), named.name), ({"a": 2.0, "b": 1.0}, "n"))

    def test_sync_shared(self) -> None:
        class Device:
            synced = 0

            def sync(self) -> None:
                self.synced += 1

        value = Device()
        remote = shared(0)
        remote.container.storage[0] = value
        f = function([], remote)
        f.sync_shared()
        self.assertEqual(value.synced, 1)
        self.f.sync_shared()


class TestPickledGraphs(unittest.TestCase):
    def setUp(self) -> None:
        x, y = scalar("x"), scalar("y")
        # Both sums are one after rewriting.
        self.f = function([x, y], mul(add(x, y), add(x, y)), mode=Mode("py", "merge"))

    def load(self, fn: Function, reoptimize: bool) -> Any:
        data = pickle.dumps(fn)
        with config.change_flags(reoptimize_unpickled_function=reoptimize):
            return pickle.loads(data)

    def test_both_graphs_are_saved(self) -> None:
        self.assertEqual(len(ops_of(self.f)), 2)
        for twin in (self.f, self.load(self.f, False), copy.deepcopy(self.f)):
            self.assertEqual(len(twin.maker.source.build().apply_nodes), 3)
            self.assertEqual(len(ops_of(twin)), 2)

    def test_rewritten_again_when_unpickled(self) -> None:
        data = pickle.dumps(self.f)
        for reoptimize, expected in ((False, 2), (True, 3)):
            with config.change_flags(reoptimize_unpickled_function=reoptimize):
                # A mode without rewrites shows which graph was taken.
                twin = pickle.loads(data)
                twin.maker.mode = Mode("py", None)
                again = pickle.loads(pickle.dumps(twin))
            with self.subTest(reoptimize=reoptimize):
                self.assertEqual(len(ops_of(again)), expected)
                self.assertEqual(again(1.0, 2.0), 9.0)

    def test_state_survives(self) -> None:
        s = shared(np.zeros(2), name="s")
        v = vector("v")
        f = function([v], [s], updates={s: add(s, v)}, mode=Mode("py", "merge"))
        f(np.ones(2))
        for reoptimize in (False, True):
            twin = self.load(f, reoptimize)
            twin(np.ones(2))
            np.testing.assert_array_equal(twin[s.name], [2, 2])
        np.testing.assert_array_equal(s.get_value(), [1, 1])

    def test_copies_remember_what_they_come_from(self) -> None:
        s = shared(1.0, name="s")
        x = scalar("x")
        f = function([x], [mul(add(x, s), add(x, s))], updates={s: add(s, x)}, mode=Mode("py", "merge"))
        plain = f.copy(delete_updates=True)
        self.assertEqual(len(plain.maker.source.build().outputs), 1)
        self.assertEqual(self.load(plain, True)(1.0), [4.0])
        other = shared(4.0, name="other")
        swapped = f.copy(swap={s: other})
        self.assertEqual(self.load(swapped, True)(1.0), [25.0])

    def test_the_source_is_not_changed_by_rewriting(self) -> None:
        source = self.f.maker.source
        first, second = source.build(), source.build()
        self.assertEqual([n.op for n in first.toposort()], [POINTWISE["add"], POINTWISE["add"], POINTWISE["mul"]])
        self.assertFalse(set(first.apply_nodes) & set(second.apply_nodes))
