"""Convolutions, pooling and Fourier transforms in the runtime, for each length of vectors and number of threads."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

from theano_linker_c import _runtime

CONVOLUTION, POOLING, FOURIER = (_runtime.INSTRUCTIONS[name][0] for name in ("convolution", "pooling", "fourier"))
LENGTHS = (16, 32, 64)
RNG = np.random.RandomState(7)


def refuse(values: Any) -> Any:
    raise AssertionError("the runtime asks for the Python form")


def run(code: int, payload: tuple[Any, ...], *values: Any, fallback: Any = refuse) -> Any:
    """Run one instruction on some values."""
    numbers = tuple(range(len(values)))
    machine = _runtime.Machine(
        n_registers=len(values) + 1,
        inputs=tuple((i, -1, False, False, False, ()) for i in numbers),
        cells=(),
        constants=(),
        instructions=((code, numbers, (len(values),), (), (*payload, fallback), None, None),),
        outputs=(len(values),),
        updates=(),
        single=False,
        on_irregular=print,
        on_input=lambda i, value: value,
        on_result=lambda i, k, value, replaced: value,
        on_error=lambda i, values, error: error,
        finish=None,
        buffer_limit=0,
        thread_scale=1.0,
        locks=(),
    )
    return machine.run(list(values))[0]


def convolved(x: Any, w: Any, stride: int, dilation: int, pad: int) -> Any:
    """Convolve images with two axes, filters not flipped."""
    spread = np.zeros((*w.shape[:2], *((n - 1) * dilation + 1 for n in w.shape[2:])), w.dtype)
    spread[:, :, ::dilation, ::dilation] = w
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, spread.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, spread)


class TestEachLengthOfVectors(unittest.TestCase):
    def setUp(self) -> None:
        self.length, self.threads = _runtime.set_vector_bytes(64), _runtime.get_num_threads()
        self.threshold = _runtime.set_thread_threshold(1.0)

    def tearDown(self) -> None:
        _runtime.set_vector_bytes(self.length)
        _runtime.set_num_threads(self.threads)
        _runtime.set_thread_threshold(self.threshold)

    def test_lengths_are_kept_in_range(self) -> None:
        for operands, saved in ((1, 16), (32, 32), (1000, 64)):
            _runtime.set_vector_bytes(operands)
            self.assertEqual(_runtime.set_vector_bytes(64), saved)
        with self.assertRaises(TypeError):
            _runtime.set_vector_bytes("32")  # type: ignore[arg-type]

    def test_fourier_transforms(self) -> None:
        for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-13)):
            for shape in ((1, 60), (17, 60), (3, 37), (40, 74)):
                x = RNG.randn(*shape).astype(dtype)
                for length in LENGTHS:
                    for threads in (1, 3):
                        _runtime.set_vector_bytes(length)
                        _runtime.set_num_threads(threads)
                        with self.subTest(dtype=dtype, shape=shape, length=length, threads=threads):
                            z = x.astype("complex64" if dtype == "float32" else "complex128")
                            full = run(FOURIER, (0, x.dtype.num, False, (1,)), z)
                            np.testing.assert_allclose(full, np.fft.fft(x), atol=tolerance * 30)
                            pairs = run(FOURIER, (1, x.dtype.num, False, ()), x)
                            np.testing.assert_allclose(pairs[..., 0], np.fft.rfft(x).real, atol=tolerance * 30)
                            back = run(FOURIER, (2, x.dtype.num, False, ()), pairs, np.array(shape[1]))
                            np.testing.assert_allclose(back / shape[1], x, atol=tolerance)

    def test_convolutions(self) -> None:
        cases = (
            ((3, 5, 19, 23), (13, 5, 3, 4), 1, 1, 2),
            ((2, 3, 17, 18), (37, 3, 3, 2), 2, 1, 1),
            ((5, 2, 9, 40), (3, 2, 2, 3), 3, 2, 0),
            ((1, 9, 8, 8), (70, 9, 1, 1), 1, 1, 0),
        )
        for shape, filters, stride, dilation, pad in cases:
            for dtype in ("float32", "float64"):
                x, w = RNG.randn(*shape).astype(dtype), RNG.randn(*filters).astype(dtype)
                expected = convolved(x.astype(float), w.astype(float), stride, dilation, pad)
                top = RNG.randn(*expected.shape).astype(dtype)
                sides = (stride,) * 2, (dilation,) * 2, (pad,) * 2, (pad,) * 2
                payload = np.dtype(dtype).num, False, 1, *sides
                tolerance = 1e-4 if dtype == "float32" else 1e-12
                inner = float((expected * top).sum())
                results = []
                for length in LENGTHS:
                    for threads in (1, 3):
                        _runtime.set_vector_bytes(length)
                        _runtime.set_num_threads(threads)
                        outcome = run(CONVOLUTION, (0, *payload), x, w)
                        by_x = run(CONVOLUTION, (1, *payload), w, top, np.array(shape[2:]))
                        by_w = run(CONVOLUTION, (2, *payload), x, top, np.array(filters[2:]))
                        results.append((outcome, by_x, by_w))
                        np.testing.assert_allclose(outcome, expected, rtol=tolerance, atol=tolerance * 30)
                        for value, gradient in ((x, by_x), (w, by_w)):
                            self.assertEqual((value.shape, value.dtype), (gradient.shape, gradient.dtype))
                            total = float((value.astype(float) * gradient).sum())
                            self.assertAlmostEqual(total / inner, 1, 3 if dtype == "float32" else 9)
                for result in results[1:]:
                    for one, other in zip(result, results[0], strict=True):
                        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * 100)

    def test_pooling(self) -> None:
        x = RNG.randint(-9, 9, (3, 4, 17, 22))
        for dtype in ("float32", "float64"):
            for windows, steps, pads in (((2, 2), (2, 2), (0, 0)), ((3, 4), (2, 3), (1, 2)), ((3, 3), (1, 1), (0, 1))):
                layout = [np.array(v) for v in (windows, steps, pads)]
                value = x.astype(dtype)
                padded = np.pad(value, [(0, 0), (0, 0), *((p, p) for p in pads)], constant_values=-np.inf)
                view = np.lib.stride_tricks.sliding_window_view(padded, windows, (2, 3))
                expected = view[:, :, :: steps[0], :: steps[1]].max((-1, -2))
                for length in LENGTHS:
                    _runtime.set_vector_bytes(length)
                    payload = np.dtype(dtype).num, 2, 0, True
                    y = run(POOLING, (0, *payload), value, *layout)
                    np.testing.assert_array_equal(y, expected)
                    g = np.ones_like(y)
                    operand = run(POOLING, (2, *payload), value, y, g, *layout)
                    self.assertEqual(operand.sum(), g.size)
                    self.assertEqual((operand * value).sum(), y.sum())
                    np.testing.assert_array_equal(run(POOLING, (3, *payload), value, y, value, *layout), y)
                    total = run(POOLING, (0, *payload[:2], 1, True), value, *layout)
                    spread = run(POOLING, (1, *payload[:2], 1, True), g, np.array([17, 22]), *layout)
                    self.assertEqual((spread * value).sum(), total.sum())


class TestLeftToPython(unittest.TestCase):
    def test_what_does_not_fit(self) -> None:
        x, w = np.ones((2, 3, 5, 5)), np.ones((4, 3, 2, 2))
        payload: tuple[Any, ...] = 0, np.dtype("float64").num, False, 1, *((1, 1),) * 2, *((0, 0),) * 2
        asked = np.zeros(())
        for first, second in ((x, w[:, :2]), (x[:, :, :1], w), (x[:0], w), (x.astype("float32"), w), (x[0], w)):
            result = run(CONVOLUTION, payload, first, second, fallback=lambda values: [asked])
            self.assertIs(result, asked)
        good = [np.array([2, 2]), np.array([2, 2]), np.array([0, 0])]
        for position, value in ((0, [0, 2]), (1, [1, 0]), (2, [2, 0]), (2, [-1, 0]), (0, [9, 9]), (1, [2, 2, 2])):
            layout = [*good[:position], np.array(value), *good[position + 1 :]]
            payload = 0, np.dtype("float64").num, 2, 0, True
            self.assertIs(run(POOLING, payload, x, *layout, fallback=lambda values: [asked]), asked)

    def test_what_python_raises(self) -> None:
        def raising(values: Any) -> Any:
            raise ValueError(f"{len(values)} values")

        payload = 0, np.dtype("float64").num, False, 1, (1,), (1,), (0,), (0,)
        with self.assertRaisesRegex(ValueError, "2 values"):
            run(CONVOLUTION, payload, np.ones((1, 1, 2)), np.ones((1, 2, 2)), fallback=raising)


if __name__ == "__main__":
    unittest.main()
