"""Functions, profiles, choices and printed text as programs of Theano 1.0 know them."""

from __future__ import annotations

import copy
import io
import logging
import pickle
import re
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import printing
from theano.compile import function_module, pfunc
from theano.compile.pfunc import rebuild_collect_shared
from theano.ifelse import IfElse, ifelse
from theano.printing import debugprint, pp
from theano.tests.disturb_mem import disturb_mem
from theano.tests.record import MismatchError, Record, RecordMode
from theano_graph import TheanoError


def text(obj: Any, **options: Any) -> str:
    return str(debugprint(obj, file="str", **options))


class TestFunctions(unittest.TestCase):
    def test_pfunc_is_a_function(self) -> None:
        x, s = T.dscalar("x"), theano.shared(1.0, name="s")
        f = theano.compile.pfunc(params=[x], outputs=[x * s], updates=[(s, s + 1)], output_keys=["y"])
        self.assertIs(theano.compile.pfunc, pfunc)
        self.assertEqual(f(3.0), {"y": 3.0})
        self.assertEqual(float(s.get_value()), 2.0)

    def test_what_a_function_shows(self) -> None:
        x, y = T.dscalars("x", "y")
        f = theano.function([x, theano.In(y, value=2.0)], {"b": x + y, "a": x})
        self.assertEqual(str(f.outputs[0].variable), "x")
        self.assertEqual([required for required, _, _ in f.defaults], [True, False])
        self.assertEqual([refeed for _, refeed, _ in f.defaults], [False, True])
        self.assertEqual([positions for _, positions, _ in f.indices], [[0], [1]])
        self.assertFalse(f._check_for_aliased_inputs)
        self.assertTrue(theano.function([theano.In(x, borrow=True)], x + 1)._check_for_aliased_inputs)

    def test_a_function_is_called_by_its_line(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], x + 1)
        self.assertRegex(str(f.name), r"test_theano_compile_history\.py:\d+$")
        self.assertEqual(f.maker.fgraph.name, f.name)
        self.assertEqual(theano.function([x], x + 1, name="plus").name, "plus")

    def test_the_oldest_protocol_of_pickle(self) -> None:
        x, s = T.dvector("x"), theano.shared(np.ones(3), name="s")
        f = theano.function([x], (x * s).sum(), updates={s: s + 1})
        g = pickle.loads(pickle.dumps(f, protocol=0))
        self.assertEqual(float(g([1.0, 2.0, 3.0])), 6.0)
        self.assertEqual(float(f([1.0, 2.0, 3.0])), 6.0)

    def test_errors(self) -> None:
        x, y = T.dscalars("x", "y")
        s = theano.shared(np.zeros((3, 3)), name="s")
        cases: tuple[tuple[Any, Any], ...] = (
            (theano.compile.UnusedInputError, lambda: theano.function([y], x)),
            (theano.compile.UnusedInputError, lambda: theano.function([x, x], x)),
            (RuntimeError, lambda: theano.function([x], 2 * x, givens={x: x + 1})),
            (AssertionError, lambda: theano.function([x], {1.0: x})),
            (TypeError, lambda: theano.In(x, name=[])),  # type: ignore[arg-type]
            (TypeError, lambda: theano.function([], [], updates={s: s.sum().dimshuffle("x", "x")})),
        )
        for error, make in cases:
            self.assertRaises(error, make)
        value = T.unbroadcast(s.sum().dimshuffle("x", "x"), 0, 1)
        theano.function([], [], updates={s: value})()
        self.assertEqual(s.get_value().shape, (1, 1))

    def test_default_update_can_be_deleted(self) -> None:
        s = theano.shared(0)
        s.default_update = s + 1
        del s.default_update
        theano.function([], s)()
        self.assertEqual(int(s.get_value()), 0)

    def test_a_constructor_that_refuses_without_a_word(self) -> None:
        @theano.compile.shared_constructor
        def refusing(value: Any, name: str | None = None, **options: Any) -> Any:
            raise TypeError()

        self.addCleanup(theano.compile.sharedvalue.constructors.remove, refusing)
        self.assertEqual(int(theano.shared(3).get_value()), 3)

    def test_collected_shared_variables(self) -> None:
        x, s, t = T.dscalar("x"), theano.shared(1.0, name="s"), theano.shared(2.0, name="t")
        t.default_update = t + 1
        inputs, outputs, (copies, values, pairs, result) = rebuild_collect_shared([s * x + t], [x], updates={s: 2 * s})
        self.assertEqual((inputs, result), ([x], [s, t]))
        self.assertEqual([target for target, _ in pairs], [s, t])
        self.assertEqual(set(values), {s, t})
        self.assertIs(copies[x], x)
        self.assertEqual(float(theano.function(inputs, outputs, no_default_updates=True)(3.0)[0]), 5.0)
        fresh, (outcome,), _ = rebuild_collect_shared([x + 1], [x], copy_inputs_over=False)
        self.assertIsNot(fresh[0], x)
        self.assertEqual(float(theano.function(fresh, outcome)(2.0)), 3.0)

    def test_small_tools(self) -> None:
        x = T.dvector("x")
        view = x[1:]
        self.assertIs(function_module.alias_root(view), x)
        self.assertEqual(function_module.convert_function_input((x, [1.0])).value, [1.0])
        fgraph, updates = function_module.std_fgraph(
            [theano.In(x, value=np.ones(2), update=x + 1)], [theano.Out(2 * x)]
        )
        self.assertEqual((len(fgraph.outputs), len(updates)), (2, 1))
        self.assertTrue(theano.compile.nanguardmode.contains_nan(np.array([np.nan])))
        self.assertFalse(theano.compile.nanguardmode.contains_inf(np.array([1.0])))
        self.assertEqual([theano.compile.debugmode.char_from_number(n) for n in (0, 25, 26)], ["A", "Z", "BA"])


