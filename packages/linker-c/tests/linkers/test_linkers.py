"""Linkers by name and by class, thunks, and graphs without a function around them."""

from __future__ import annotations

import copy
import gc
import pickle
import unittest
import weakref
from typing import Any

import numpy as np
from lazy.lazy_ops import Choose, Runs
from small_arrays import Arrays, Python, add, compiled, log, mul, number, vector

from theano_graph import Apply, FunctionGraph, Op, config, debugprint
from theano_linker_c import (
    Container,
    DebugMode,
    Mode,
    ModeError,
    MonitorMode,
    NanGuardMode,
    function,
    predefined_linkers,
    shared,
)
from theano_linker_c.linkers import (
    CLinker,
    DualLinker,
    Linker,
    OpWiseCLinker,
    PerformLinker,
    VM_Linker,
    WrapLinker,
    WrapLinkerMany,
)
from theano_linker_c.program import Thunk
from theano_linker_c.targets import PYTHON, C
from theano_linker_c.watch import detect_nan

V = np.array([1.0, 2.0])
#: name -> (runs native code, frees, refuses Python code, evaluates lazily); None: as the flag allow_gc says.
MEANING = {
    "cvm": (True, None, False, True),
    "cvm_nogc": (True, False, False, True),
    "vm": (False, None, False, True),
    "vm_nogc": (False, False, False, True),
    "c|py": (True, None, False, False),
    "c|py_nogc": (True, False, False, False),
    "c": (True, False, True, False),
    "py": (False, None, False, False),
}


def everywhere(*, native_only: bool = True) -> list[Any]:
    """Return all linkers, by name and as objects."""
    names = [name for name in MEANING if name != "c" or native_only]
    result = [PerformLinker(), OpWiseCLinker(), VM_Linker(), VM_Linker(use_cloop=True), DualLinker()]
    return [*names, *result, VM_Linker(callback=lambda **_: None), WrapLinker(PerformLinker(), run)]


def run(i: int, node: Apply, *thunks: Thunk) -> None:
    """Run the thunks of a node."""
    for thunk in thunks:
        thunk()


class TestNames(unittest.TestCase):
    def test_meaning(self) -> None:
        for name, meaning in MEANING.items():
            result = Mode(name).linker
            self.assertEqual((result.target == C, result.allow_gc, result.native_only, result.lazy), meaning, name)
            self.assertIs(predefined_linkers[name], result)
            self.assertEqual(str(result), name)

    def test_all_compute_the_same(self) -> None:
        x, s = vector("x"), shared(V.copy(), "s")
        for linker in everywhere():
            s.set_value(V)
            f = compiled([x], [mul(add(x, s), x), log(x)], linker, updates=[(s, add(s, x))])
            for k in (1, 2, 3):
                first, second = f(V)
                np.testing.assert_allclose(first, (V + k * V) * V)
                np.testing.assert_allclose(second, np.log(V))
            np.testing.assert_allclose(s.get_value(), 4 * V)

    def test_c_refuses_python_code(self) -> None:
        x = vector("x")
        for linker in ("c", CLinker(), OpWiseCLinker(fallback_on_perform=False)):
            with self.assertRaisesRegex(ModeError, "Python{sin}.*none"):
                compiled([x], Python(np.sin)(x), linker)

    def test_values(self) -> None:
        self.assertEqual(PerformLinker(), PerformLinker())
        self.assertNotEqual(PerformLinker(), PerformLinker(allow_gc=False))
        self.assertNotEqual(PerformLinker(), Linker("py", PYTHON, lazy=False))
        self.assertEqual(hash(VM_Linker(lazy=False)), hash(VM_Linker(lazy=False)))
        self.assertIs(PerformLinker().clone(allow_gc=False).allow_gc, False)
        self.assertIsInstance(PerformLinker().clone(), PerformLinker)
        self.assertEqual(Mode(PerformLinker(), None), Mode(PerformLinker(), None))


