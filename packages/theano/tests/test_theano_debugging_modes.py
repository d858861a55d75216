"""The manual's examples of DebugMode, NanGuardMode, MonitorMode, profiles and linkers."""

from __future__ import annotations

import contextlib
import io
import traceback
import unittest
from typing import Any

import numpy
import numpy as np

import theano
import theano.tensor as T
from theano.compile.debugmode import BadThunkOutput, BadViewMap, DebugMode, DebugModeError, InvalidValueError
from theano.compile.monitormode import detect_nan
from theano.compile.nanguardmode import NanGuardMode
from theano.gof.link import (
    PerformLinker,
    WrapLinker,
    add_clear_storage,
    gc_helper,
    map_storage,
    raise_with_op,
    streamline,
)
from theano_testing.tiers import slow


def printed(action: Any) -> str:
    """Return the output of a call."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), np.errstate(all="ignore"):
        action()
    return out.getvalue()


class TestMonitorMode(unittest.TestCase):
    def test_stepping_through_a_function(self) -> None:
        def inspect_inputs(i: int, node: Any, fn: Any) -> None:
            print(i, node, "input(s) value(s):", [input[0] for input in fn.inputs], end="")

        def inspect_outputs(i: int, node: Any, fn: Any) -> None:
            print(" output(s) value(s):", [output[0] for output in fn.outputs])

        x = theano.tensor.dscalar("x")
        f = theano.function(
            [x],
            [5 * x],
            mode=theano.compile.MonitorMode(pre_func=inspect_inputs, post_func=inspect_outputs),
        )
        text = printed(lambda: f(3))
        self.assertRegex(
            text, r"^0 Elemwise{mul,no_inplace}\(TensorConstant{5.*}, x\) input\(s\) value\(s\): \[array\(5"
        )
        self.assertRegex(text, r"array\(3\.\)\] output\(s\) value\(s\): \[array\(15\.\)\]\n$")

    def test_nan(self) -> None:
        def own_detect_nan(i: int, node: Any, fn: Any) -> None:
            for output in fn.outputs:
                if not isinstance(output[0], numpy.random.RandomState) and numpy.isnan(output[0]).any():
                    print("*** NaN detected ***")
                    theano.printing.debugprint(node)
                    print(f"Inputs : {[input[0] for input in fn.inputs]}")
                    print(f"Outputs: {[output[0] for output in fn.outputs]}")
                    break

        x = theano.tensor.dscalar("x")
        for watch in (own_detect_nan, detect_nan):
            for mode in (
                theano.compile.MonitorMode(post_func=watch),
                theano.compile.MonitorMode(post_func=watch).excluding("local_elemwise_fusion", "inplace"),
            ):
                f = theano.function([x], [theano.tensor.log(x) * x], mode=mode)
                self.assertEqual(printed(lambda f=f: f(1)), "")
                text = printed(lambda f=f: f(0))
                self.assertTrue(text.startswith("*** NaN detected ***\nElemwise{"), text)
                self.assertIn("Outputs: [array(nan)]\n", text)

    def test_flags_of_the_default_mode_do_not_count(self) -> None:
        mode = theano.compile.MonitorMode(post_func=detect_nan)
        self.assertEqual(mode.query, theano.Mode().query)


class TestNanGuardMode(unittest.TestCase):
    def setUp(self) -> None:
        x = T.matrix()
        w = theano.shared(numpy.random.default_rng(0).normal(size=(5, 7)).astype(theano.config.floatX))
        mode = NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=True)
        self.fun = theano.function([x], T.dot(x, w), mode=mode)

    def test_manual(self) -> None:
        for value, text in ((numpy.inf, "Inf"), (numpy.nan, "NaN"), (1e20, "Big value")):
            with self.assertRaisesRegex(AssertionError, f"{text} detected"):
                self.fun(numpy.tile(numpy.asarray(value).astype(theano.config.floatX), (3, 5)))
        self.assertEqual(self.fun(numpy.ones((3, 5), theano.config.floatX)).shape, (3, 7))

    def test_mark_through_rewriting(self) -> None:
        x = T.dvector("x")
        y = T.log(x)
        y.tag.nan_guard_mode_check = False
        f = theano.function([x], y * 1, mode=NanGuardMode(True, True, True))
        with numpy.errstate(all="ignore"):
            self.assertEqual(f([1.0, 0.0]).tolist(), [0, -numpy.inf])


class BadOp(theano.Op):
    """Returns a view that it does not declare."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0][::-1]


