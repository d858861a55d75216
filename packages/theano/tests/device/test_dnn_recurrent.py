"""Recurrent networks with the parameters of cuDNN, against NumPy, on the host and on a device."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import theano
import theano.tensor as T
from theano.gpuarray.dnn import RNNBlock
from theano.gpuarray.type import GpuArrayType
from theano_testing.tiers import slow

from .test_device_names import NAME, computes

MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
INPUTS = ("linear", "skip")
DIRECTIONS = ("unidirectional", "bidirectional")
Array = NDArray[Any]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def one_step(mode: str, argument: Sequence[Array], saved: Sequence[Array], h: Array, c: Array) -> tuple[Array, Array]:
    """Return the next states and cells, by the equations of the library's manual."""
    sums = [a + b for a, b in zip(argument, saved, strict=True)]
    if mode == "lstm":
        c = sigmoid(sums[1]) * c + sigmoid(sums[0]) * np.tanh(sums[2])
        return sigmoid(sums[3]) * np.tanh(c), c
    if mode == "gru":
        reset, update = sigmoid(sums[0]), sigmoid(sums[1])
        return (1 - update) * np.tanh(argument[2] + reset * saved[2]) + update * h, c
    return (np.tanh(sums[0]) if mode == "rnn_tanh" else np.maximum(sums[0], 0)), c


def reference(block: RNNBlock, w: Array, x: Array, hx: Array, cx: Array) -> list[Array]:
    """Return the results of a network, step by step, with the parts that `split_params` names."""
    directions = 2 if block.direction_mode == "bidirectional" else 1
    size, last_h, last_c = [x.shape[1], x.shape[2]], [], []
    for layer in range(block.num_layers):
        outcomes = []
        for direction in range(directions):
            k = layer * directions + direction
            parts = block.split_params(w, k, size)
            gates = len(parts) // 4
            matrices, biases = parts[::2], parts[1::2]
            h, c, every = hx[k], cx[k], []
            for row in x[::-1] if direction else x:
                skips = layer == 0 and block.input_mode == "skip"
                operands = [(row if skips else row @ matrices[g]) + biases[g] for g in range(gates)]
                references = [h @ matrices[gates + g] + biases[gates + g] for g in range(gates)]
                h, c = one_step(block.rnn_mode, operands, references, h, c)
                every.append(h)
            outcomes.append(np.array(every[::-1] if direction else every))
            last_h.append(h)
            last_c.append(c)
        x = np.concatenate(outcomes, axis=2)
    results = [x, np.array(last_h)]
    return [*results, np.array(last_c)] if block.rnn_mode == "lstm" else results


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.rng = np.random.default_rng(8)

    def operands(self, block: RNNBlock, inputs: int, steps: int = 5, batch: int = 2) -> list[Array]:
        layers = block.num_layers * (2 if block.direction_mode == "bidirectional" else 1)
        shapes = [(block.get_param_size([batch, inputs]),), (steps, batch, inputs), (layers, batch, block.hidden_size)]
        return [self.rng.normal(size=shape).astype(block.dtype) for shape in (*shapes, shapes[2])]

    def applied(self, block: RNNBlock, values: Sequence[Array], target: str) -> list[Any]:
        variables = [theano.shared(v, target=target) for v in values]
        return block.apply(*variables[: None if block.rnn_mode == "lstm" else 3])


class TestOnTheHost(Case):
    @slow
    def test_values(self) -> None:
        # Inputs and directions mean the same in all modes.
        networks = set(product(("lstm",), INPUTS, DIRECTIONS)) | set(product(MODES, INPUTS[:1], DIRECTIONS[1:]))
        for mode, inputs, direction in sorted(networks):
            with self.subTest(mode, inputs=inputs, direction=direction):
                block = RNNBlock("float64", 3, 2, mode, inputs, direction)
                values = self.operands(block, 3 if inputs == "skip" else 4)
                result = theano.function([], self.applied(block, values, "cpu"))()
                for a, b in zip(result, reference(block, *values), strict=True):
                    np.testing.assert_allclose(a, b, atol=1e-12)

    @slow
    def test_gradients(self) -> None:
        for mode in MODES:
            with self.subTest(mode):
                block = RNNBlock("float64", 2, 2, mode, direction_mode="bidirectional")
                values = self.operands(block, 3, steps=3)[: 4 if mode == "lstm" else 3]

                def results(*operands: Any, block: RNNBlock = block) -> Any:
                    return sum((v**2).sum() for v in block.apply(*operands))

                theano.gradient.verify_grad(results, values, rng=np.random.RandomState(1))

    def test_steps_and_batches_of_any_length(self) -> None:
        block = RNNBlock("float64", 3, 1, "gru")
        w, x, hx = T.dvector(), T.dtensor3(), T.dtensor3()
        f = theano.function([w, x, hx], block.apply(w, x, hx))
        for steps, batch in ((1, 1), (7, 3)):
            values = self.operands(block, 4, steps, batch)
            for a, b in zip(f(*values[:3]), reference(block, *values), strict=True):
                np.testing.assert_allclose(a, b, atol=1e-12)

    def test_a_number_of_parameters_that_does_not_fit(self) -> None:
        block = RNNBlock("float64", 3, 2, "rnn_tanh")
        w, x, hx, _ = self.operands(block, 4)
        for wrong in (w[:-1], np.append(w, 0)):
            with self.assertRaisesRegex(AssertionError, "the parameters are not as many as get_param_size says"):
                theano.function([], self.applied(block, [wrong, x, hx], "cpu"))()