class TestCopies(unittest.TestCase):
    def test_own_attributes_survive(self) -> None:
        wrapped = WrapLinker([PerformLinker(), OpWiseCLinker()], run).clone(allow_gc=False)
        self.assertEqual((wrapped.wrapper, len(wrapped.linkers), wrapped.allow_gc), (run, 2, False))
        again = pickle.loads(pickle.dumps(wrapped))
        self.assertEqual((again.wrapper, again.linkers), (run, wrapped.linkers))
        self.assertIs(VM_Linker(callback=print).clone(True).callback, print)
        for linker in (Linker("mine", lazy=False), PerformLinker(), VM_Linker(), CLinker()):
            self.assertEqual(pickle.loads(pickle.dumps(linker)), linker)
            self.assertEqual(copy.deepcopy(linker), linker)

    def test_functions_in_modes_that_watch(self) -> None:
        x, s = vector("x"), shared(V.copy(), "s")
        for mode in (
            DebugMode(stability_patience=1),
            NanGuardMode(True, False, True),
            MonitorMode(post_func=detect_nan),
            Mode(WrapLinker(PerformLinker(), run)),
        ):
            f = function([x], mul(add(x, x), s), mode=mode, updates=[(s, add(s, x))])
            for twin in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f), f.copy()):
                private: Any = next(iter(twin.get_shared()), None)
                before = V if private is None else private.get_value()
                result = twin(V)
                np.testing.assert_allclose(result[0] if isinstance(result, list) else result, 2 * V * before)
                self.assertIs(type(twin.maker.mode), type(mode))
                self.assertIs(type(twin.fn), type(f.fn))


class TestGarbageCollection(unittest.TestCase):
    def test_memory_of_intermediate_results(self) -> None:
        x = vector("x")
        graph = add(add(add(x, x), x), x)
        value = np.ones(1000)
        with config.change_flags(allow_gc=False):
            by_flag = compiled([x], graph, "cvm")
        for f, keeps in ((compiled([x], graph, "cvm_nogc"), True), (by_flag, True)):
            f(value)
            self.assertGreater(f.fn.buffered_bytes, 0)
            self.assertEqual(f.fn.buffer_limit > 1 << 40, keeps)
            f.free()
            self.assertEqual(f.fn.buffered_bytes, 0)
        self.assertLess(compiled([x], graph, "cvm").fn.buffer_limit, 1 << 40)

    def test_values_stay_where_they_can_be_looked_at(self) -> None:
        x = vector("x")
        middle = add(x, x)
        for linker, keeps in (
            (WrapLinker(PerformLinker(allow_gc=False), run), True),
            (WrapLinker(PerformLinker(), run), False),
        ):
            f = compiled([x], mul(middle, x), linker)
            f(V)
            cells = [cell[0] for v, cell in f.fn.storage_map.items() if v.owner is not None]
            self.assertEqual(all(value is not None for value in cells), keeps)
            f.free()
            self.assertTrue(all(cell[0] is None for cell in f.fn.storage_map.values()))

    def test_intermediate_results_after_a_call(self) -> None:
        c, x = number("c"), vector("x")
        middle = add(x, x)
        graph = mul(middle, Choose()(c, log(middle), x))
        for linker in ("cvm_nogc", "vm_nogc", "c|py_nogc"):
            f = compiled([c, x], graph, linker)
            for k in (1, 2):
                result = f(0.0, V * k)
                np.testing.assert_allclose(result, 2 * V * k * V * k)
                results = {str(v.owner.op): c[0] for v, c in f.fn.storage_map.items() if v.owner and c[0] is not None}
                self.assertEqual(results["Elementwise{add}"].tolist(), (2 * V * k).tolist())
                self.assertEqual("Elementwise{log}" in results, "c|py" in linker)
                self.assertNotIn("Elementwise{mul}", results)
            thunk = next(t for t in f.fn.thunks if t.node.op == add)
            self.assertEqual(thunk.outputs[0][0].tolist(), (4 * V).tolist())
            text = str(debugprint(f, print_storage=True, file="str"))
            self.assertRegex(text, r"Elementwise{add} \[id .\] .*array\(\[4., 8.\]\)")
            f.free()
            self.assertTrue(all(c[0] is None for v, c in f.fn.storage_map.items() if v.owner))
        for linker in ("cvm", "vm"):
            f = compiled([c, x], graph, linker)
            f(0.0, V)
            self.assertTrue(all(c[0] is None for v, c in f.fn.storage_map.items() if v.owner))

    def test_results_that_stay_are_not_written_by_the_next_call(self) -> None:
        x = vector("x")
        for linker in ("cvm_nogc", "vm_nogc"):
            f = compiled([x], [mul(add(x, x), x), add(x, x)], linker)
            first = f(V)
            looked_at = f.fn.thunks[0].outputs[0][0]
            before = looked_at.copy()
            second = f(V * 10)
            self.assertEqual(looked_at.tolist(), before.tolist())
            self.assertEqual(first[1].tolist(), [2, 4])
            self.assertEqual(second[1].tolist(), [20, 40])

    def test_results_die_when_nothing_reads_them(self) -> None:
        refs: list[Any] = []
        alive: list[int] = []

        class Block(np.ndarray[Any, Any]):
            pass

        def make(v: Any) -> Any:
            alive.append(sum(ref() is not None for ref in refs))
            out = np.array(v)
            refs.append(weakref.ref(out))
            return out

        x = vector("x")
        y = x
        for _ in range(4):
            y = Python(make)(y)
        for linker in ("py", "vm", "cvm", WrapLinker(PerformLinker(), run)):
            refs.clear()
            alive.clear()
            compiled([x], Python(np.sum, Arrays(ndim=0))(y), linker)(V)
            gc.collect()
            self.assertEqual(alive, [0, 1, 1, 1], linker)