class TestDebugMode(unittest.TestCase):
    def test_manual(self) -> None:
        x = T.dscalar("x")
        for mode in ("DebugMode", "DEBUG_MODE", DebugMode(check_c_code=False), theano.compile.DebugMode()):
            f = theano.function([x], 10 * x, mode=mode)
            self.assertEqual([float(f(v)) for v in (5, 0, 7)], [50, 0, 70])

    @slow
    def test_training_step(self) -> None:
        rng = numpy.random.default_rng(1)
        features, labels = rng.normal(size=(20, 6)), rng.integers(0, 2, 20).astype(float)
        results = []
        for mode in ("FAST_RUN", DebugMode(check_preallocated_output=["ALL"], stability_patience=2)):
            x, y = T.dmatrix("x"), T.dvector("y")
            w, b = theano.shared(numpy.linspace(-1, 1, 6), name="w"), theano.shared(0.0, name="b")
            p_1 = 1 / (1 + T.exp(-T.dot(x, w) - b))
            xent = -y * T.log(p_1) - (1 - y) * T.log(1 - p_1)
            cost = xent.mean() + 0.01 * (w**2).sum()
            gw, gb = T.grad(cost, [w, b])
            updates = [(w, w - 0.1 * gw), (b, b - 0.1 * gb)]
            train = theano.function([x, y], [p_1 > 0.5, xent], updates=updates, mode=mode)
            for _ in range(2):
                outputs = train(features, labels)
            results.append([*outputs, w.get_value(), b.get_value()])
        for fast, debugged in zip(*results, strict=True):
            numpy.testing.assert_allclose(fast, debugged)

    def test_faults(self) -> None:
        x = T.dvector("x")
        with self.assertRaises(BadViewMap):
            theano.function([x], BadOp()(x), mode="DebugMode")([1.0, 2.0])
        with numpy.errstate(all="ignore"), self.assertRaisesRegex(InvalidValueError, "NaN"):
            theano.function([x], T.log(x), mode="DebugMode")([0.0])
        self.assertTrue(issubclass(BadThunkOutput, DebugModeError))

    def test_shapes_that_rewrites_hide(self) -> None:
        x, y = T.dmatrix("x"), T.dmatrix("y")
        with self.assertRaises(ValueError):
            theano.function([x, y], x + y, mode="DebugMode")(numpy.ones((2, 3)), numpy.ones((3, 3)))