class TestOnADevice(Case):
    @slow
    def test_values_and_gradients(self) -> None:
        computing = computes()
        for mode in MODES:
            with self.subTest(mode):
                block = RNNBlock("float64", 3, 2, mode, direction_mode="bidirectional")
                values = self.operands(block, 4)
                result = self.applied(block, values, NAME)
                for v in result:
                    self.assertIsInstance(v.type, GpuArrayType)
                    self.assertEqual(v.type.context_name, NAME)
                w = theano.shared(values[0], target=NAME)
                by_w = T.grad(sum((v**2).sum() for v in self.applied_to(block, w, values[1:], NAME)), w)
                got = theano.function([], [*result, by_w])()
                h = theano.shared(values[0], target="cpu")
                by_h = T.grad(sum((v**2).sum() for v in self.applied_to(block, h, values[1:], "cpu")), h)
                expected = [*reference(block, *values), theano.function([], by_h)()]
                for a, b in zip(got, expected, strict=True):
                    self.assertEqual(np.shape(a), np.shape(b))
                    if computing:
                        np.testing.assert_allclose(np.asarray(a), b, atol=1e-10)

    def applied_to(self, block: RNNBlock, w: Any, values: Sequence[Array], target: str) -> list[Any]:
        variables = [theano.shared(v, target=target) for v in values]
        return block.apply(w, *variables[: None if block.rnn_mode == "lstm" else 2])

    def test_the_context_that_is_named(self) -> None:
        computes()
        block = RNNBlock("float32", 3, 1, "gru", context_name=NAME)
        values = self.operands(block, 4)
        self.assertEqual(self.applied(block, values, "cpu")[0].type.context_name, NAME)