class TestOpsOfGraphs(unittest.TestCase):
    def test_connection_pattern(self) -> None:
        x, y = T.dvectors("x", "y")
        op = theano.OpFromGraph(
            [x, y],
            [y + T.round(y)],
            grad_overrides=lambda inputs, grads: [grads[0], theano.gradient.disconnected_type()],
            connection_pattern=[[True], [False]],
            on_unused_input="ignore",
        )
        self.assertEqual(op.connection_pattern(None), [[True], [False]])
        slope = theano.grad(op(x, y).sum(), x)
        np.testing.assert_array_equal(slope.eval({x: np.ones(3), y: np.ones(3)}), np.ones(3))
        with self.assertRaises(ValueError):
            theano.OpFromGraph([x], [x], connection_pattern=[[True, True]])

    def test_test_values_of_gradients(self) -> None:
        with theano.change_flags(compute_test_value="raise"):
            x, y = T.dscalars("x", "y")
            x.tag.test_value = y.tag.test_value = np.array(2.0)
            cube = theano.OpFromGraph([x], [x**3])
            self.assertEqual(float(T.grad(cube(y), y).tag.test_value), 12.0)

    def test_choices(self) -> None:
        c, x, y = T.iscalar("c"), T.dvector("x"), T.dvector("y")
        f = theano.function([c, x, y], ifelse(c, x, y, name="pick"), mode="FAST_RUN")
        (op,) = [node.op for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)]
        self.assertEqual(op, IfElse(1, as_view=True))
        self.assertNotEqual(op, IfElse(1))
        self.assertEqual(str(op), "if{pick,inplace}")
        np.testing.assert_array_equal(f(0, [1.0], [2.0, 3.0]), [2.0, 3.0])

    def test_gradients_through_comparisons_are_zero(self) -> None:
        x = T.dvector("x")
        for cost in ((x > 0).sum(), T.cast(x > 0, "float64").sum(), ifelse(x[0] > 0, 0, 1)):
            np.testing.assert_array_equal(T.grad(cost, x).eval({x: [1.0, -2.0]}), [0.0, 0.0])
        with self.assertRaises(theano.gradient.DisconnectedInputError):
            T.grad(1.0 * x.shape[0], x)
        with self.assertRaises(theano.gradient.DisconnectedInputError):
            T.grad(None, x, known_grads={2 * x: theano.gradient.DisconnectedType()()})