class Doubled(theano.Op):
    """Puts a vector beside itself, and says that the length stays."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        x = T.as_tensor_variable(x)
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: Any, inputs: Any, outputs: Any, params: Any = None) -> None:
        outputs[0][0] = numpy.concatenate([inputs[0], inputs[0]])

    def infer_shape(self, node: Any, shapes: Any) -> Any:
        return [shapes[0]]


class TestShapeRules(unittest.TestCase):
    def test_a_wrong_infer_shape_is_named(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], Doubled()(x).shape[0] + 1, mode="DebugMode")
        with self.assertRaises(theano.compile.debugmode.BadOptimization) as caught:
            f(numpy.ones(2))
        text = str(caught.exception)
        for part in (
            "the infer_shape of an op is wrong",
            "Doubled",
            "has the shape (4,)",
            "told (2,)",
            "Hint: correct",
        ):
            self.assertIn(part, text)


class TestProfile(unittest.TestCase):
    def test_summary(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.exp(x) + T.grad(x.sum(), x), profile=True, name="profiled")
        f(numpy.ones(3))
        out = io.StringIO()
        assert f.profile is not None
        f.profile.summary(out)
        text = out.getvalue()
        for line in (
            "Message: profiled",
            "Time in 1 calls to Function.__call__: ",
            "Time in all call to theano.grad() ",
            "Class\n---\n",
            "Ops\n---\n",
            "Apply\n-----\n",
        ):
            self.assertIn(line, text)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            f.profile.summary()
        self.assertIn("Function profiling\n", printed.getvalue())


class TestLinkerParts(unittest.TestCase):
    def setUp(self) -> None:
        x = T.dvector("x")
        self.fgraph = theano.gof.FunctionGraph([x], [T.exp(x) * 2])
        self.order = self.fgraph.toposort()

    def test_storage(self) -> None:
        mine: list[Any] = [numpy.ones(2)]
        inputs, outputs, storage = map_storage(self.fgraph, self.order, [mine], None)
        self.assertIs(inputs[0], mine)
        self.assertIs(storage[self.fgraph.outputs[0]], outputs[0])
        self.assertEqual([cell[0] for cell in outputs], [None])
        constants = [storage[v][0] for node in self.order for v in node.inputs if isinstance(v, theano.gof.Constant)]
        self.assertEqual([float(numpy.max(c)) for c in constants], [2.0])
        with self.assertRaisesRegex(ValueError, "1 variables and 2 lists"):
            map_storage(self.fgraph, self.order, [mine, mine], None)

    def test_last_users(self) -> None:
        computed, last_user = gc_helper(self.order)
        self.assertEqual(computed, {v for node in self.order for v in node.outputs})
        self.assertIs(last_user[self.fgraph.inputs[0]], self.fgraph.clients(self.fgraph.inputs[0])[0][0])
        self.assertNotIn(self.fgraph.outputs[0], last_user)

    def test_streamline(self) -> None:
        _, (box,), (out,), thunks, order = PerformLinker().accept(self.fgraph).make_all()
        run = streamline(self.fgraph, thunks, order, [[] for _ in order])
        box.value = numpy.zeros(2)
        run()
        self.assertEqual(out.value.tolist(), [2, 2])
        add_clear_storage(run, [order[-1].outputs[0]], {order[-1].outputs[0]: thunks[-1].outputs[0]})
        clear: Any = run
        clear.clear_storage()
        self.assertIsNone(out.value)
        thunks[0].inputs[0][0] = "text"
        with self.assertRaises(AttributeError) as caught:
            run()
        self.assertRegex("".join(traceback.format_exception(caught.exception)), "input 0: `.*; got str")
        with self.assertRaisesRegex(ValueError, "lists of storage"):
            streamline(self.fgraph, thunks, order, [[]] * 9)

    def test_raise_with_op(self) -> None:
        with self.assertRaisesRegex(LookupError, "(?s)lost.*input 0: `x`.*got float64 of shape"):
            try:
                raise LookupError("lost")
            except LookupError:
                (node,) = (n for n in self.order if self.fgraph.inputs[0] in n.inputs)
                raise_with_op(node, storage_map={v: [numpy.ones(1)] for v in node.inputs})
        with self.assertRaisesRegex(RuntimeError, "no exception"):
            raise_with_op(self.order[0])

    def test_wrapped(self) -> None:
        seen: list[str] = []

        def wrapper(i: int, node: Any, thunk: Any) -> None:
            thunk()
            seen.append(str(node.op))

        x = T.dvector("x")
        mode = theano.Mode(linker=WrapLinker([theano.gof.OpWiseCLinker()], wrapper), optimizer=None)
        f = theano.function([x], x + 1, mode=mode)
        self.assertEqual(f([1.0]).tolist(), [2])
        self.assertEqual(len(seen), len(f.maker.fgraph.toposort()))

    def test_linker_names(self) -> None:
        x = T.dvector("x")
        for name in ("py", "c|py", "c|py_nogc", "c", "vm", "cvm", "vm_nogc", "cvm_nogc"):
            f = theano.function([x], T.exp(x) * 2, mode=theano.Mode(linker=name, optimizer="fast_run"))
            numpy.testing.assert_allclose(f([0.0, 1.0]), 2 * numpy.exp([0.0, 1.0]))

    def test_position_of_error(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], T.exp(x) + T.dot(x, y), mode=theano.Mode("cvm", None))
        with self.assertRaises(ValueError):
            f([1.0, 2.0], [1.0])
        thunk = f.fn.thunks[f.fn.position_of_error]
        self.assertEqual(thunk.inputs[0][0].shape, (2,))
        self.assertEqual(thunk.inputs[1][0].shape, (1,))
