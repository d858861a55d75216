"""Scalar ops against NumPy and SciPy, and their derivatives against differences."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import MissingRuleError, pullback, pushforward
from theano_linker_c import scalar as sc
from theano_linker_c.scalar import Composite, ScalarRecord, ScalarType, is_undefined, records

from .samples import largest_error, pull, push, samples


def smooth_records() -> list[ScalarRecord]:
    return [record for record in records if record.smooth]


def as_it_computes(record: ScalarRecord, values: Sequence[Any]) -> Sequence[Any]:
    """NumPy computes functions of small integers in half precision, we in the dtype of the result."""
    dtype = values[0].dtype.name
    (result,) = record.op.result_dtypes(*[dtype] * record.nin)
    if isinstance(record.op, sc.Cast) or dtype.startswith("float") or not result.startswith("float"):
        return values
    return [value.astype(result) for value in values]


def apply_node(record: ScalarRecord, dtypes: Sequence[str]) -> Any:
    return record.op.make_node(*(ScalarType(dtype)() for dtype in dtypes))


class TestValues(unittest.TestCase):
    def test_impl_agrees_with_reference(self) -> None:
        for record in records:
            for dtype in record.dtypes:
                values = samples(record, dtype)
                with self.subTest(op=str(record.op), dtype=dtype), np.errstate(all="ignore"):
                    actual = record.op.impl(*values)
                    operand = as_it_computes(record, values)
                    self.assertLessEqual(largest_error(actual, record.reference(*operand)), record.ulp)

    def test_impl_has_the_result_dtype(self) -> None:
        for record in records:
            for dtype in record.dtypes:
                expected = record.op.result_dtypes(*[dtype] * record.nin)[0]
                values = samples(record, dtype, size=3)
                with self.subTest(op=str(record.op), dtype=dtype):
                    self.assertEqual(record.op.impl(*values).dtype.name, expected)
                    self.assertEqual(record.op.impl(*(value[0] for value in values)).dtype.name, expected)

    def test_float16_runs_in_numpy(self) -> None:
        for record in records:
            if "float32" in record.dtypes:
                values = samples(record, "float16")
                with self.subTest(op=str(record.op)):
                    result = record.op.impl(*values)
                    self.assertEqual(result.dtype.name, record.op.result_dtypes(*["float16"] * record.nin)[0])

    def test_results_broadcast(self) -> None:
        for record in records:
            if record.nin == 2 and "float64" in record.dtypes:
                a, b = samples(record, "float64")
                with self.subTest(op=str(record.op)):
                    self.assertEqual(record.op.impl(a[:3, None], b[:4]).shape, (3, 4))

    def test_performs_like_impl(self) -> None:
        node: Any = sc.add.make_node(ScalarType("int8")(), ScalarType("float32")())
        storage: list[list[Any]] = [[None]]
        node.op.perform(node, [np.int8(2), np.float32(0.5)], storage)
        self.assertEqual(storage[0][0], np.float32(2.5))


class TestSpecialValues(unittest.TestCase):
    def test_sigmoid_in_both_tails(self) -> None:
        x = np.array([-745.0, -700.0, -40.0, 40.0, 800.0])
        np.testing.assert_allclose(sc.sigmoid.impl(x), [5e-324, np.exp(-700.0), np.exp(-40.0), 1.0, 1.0], rtol=1e-14)

    def test_softplus_neither_overflows_nor_cancels(self) -> None:
        x = np.array([-745.0, -50.0, 1000.0, np.inf, -np.inf])
        np.testing.assert_allclose(sc.softplus.impl(x), [5e-324, np.exp(-50.0), 1000.0, np.inf, 0.0], rtol=1e-14)

    def test_integer_division_by_zero_gives_zero(self) -> None:
        self.assertEqual(sc.int_div.impl(np.int32(7), np.int32(0)), 0)
        self.assertEqual(sc.mod.impl(np.int32(7), np.int32(0)), 0)

    def test_signs_of_floor_division(self) -> None:
        a, b = np.array([7, -7, 7, -7]), np.array([3, 3, -3, -3])
        self.assertEqual(sc.int_div.impl(a, b).tolist(), [2, -3, -3, 2])
        self.assertEqual(sc.mod.impl(a, b).tolist(), [1, 2, -2, -1])

    def test_negative_power_of_an_integer(self) -> None:
        base, exponent = np.array([1, -1, -1, 2, 0]), np.array([-3, -3, -4, -1, -1])
        self.assertEqual(sc.pow.impl(base, exponent).tolist(), [1, -1, 1, 0, 0])

    def test_maximum_lets_nan_through(self) -> None:
        nan = float("nan")
        self.assertTrue(np.isnan(sc.maximum.impl(nan, 1.0)) and np.isnan(sc.minimum.impl(1.0, nan)))

    def test_no_warning_from_poles(self) -> None:
        with np.errstate(all="raise"):
            self.assertEqual(sc.log.impl(np.float64(0.0)), -np.inf)
            self.assertEqual(sc.true_div.impl(np.float64(1.0), np.float64(0.0)), np.inf)


class TestDerivatives(unittest.TestCase):
    def setUp(self) -> None:
        self.rng = np.random.default_rng(1)

    def points(self, record: ScalarRecord) -> list[Any]:
        columns = [self.rng.uniform(record.low, record.high, 50) for _ in range(record.nin)]
        if record.op.name == "clip":
            columns[1], columns[2] = np.full(50, -1.3), np.full(50, 2.2)
        return columns

    def test_pullback_agrees_with_differences(self) -> None:
        for record in smooth_records():
            node: Any = apply_node(record, ["float64"] * record.nin)
            seed = ScalarType(node.outputs[0].type.dtype)()
            parts = pull(node, [seed])
            values = self.points(record)
            for i, part in enumerate(parts):
                if part is None or is_undefined(part):
                    continue
                with self.subTest(op=str(record.op), input=i):
                    self.assertEqual(part.type, node.inputs[i].type)
                    run = Composite([*node.inputs, seed], [sc.second(node.inputs[0], part)])
                    exact = run.impl(*values, np.full(50, 1.5, seed.type.dtype))
                    tolerance = 1e-2 if node.outputs[0].type.dtype == "float32" else 1e-5
                    np.testing.assert_allclose(
                        exact, 1.5 * self.slope(record, values, i), rtol=tolerance, atol=tolerance
                    )

    def slope(self, record: ScalarRecord, values: list[Any], i: int) -> Any:
        step = 1e-3 if record.op.result_dtypes(*["float64"] * record.nin)[0] == "float32" else 1e-6
        low, high = list(values), list(values)
        low[i], high[i] = values[i] - step, values[i] + step
        return (record.op.impl(*high).astype(float) - record.op.impl(*low)) / (2 * step)

    def test_pushforward_agrees_with_pullback(self) -> None:
        for record in smooth_records():
            node: Any = apply_node(record, ["float64"] * record.nin)
            one = ScalarType(node.outputs[0].type.dtype).make_constant(1)
            parts = pull(node, [one])
            values = self.points(record)
            for i, part in enumerate(parts):
                if part is None or is_undefined(part):
                    continue
                tangents: list[Any] = [None] * record.nin
                tangents[i] = node.inputs[i].type.make_constant(1)
                (forward,) = push(node, tangents)
                both = Composite(node.inputs, [sc.second(node.inputs[0], part), sc.second(node.inputs[0], forward)])
                with self.subTest(op=str(record.op), input=i):
                    back, forth = both.impl(*values)
                    np.testing.assert_allclose(back, forth, rtol=1e-6)

    def test_every_op_states_its_derivative(self) -> None:
        for record in records:
            with self.subTest(op=str(record.op)):
                self.assertIsNotNone(pullback.get(record.op))
                self.assertIsNotNone(pushforward.get(record.op))

    def test_float32_stays_float32(self) -> None:
        for record in smooth_records():
            node: Any = apply_node(record, ["float32"] * record.nin)
            seed = node.outputs[0].type()
            for part in pull(node, [seed]):
                if is_undefined(part):
                    continue
                with self.subTest(op=str(record.op)):
                    self.assertIn(part if part is None else part.dtype, (None, "float32"))

    def test_integer_input_gets_a_float(self) -> None:
        x, y = ScalarType("int64")(), ScalarType("int64")()
        node: Any = (x / y).owner
        self.assertEqual([p.dtype for p in pull(node, [node.out.type()])], ["float64", "float64"])

    def test_discrete_output_passes_zeros(self) -> None:
        x, y = ScalarType("int32")(), ScalarType("int32")()
        node: Any = (x * y).owner
        part = pull(node, [ScalarType("float64")()])[0]
        self.assertEqual(Composite([x], [part]).impl(np.int32(5)), 0.0)
        self.assertEqual(part.dtype, "float64")

    def test_saturation_gives_zero_not_nan(self) -> None:
        for op in (sc.sigmoid, sc.softplus, sc.tanh, sc.erf, sc.arctan):
            x = ScalarType("float64")()
            node: Any = op.make_node(x)
            (part,) = pull(node, [ScalarType("float64").make_constant(1)])
            with self.subTest(op=str(op)):
                slopes = Composite([x], [part]).impl(np.array([-1e200, 1e200, -np.inf, np.inf]))
                self.assertTrue(np.isfinite(slopes).all())

    def test_power_at_zero(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        node: Any = (x**y).owner
        parts = pull(node, [ScalarType("float64").make_constant(1)])
        dx, dy = Composite([x, y], parts).impl(np.array([0.0, 0.0]), np.array([0.0, 2.0]))
        self.assertEqual((dx.tolist(), dy.tolist()), ([0.0, 0.0], [0.0, 0.0]))

    def test_ties_of_maximum_share_one_seed(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        node: Any = sc.maximum.make_node(x, y)
        parts = pull(node, [ScalarType("float64").make_constant(3)])
        self.assertEqual(sum(Composite([x, y], parts).impl(2.0, 2.0)), 3.0)

    def test_product_of_many_with_a_zero(self) -> None:
        inputs = [ScalarType("float64")() for _ in range(4)]
        node: Any = sc.mul.make_node(*inputs)
        parts = pull(node, [ScalarType("float64").make_constant(1)])
        self.assertEqual(Composite(inputs, parts).impl(2.0, 0.0, 3.0, 5.0), (0.0, 30.0, 0.0, 0.0))

    def test_slope_of_comparison_is_zero(self) -> None:
        x, y = ScalarType("float64")(), ScalarType("float64")()
        for result in (x < y, sc.inopenrange(x, y, 3.0), sc.eq(x, y)):
            parts = pull(result.owner, [ScalarType("float64")()])[:2]
            self.assertEqual(Composite([x, y], parts).impl(2.0, 3.0), (0.0, 0.0))

    def test_unknown_op_has_no_rule(self) -> None:
        class Strange(sc.ScalarOp):
            name = "strange"

        with self.assertRaises(MissingRuleError):
            pullback.lookup(Strange())
