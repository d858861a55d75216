"""Module paths that programs of old import from, though the manual does not list them."""

from __future__ import annotations

import importlib
import unittest
from collections import OrderedDict

import numpy as np

import theano
import theano.tensor as T
from theano.compat import exc_message, imap, izip
from theano.compat.python2x import OrderedDict as OldOrderedDict
from theano.compile import function_module, io, sharedvalue
from theano.gof import compiledir, op as op_module
from theano.gof.cmodule import dlimport_workdir, get_lib_extension
from theano.gof.null_type import NullType, null_type
from theano.misc.cpucount import cpuCount
from theano.misc.doubleop import DoubleOp
from theano.misc.safe_asarray import _asarray
from theano.scalar.basic import Scalar, UnaryScalarOp, upcast
from theano.tests import unittest_tools as utt
from theano.updates import OrderedUpdates
from theano.version import version


class TestSameObjects(unittest.TestCase):
    def test_one_thing_under_several_names(self) -> None:
        pairs = [
            (OrderedUpdates, theano.OrderedUpdates),
            (OldOrderedDict, OrderedDict),
            (version, theano.__version__),
            (Scalar, theano.scalar.Scalar),
            (UnaryScalarOp, theano.scalar.UnaryScalarOp),
            (upcast, theano.scalar.upcast),
            (op_module.Op, theano.Op),
            (op_module.PureOp, theano.gof.PureOp),
            (io.SymbolicInput, theano.In),
            (sharedvalue.generic, theano.generic),
            (function_module.Supervisor, theano.gof.destroyhandler.Supervisor),
            (theano.change_flags, theano.configparser.change_flags),
            (theano.CLinker, theano.gof.cc.CLinker),
            (theano.PerformLinker, theano.gof.link.PerformLinker),
            (theano.get_mode, theano.compile.get_mode),
            (theano.predefined_modes, theano.compile.predefined_modes),
            (theano.shared_constructor, theano.compile.shared_constructor),
            (theano.InconsistencyError, theano.gof.fg.InconsistencyError),
            (theano.get_scalar_constant_value, T.get_scalar_constant_value),
        ]
        for one, other in pairs:
            self.assertIs(one, other)

    def test_iterators_and_messages(self) -> None:
        self.assertEqual(list(izip([1, 2], imap(str, [3, 4]))), [(1, "3"), (2, "4")])
        self.assertEqual(exc_message(ValueError("why")), "why")
        self.assertEqual(exc_message(ValueError("why", 4)), ("why", 4))
        self.assertTrue(theano.compat.PY3)
        self.assertEqual([theano.compat.cmp(a, 2) for a in (1, 2, 3)], [-1, 0, 1])
        self.assertEqual(list(theano.compat.decode_iter([b"a", "b"])), ["a", "b"])

    def test_values(self) -> None:
        self.assertEqual(_asarray([1, 2], dtype="float32").dtype, "float32")
        self.assertGreaterEqual(cpuCount(), 1)
        self.assertEqual(null_type, NullType())
        self.assertIn(get_lib_extension(), ("so", "dylib", "dll"))
        self.assertEqual(dlimport_workdir(), theano.config.compiledir)
        self.assertEqual(dlimport_workdir("here"), "here")
        self.assertTrue(callable(compiledir.main))


class TestClone(unittest.TestCase):
    def test_replaced(self) -> None:
        x, y = T.dvectors("x", "y")
        cost = (x**2).sum()
        other = theano.clone(cost, replace={x: y + 1})
        self.assertEqual(float(other.eval({y: [1.0, 2.0]})), 13.0)
        both = theano.clone([cost, x * 2], replace=[(x, y)])
        self.assertEqual([float(v.sum().eval({y: [3.0]})) for v in both], [9.0, 6.0])
        self.assertEqual(float(cost.eval({x: [2.0]})), 4.0)

    def test_inputs(self) -> None:
        x, state = T.dscalar("x"), theano.shared(3.0, name="state")
        z = x * state + 1
        same = theano.clone(z)
        self.assertEqual(set(theano.gof.graph.inputs([same])) & {x, state}, {x, state})
        for copy in (theano.clone(z, share_inputs=False), theano.clone(z, copy_inputs=False)):
            new = [v for v in theano.gof.graph.inputs([copy]) if v.name in ("x", "state")]
            self.assertFalse(set(new) & {x, state})
            (argument,) = (v for v in new if v.name == "x")
            state.set_value(5.0)
            self.assertEqual(float(theano.function([argument], copy)(2.0)), 11.0)

    def test_wrong(self) -> None:
        with self.assertRaisesRegex(theano.TheanoError, "only variables can be replaced, not 'x'"):
            theano.clone(T.dvector("x") + 1, replace={"x": T.dvector()})
        x = T.dvector("x")
        with self.assertRaises(TypeError):
            theano.clone(x + 1, replace={x: T.dmatrix()})


class TestDoubleOp(utt.InferShapeTester):
    def test_values_and_shape(self) -> None:
        x = T.fmatrix("x")
        result = theano.function([x], DoubleOp()(x))(np.ones((2, 3), dtype="float32"))
        self.assertEqual((result.dtype, result.tolist()), ("float32", [[2.0] * 3] * 2))
        self._compile_and_check([x], [DoubleOp()(x)], [np.ones((5, 4), dtype="float32")], DoubleOp)
        self.assertEqual(DoubleOp(), DoubleOp())

    def test_derivatives(self) -> None:
        utt.verify_grad(DoubleOp(), [np.random.RandomState(3).rand(3, 2)])
        x, v = T.dvectors("x", "v")
        product = theano.function([x, v], T.Rop(DoubleOp()(x), x, v))
        np.testing.assert_array_equal(product([1.0, 2.0], [3.0, 4.0]), [6.0, 8.0])


class TestTesters(unittest.TestCase):
    def test_makers_of_test_cases(self) -> None:
        module = importlib.import_module("theano.tensor.tests.test_basic")
        tester = module.makeTester(
            name="DotTester",
            op=T.dot,
            expected=np.dot,
            checks={},
            good={"matrices": (np.ones((5, 7)), np.ones((7, 5))), "vector": (np.ones((5, 7)), np.ones(7))},
            bad_build={},
            bad_runtime={"lengths": (np.ones((5, 7)), np.ones((5, 7)))},
            grad={},
        )
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(tester).run(result)
        self.assertEqual((result.testsRun, result.failures, result.errors), (4, [], []))
        self.assertEqual(module.makeBroadcastTester(T.add, np.add).__name__, "Elemwise{add,no_inplace}Tester")