class TestThunks(unittest.TestCase):
    def test_after_a_failure(self) -> None:
        x, y = vector("x"), vector("y")
        for linker in everywhere():
            f = compiled([x, y], add(mul(x, x), y), linker)
            with self.assertRaises(ValueError):
                f(V, np.ones(3))
            position = f.fn.position_of_error
            self.assertEqual(position, 1)
            thunk = f.fn.thunks[position]
            self.assertEqual([cell[0].shape for cell in thunk.inputs], [(2,), (3,)])
            self.assertEqual(thunk.inputs[0][0].tolist(), [1, 4])
            self.assertIs(thunk.node, f.maker.fgraph.toposort()[position])
            self.assertEqual(f(V, V).tolist(), [2, 6])

    def test_order_and_connection(self) -> None:
        x = vector("x")
        for linker in everywhere():
            f = compiled([x], mul(add(x, x), x), linker)
            thunks = f.fn.thunks
            self.assertEqual([thunk.node for thunk in thunks], f.maker.fgraph.toposort())
            self.assertEqual(f.fn.nodes, f.maker.fgraph.toposort())
            self.assertIs(thunks[0].outputs[0], thunks[1].inputs[0])
            self.assertIs(f.fn.storage_map[thunks[0].node.outputs[0]], thunks[0].outputs[0])
            self.assertEqual(thunks[0].perform.__self__, thunks[0].node.op)

    def test_run_by_hand(self) -> None:
        x = vector("x")
        for linker in ("cvm", "vm", "py", "c|py"):
            f = compiled([x], mul(add(x, x), x), linker)
            first, second = f.fn.thunks
            first.inputs[0][0] = V
            first()
            second()
            self.assertEqual(second.outputs[0][0].tolist(), [2, 8])
            self.assertEqual(first.native, linker in ("cvm", "c|py"))

    def test_shared_values_are_never_overwritten_by_looking(self) -> None:
        s, y = shared(V.copy(), "s"), vector("y")
        for linker in ("cvm", "vm"):
            s.set_value(V)
            f = compiled([y], add(s, y), linker)
            with self.assertRaises(ValueError):
                f(np.ones(3))
            s.set_value(V * 2)
            self.assertEqual(f.fn.thunks[0].inputs[0][0].tolist(), [2, 4])
            self.assertEqual(s.get_value().tolist(), [2, 4])


class TestWrapping(unittest.TestCase):
    def test_several_linkers_on_storage_of_their_own(self) -> None:
        def double(v: Any) -> Any:
            v *= 2
            return v

        seen: list[Any] = []

        def wrapper(i: int, node: Apply, *thunks: Thunk) -> None:
            run(i, node, *thunks)
            seen.append([thunk.outputs[0][0].tolist() for thunk in thunks])

        x = vector("x")
        linker = WrapLinker([OpWiseCLinker(), PerformLinker()], wrapper)
        mode = Mode(linker, None)
        f = function([x], Python(double, destroys=(0,))(add(x, x)), mode=mode, accept_inplace=True)
        self.assertEqual(f(V).tolist(), [4, 8])
        self.assertEqual(seen, [[[2, 4], [2, 4]], [[4, 8], [4, 8]]])
        with self.assertRaisesRegex(ValueError, "no linker"):
            WrapLinker([], wrapper)

    def test_thunks_that_are_not_called(self) -> None:
        x = vector("x")
        ops: list[Any] = []
        machine = WrapLinker(PerformLinker(), lambda i, node, thunk: ops.append(node.op))
        result = machine.accept(FunctionGraph([x], [mul(add(x, x), x)], clone=False)).make_thunk()
        result[1][0].data = V
        result[0]()
        self.assertEqual(ops, [add, mul])
        self.assertIsNone(result[2][0].data)

    def test_many_wrappers(self) -> None:
        calls: list[Any] = []
        x = vector("x")
        first = lambda i, node, thunk: calls.append("first")  # noqa: E731
        linker = WrapLinkerMany([PerformLinker()], [first, run, lambda i, node, thunk: calls.append(i)])
        self.assertEqual(compiled([x], add(x, x), linker)(V).tolist(), [2, 4])
        self.assertEqual(calls, ["first", 0])

    def test_dual_linker_finds_differences(self) -> None:
        compared: list[Any] = []
        x = vector("x")
        compiled([x], add(x, x), DualLinker(lambda a, b: compared.append((a[0].tolist(), b[0].tolist()))))(V)
        self.assertEqual(compared, [([2, 4], [2, 4])])
        flips = iter([1.0, 2.0])
        f = compiled([x], Python(lambda v: v * next(flips))(x), DualLinker())
        with self.assertRaisesRegex(ValueError, "(?s)native code and Python code differ.*Python"):
            f(V)


