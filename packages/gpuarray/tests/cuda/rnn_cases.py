"""Recurrent networks by cuDNN: run by `test_cudnn` in a process of its own, which opens stand-ins for CUDA."""

from __future__ import annotations

import unittest
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theano_gpuarray._runtime import DeviceError
from theano_gpuarray.arrays import asarray
from theano_gpuarray.codegen import DnnKernel, network_numbers
from theano_gpuarray.region import Region, Step, run_kernel
from theano_graph import config

from .cudnn_support import Case, calls, fake

RELU, TANH, LSTM, GRU = range(4)
GATES = (1, 1, 4, 3)
#: Of the networks whose values are compared: the stand-in takes a network without gates as a linear one.
HIDDEN, INPUTS, STEPS, BATCH = 3, 2, 4, 5


class Left(Exception):
    """Cases that the library does not compute are left to others."""


def left(recorder: object, operands: Sequence[Any]) -> Sequence[Any]:
    raise Left


@contextmanager
def weights(more: int = 0, biases_first: bool = False) -> Iterator[None]:
    """Let the library have another layout of parameters."""
    fake.fake_weights(more, int(biases_first))
    try:
        yield
    finally:
        fake.fake_weights(0, 0)


def linear(w: NDArray[Any], x: NDArray[Any], h: NDArray[Any]) -> NDArray[Any]:
    """Return all states of the linear network."""
    split = np.split(w, np.cumsum([HIDDEN * INPUTS, HIDDEN * HIDDEN, HIDDEN]))
    a, u = split[0].reshape(HIDDEN, INPUTS), split[1].reshape(HIDDEN, HIDDEN)
    states = [h[0]]
    for step in x:
        states.append(step @ a.T + states[-1] @ u.T + split[2] + split[3])
    return np.stack(states[1:])


