"""Connectionist temporal classification against a sum over all sequences of symbols."""

from __future__ import annotations

import itertools
import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import FAST_RUN, Mode, function
from theano_tensor.gradient import grad
from theano_tensor.nnet.ctc import ConnectionistTemporalClassification, ctc
from theano_testing.tensor import OpRecord, OpTestCase, assert_allclose, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
SCORES = RNG.randn(4, 5, 3)
# Padding may be anywhere; the last example has no labels.
LABELS = np.array([[1, 2, -1], [1, 1, -1], [-1, 2, -1], [2, 1, 2], [-1, -1, -5]])
LENGTHS = np.array([4, 4, 3, 4, 2])


def loss(scores: Any, labels: Any, length: int) -> Any:
    """Minus the logarithm of the probability of all sequences of symbols that mean the labels."""
    shares = special.softmax(scores[:length], axis=1)
    expected, total = [k for k in labels if k >= 0], 0.0
    for symbols in itertools.product(range(scores.shape[1]), repeat=length):
        if [k for k, _ in itertools.groupby(symbols) if k] == expected:
            total += np.prod([shares[t, k] for t, k in enumerate(symbols)])
    with np.errstate(divide="ignore"):
        return -np.log(total)


def losses(scores: Any) -> Any:
    results = [loss(scores[:, i], LABELS[i], int(LENGTHS[i])) for i in range(scores.shape[1])]
    return np.array(results, dtype=scores.dtype)


def gradients(scores: Any) -> Any:
    result, step = np.zeros(scores.shape), 1e-5
    for i in np.ndindex(*scores.shape):
        for sign in (1, -1):
            moved = scores.astype("float64")
            moved[i] += sign * step
            result[i] += sign * loss(moved[:, i[1]], LABELS[i[1]], int(LENGTHS[i[1]])) / (2 * step)
    return result.astype(scores.dtype)


RECORDS = (
    OpRecord(
        "loss_of_alignments",
        lambda x: ctc(x, LABELS, LENGTHS),
        losses,
        [[SCORES], [SCORES.astype("float32")]],
        [[SCORES]],
    ),
    OpRecord(
        "gradient_of_alignments",
        lambda x: grad(ctc(x, LABELS, LENGTHS).sum(), x),
        gradients,
        [[SCORES]],
        ulp=1e8,
    ),
    OpRecord(
        "loss_of_alignments_alone",
        lambda x: ConnectionistTemporalClassification(False)(x, LABELS, LENGTHS),
        losses,
        [[SCORES]],
        [[SCORES]],
    ),
)

for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class


class TestLoss(unittest.TestCase):
    def test_labels_that_need_more_time(self) -> None:
        x = tt.dtensor3("x")
        cost = ctc(x, [[1, 1], [1, 2], [1, -1]], [2, 2, 0])
        result, gradient = function([x], [cost, grad(cost.sum(), x)])(SCORES[:2, :3])
        self.assertEqual(np.isinf(result).tolist(), [True, False, True])
        self.assertFalse(gradient[:, [0, 2]].any())
        assert_allclose(gradient.sum(axis=2), np.zeros((2, 3)), atol=1e-12)

    def test_nothing_at_all(self) -> None:
        x = tt.dtensor3("x")
        cost = ctc(x, np.zeros((2, 0), "int64"), [0, 0])
        result, gradient = function([x], [cost, grad(cost.sum(), x)])(np.zeros((0, 2, 3)))
        self.assertEqual((result.tolist(), gradient.shape), ([0.0, 0.0], (0, 2, 3)))

    def test_large_scores(self) -> None:
        x = tt.dtensor3("x")
        cost = ctc(x, LABELS, LENGTHS)
        result, gradient = function([x], [cost, grad(cost.sum(), x)])(SCORES * 2000)
        self.assertTrue(np.isfinite(result).all() and np.isfinite(gradient).all())

    def test_weights_of_examples(self) -> None:
        x, w = tt.dtensor3("x"), tt.dvector("w")
        weights = RNG.rand(5)
        result = function([x, w], grad((ctc(x, LABELS, LENGTHS) * w).sum(), x))(SCORES, weights)
        plain = function([x], grad(ctc(x, LABELS, LENGTHS).sum(), x))(SCORES)
        assert_allclose(result, plain * weights[:, None])

    def test_no_gradient_where_nobody_asks_for_it(self) -> None:
        x = tt.dtensor3("x")
        cost = ctc(x, LABELS, LENGTHS)
        for outputs, expected in (([cost], [False]), ([cost, grad(cost.sum(), x)], [True])):
            for mode in (FAST_RUN, Mode("cvm", "fast_compile")):
                nodes = function([x], outputs, mode=mode).maker.fgraph.apply_nodes
                ops = [n.op for n in nodes if isinstance(n.op, ConnectionistTemporalClassification)]
                self.assertEqual([op.compute_grad for op in ops], expected)
        saved = function([x], [cost], mode=FAST_RUN.excluding("local_ctc_no_grad"))
        (node,) = (n for n in saved.maker.fgraph.apply_nodes if len(n.outputs) == 2)
        self.assertTrue(node.op.compute_grad)

    def test_second_derivatives_are_refused(self) -> None:
        x = tt.dtensor3("x")
        first = grad(ctc(x, LABELS, LENGTHS).sum(), x)
        with self.assertRaisesRegex(Exception, "differentiated once only"):
            grad((first**2).sum(), x)

    def test_refused(self) -> None:
        x, y, n, m = tt.dtensor3("x"), tt.lmatrix("y"), tt.lvector("n"), tt.dmatrix("m")
        cases: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (tt.ShapeError, "activations has 2 dimensions, expected 3(.|\n)*`m`", lambda: ctc(m, y, n)),
            (tt.ShapeError, "labels has 1 dimensions", lambda: ctc(x, n, n)),
            (tt.DTypeError, "labels are integers(.|\n)*`m`", lambda: ctc(x, m, n)),
            (tt.DTypeError, "activations are floats", lambda: ctc(tt.ltensor3(), y, n)),
        )
        for error, pattern, call in cases:
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern) as caught:
                call()
            self.assertIn("Hint", str(caught.exception))

    def test_values_that_do_not_fit(self) -> None:
        x, y, n = tt.dtensor3("x"), tt.lmatrix("y"), tt.lvector("n")
        for mode in (FAST_RUN, Mode("py", None)):
            f = function([x, y, n], ctc(x, y, n), mode=mode)
            for pattern, labels, lengths in (
                ("there are 5 examples, 4 rows", LABELS[:4], LENGTHS),
                ("must be from 0 to 4", LABELS, LENGTHS + 1),
                ("smaller than 3", LABELS + 1, LENGTHS),
                ("0 is the blank", LABELS - 1, LENGTHS),
            ):
                with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern + "(.|\n)*Hint"):
                    f(SCORES, labels, lengths)