class TestVirtualMachines(unittest.TestCase):
    def test_callback(self) -> None:
        for c_thunks in (False, True):
            seen: list[Any] = []

            def note(node: Apply, thunk: Thunk, storage_map: Any, compute_map: Any, seen: list[Any] = seen) -> None:
                values = [storage_map[v][0].tolist() for v in node.outputs]
                seen.append((str(node.op), values, [compute_map[v][0] for v in (*node.inputs, *node.outputs)]))
                self.assertIs(thunk.outputs[0], storage_map[node.outputs[0]])

            x = vector("x")
            f = compiled([x], mul(add(x, x), x), VM_Linker(callback=note, c_thunks=c_thunks))
            f(V)
            expected = [("Elementwise{add}", [[2, 4]], [1, 1, 1]), ("Elementwise{mul}", [[2, 8]], [1, 1, 1])]
            self.assertEqual(seen, expected)

    def test_callback_sees_only_what_runs(self) -> None:
        names: list[str] = []
        c, x = number("c"), vector("x")
        runs = Runs()
        graph = Choose()(c, runs.op("a")(x), runs.op("b")(x))
        f = compiled([c, x], graph, VM_Linker(callback=lambda node, **_: names.append(str(node.op))))
        self.assertEqual(f(0.0, V).tolist(), [2, 3])
        self.assertEqual(names, ["Python{b}", str(Choose())])
        self.assertEqual(dict(runs.count), {"b": 1})

    def test_lazy(self) -> None:
        c, x = number("c"), vector("x")
        for use_cloop in (False, True):
            for lazy, flag, expected in ((None, "None", 1), (True, "False", 1), (False, "True", 2), (None, "False", 2)):
                runs = Runs()
                graph = Choose()(c, runs.op("a")(x), runs.op("b")(x))
                with config.change_flags(**{"vm.lazy": flag}):
                    linker = VM_Linker(use_cloop=use_cloop, lazy=lazy)
                compiled([c, x], graph, linker)(1.0, V)
                self.assertEqual(runs.count.total(), expected)

    def test_schedules(self) -> None:
        x = vector("x")
        runs = Runs()
        outputs = [runs.op("last")(runs.op("first")(x)), runs.op("a")(x), runs.op("b")(x)]
        expected = ["Python{b}", "Python{last}", "Python{a}", "Python{first}"]

        def schedule(fgraph: FunctionGraph) -> list[Apply]:
            return sorted(fgraph.toposort(), key=lambda node: expected.index(str(node.op)))

        for linker in (OpWiseCLinker(schedule=schedule), VM_Linker(schedule=schedule)):
            order = linker.clone(allow_gc=False).accept(FunctionGraph([x], outputs)).make_all()[-1]
            # Needed operations come first all the same.
            self.assertEqual([str(node.op) for node in order], [expected[0], expected[2], expected[3], expected[1]])

    def test_wrong_arguments(self) -> None:
        with self.assertRaisesRegex(ValueError, "c_thunks=True"):
            VM_Linker(use_cloop=True, callback=print)

    def test_subsets_of_the_outputs(self) -> None:
        x = vector("x")
        for linker in everywhere(native_only=False):
            runs = Runs()
            f = compiled([x], [runs.op("a")(x), runs.op("b")(x)], linker)
            runs.count.clear()
            self.assertEqual(f(V, output_subset=[1])[0].tolist(), [2, 3])
            self.assertNotIn("a", runs.count)