class TestModes(unittest.TestCase):
    def test_linkers_are_of_their_classes(self) -> None:
        kinds = {name: type(theano.Mode(name, None).linker) for name in ("py", "c|py", "vm", "cvm")}
        self.assertIs(kinds["py"], theano.gof.link.PerformLinker)
        self.assertIs(kinds["c|py"], theano.gof.cc.OpWiseCLinker)
        self.assertIs(kinds["vm"], theano.gof.vm.VM_Linker)
        self.assertIs(kinds["cvm"], theano.gof.vm.VM_Linker)

    def test_linkers_of_functions_have_accepted_their_graphs(self) -> None:
        def backwards(fgraph: theano.gof.FunctionGraph) -> list[theano.Apply]:
            return sorted(fgraph.toposort(), key=str, reverse=True)

        x = T.dvector("x")
        for linker in (theano.OpWiseCLinker(schedule=backwards), theano.gof.VM_Linker(schedule=backwards)):
            mode = theano.Mode(linker, None)
            functions = [theano.function([x], outputs, mode=mode) for outputs in ([x + 1], [T.exp(x), T.sum(x)])]
            for f in functions:
                self.assertEqual(f.maker.linker.make_all()[-1], backwards(f.maker.fgraph))
            self.assertEqual([float(v.sum()) for v in functions[1]([0.0])], [1.0, 0.0])

    def test_profiles(self) -> None:
        x = T.dvector("x")
        stats = theano.ProfileStats(False, gpu_checks=False, message="mine")
        f = theano.function([x], T.exp(x).sum(), profile=stats)
        f([1.0])
        stream = io.StringIO()
        f.profile.summary(stream)
        self.assertIn("Message: mine", stream.getvalue())
        self.assertIsNone(re.search("<class", stream.getvalue()))
        self.assertIn("Timing Info", text(f))

    def test_float64_is_reported(self) -> None:
        with theano.change_flags(warn_float64="raise"):
            for make in (
                lambda: T.fvector() * T.ivector(),
                lambda: T.ivector() / 3,
                lambda: T.cast(T.fvector(), "float64"),
            ):
                self.assertRaisesRegex(TheanoError, "float64", make)
            T.fvector() * np.float32(2)

    def test_error_of_gradient_checks(self) -> None:
        class Wrong(theano.Op):
            __props__ = ()

            def make_node(self, x: Any) -> theano.Apply:
                return theano.Apply(self, [x], [x.type()])

            def perform(self, node: Any, inputs: Any, outputs: Any, params: Any = None) -> None:
                outputs[0][0] = inputs[0] * 2

            def grad(self, inputs: Any, grads: Any) -> Any:
                return [grads[0] * 5]

        with self.assertRaises(T.verify_grad.E_grad):  # type: ignore[attr-defined]
            T.verify_grad(Wrong(), [np.ones(3)], rng=np.random.RandomState(0))

    def test_records(self) -> None:
        x, file = T.dscalar("x"), io.StringIO()
        disturb_mem()
        theano.function([x], 2 * x, name="f", mode=RecordMode(Record(file_object=file)))(4.0)
        for value in (4.0, 5.0):
            again = RecordMode(file_object=io.StringIO(file.getvalue()), replay=True)
            f = theano.function([x], 2 * x, name="f", mode=again)
            if value == 4.0:
                self.assertEqual(float(f(value)), 8.0)
            else:
                self.assertRaises(MismatchError, f, value)


