"""Everything that a function of PyTensor is, compiled by Theano."""

from __future__ import annotations

import io
import pickle
import threading
import unittest
import warnings
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.tensor.type_other import NoneConst, make_slice, slicetype
from pytensor_values import check

import theano_pytensor
from theano_pytensor import PerformWarning, VersionWarning, c_pointer, engine_function, report, rule
from theano_pytensor._linker import check_version

X, S = pt.dmatrix("x"), pt.dscalar("s")


class Doubled(Op):  # type: ignore[misc]  # the base has no types
    """An op of a user's, in Python."""

    __props__ = ()

    def make_node(self, x: pt.TensorVariable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[np.ndarray]]) -> None:
        output_storage[0][0] = 2 * inputs[0]


class Part(Op):  # type: ignore[misc]  # the base has no types
    """An op of a user's that takes a slice, or None."""

    __props__ = ()

    def make_node(self, x: pt.TensorVariable, part: Variable) -> Apply:
        return Apply(self, [x, part], [x.type()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[np.ndarray]]) -> None:
        x, part = inputs
        output_storage[0][0] = x if part is None else x[part]


class Bits(Op):  # type: ignore[misc]  # the base has no types
    """An op of a user's that takes a scalar, by a method that numbers of NumPy have and arrays lack."""

    __props__ = ()

    def make_node(self, n: Variable) -> Apply:
        return Apply(self, [n], [n.type()])

    def perform(self, node: Apply, inputs: list[Any], output_storage: list[list[Any]]) -> None:
        output_storage[0][0] = np.int64(inputs[0].bit_count())