class TestParameters(Case):
    def test_the_layout(self) -> None:
        """Matrices of all layers come first, row by row of the states; then all biases."""
        block = RNNBlock("float32", 2, 2, "gru")
        self.assertEqual(block.get_param_size([1, 3]), 3 * (2 * 3 + 2 * 2) + 3 * (2 * 2 + 2 * 2) + 2 * 2 * 3 * 2)
        w = np.arange(78, dtype="float32")
        first, second = (block.split_params(w, k, [1, 3]) for k in (0, 1))
        self.assertEqual([p.shape for p in first], [(3, 2), (2,)] * 3 + [(2, 2), (2,)] * 3)
        np.testing.assert_array_equal(first[0], [[0, 3], [1, 4], [2, 5]])
        np.testing.assert_array_equal(first[6], [[18, 20], [19, 21]])
        np.testing.assert_array_equal(first[1], [54, 55])
        np.testing.assert_array_equal(first[7], [60, 61])
        np.testing.assert_array_equal(second[0], [[30, 32], [31, 33]])
        np.testing.assert_array_equal(second[11], [76, 77])

    def test_sizes(self) -> None:
        for mode, gates in (("rnn_relu", 1), ("rnn_tanh", 1), ("lstm", 4), ("gru", 3)):
            self.assertEqual(RNNBlock("float32", 5, 1, mode).get_param_size([7, 3]), gates * (5 * 3 + 5 * 5 + 2 * 5))
            both = RNNBlock("float32", 5, 2, mode, direction_mode="bidirectional")
            expected = 2 * gates * (5 * 3 + 25 + 10) + 2 * gates * (5 * 10 + 25 + 10)
            self.assertEqual(both.get_param_size((7, 3)), expected)
            skip = RNNBlock("float32", 3, 1, mode, "skip")
            self.assertEqual(skip.get_param_size((7, 3)), gates * (9 + 6))
            self.assertEqual(skip.split_params(np.zeros(gates * 15, "float32"), 0, (7, 3))[0].shape, (0, 3))

    def test_parts_are_the_memory_of_the_variable(self) -> None:
        computing = computes()
        block = RNNBlock("float32", 3, 2, "lstm")
        size = block.get_param_size([2, 4])
        for target in ("cpu", NAME):
            w = theano.shared(np.zeros(size, "float32"), target=target)
            value = self.rng.normal(size=(4, 3)).astype("float32")
            parts = block.split_params(w, 0, [2, 4])
            parts[4][:] = value
            parts[-1][:] = np.ones(3, "float32")
            if target == "cpu" or computing:
                got = block.split_params(np.asarray(w.get_value()), 0, [2, 4])
                np.testing.assert_array_equal(got[4], value)
                total = float(np.asarray(w.get_value()).sum(dtype="float64"))
                self.assertAlmostEqual(total, float(value.sum(dtype="float64")) + 3, places=5)

    def test_parts_of_an_expression(self) -> None:
        block = RNNBlock("float64", 3, 2, "gru")
        w = T.dvector()
        value = self.rng.normal(size=block.get_param_size([2, 4]))
        result = theano.function([w], block.split_params(w, 1, [2, 4]))(value)
        for a, b in zip(result, block.split_params(value, 1, [2, 4]), strict=True):
            np.testing.assert_array_equal(a, b)

    def test_training(self) -> None:
        """The example of the manual."""
        block = RNNBlock("float64", 6, 2, "gru")
        w = theano.shared(0.1 * self.rng.normal(size=block.get_param_size([2, 3])))
        x, y, h0 = T.dtensor3("X"), T.dtensor3("Y"), T.dtensor3("h0")
        result, _ = block.apply(w, x, h0)
        cost = T.mean((y - result) ** 2)
        f = theano.function([x, y, h0], cost, updates=[(w, w - 0.5 * T.grad(cost, w))])
        values = self.rng.normal(size=(5, 2, 3)), np.tanh(self.rng.normal(size=(5, 2, 6))), np.zeros((2, 2, 6))
        costs = [float(f(*values)) for _ in range(60)]
        self.assertLess(costs[-1], 0.9 * costs[0])


class TestRefusals(Case):
    def test_arguments(self) -> None:
        for wrong, text in (
            ({"dtype": "int32"}, "unknown dtype 'int32'"),
            ({"rnn_mode": "rnn"}, "unknown rnn_mode 'rnn'"),
            ({"input_mode": "none"}, "unknown input_mode 'none'"),
            ({"direction_mode": "both"}, "unknown direction_mode 'both'"),
            ({"hidden_size": 0}, "hidden_size=0"),
            ({"num_layers": 1.5}, "num_layers=1.5"),
        ):
            operand: dict[str, Any] = {"dtype": "float32", "hidden_size": 3, "num_layers": 1, "rnn_mode": "gru"}
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                RNNBlock(**{**operand, **wrong})

    def test_sizes(self) -> None:
        block = RNNBlock("float32", 3, 1, "gru")
        sizes: list[Any] = [[4], [2, 0], [2, 1.5]]
        for wrong in sizes:
            with self.assertRaisesRegex(ValueError, "input_size="):
                block.get_param_size(wrong)
        with self.assertRaisesRegex(ValueError, "inputs of length 4 are added to states of length 3"):
            RNNBlock("float32", 3, 1, "gru", "skip").get_param_size([2, 4])
        with self.assertRaisesRegex(ValueError, "there is no layer 1\n.*use 0 to 0"):
            block.split_params(np.zeros(81, "float32"), 1, [2, 4])
        for value in (np.zeros(80, "float32"), np.zeros((81, 1), "float32")):
            with self.assertRaisesRegex(ValueError, "make a vector of get_param_size"):
                block.split_params(value, 0, [2, 4])

    def test_operands(self) -> None:
        block, lstm = RNNBlock("float32", 3, 1, "gru"), RNNBlock("float32", 3, 1, "lstm")
        w, x, h, d = T.fvector(), T.ftensor3(), T.ftensor3(), T.dtensor3()
        for network, operands, text in (
            (block, (w, d, h), "x is float64 with 3 dimensions"),
            (block, (x, x, h), "w is float32 with 3 dimensions"),
            (block, (w, x, w), "hx is float32 with 1 dimensions"),
            (block, (w, x, h, h), "a first cell for 'gru'"),
            (lstm, (w, x, h), "no first cell for 'lstm'"),
        ):
            with self.subTest(text), self.assertRaisesRegex(TypeError, text):
                network.apply(*operands)


if __name__ == "__main__":
    unittest.main()