class TestText(unittest.TestCase):
    def test_class_paths(self) -> None:
        x = T.dscalar("x")
        self.assertEqual(str(type(x)), "<class 'theano.tensor.var.TensorVariable'>")
        self.assertEqual(str(type((x + 1).owner)), "<class 'theano.gof.graph.Apply'>")
        self.assertEqual(str(type(theano.function([x], x))), "<class 'theano.compile.function_module.Function'>")
        self.assertIs(type(copy.deepcopy(x)), type(pickle.loads(pickle.dumps(x))))

    def test_composites(self) -> None:
        x, y, z = T.dvectors("x", "y", "z")
        f = theano.function([x, y, z], T.exp(x) + y * z, mode="FAST_RUN")
        self.assertRegex(
            text(f), r"^Elemwise\{Composite\{\(exp\(i0\) \+ \(i1 \* i2\)\)\}[^\n]*\} ?[^\n]*\[id A\] ''   0\n"
        )

    def test_clients_and_storage(self) -> None:
        a, b, d = T.dmatrices("A", "B", "D")
        f = theano.function([a, b, d], [a + b, a + b - d], mode="FAST_COMPILE")
        self.assertIn("[id A] ''   0 clients:[('output', ''), ('[id C]', 1)]\n", text(f, print_clients=True))
        self.assertIn(" |A  [None]\n", text(f, ids="", print_storage=True))

    def test_formulas(self) -> None:
        x, m = T.dvector("x"), T.dmatrix("m")
        for variable, expected in (
            (x[1], "x[Constant{1}]"),
            (abs(x), "|x|"),
            (m.T, "m.T"),
            (x.dimshuffle(0, "x"), "DimShuffle{0, x}(x)"),
            (T.cast(x, "int32"), "int32(x)"),
            (T.join(0, x, x), "join(TensorConstant{0}, x, x)"),
        ):
            self.assertEqual(pp(variable), expected)

    def test_printers_that_return_texts(self) -> None:
        class Called:
            def process(self, output: Any, pstate: Any) -> str:
                return f"SIN<{pstate.pprinter.process(output.owner.inputs[0], pstate)}>"

        x = T.dvector("x")
        table = printing.pprint.clone_assign(lambda pstate, r: r.owner is not None and r.owner.op == T.sin, Called())
        self.assertEqual(table(T.sin(x + 1) * 2), "(SIN<(x + TensorConstant{1})> * TensorConstant{2})")
        table.assign(T.exp, printing.IgnorePrinter())
        table.assign(T.tan, printing.PatternPrinter(("tan %(0)s", -1000)))
        self.assertEqual(table.process(T.exp(T.tan(x))), "tan x")
        self.assertEqual(table.process_graph([x], [T.exp(x)], display_inputs=True), "inputs: x\nx")

    def test_digests(self) -> None:
        one, other = np.arange(4.0), np.arange(4.0).reshape(2, 2)
        self.assertNotEqual(printing.hex_digest(one), printing.hex_digest(other))
        self.assertTrue(printing.hex_digest(one).endswith("|strides=[8]|shape=[4]"))


class TestLogging(unittest.TestCase):
    def test_the_handler_can_be_exchanged(self) -> None:
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        theano.theano_logger.removeHandler(theano.logging_default_handler)
        theano.theano_logger.addHandler(handler)
        try:
            logging.getLogger("theano.compile").warning("a message")
        finally:
            theano.theano_logger.removeHandler(handler)
        self.assertEqual(stream.getvalue(), "a message\n")


class TestSmallThings(unittest.TestCase):
    def test_functions_of_eval(self) -> None:
        x = theano.tensor.dscalar("x")
        y = 2 * x
        self.assertFalse(hasattr(y, "_fn_cache"))
        self.assertEqual(float(y.eval({x: 3.0})), 6.0)
        self.assertEqual(len(y._fn_cache), 1)
        self.assertFalse(hasattr(pickle.loads(pickle.dumps(y)), "_fn_cache"))

    def test_type_of_old_name(self) -> None:
        self.assertEqual(theano.tensor.Tensor(broadcastable=[False], dtype="float64"), theano.tensor.dvector)

    def test_names_of_dtypes_for_c_code(self) -> None:
        self.assertEqual(theano.tensor.fmatrix.dtype_specs(), (float, "npy_float32", "NPY_FLOAT32"))
        self.assertEqual(theano.scalar.int8.dtype_specs()[1:], ("npy_int8", "Int8"))

    def test_enumerations(self) -> None:
        enum = theano.gof.EnumType
        self.assertEqual(enum(A=1, B=True), enum(A=1.0, B=1))
        self.assertEqual(hash(enum(A=1, B=True)), hash(enum(A=1.0, B=1)))
        with self.assertRaises(TypeError):
            theano.gof.EnumList(("A", "a"), ("B", "B"))

    def test_check_isfinite_of_a_compiled_function(self) -> None:
        x = theano.tensor.dvector("x")
        f = theano.function([x], x + 1, mode=theano.compile.DebugMode(check_isfinite=True))
        with self.assertRaises(theano.compile.debugmode.InvalidValueError):
            f([float("inf")])
        mode: Any = f.maker.mode
        mode.check_isfinite = False
        self.assertEqual(f([float("inf")])[0], float("inf"))
