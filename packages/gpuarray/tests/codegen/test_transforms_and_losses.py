"""Device forms of Fourier transforms and of the loss of sequences."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import scipy.fft

from theano_gpuarray.codegen.ctc import AlignmentsKernel
from theano_gpuarray.codegen.fourier import InverseRealFourierKernel, RealFourierKernel, radices
from theano_testing.gpuarray import needs_opencl
from theano_testing.tiers import each_value, slow

from .form_support import Recorder, on_card

#: By dtype, the tolerance of results, relative to the largest one.
TOLERANCES = {"float32": 1e-6, "float64": 1e-14}


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


@needs_opencl
class TestFourier(unittest.TestCase):
    def check(
        self,
        shape: tuple[int, ...],
        dtype: str = "float32",
        *,
        launches: int | None = None,
        cards: tuple[bool, ...] = (False, True),
    ) -> None:
        axes, n = tuple(range(1, len(shape))), shape[-1]
        x = numbers(*shape, dtype=dtype)
        expected = scipy.fft.rfftn(x.astype("float64"), axes=axes)
        y = numbers(*expected.shape, 2, dtype=dtype)
        pairs = y.astype("float64").view("complex128")[..., 0]
        back = scipy.fft.irfftn(pairs, s=shape[1:], axes=axes, norm="forward")
        for card in cards:
            with self.subTest(shape=shape, dtype=dtype, card=card):
                recorder = Recorder(card=card)
                (result,) = recorder.run(RealFourierKernel(dtype), [on_card(x)])
                if launches is not None:
                    self.assertEqual(recorder.launches, launches)
                self.compare(result, np.ascontiguousarray(expected).view("float64").reshape(*expected.shape, 2), dtype)
                (result,) = Recorder(card=card).run(InverseRealFourierKernel(dtype), [on_card(y), np.int64(n)])
                self.compare(result, back, dtype)

    def compare(self, result: Any, expected: Any, dtype: str) -> None:
        self.assertEqual((result.dtype.name, result.shape), (dtype, expected.shape))
        np.testing.assert_allclose(result, expected, rtol=0, atol=TOLERANCES[dtype] * np.abs(expected).max())

    @slow
    def test_lines_in_local_memory(self) -> None:
        for shape, card in each_value(((2, 1), (300, 24), (5, 30), (1, 1001)), (False, True)):
            self.check(shape, launches=1, cards=(card,))
        self.check((3, 210), "float64", launches=1)

    @slow
    def test_long_lines(self) -> None:
        for (shape, dtype, launches), card in each_value(
            (((2, 4096), "float32", 4), ((1, 10000), "float64", None)), (False, True)
        ):
            self.check(shape, dtype, launches=launches, cards=(card,))

    @slow
    def test_large_prime_factors(self) -> None:
        for (shape, dtype), card in each_value((((2, 3 * 17), "float32"), ((1, 3001), "float64")), (False, True)):
            self.check(shape, dtype, cards=(card,))

    @slow
    def test_more_dimensions(self) -> None:
        for shape, card in each_value(((2, 2, 17, 4), (1, 4100, 3)), (False, True)):
            self.check(shape, cards=(card,))

    def test_no_inputs(self) -> None:
        (result,) = Recorder().run(RealFourierKernel("float32"), [numbers(0, 4)])
        self.assertEqual(result.shape, (0, 3, 2))

    def test_radices(self) -> None:
        for n in (1, 2, 60, 1024, 5005, 30030):
            self.assertEqual(np.prod(radices(n) or ()), n)
        self.assertIsNone(radices(17))

    def test_lengths_that_do_not_fit(self) -> None:
        with self.assertRaisesRegex(ValueError, r"rfft: there is nothing to transform in shape \(2, 0\)"):
            Recorder().run(RealFourierKernel("float32"), [numbers(2, 0)])
        for shape, n in (((2, 4, 2), 5), ((2, 4, 3), 6), ((2, 1, 2), 0)):
            with self.subTest(shape=shape, n=n), self.assertRaisesRegex(ValueError, f"does not fit {n} elements"):
                Recorder().run(InverseRealFourierKernel("float32"), [numbers(*shape), np.int64(n)])


def log_sum(values: list[float]) -> float:
    return float(np.logaddexp.reduce(values)) if values else -np.inf


def loss_of(logs: Any, labels: list[int]) -> float:
    """Return minus the logarithm of the probability of some labels, by the definition: over all paths."""
    paths = np.ndindex(*(logs.shape[1],) * len(logs))
    results = []
    for path in paths:
        merged = [s for k, s in enumerate(path) if k == 0 or s != path[k - 1]]
        if [s for s in merged if s] == labels:
            results.append(sum(logs[t, s] for t, s in enumerate(path)))
    return -log_sum(results)


def normed(scores: Any) -> Any:
    wide = scores.astype("float64")
    return wide - np.log(np.exp(wide).sum(axis=-1, keepdims=True))


@needs_opencl
class TestAlignments(unittest.TestCase):
    labels = np.array([[1, -1, 2], [1, 1, -1], [-1, -1, -1], [2, 2, 2], [1, 2, 1]])
    lengths = np.array([4, 3, 2, 3, 0])

    def run_form(self, scores: Any, labels: Any, lengths: Any, *, gradient: bool = True, card: bool = False) -> Any:
        kernel = AlignmentsKernel(scores.dtype.name, gradient)
        return Recorder(card=card).run(kernel, [on_card(scores), on_card(labels), lengths])

    def wanted(self, scores: Any) -> Any:
        rows = [[int(s) for s in row if s >= 0] for row in self.labels]
        return [loss_of(normed(scores[:n, b]), row) for b, (n, row) in enumerate(zip(self.lengths, rows, strict=True))]

    @slow
    def test_losses_and_gradients(self) -> None:
        dtypes = (("float16", 2e-3), ("float32", 1e-5), ("float64", 1e-12))
        for (dtype, tolerance), card in each_value(dtypes, (False, True)):
            scores = numbers(4, 5, 3, dtype=dtype)
            with self.subTest(dtype=dtype, card=card):
                loss, gradient = self.run_form(scores, self.labels, self.lengths, card=card)
                self.assertEqual({loss.dtype.name, gradient.dtype.name}, {dtype})
                np.testing.assert_allclose(loss, self.wanted(scores), rtol=tolerance)
                np.testing.assert_allclose(gradient, self.slopes(scores), rtol=0, atol=max(tolerance, 1e-8))

    def slopes(self, scores: Any) -> Any:
        """Return differences of losses; there is no slope where no path has the labels."""
        step, wide = 1e-5, scores.astype("float64")
        result = np.zeros(wide.shape)
        possible = np.isfinite(self.wanted(wide))
        for position in np.ndindex(wide.shape):
            if possible[position[1]]:
                moved = np.zeros(wide.shape)
                moved[position] = step
                up, down = (self.wanted(wide + s * moved)[position[1]] for s in (1, -1))
                result[position] = (up - down) / (2 * step)
        return result

    def test_other_integers_and_no_gradient(self) -> None:
        scores = numbers(4, 5, 3)
        (loss,) = self.run_form(scores, self.labels.astype("int8"), self.lengths.astype("uint16"), gradient=False)
        np.testing.assert_allclose(loss, self.wanted(scores), rtol=1e-5)

    @slow
    def test_long_sequences(self) -> None:
        scores, labels = numbers(700, 2, 40), np.random.default_rng(2).integers(1, 40, (2, 150))
        lengths = np.array([700, 650])
        loss, gradient = self.run_form(scores, labels, lengths, card=True)
        np.testing.assert_allclose(gradient.sum(axis=2), 0, atol=2e-3)
        exact, slope = self.run_form(scores.astype("float64"), labels, lengths)
        np.testing.assert_allclose(loss, exact, rtol=1e-5)
        np.testing.assert_allclose(gradient, slope, atol=2e-3)

    def test_empty(self) -> None:
        for shape, expected in (((0, 2, 3), [0, 0]), ((3, 0, 3), [])):
            batch = shape[1]
            labels, lengths = np.zeros((batch, 0), "int64"), np.zeros(batch, "int64")
            loss, gradient = self.run_form(numbers(*shape), labels, lengths)
            np.testing.assert_array_equal(loss, expected)
            self.assertEqual(gradient.shape, shape)

    def test_wrong_input(self) -> None:
        scores = numbers(4, 5, 3)
        wrong = self.labels.copy()
        wrong[2, 1] = 3
        blank = self.labels.copy()
        blank[2, 1] = 0
        for labels, lengths, text in (
            (self.labels[:3], self.lengths, "there are 5 examples, 3 rows of labels and 5 lengths"),
            (self.labels, self.lengths[:2], "there are 5 examples, 5 rows of labels and 2 lengths"),
            (self.labels, self.lengths + 1, "input_lengths must be from 0 to 4"),
            (self.labels, self.lengths - 1, "input_lengths must be from 0 to 4"),
            (wrong, self.lengths, "labels must be smaller than 3, the number of symbols"),
            (blank, self.lengths, "0 is the blank, which is no label; padding is negative"),
        ):
            with self.subTest(text), self.assertRaisesRegex(ValueError, f"ctc: {text}"):
                self.run_form(scores, labels, lengths)
