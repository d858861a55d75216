"""Calls: inputs, cells, updates, failures, nested and concurrent calls, references."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import unittest
import weakref
from typing import Any

import numpy as np
from support import ArrayType, Elementwise, Python, array, hooks_of, machines, program_of

from theano_linker_c.program import Hooks, PythonMachine, native_machine
from theano_linker_c.scalar import add, mul


def _fail(*values: Any) -> Any:
    raise RuntimeError("no luck")


class TestInputs(unittest.TestCase):
    def test_conversions_go_through_the_type(self) -> None:
        x = array("float64", None)
        for machine in machines([x], [Elementwise(add)(x, x)]):
            np.testing.assert_array_equal(machine([1, 2]), [2.0, 4.0])
            np.testing.assert_array_equal(machine(np.array([1, 2], ">f8")), [2.0, 4.0])
            np.testing.assert_array_equal(machine(np.array([1, 2], "int8")), [2.0, 4.0])
            with self.assertRaisesRegex(TypeError, "1 dimensions are wanted, got 0"):
                machine(3.0)

    def test_irregular_calls(self) -> None:
        x, y = array("float64"), array("float64")
        for machine in machines([x, y], [Elementwise(add)(x, y)]):
            self.assertEqual(machine(1.0, y=2.0), 3.0)
            with self.assertRaisesRegex(TypeError, "2 arguments are wanted, got 1"):
                machine(1.0)
            self.assertEqual(machine.run((1.0, 2.0)), [3.0])
            with self.assertRaisesRegex(TypeError, "needs 2 values"):
                machine.run([1.0])

    def test_the_hook_may_give_the_result_itself(self) -> None:
        x = array("float64")
        program = program_of([x], [Elementwise(add)(x, x)])
        hooks = Hooks(lambda args, kwargs: [len(args)], hooks_of(program).on_input)
        for machine in (native_machine(program, hooks), PythonMachine(program, hooks)):
            self.assertEqual(machine(), [0])

    def test_forms_of_results(self) -> None:
        x = array("float64")
        double = Elementwise(add)(x, x)
        program = program_of([x], [double])
        hooks = hooks_of(program)
        named = Hooks(hooks.on_irregular, hooks.on_input, lambda outputs: {"y": outputs[0]})
        for machine in (native_machine(program, named), PythonMachine(program, named)):
            self.assertEqual(machine(2.0), {"y": 4.0})
        for machine in machines([x], []):
            self.assertEqual(machine(2.0), [])


class TestUpdates(unittest.TestCase):
    def test_stored_after_success_only(self) -> None:
        state, x = array("float64", None), array("float64", None)
        bad = Python(lambda v: _fail() if v[0] < 0 else v, state.type)(x)
        for native in (True, False):
            cell = [np.zeros(2)]
            before = cell[0]
            program = program_of(
                [x, state],
                [bad, Elementwise(add)(state, x)],
                arguments=[0],
                cells={1: cell},
                updates=[(1, cell)],
                n_outputs=1,
            )
            hooks = hooks_of(program)
            machine = native_machine(program, hooks) if native else PythonMachine(program, hooks)
            with self.assertRaisesRegex(RuntimeError, "no luck\n  in "):
                machine(np.array([-1.0, 0.0]))
            self.assertIs(cell[0], before)
            for _ in range(4):
                machine(np.ones(2))
            np.testing.assert_array_equal(cell[0], [4.0, 4.0])
            np.testing.assert_array_equal(before, [0.0, 0.0])

    def test_swap(self) -> None:
        a, b = array("float64"), array("float64")
        cells = {0: [np.array(1.0)], 1: [np.array(2.0)]}
        program = program_of(
            [a, b], [b, a], arguments=[], cells=cells, updates=[(0, cells[0]), (1, cells[1])], n_outputs=0
        )
        for machine in (native_machine(program, hooks_of(program)), PythonMachine(program, hooks_of(program))):
            first = cells[0][0]
            self.assertEqual(machine(), [])
            self.assertIs(cells[1][0], first)


class TestFailures(unittest.TestCase):
    def test_exceptions_keep_their_identity(self) -> None:
        original = KeyError("missing")

        def raise_it(value: Any) -> Any:
            raise original

        x = array("float64")
        for machine in machines([x], [Python(raise_it, x.type)(x)]):
            with self.assertRaises(KeyError) as caught:
                machine(1.0)
            self.assertIs(caught.exception, original)
            self.assertIn("called at", original.__notes__[-1])

    def test_interrupts_pass_through(self) -> None:
        x = array("float64")

        def interrupt(value: Any) -> Any:
            signal.raise_signal(signal.SIGINT)
            return value

        # Jobs in the background of a shell start with this signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for machine in machines([x], [Elementwise(add)(Python(interrupt, x.type)(x), x)]):
            with self.assertRaises(KeyboardInterrupt):
                machine(1.0)

    def test_a_machine_works_after_a_failure(self) -> None:
        x, y = array("float64", None), array("float64", None)
        native, _ = machines([x, y], [Elementwise(add)(x, y)])
        with self.assertRaises(ValueError):
            native(np.ones(2), np.ones(3))
        np.testing.assert_array_equal(native(np.ones(2), np.ones(2)), [2.0, 2.0])


class TestThunks(unittest.TestCase):
    def test_make_thunk_is_honoured(self) -> None:
        class Own(Python):
            def make_thunk(  # type: ignore[override]  # the older form, without impl
                self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any
            ) -> Any:
                def thunk() -> None:
                    storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] * 10
                    compute_map[node.outputs[0]][0] = True

                return thunk

        x = array("float64", None)
        for machine in machines([x], [Own(_fail, x.type)(x)]):
            np.testing.assert_array_equal(machine(np.ones(2)), [10.0, 10.0])


class TestNesting(unittest.TestCase):
    def test_a_machine_may_call_itself(self) -> None:
        x = array("float64")
        native: Any = None

        def again(value: Any) -> Any:
            return native(float(value) - 1) if value > 0 else np.array(0.0)

        native, _ = machines([x], [Elementwise(add)(Python(again, ArrayType("float64", ()))(x), x)])
        self.assertEqual(native(5.0), 15.0)

    def test_threads_share_a_machine(self) -> None:
        x = array("float64", None)
        native, _ = machines([x], [Elementwise(mul)(Elementwise(add)(x, x), x)])
        wrong: list[int] = []

        def work(k: int) -> None:
            value = np.full(300_000, float(k))
            wrong.extend(k for _ in range(10) if not (native(value) == 2.0 * k * k).all())

        threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class TestReferences(unittest.TestCase):
    def test_calls_leave_no_reference(self) -> None:
        x, y = array("float64", None), array("float64", None)
        native, _ = machines([x, y], [Elementwise(add)(x, y)])
        value = np.ones(3)
        before = sys.getrefcount(value)
        for _ in range(1000):
            native(value, value)
        with self.assertRaises(ValueError):
            native(value, np.ones(4))
        native.clear()  # a failure keeps its operands to be looked at
        self.assertEqual(sys.getrefcount(value), before)

    def test_memory_stays_level(self) -> None:
        x = array("float64", None)
        native, _ = machines([x], [Python(lambda v: v.sum(), ArrayType("float64", ()))(Elementwise(add)(x, x))])
        value = np.ones(100)
        for _ in range(100):
            native(value)
        gc.collect()
        blocks = sys.getallocatedblocks()
        for _ in range(100_000):
            native(value)
        gc.collect()
        # A block that one call keeps would be 100,000; other parts of the process may take some.
        self.assertLess(sys.getallocatedblocks() - blocks, 10_000)

    def test_machines_in_cycles_are_collected(self) -> None:
        class Owner:
            machine: Any = None

            def filter(self, index: int, value: Any) -> Any:
                return value

        owner = Owner()
        x = array("float64")
        program = program_of([x], [Elementwise(add)(x, x)])
        owner.machine = native_machine(program, Hooks(lambda args, kwargs: args, owner.filter))
        seen = weakref.ref(owner)
        del owner
        gc.collect()
        self.assertIsNone(seen())