class TestNetworks(Case):
    def size(self, options: tuple[int, ...], inputs: int) -> int:
        """Return how many parameters there are."""
        mode, hidden, layers, both, skip = options
        columns = [hidden * (1 + both) if k else 0 if skip else inputs for k in range(layers)]
        return (1 + both) * GATES[mode] * hidden * sum(n + hidden + 2 for n in columns)

    def operands(self, options: tuple[int, ...], dtype: str = "float64", inputs: int = INPUTS) -> list[NDArray[Any]]:
        """Return parameters, inputs, and first states and cells."""
        _, hidden, layers, both, _ = options
        shapes = [(self.size(options, inputs),), (STEPS, BATCH, inputs)]
        shapes += [(layers * (1 + both), BATCH, hidden)] * (2 if options[0] == LSTM else 1)
        return [self.rng.normal(size=shape).astype(dtype) for shape in shapes]

    def forward(self, options: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
        return run_kernel(DnnKernel("rnn", values[0].dtype.name, options, (), left), self.context, values)

    def backward(self, options: tuple[int, ...], values: Sequence[Any]) -> list[Any]:
        return run_kernel(DnnKernel("rnn_grad", values[0].dtype.name, options, (), left), self.context, values)

    def test_values(self) -> None:
        options = (TANH, HIDDEN, 1, 0, 0)
        for dtype in ("float32", "float64"):
            for more in (0, 64):
                w, x, h = self.operands(options, dtype)
                with weights(more):
                    y, last, _ = (np.asarray(v) for v in self.forward(options, [w, x, h]))
                expected = linear(w, x, h)
                np.testing.assert_allclose(y, expected, rtol=1e-3)
                np.testing.assert_allclose(last[0], expected[-1], rtol=1e-3)
                self.assertEqual((y.dtype, last.shape), (dtype, h.shape))

    def test_gradients(self) -> None:
        options = (TANH, HIDDEN, 1, 0, 0)
        for more in (0, 64):
            values = self.operands(options)
            dy, dh = self.rng.normal(size=(STEPS, BATCH, HIDDEN)), self.rng.normal(size=(1, BATCH, HIDDEN))
            with weights(more):
                y, _, reserve = self.forward(options, values)
                operands = [*values, y, reserve, dy, dh]
                results = [np.asarray(v) for v in self.backward(options, operands)]
                # The stored values are not changed.
                again = [np.asarray(v) for v in self.backward(options, operands)]
            for k, (array, by) in enumerate(zip(values, results, strict=True)):
                direction = self.rng.normal(size=array.shape)
                costs = []
                for sign in (1, -1):
                    moved = [v + sign * 1e-6 * direction if i == k else v for i, v in enumerate(values)]
                    states = linear(*moved)
                    costs.append((states * dy).sum() + (states[-1] * dh).sum())
                change = (costs[0] - costs[1]) / 2e-6
                np.testing.assert_allclose((by * direction).sum(), change, rtol=1e-5)
                np.testing.assert_array_equal(again[k], by)

    def test_what_is_told(self) -> None:
        for dtype, tf32, expected in (
            ("float64", False, (1, 1, 0)), ("float32", False, (0, 0, 3)), ("float32", True, (0, 0, 0)),
            ("float16", False, (2, 0, 1)),
        ):  # fmt: skip
            for mode in range(4):
                for layers, both, skip in ((1, 0, 0), (2, 1, 0), (3, 0, 1), (2, 1, 1)):
                    options, inputs = (mode, HIDDEN, layers, both, skip), HIDDEN if skip else INPUTS
                    values = self.operands(options, dtype, inputs)
                    with config.change_flags(gpuarray__tf32=tf32), self.subTest(options, dtype=dtype, tf32=tf32):
                        y, *last, reserve = self.forward(options, values)
                        messages = [0, mode, 2, both, skip, *expected, inputs, HIDDEN, HIDDEN, layers]
                        self.assertEqual(fake.fake_network()[:12], messages)
                        self.assertEqual(y.shape, (STEPS, BATCH, HIDDEN * (1 + both)))
                        self.assertEqual([v.shape for v in last], [v.shape for v in values[2:]])
                        by = self.backward(options, [*values, y, reserve, y, *last])
                        self.assertEqual([v.shape for v in by], [v.shape for v in values])
                        self.assertEqual([v.dtype for v in by], [v.dtype for v in values])

    def test_lists_are_captured(self) -> None:
        options = (TANH, HIDDEN, 1, 0, 0)
        forward = Step(DnnKernel("rnn", "float64", options, (), left), (0, 1, 2), (3, 4, 5))
        back = Step(DnnKernel("rnn_grad", "float64", options, (), left), (0, 1, 2, 3, 5, 6, 7), (8, 9, 10))
        region = Region(self.context, [forward, back], [0, 1, 2, 6, 7], [3, 9])
        for _ in range(5):
            w, x, h = self.operands(options)
            dy, dh = np.ones((STEPS, BATCH, HIDDEN)), np.zeros((1, BATCH, HIDDEN))
            y, dx = region([asarray(v, context=self.context) for v in (w, x, h, dy, dh)])
            np.testing.assert_allclose(np.asarray(y), linear(w, x, h))
            moved = np.zeros_like(x)
            moved[0, 0, 0] = 1e-6
            change = (linear(w, x + moved, h).sum() - linear(w, x - moved, h).sum()) / 2e-6
            self.assertAlmostEqual(np.asarray(dx)[0, 0, 0], change, places=4)

    def test_what_the_library_has_not(self) -> None:
        options = (LSTM, HIDDEN, 2, 1, 0)
        values = self.operands(options)
        with weights(biases_first=True), self.assertRaises(Left):
            self.forward(options, values)
        with weights(more=-8), self.assertRaises(Left):
            self.forward(options, values)
        for k in range(2, 4):
            wrong = [v[..., :1] if i == k else v for i, v in enumerate(values)]
            with self.subTest(k), self.assertRaises(Left):
                self.forward(options, wrong)
        with self.assertRaises(Left):
            self.forward(options, [values[0][:-1], *values[1:]])
        with self.assertRaises(Left):
            self.forward((LSTM, HIDDEN, 2, 1, 1), values)
        with config.change_flags(dnn__enabled="False"), self.assertRaises(Left):
            self.forward(options, values)
        self.assertEqual(calls("cudnnRNNForward"), 0)

    def test_no_steps_and_no_sequences(self) -> None:
        for mode in range(4):
            options = (mode, HIDDEN, 2, 1, 0)
            w, x, *first = self.operands(options)
            for values in ([w, x[:0], *first], [w, x[:, :0], *(v[:, :0] for v in first)]):
                y, *last, reserve = self.forward(options, values)
                self.assertEqual(y.shape, (*values[1].shape[:2], 2 * HIDDEN))
                by = self.backward(options, [*values, y, reserve, y, *last])
                for mine, theirs in zip((*last, *by[2:]), (*values[2:], *values[2:]), strict=True):
                    np.testing.assert_array_equal(np.asarray(mine), theirs)
                self.assertEqual((np.abs(np.asarray(by[0])).max(), by[1].shape), (0, values[1].shape))
        self.assertEqual(calls("cudnnRNNForward"), 0)

    def test_failures(self) -> None:
        options = (GRU, HIDDEN, 2, 0, 0)
        values = self.operands(options)
        y, last, reserve = self.forward(options, values)
        describing = [
            "cudnnCreateDropoutDescriptor", "cudnnSetDropoutDescriptor", "cudnnCreateRNNDescriptor",
            "cudnnSetRNNDescriptor_v8", "cudnnCreateRNNDataDescriptor", "cudnnSetRNNDataDescriptor",
            "cudnnCreateTensorDescriptor", "cudnnSetTensorNdDescriptor", "cudnnGetRNNTempSpaceSizes",
            "cudnnGetRNNWeightSpaceSize", "cudnnGetRNNWeightParams",
        ]  # fmt: skip
        cases = [(call, "describing a recurrent network to cuDNN") for call in describing]
        cases += [("cudnnRNNForward", "a recurrent network by cuDNN"), ("cudnnSetStream", "choosing the stream")]
        for call, text in cases:
            fake.fake_fail(call.encode(), 5000, 0)
            with self.subTest(call), self.assertRaisesRegex(DeviceError, text):
                self.forward(options, values)
            fake.fake_reset()
        for call in ("cudnnRNNBackwardData_v8", "cudnnRNNBackwardWeights_v8"):
            fake.fake_fail(call.encode(), 5000, 0)
            with self.subTest(call), self.assertRaisesRegex(DeviceError, "a recurrent network by cuDNN"):
                self.backward(options, [*values, y, reserve, y, last])
            fake.fake_reset()

    def test_wrong_calls(self) -> None:
        memory, native = self.context.allocate(4096), self.context.native
        numbers = network_numbers((LSTM, 2, 1, 0, 0), 3, 2, 2, "float32")
        room, small = (memory, 0, 4096), (memory, 0, 4)
        self.assertEqual(native.workspace("rnn", "float32", numbers), 128)
        self.assertEqual(native.workspace("rnn_reserve", "float32", numbers), 3 * 2 * 2 * 8)
        self.assertEqual(native.workspace("rnn_weights", "float32", numbers), 4 * (8 * 4 + 8 * 2))
        for k in range(10):
            places = [small if i == k else room for i in range(10)]
            with self.subTest(k), self.assertRaisesRegex(DeviceError, f"rnn: array {k} has 4 bytes, too few"):
                native.call("rnn", "float32", numbers, *places)
        # A network without cells has gradients by its last states all the same.
        numbers = network_numbers((GRU, 2, 1, 0, 0), 3, 2, 2, "float32")
        for k in sorted(set(range(15)) - {2, 7, 10}):
            places = [small if i == k else room for i in range(15)]
            with self.subTest(k), self.assertRaisesRegex(DeviceError, f"rnn_grad: array {k} has 4 bytes, too few"):
                native.call("rnn_grad", "float32", numbers, *places)
        bad = (7, *numbers[1:])
        for name, count, wrong in (("rnn", 11, numbers), ("rnn_weights", 10, numbers), ("rnn", 10, bad)):
            with self.assertRaisesRegex(DeviceError, "cuDNN has no rnn"):
                native.call(name, "float32", wrong, *[room] * count)


if __name__ == "__main__":
    unittest.main()
