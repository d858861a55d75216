"""Graphs that random ones have shown to be treated wrongly, in their shortest form."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import Mode, function
from theano_testing.tensor import assert_allclose


def run(outputs: Any, inputs: Any, *values: Any, linker: str = "cvm") -> Any:
    compiled: Any = function(inputs, outputs, mode=Mode(linker, "fast_run"), on_unused_input="ignore")
    return compiled(*values)


class ProductsOfNarrowFactors(unittest.TestCase):
    """Products in normal form, of factors with other dtypes than their own."""

    def test_a_sign_before_a_truth_value(self) -> None:
        x = tt.dmatrix("x")
        result = run(tt.grad((-x).max(-1).sum(), x), [x], np.array([[1.0, 3.0], [5.0, 2.0]]))
        assert_allclose(result, [[-1.0, 0.0], [0.0, -1.0]])

    def test_a_truth_value_times_minus_one(self) -> None:
        x = tt.dmatrix("x")
        result = run(tt.grad(tt.ptp(x, axis=1).sum(), x), [x], np.array([[1.0, 3.0], [5.0, 2.0]]))
        assert_allclose(result, [[-1.0, 1.0], [1.0, -1.0]])

    def test_small_integers_times_minus_one(self) -> None:
        i, j = tt.bvectors("i", "j")
        least = np.array([-128], "int8")
        assert_allclose(run(i * np.float64(-1.0), [i], least), [128.0])
        assert_allclose(run(j * (np.float64(-1.0) * i), [i, j], least, least), [-16384.0])

    def test_a_power_of_small_integers_does_not_overflow(self) -> None:
        x, i = tt.dvector("x"), tt.bvector("i")
        result = run(2 * (3 * (x * i * i)), [x, i], np.array([1.0, 0.5]), np.array([100, -100], "int8"))
        assert_allclose(result, [60000.0, 30000.0])

    def test_a_quotient_by_narrow_floats_does_not_overflow(self) -> None:
        x, y, z = tt.dvector("x"), tt.fvector("y"), tt.fvector("z")
        large = np.array([1e30], "float32")
        result = run(2 * (3 * (x / y / z)), [x, y, z], np.array([1e40]), large, large)
        assert_allclose(result, 6e40 / large.astype("float64") / large.astype("float64"))


class SumsOfOtherDtypes(unittest.TestCase):
    """Sums inside of sums, which are computed in a dtype of their own."""

    def test_truth_values_beside_an_exponential(self) -> None:
        b, x = tt.TensorType("bool", (None,))("b"), tt.dvector("x")
        one = tt.constant(np.array(True))
        true, value = np.array([True]), np.array([1.0])
        assert_allclose(run((one + b) + tt.exp(tt.log(x)), [b, x], true, value), [2.0])
        assert_allclose(run(tt.log((one + b) + tt.exp(x)), [b, x], true, value), np.log(1 + np.exp(value)))

    def test_integers_that_go_round(self) -> None:
        i, x = tt.bvector("i"), tt.dvector("x")
        hundred = tt.constant(np.array(100, "int8"))
        values = np.array([100], "int8"), np.array([1.0])
        assert_allclose(run((hundred + i) + tt.exp(tt.log(x)), [i, x], *values), [-55.0])


class ShiftedExponentials(unittest.TestCase):
    """Exponentials whose argument has lost its maximum already."""

    def test_logarithms_of_the_exponentials_themselves(self) -> None:
        x = tt.dvector("x")
        e = tt.exp(x)
        value = np.array([1.0, -800.0, 2.0])
        for mode in (Mode("cvm", "fast_run"), Mode("cvm", "fast_run").excluding("canonicalize")):
            compiled: Any = function([x], [tt.log(e), tt.log(e.sum()), e / e.sum()], mode=mode)
            itself, total, share = compiled(value)
            assert_allclose(itself, value)
            assert_allclose(total, np.logaddexp.reduce(value))
            assert_allclose(share, np.exp(value - np.logaddexp.reduce(value)))

    def test_logarithms_of_what_the_shift_would_turn_into_zero(self) -> None:
        x, mask = tt.dvectors("x", "mask")
        e = tt.exp(x)
        outputs = [tt.log((mask * e).sum()), e / e.sum(), tt.log(e.sum()), tt.log(mask * e)]
        for mode in (Mode("cvm", "fast_run"), Mode("cvm", "fast_run").excluding("canonicalize")):
            for expected in (outputs, outputs[:3], outputs[1:]):
                compiled: Any = function([x, mask], expected, mode=mode)
                result = dict(zip(expected, compiled(np.array([700.0, -700.0]), np.array([0.0, 1.0])), strict=True))
                reference = dict(zip(outputs, [-700.0, [1.0, 0.0], 700.0, [-np.inf, -700.0]], strict=True))
                for output, value in result.items():
                    assert_allclose(value, reference[output], atol=1e-300)

    def test_a_softmax_of_a_negative(self) -> None:
        x = tt.dmatrix("x")
        value = np.array([[1.0, -1000.0], [3.0, 2.0]])
        weights = tt.exp(-x) / tt.exp(-x).sum(-1, keepdims=True)
        result = run([tt.log(weights), weights], [x], value)
        expected = -value - np.logaddexp.reduce(-value, axis=1, keepdims=True)
        assert_allclose(result[0], expected)
        assert_allclose(result[1], np.exp(expected))

    def test_a_softmax_of_one_row(self) -> None:
        x = tt.drow("x")
        weights = tt.exp(x) / tt.exp(x).sum(-1, keepdims=True)
        for optimizer in ("o2", "o3", "fast_compile"):
            compiled: Any = function([x], weights, mode=Mode("cvm", optimizer))
            assert_allclose(compiled(np.array([[1000.0, 1000.0]])), [[0.5, 0.5]])

    def test_a_softmax_of_a_difference(self) -> None:
        x, y = tt.dmatrices("x", "y")
        values = [np.array([[1.0, 900.0], [3.0, 2.0]]), np.array([[-800.0, 1.0], [0.0, 4.0]])]
        scores = -(x + y) - 1
        result = run(tt.log(tt.exp(scores) / tt.exp(scores).sum(-1, keepdims=True)), [x, y], *values)
        plain = -(values[0] + values[1]) - 1
        assert_allclose(result, plain - np.logaddexp.reduce(plain, axis=1, keepdims=True))


class SumsOfNothing(unittest.TestCase):
    def test_a_constant_that_is_no_number_does_not_count(self) -> None:
        x = tt.dvector("x")
        for linker in ("cvm", "py"):
            total = run([tt.sum(tt.log1mexp(x / x)), tt.sum(tt.log(x - x))], [x], np.zeros(0), linker=linker)
            assert_allclose(total, [0.0, 0.0])


class ConstantsOfSmallIntegers(unittest.TestCase):
    """A narrow constant must not wrap around on the way where the expression as written does not."""

    def test_what_remains_is_subtracted(self) -> None:
        for dtype, narrow, number in (("uint16", "uint8", 1), ("int32", "int8", -128)):
            x = tt.vector("x", dtype=dtype)
            value = np.array([3, 4], dtype)
            for one in (np.array(number, narrow), np.array([number, number], narrow)):
                with self.subTest(dtype=dtype, ndim=one.ndim):
                    result = run((x - x) - tt.constant(one), [x], value)
                    self.assertEqual(result.dtype, np.dtype(dtype))
                    self.assertEqual(result.tolist(), (value - value - one.astype(dtype)).tolist())

    def test_two_that_remain(self) -> None:
        x = tt.scalar("x", dtype="uint16")
        one, two = (tt.constant(np.array(n, "uint8")) for n in (1, 2))
        self.assertEqual(int(run(((x + one) - x) - two, [x], np.array(5, "uint16"))), 65535)

    def test_the_size_of_the_least_integer_is_negative(self) -> None:
        i, x = tt.bvector("i"), tt.dvector("x")
        least = np.array([-128], "int8")
        self.assertEqual(run(abs(i) * abs(x), [i, x], least, np.array([-3.0])).tolist(), [-384.0])


class QuotientsOfTruthValues(unittest.TestCase):
    def test_they_have_no_sign(self) -> None:
        x = tt.vector("x", dtype="bool")
        self.assertEqual(run(x / abs(x), [x], np.array([True, True])).tolist(), [1.0, 1.0])


class SignsOfZero(unittest.TestCase):
    def test_integers_have_no_negative_zero(self) -> None:
        x = tt.dvector("x")
        result = run(
            [1 / tt.cast(tt.cast(x, "int16"), "float64"), tt.arctan2(x, tt.cast(x, "int32"))],
            [x],
            np.array([-0.0, -0.5]),
        )
        self.assertEqual(result[0].tolist(), [np.inf, np.inf])
        assert_allclose(result[1], np.arctan2([-0.0, -0.5], [0.0, 0.0]))


class StrangeExponents(unittest.TestCase):
    def test_exponents_that_are_no_finite_numbers(self) -> None:
        x, operands = tt.dvector("x"), np.array([0.0, 0.5, 1.0, 3.0, np.inf])
        for exponent in (np.nan, np.inf, -np.inf):
            with np.errstate(all="ignore"):
                assert_allclose(run(x**exponent, [x], operands), operands**exponent)


class AllocsOfAllocs(unittest.TestCase):
    """An alloc of length 1 declares that its value broadcasts in the one around it."""

    def test_lengths_of_one_that_the_value_does_not_declare(self) -> None:
        x = tt.dmatrix("x")
        once = tt.alloc(tt.alloc(x, 1, 2), 2, 3, 4, 2)
        result = run(once, [x], np.array([[1.0, 5.0]]))
        assert_allclose(result, np.broadcast_to([1.0, 5.0], (2, 3, 4, 2)))
        with self.assertRaises(ValueError):
            run(tt.alloc(tt.alloc(x, 1, 2), 4, 2), [x], np.ones((4, 2)))  # four rows are not one

    def test_declared_lengths_of_one(self) -> None:
        row = tt.row("row")
        compiled: Any = function([row], tt.alloc(tt.alloc(row, 1, 2), 4, 2), mode="FAST_RUN")
        self.assertEqual([str(node.op) for node in compiled.maker.fgraph.toposort()], ["Alloc"])
        assert_allclose(compiled([[1.0, 5.0]]), [[1.0, 5.0]] * 4)


if __name__ == "__main__":
    unittest.main()
