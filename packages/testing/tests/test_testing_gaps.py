"""The tool that lists gaps of ops, and records whose cases are drawn."""

from __future__ import annotations

import contextlib
import io
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op, pullback
from theano_linker_c import scalar
from theano_testing import gaps
from theano_testing.tensor import OpRecord, op_tests


class Plain(Op):
    """An op that can do nothing but run."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        x = tt.as_tensor_variable(inputs[0])
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        output_storage[0][0] = inputs[0] + 1


class Told(Plain):
    """The same, with a reason for its missing gradient and methods in the historical form."""

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        return list(shapes)


pullback.declare_absent(Told, "it is a test")


class WithMethods(Told):
    """An op with all of it, as methods."""

    def grad(self, inputs: list[Any], output_gradients: list[Any]) -> list[Any]:
        return [output_gradients[0]]

    def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
        return [eval_points[0]]


def increment_record(op: Op, **more: Any) -> OpRecord:
    return OpRecord("increment", op, lambda x: x + 1, domain=[(-1.0, 2.0)], **more)


class TestGaps(unittest.TestCase):
    def test_what_is_missing(self) -> None:
        results = {gap.op_class: gap for gap in gaps.find_gaps([__name__], records=[])}
        self.assertEqual(results[Told].missing, ("record",))
        self.assertEqual(results[WithMethods].missing, ("record",))
        self.assertIn("test_testing_gaps.Told lacks: record", str(results[Told]))

    def test_a_base_lacks_what_its_descendants_lack(self) -> None:
        results = {gap.op_class: gap.missing for gap in gaps.find_gaps([__name__], records=[])}
        self.assertEqual(results[Plain], ("record",))

    def test_records_count_where_the_op_occurs(self) -> None:
        record = increment_record(WithMethods())
        self.assertEqual(gaps.recorded_classes([record]), {WithMethods})
        missing = {gap.op_class for gap in gaps.find_gaps([__name__], records=[record])}
        self.assertEqual(missing, set())
        inside = OpRecord("twice", lambda x: tt.exp(x) * 2, lambda x: np.exp(x) * 2, [[np.ones(2)]])
        self.assertLessEqual({type(scalar.exp), type(scalar.mul), tt.Elemwise}, gaps.recorded_classes([inside]))

    def test_ops_of_a_package(self) -> None:
        classes = gaps.op_classes(["theano_tensor.linear"])
        self.assertIn(tt.Dot, classes)
        self.assertNotIn(tt.Elemwise, classes)
        self.assertEqual(classes, sorted(classes, key=lambda c: (c.__module__, c.__qualname__)))
        with self.assertRaises(ImportError):
            gaps.op_classes(["theano_tensor.no_such_module"])

    def test_program(self) -> None:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            status = gaps.main(["theano_tensor._graph_op"])
        self.assertEqual(status, 1)
        self.assertIn("MapRows lacks: record", text.getvalue())
        self.assertRegex(text.getvalue(), r"\d+ of \d+ classes of ops have gaps")


class TestDrawnCases(unittest.TestCase):
    def run_all(self, record: OpRecord) -> unittest.TestResult:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(op_tests(record)).run(result)
        return result

    def test_each_dtype_and_shape(self) -> None:
        complete = increment_record(WithMethods(), dtypes=("float64", "int8"), shapes=[[(2, 3)], [(0,)]]).complete()
        results = [(case[0].dtype.name, case[0].shape) for case in complete.cases]
        self.assertEqual(results, [("float64", (2, 3)), ("float64", (0,)), ("int8", (2, 3)), ("int8", (0,))])
        self.assertEqual([p[0].shape for p in complete.gradient], [(2, 3)])
        self.assertTrue(all((case[0] >= -1).all() and (case[0] <= 2).all() for case in complete.cases))

    def test_default_shapes_broadcast(self) -> None:
        record = OpRecord("product", tt.mul, np.multiply, domain=[(0, 1), (0, 1)]).complete()
        shapes = [tuple(a.shape for a in case) for case in record.cases]
        self.assertIn(((3, 1), (1, 4)), shapes)
        self.assertIn(((0, 4), (0, 4)), shapes)

    def test_all_tests_of_a_users_op(self) -> None:
        result = self.run_all(increment_record(WithMethods(), dtypes=("float32", "float64")))
        self.assertEqual(result.errors + result.failures, [])
        self.assertGreater(result.testsRun, 8)

    def test_wrong_right_product_is_found(self) -> None:
        class Wrong(WithMethods):
            def R_op(self, inputs: list[Any], eval_points: list[Any]) -> list[Any]:
                return [eval_points[0] * 1.01]

        result = self.run_all(increment_record(Wrong(), shapes=[[(3,)]]))
        names = {test.id().rpartition(".")[2].split(" ")[0] for test, _ in result.failures}
        self.assertEqual(names, {"test_right_product_is_the_transpose_of_the_left_one"})

    def test_wrong_records(self) -> None:
        with self.assertRaisesRegex(ValueError, "no cases"):
            op_tests(OpRecord("nothing", tt.exp, np.exp))
        with self.assertRaisesRegex(ValueError, "1 arguments, not 2"):
            op_tests(increment_record(Plain(), shapes=[[(1,), (1,)]]))