class TestAcceptedGraphs(unittest.TestCase):
    def test_thunk_and_containers(self) -> None:
        for linker in (PerformLinker(), OpWiseCLinker(), VM_Linker(use_cloop=True), WrapLinker(CLinker(), run)):
            x, y = vector("x"), vector("y")
            graph = FunctionGraph([x, y], [add(x, y), mul(x, y)])
            thunk, inputs, outputs = linker.accept(graph).make_thunk()
            self.assertTrue(all(isinstance(box, Container) for box in (*inputs, *outputs)))
            for k in (1, 2):
                inputs[0].value, inputs[1].value = V, V * k
                thunk()
                self.assertEqual([box.value.tolist() for box in outputs], [(V + k * V).tolist(), (k * V * V).tolist()])
            with self.assertRaisesRegex(TypeError, "1 axes"):
                inputs[0].value = 3.0

    def test_storage_of_ones_own(self) -> None:
        x = vector("x")
        graph = FunctionGraph([x], [add(x, x)])
        operands, expected = [V], [None]
        thunk, _, _ = PerformLinker().accept(graph).make_thunk([operands], [expected])
        thunk()
        self.assertEqual(np.asarray(expected[0]).tolist(), [2, 4])
        cell: list[Any] = [None]
        thunk, (box,), _ = PerformLinker().accept(graph).make_thunk(storage_map={graph.outputs[0]: cell})
        box.value = V
        thunk()
        self.assertEqual(cell[0].tolist(), [2, 4])

    def test_function_and_parts(self) -> None:
        x = vector("x")
        graph = FunctionGraph([x], [add(x, x)])
        call = OpWiseCLinker().accept(graph).make_function()
        self.assertEqual(call(V).tolist(), [2, 4])
        self.assertEqual(OpWiseCLinker().accept(graph).make_function(unpack_single=False)(V)[0].tolist(), [2, 4])
        with self.assertRaisesRegex(TypeError, "takes 1 values, got 2"):
            call(V, V)
        _, _, _, thunks, order = PerformLinker().accept(graph).make_all()
        self.assertEqual([thunk.node for thunk in thunks], order)


class OwnThunk(Op):
    """Doubles its input in one of the forms that `make_thunk` may have."""

    __props__ = ("form",)

    def __init__(self, form: str) -> None:
        self.form = form
        self.impl: list[Any] = []
        form_of: dict[str, Any] = {"old": self._old, "optional": self._optional, "required": self._required}
        setattr(self, "make_thunk", form_of[form])  # noqa: B010  (methods are not assigned to)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [inputs[0].type()])

    def _old(self, node: Apply, storage_map: Any, _: Any, _2: Any) -> Any:
        inputs = [storage_map[v] for v in node.inputs]
        outputs = [storage_map[v] for v in node.outputs]

        def thunk() -> None:
            z = outputs[0]
            if z[0] is None or z[0].shape != inputs[0][0].shape:
                z[0] = np.zeros(inputs[0][0].shape)
            np.multiply(inputs[0][0], 2, out=z[0])

        return thunk

    def _optional(self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any, impl: Any = None) -> Any:
        self.impl.append(impl)
        return self._old(node, storage_map, compute_map, no_recycling)

    def _required(self, node: Apply, storage_map: Any, _: Any, _2: Any, impl: Any) -> Any:
        self.impl.append(impl)
        return self._old(node, storage_map, _, _2)


class TestOwnThunks(unittest.TestCase):
    def test_forms_on_all_linkers(self) -> None:
        x = vector("x")
        for form in ("old", "optional", "required"):
            for linker in everywhere(native_only=False):
                op = OwnThunk(form)
                f = compiled([x], add(op(x), x), linker)
                for _ in range(2):
                    self.assertEqual(f(V).tolist(), [3, 6])
                results = [f(V) for _ in range(2)]
                self.assertFalse(np.shares_memory(*results))
                if form != "old":
                    python = Mode(linker).linker.target == PYTHON
                    self.assertEqual(set(op.impl), {"py" if python else None}, linker)

    def test_errors_name_the_node(self) -> None:
        x, y = vector("x"), vector("y")

        class Fails(OwnThunk):
            def _old(self, node: Apply, storage_map: Any, _: Any, _2: Any) -> Any:
                def thunk() -> None:
                    raise LookupError("no luck")

                return thunk

        for linker in everywhere(native_only=False):
            f = compiled([x, y], Fails("old")(x), linker, on_unused_input="ignore")
            with self.assertRaisesRegex(LookupError, "(?s)no luck.*Fails.*`x`"):
                f(V, V)
            self.assertEqual(f.fn.thunks[0].inputs[0][0].tolist(), [1, 2])

    def test_a_thunk_is_not_run_inside_itself(self) -> None:
        x = vector("x")

        class Again(OwnThunk):
            def _old(self, node: Apply, storage_map: Any, _: Any, _2: Any) -> Any:
                return lambda: f(V)

        for linker in ("cvm", "vm"):
            f = compiled([x], Again("old")(x), linker)
            with self.assertRaisesRegex(RuntimeError, "called again while it was running"):
                f(V)
