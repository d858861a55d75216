"""The rows about functions, modes and printing."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import numpy.typing as npt

import theano
import theano.tensor as T
from theano.d3viz import formatting
from theano.ifelse import IfElse, ifelse
from theano.printing import debugprint
from theano.tensor.shared_randomstreams import RandomStreams


class TestTrustedNumbers(unittest.TestCase):
    difference = "trusted-numbers"

    def test_a_number_is_taken(self) -> None:
        x = T.dscalar("x")
        f = theano.function([x], 2 * x)
        f.trust_input = True
        self.assertEqual(float(f(2.0)), 4.0)


class TestCopies(unittest.TestCase):
    difference = "copies-own-their-memory"

    def test_results_are_apart(self) -> None:
        x, s = T.dvector("x"), theano.shared(2.0)
        f = theano.function([x], T.tanh(x * s).sum() + x)
        g = f.copy(share_memory=True)
        first = f(np.arange(3.0))
        (second,) = [g(np.ones(3))]
        np.testing.assert_allclose(first, np.tanh(2 * np.arange(3.0)).sum() + np.arange(3.0))
        np.testing.assert_allclose(np.ravel(second), 3 * np.tanh(2.0) + np.ones(3))


class TestResultsStay(unittest.TestCase):
    difference = "results-stay"

    def test_borrowed_results(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], theano.Out(x * 4, borrow=True), mode=theano.Mode("c|py_nogc", "fast_run"))
        four = f(np.ones((3, 3)))
        f(np.ones((3, 3)) + 0.1)
        np.testing.assert_array_equal(four, np.full((3, 3), 4.0))

    def test_constants(self) -> None:
        f = theano.function([], theano.Out(T.constant([4]), borrow=True))
        f()[0] = 3
        np.testing.assert_array_equal(f(), [4])


class TestSharedValuesMove(unittest.TestCase):
    difference = "shared-values-move"

    def test_the_old_value_stays(self) -> None:
        s = theano.shared(np.arange(5.0))
        old: npt.NDArray[np.float64] = s.get_value(borrow=True)
        theano.function([], [], updates=[(s, s * 2 + 1)])()
        np.testing.assert_array_equal(s.get_value(), 2 * np.arange(5.0) + 1)
        self.assertIn(float(old[4]), (4.0, 9.0))


class TestMemoryOfFusedGraphs(unittest.TestCase):
    difference = "memory-of-fused-graphs"

    def test_the_product_is_not_stored(self) -> None:
        x, y = T.dvectors("x", "y")
        with theano.change_flags(profile_memory=True):
            f = theano.function([x, y], T.outer(x, y).sum(axis=1), profile=True)
        f(np.ones(100), np.ones(100))
        self.assertTrue(all(record.peak() < 100 * 100 * 8 for record in f.profile.memory_records()))


class TestGarbageCollection(unittest.TestCase):
    difference = "fixed-garbage-collection"

    def test_the_linker_decides(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], T.exp(x).sum() + x, mode=theano.Mode("cvm_nogc", None))
        f([1.0, 2.0])
        self.assertFalse(f.maker.linker.allow_gc)
        self.assertTrue(any(cell[0] is not None for cell in f.fn.storage_map.values()))


class TestUndifferentiatedStates(unittest.TestCase):
    difference = "undifferentiated-states"

    def test_pattern(self) -> None:
        x = T.dmatrix("x")
        noise = RandomStreams(seed=234).uniform((2, 2))
        op = theano.OpFromGraph([x], [x + noise, 3 + noise])
        self.assertEqual(op.connection_pattern(None), [[True, False], [False, False]])


class TestPictures(unittest.TestCase):
    difference = "pictures-without-pydot"

    def test_the_module_says_what_is_missing(self) -> None:
        self.assertEqual(bool(formatting.pydot_imported), not formatting.pydot_imported_msg)


class TestConstantConditions(unittest.TestCase):
    difference = "constant-conditions"

    def test_no_choice_is_left(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        f = theano.function([x, y], ifelse(T.constant(1, "int8") >= 0, x, y), on_unused_input="ignore")
        self.assertFalse([node for node in f.maker.fgraph.toposort() if isinstance(node.op, IfElse)])
        self.assertEqual(f([1.0], [2.0]).tolist(), [1.0])


class TestCApi(unittest.TestCase):
    difference = "numpy-two-c-api"

    def test_what_both_have(self) -> None:
        class Twice(theano.Op):
            __props__ = ()

            def make_node(self, x: object) -> theano.Apply:
                variable = T.as_tensor_variable(x)
                return theano.Apply(self, [variable], [variable.type()])

            def c_code(self, node: object, name: str, inp: list[str], out: list[str], sub: dict[str, str]) -> str:
                (x,), (z,) = inp, out
                return f"""
                Py_XDECREF({z});
                {z} = (PyArrayObject*)PyArray_NewCopy({x}, NPY_CORDER);
                for (npy_intp i = 0; i < PyArray_SIZE({z}) && PyArray_ITEMSIZE({z}) == 8; i++)
                    ((double*)PyArray_DATA({z}))[i] *= 2;
                """

        x = T.dvector("x")
        np.testing.assert_array_equal(theano.function([x], Twice()(x))([1.0, 2.0]), [2.0, 4.0])
        self.assertIn("Twice", str(debugprint(Twice()(x), file="str")))


class TestResultsChecked(unittest.TestCase):
    difference = "results-checked"

    def test_another_dtype_is_an_error(self) -> None:
        class Narrow(theano.Op):
            __props__ = ()

            def make_node(self, x: Any) -> Any:
                return theano.Apply(self, [x], [T.dvector()])

            def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
                output_storage[0][0] = inputs[0].astype("float32")

        x = T.dvector("x")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            f = theano.function([x], Narrow()(x) + 1, mode=mode)
            with self.assertRaisesRegex(Exception, "Narrow: its `perform` stored an array of float32 for output 0"):
                f(np.ones(2))
