"""Loops for batches."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_linker_c import function
from theano_scan import scan, until
from theano_tensor.batching import BatchError, vectorize_graph
from theano_testing.gaps import without_batch_rule
from theano_testing.tensor import fetch_seed
from theano_testing.tiers import slow

RNG = np.random.RandomState(fetch_seed())


def check_batch(expression: Callable[..., Any], *shapes: Sequence[int], stacked: Sequence[bool]) -> None:
    """Compare an expression on a batch with a loop of Python over its entries."""
    variables = [tt.tensor("float64", shape=(None,) * len(shape)) for shape in shapes]
    batches = [
        tt.tensor("float64", shape=(None,) * (len(shape) + flag)) for shape, flag in zip(shapes, stacked, strict=True)
    ]
    outputs = list(expression(*variables))
    values = [RNG.uniform(0.1, 1, (*[3] * flag, *shape)) for shape, flag in zip(shapes, stacked, strict=True)]
    results = vectorize_graph(outputs, dict(zip(variables, batches, strict=True)))
    batch = function(batches, results)(*values)
    single = function(variables, outputs)
    rows = [single(*(v[i] if flag else v for v, flag in zip(values, stacked, strict=True))) for i in range(3)]
    for k, value in enumerate(batch):
        same = results[k].ndim == outputs[k].ndim
        np.testing.assert_allclose(value, rows[0][k] if same else np.array([row[k] for row in rows]), rtol=1e-9)


def _recurrence(xs: Any, start: Any, factor: Any) -> list[Any]:
    states, _ = scan(lambda x, h, w: tt.tanh(x + w * h), sequences=xs, outputs_info=start, non_sequences=factor)
    gradients = tt.grad((states**2).sum(), [xs, start, factor])
    return [states, states[-1], *gradients]


class TestValues(unittest.TestCase):
    @slow
    def test_each_subset(self) -> None:
        for flags in ((True, True, True), (True, False, False), (False, True, False), (False, False, True)):
            with self.subTest(flags):
                check_batch(_recurrence, (4, 2), (2,), (2,), stacked=flags)

    def test_taps_and_outputs_without_taps(self) -> None:
        def expression(xs: Any, starts: Any) -> list[Any]:
            (sums, squares), _ = scan(
                lambda x, a, b: [x + a * b, x**2],
                sequences=xs,
                outputs_info=[{"initial": starts, "taps": [-2, -1]}, None],
            )
            return [sums, squares, tt.grad(sums[-1].sum(), starts)]

        for flags in ((True, True), (True, False), (False, True)):
            with self.subTest(flags):
                check_batch(expression, (4,), (2,), stacked=flags)

    def test_state_that_a_step_replaces_by_an_unstacked_value(self) -> None:
        def expression(xs: Any, start: Any) -> list[Any]:
            states, _ = scan(lambda x, h: x * 2, sequences=xs, outputs_info=start)
            return [states, states[-1]]

        check_batch(expression, (4,), (), stacked=(False, True))

    def test_states_become_stacked_one_by_one(self) -> None:
        def expression(x: Any, y: Any) -> list[Any]:
            (a, b, c), _ = scan(lambda a, b, c: [a * 0.5, b + a, c + b], outputs_info=[x, y, y], n_steps=3)
            return [a, b, c]

        check_batch(expression, (2,), (2,), stacked=(True, False))

    def test_same_number_of_steps(self) -> None:
        def expression(x: Any, y: Any) -> list[Any]:
            (a, b), _ = scan(
                lambda a, b: ([a + y, b * 2], until(b.sum() > 10)), outputs_info=[x, tt.ones((1,))], n_steps=9
            )
            return [a, b]

        check_batch(expression, (2,), (2,), stacked=(True, False))

    def test_sums_of_constants(self) -> None:
        def expression(xs: Any, w: Any) -> list[Any]:
            rows, _ = scan(lambda x, w: tt.dot(w, x), sequences=xs, non_sequences=w)
            return [tt.grad((rows**2).sum(), w)]

        for flags in ((True, True), (True, False), (False, True)):
            with self.subTest(flags):
                check_batch(expression, (4, 3), (2, 3), stacked=flags)


class TestDraws(unittest.TestCase):
    def test_one_draw_for_each_entry_and_step(self) -> None:
        streams = tt.random.RandomStreams(5)
        mean, means = tt.dscalar(), tt.dvector()
        draws, updates = scan(lambda m: streams.normal(avg=m, std=0.01), non_sequences=mean, n_steps=4)
        states = list(updates)
        batch, *moved = vectorize_graph([draws, *updates.values()], {mean: means})
        f = function([means], batch, updates=dict(zip(states, moved, strict=True)))
        first, second = f([0.0, 5.0]), f([0.0, 5.0])
        self.assertEqual(first.shape, (2, 4))
        np.testing.assert_allclose(first.mean(1), [0, 5], atol=0.1)
        self.assertEqual(len(np.unique(np.concatenate([first, second]) - [[0.0], [5.0]] * 2)), 16)


class TestGaps(unittest.TestCase):
    def test_every_op_has_a_rule(self) -> None:
        self.assertEqual(without_batch_rule(["theano_scan"]), [])


class TestErrors(unittest.TestCase):
    def test_other_numbers_of_steps(self) -> None:
        x, xs, n, ns = tt.dscalar(), tt.dvector(), tt.iscalar(), tt.ivector()
        stops, _ = scan(lambda a: (a * 2, until(a > 8)), outputs_info=x, n_steps=9)
        with self.assertRaisesRegex(BatchError, "condition that ends the loop"):
            vectorize_graph(stops, {x: xs})
        counted, _ = scan(lambda a: a * 2, outputs_info=x, n_steps=n)
        with self.assertRaisesRegex(BatchError, "number of steps"):
            vectorize_graph(counted, {n: ns})