class TestFunctions(unittest.TestCase):
    def test_names_of_modes_and_linkers(self) -> None:
        with pytensor.config.change_flags(mode="THEANO"):
            self.assertEqual(4.0, pytensor.function([S], S * 2)(2.0))
        self.assertEqual(4.0, pytensor.function([S], S * 2, mode=pytensor.compile.mode.Mode("theano"))(2.0))

    def test_updates_overwrite_shared_variables_and_no_results(self) -> None:
        first, second = pytensor.shared(np.arange(4.0)), pytensor.shared(np.ones(4))
        updates = {first: first + second, second: first}
        f = pytensor.function([], [first, first[::2], second * 2], updates=updates, mode="THEANO")
        a, b, seen = np.arange(4.0), np.ones(4), []
        for _ in range(4):
            seen.append((f(), [a, a[::2], b * 2]))
            a, b = a + b, a
        for results, expected in seen:
            for x, y in zip(results, expected, strict=True):
                np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(first.get_value(), a)
        np.testing.assert_array_equal(second.get_value(), b)

    def test_generators_with_updates_are_moved_themselves(self) -> None:
        rng = pytensor.shared(np.random.default_rng(1))
        after, numbers = pt.random.normal(size=2, rng=rng).owner.outputs
        f = pytensor.function([], numbers, updates={rng: after}, mode="THEANO")
        state = rng.get_value(borrow=True)
        expected = np.random.default_rng(1)
        for _ in range(3):
            np.testing.assert_array_equal(f(), expected.normal(size=2))
        self.assertIs(rng.get_value(borrow=True), state)

    def test_shared_variables_and_updates(self) -> None:
        total = pytensor.shared(1.0)
        f = pytensor.function([S], total * 2, updates={total: total + S}, mode="THEANO")
        self.assertEqual([2.0, 8.0], [float(f(3.0)), float(f(3.0))])
        other = f.copy(swap={total: pytensor.shared(10.0)})
        self.assertEqual((20.0, 7.0), (float(other(0.0)), float(total.get_value())))

    def test_results_are_not_overwritten_by_later_calls(self) -> None:
        f = pytensor.function([X], X + 1, mode="THEANO")
        first = f(np.zeros((2, 2)))
        f(np.ones((2, 2)))
        self.assertEqual(4.0, first.sum())

    def test_an_input_as_result_is_copied(self) -> None:
        value = np.zeros((2, 2))
        self.assertIsNot(value, pytensor.function([X], X, mode="THEANO")(value))

    def test_no_outputs_and_constants(self) -> None:
        self.assertEqual([], pytensor.function([], [], mode="THEANO")())
        self.assertEqual(3.0, pytensor.function([], pt.constant(3.0), mode="THEANO")())

    def test_pickles(self) -> None:
        f = pickle.loads(pickle.dumps(pytensor.function([X], X.sum(), mode="THEANO")))
        self.assertEqual(4.0, f(np.ones((2, 2))))

    def test_threads_with_copies(self) -> None:
        f = pytensor.function([X], pt.exp(X).sum(), mode="THEANO")
        results: list[float] = []

        def work(g: pytensor.compile.function.types.Function) -> None:
            results.extend(float(g(np.zeros((3, 3)))) for _ in range(50))

        threads = [threading.Thread(target=work, args=(f.copy(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([9.0] * 150, results)

    def test_errors_name_the_node_and_the_line(self) -> None:
        determinant = pt.linalg.inv(X)
        f = pytensor.function([X], determinant * 2, mode="THEANO")
        with self.assertRaisesRegex(np.linalg.LinAlgError, "test_functions.py") as caught:
            f(np.ones((2, 3)))
        self.assertIn("MatrixInverse", str(getattr(caught.exception, "__op_instance__", None)))
        self.assertIn("Apply node of PyTensor", caught.exception.__notes__[-1])


class TestReports(unittest.TestCase):
    def test_ops_left_to_pytensor_are_announced_once(self) -> None:
        with self.assertWarnsRegex(PerformWarning, "Doubled computed by PyTensor"):
            f = pytensor.function([X], Doubled()(X).sum(), mode="THEANO")
        with warnings.catch_warnings():
            warnings.simplefilter("error", PerformWarning)
            pytensor.function([X], Doubled()(X) + 1, mode="THEANO")
        self.assertEqual(8.0, f(np.ones((2, 2))))
        self.assertRegex(str(report(f)), r"1 of 2 nodes translated, 1 left to PyTensor\n  Doubled: 1")

    def test_ops_left_to_pytensor_that_take_slices(self) -> None:
        n, s = pt.lscalar("n"), slicetype("s")
        parts = [make_slice(n, None), make_slice(slice(None, 1)), s, NoneConst]
        outputs = [Part()(X, part) for part in parts]
        check([X, n, s], outputs, np.eye(2), 1, slice(None, None, -1), performed=["Part"])

    def test_ops_left_to_pytensor_that_take_scalars(self) -> None:
        n = pt.lscalar("n")
        check([n], [pt.tensor_from_scalar(Bits()(pt.scalar_from_tensor(n)))], 7, performed=["Bits"])

    def test_graphs_are_printed(self) -> None:
        f = pytensor.function([X], X.sum(), mode="THEANO", profile=True)
        f(np.eye(2))
        printed = io.StringIO()
        pytensor.dprint(f, file=printed)
        self.assertIn("Sum", printed.getvalue())

    def test_functions_of_other_linkers(self) -> None:
        with self.assertRaisesRegex(TypeError, "mode='THEANO'"):
            report(pytensor.function([S], S, mode="FAST_COMPILE"))

    def test_rules_of_users(self) -> None:
        class Tripled(Doubled):
            def perform(self, node: Apply, inputs: list[np.ndarray], output_storage: list[list[np.ndarray]]) -> None:
                output_storage[0][0] = 3 * inputs[0]

        rule(f"{__name__}.Tripled")(lambda site: 3 * site.inputs[0])
        check([X], [Tripled()(X)], np.ones((2, 2)))
        with self.assertRaisesRegex(ValueError, "already"):
            rule(f"{__name__}.Tripled")(lambda site: site.inputs[0])


class TestAddresses(unittest.TestCase):
    def test_the_function_inside(self) -> None:
        f = pytensor.function([S], [S + 1, S * 2], mode="THEANO")
        self.assertEqual([2.0, 2.0], [float(value) for value in engine_function(f)(np.array(1.0))])
        self.assertIs(engine_function(f), f.vm.jit_fn)

    def test_c_functions(self) -> None:
        f = pytensor.function([X], pt.exp(X).sum(), mode="THEANO")
        pointer = c_pointer(f, "double(double *)", shapes={"x": (2, 2)})
        self.assertGreater(pointer.address, 0)
        with self.assertRaisesRegex(ValueError, "no input 'y'"):
            c_pointer(f, shapes={"y": (2, 2)})

    def test_versions_that_were_not_tested_are_announced(self) -> None:
        with self.assertWarnsRegex(VersionWarning, r"tested with PyTensor 2.38 and 3.0, not with 9.1.2"):
            check_version("9.1.2")
        with warnings.catch_warnings(action="error"):
            check_version("2.38.0+5.gabc")
            check_version("3.0.7")

    def test_a_version_says_which(self) -> None:
        self.assertRegex(theano_pytensor.__version__, r"\d+\.\d+")
