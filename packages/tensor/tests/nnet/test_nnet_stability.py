"""Losses where the naive form fails, in every optimising mode, with their gradients."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as tt
import theano_tensor.nnet as N
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import FAST_COMPILE, FAST_RUN, Mode, function
from theano_tensor.indexing import AdvancedSubtensor
from theano_testing.optimize import check_fires
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import slow

X = np.array([[0.0, 2000.0, -2000.0], [5.0, 2.0, 1.0], [-3000.0, 3.0, 3000.0]])
B, Y = np.array([0.5, -1.0, 0.0]), np.array([2, 0, 0])
Z, HOT = X + B, np.eye(3)[Y]
LOSS = -special.log_softmax(Z, axis=1)[np.arange(3), Y]
GRADIENT = (special.softmax(Z, axis=1) - HOT) / 3
OPTIMIZERS = ("fast_run", "fast_compile", "stabilize", "o1", "o2", "o3", "o4", "unsafe")
Loss = Callable[[Any, Any], Any]
LOSSES: dict[str, Loss] = {
    "log(softmax)[rows, classes]": lambda z, y: -tt.log(N.softmax(z))[tt.arange(y.shape[0]), y],
    "log(softmax[rows, classes])": lambda z, y: -tt.log(N.softmax(z)[tt.arange(y.shape[0]), y]),
    "logsoftmax[rows, classes]": lambda z, y: -N.logsoftmax(z)[tt.arange(z.shape[0]), y],
    "categorical_crossentropy of classes": lambda z, y: N.categorical_crossentropy(N.softmax(z), y),
    "categorical_crossentropy of rows": lambda z, y: N.categorical_crossentropy(
        N.softmax(z), tt.eye(3, dtype=z.dtype)[y]
    ),
    "crossentropy_categorical_1hot": lambda z, y: N.crossentropy_categorical_1hot(N.softmax(z), y),
    "crossentropy_softmax_1hot": lambda z, y: N.crossentropy_softmax_1hot(z, y)[0],
}


def _step(loss: Loss, mode: Mode, dtype: str = "float64") -> Any:
    x, b, y = tt.matrix("x", dtype=dtype), tt.vector("b", dtype=dtype), tt.lvector("y")
    losses = loss(x + b, y)
    step = function([x, b, y], [losses, *tt.grad(losses.mean(), [x, b])], mode=mode)
    return step(X.astype(dtype), B.astype(dtype), Y)


class TestStableLosses(unittest.TestCase):
    @slow
    def test_every_form_in_every_optimizing_mode(self) -> None:
        for name, loss in LOSSES.items():
            for optimizer in OPTIMIZERS:
                with self.subTest(loss=name, optimizer=optimizer):
                    result, by_x, by_b = _step(loss, Mode("cvm", optimizer))
                    assert_allclose(result, LOSS)
                    assert_allclose(by_x, GRADIENT, atol=1e-15)
                    assert_allclose(by_b, GRADIENT.sum(0), atol=1e-15)

    def test_single_precision(self) -> None:
        for name, loss in LOSSES.items():
            with self.subTest(loss=name):
                result, by_x, _ = _step(loss, FAST_RUN, "float32")
                self.assertEqual({result.dtype, by_x.dtype}, {np.dtype("float32")})
                assert_allclose(result, LOSS.astype("float32"), rtol=1e-5)
                assert_allclose(by_x, GRADIENT.astype("float32"), atol=1e-6)

    def test_gradients_are_right_without_rewriting(self) -> None:
        for name, loss in LOSSES.items():
            for linker in ("py", "cvm"):
                with self.subTest(loss=name, linker=linker), np.errstate(all="ignore"):
                    assert_allclose(_step(loss, Mode(linker, None))[1], GRADIENT, atol=1e-15)

    def test_loss_from_scores_is_right_without_rewriting(self) -> None:
        result = _step(lambda z, y: N.crossentropy_softmax_1hot(z, y)[0], Mode("py", None))[0]
        assert_allclose(result, LOSS)

    def test_parts_that_are_not_divided_are_kept_apart(self) -> None:
        x = tt.dmatrix("x")
        shares = N.softmax(x)
        cost = -tt.log(shares)[0, 2] + 3 * shares[1, 0] ** 2
        step = function([x], tt.grad(cost, x), mode=FAST_COMPILE)
        p = special.softmax(X, axis=1)
        expected = np.zeros((3, 3))
        expected[0] = p[0] - [0, 0, 1]
        expected[1] = 6 * p[1, 0] * p[1] * (np.array([1, 0, 0]) - p[1, 0])
        assert_allclose(step(X), expected, atol=1e-15)

    def test_log_of_a_row_of_shares(self) -> None:
        x = tt.dvector("x")
        result = function([x], [tt.log(N.softmax(x)[0]), tt.log(N.softmax(x))[0]])(X[0])
        for row in result:
            assert_allclose(row, special.log_softmax(X[0]))


class TestPipeline(unittest.TestCase):
    RULES = ("log_of_chosen_share", "chosen_logarithm_of_share")

    def _fires(self, name: str, loss: Loss) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        cost = loss(x, y).mean()
        for mode in (FAST_RUN, FAST_COMPILE, Mode("cvm", "stabilize"), Mode("cvm", "o2")):
            for outputs in ([cost], [cost, tt.grad(cost, x)]):
                check_fires(name, mode.optimizer, [x, y], outputs)

    def test_documented_rewrites_fire_on_losses_and_gradients(self) -> None:
        self._fires("log_of_chosen_share", LOSSES["log(softmax[rows, classes])"])
        self._fires("log_of_chosen_share", LOSSES["categorical_crossentropy of classes"])
        self._fires("chosen_logarithm_of_share", LOSSES["log(softmax)[rows, classes]"])
        self._fires("chosen_logarithm_of_share", LOSSES["crossentropy_softmax_1hot"])

    def test_gradient_sums_no_matrix_of_targets(self) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        gradient = tt.grad(LOSSES["log(softmax)[rows, classes]"](x, y).mean(), x)
        check_fires("sum_of_placed_elements", FAST_RUN.optimizer, [x, y], [gradient])

    def test_excluded_by_documented_names(self) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        picked = LOSSES["logsoftmax[rows, classes]"](x, y)
        for name in ("local_advanced_indexing_crossentropy_onehot", "chosen_logarithm_of_share"):
            mode = FAST_RUN.excluding(name)
            with self.assertRaises(AssertionError):
                check_fires("chosen_logarithm_of_share", mode.optimizer, [x, y], [picked])
            assert_allclose(function([x, y], picked, mode=mode)(Z, Y), LOSS)

    def test_labels_for_some_of_the_rows_only(self) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        loss = LOSSES["log(softmax)[rows, classes]"](x, y)
        step = function([x, y], [loss, tt.grad(loss.sum(), x)])
        result, gradient = step(Z, Y[:2])
        assert_allclose(result, LOSS[:2])
        assert_allclose(gradient, np.concatenate([3 * GRADIENT[:2], np.zeros((1, 3))]), atol=1e-14)

    def test_rows_that_are_taken_twice(self) -> None:
        x, rows, y = tt.dmatrix("x"), tt.lvector("rows"), tt.lvector("y")
        loss = -tt.log(N.softmax(x))[rows, y]
        result, gradient = function([x, rows, y], [loss, tt.grad(loss.sum(), x)])(Z, [1, 1], [0, 2])
        shares = special.softmax(Z, axis=1)
        assert_allclose(result, -np.log(shares[[1, 1], [0, 2]]))
        expected = np.zeros((3, 3))
        expected[1] = 2 * shares[1] - [1, 0, 1]
        assert_allclose(gradient, expected, atol=1e-14)

    def test_no_matrix_of_logarithms_is_left(self) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        compiled = function([x, y], LOSSES["log(softmax)[rows, classes]"](x, y))
        (picked,) = [n for n in compiled.maker.fgraph.apply_nodes if isinstance(n.op, AdvancedSubtensor)]
        self.assertIs(picked.inputs[0], compiled.maker.fgraph.inputs[0])

    def test_classes_out_of_range(self) -> None:
        x, y = tt.dmatrix("x"), tt.lvector("y")
        for mode in (FAST_RUN, FAST_COMPILE, Mode("py", None)):
            step = function([x, y], LOSSES["crossentropy_softmax_1hot"](x, y), mode=mode)
            with self.assertRaisesRegex(IndexError, "3"):
                step(X, [0, 3, 1])


class TestSigmoidsOnRequest(unittest.TestCase):
    FORMS = (("local_hard_sigmoid", N.hard_sigmoid), ("local_ultra_fast_sigmoid", N.ultra_fast_sigmoid))
    VALUES = np.array([-2000.0, -3.0, 0.0, 1.0, 2000.0])

    def test_included_by_name_only(self) -> None:
        x = tt.dvector("x")
        for name, form in self.FORMS:
            for mode, expected in ((FAST_RUN.including(name), form(x)), (FAST_RUN, tt.nnet.sigmoid(x))):
                result = function([x], N.sigmoid(x), mode=mode)(self.VALUES)
                assert_allclose(result, function([x], expected)(self.VALUES), rtol=1e-12)

    def test_written_out_sigmoids_too(self) -> None:
        x = tt.dvector("x")
        for name, form in self.FORMS:
            result = function([x], 1 / (1 + tt.exp(-x)), mode=FAST_RUN.including(name))(self.VALUES[1:4])
            assert_allclose(result, form(self.VALUES[1:4]).eval())

    def test_losses_become_stable_before(self) -> None:
        x = tt.dvector("x")
        for name, _ in self.FORMS:
            mode = FAST_RUN.including(name)
            result = function([x], [tt.log(N.sigmoid(x)), tt.log(1 - N.sigmoid(x))], mode=mode)(self.VALUES)
            assert_allclose(result[0], special.log_expit(self.VALUES))
            assert_allclose(result[1], special.log_expit(-self.VALUES))

    def test_forms_used_directly_reach_their_bounds(self) -> None:
        x = tt.dvector("x")
        ends = np.array([-np.inf, -1e4, 1e4, np.inf])
        hard, fast = function([x], [N.hard_sigmoid(x), N.ultra_fast_sigmoid(x)])(ends)
        self.assertEqual(hard.tolist(), [0, 0, 1, 1])
        low, high = 0.00247262315663, 0.997527376843
        assert_allclose(fast, [low, low, high, high], rtol=1e-11)
        self.assertTrue(np.isnan(function([x], N.ultra_fast_sigmoid(x))([np.nan])).all())
        slopes = function([x], tt.grad(N.ultra_fast_sigmoid(x).sum(), x))(ends)
        self.assertEqual(slopes.tolist(), [0, 0, 0, 0])

    def test_dtypes_stay(self) -> None:
        for dtype in ("float32", "float64"):
            for form in (N.ultra_fast_sigmoid, N.hard_sigmoid, N.sigmoid):
                self.assertEqual(form(tt.vector("x", dtype=dtype)).type.dtype, dtype)
        self.assertEqual(N.ultra_fast_sigmoid(tt.lvector()).type.dtype, "float64")
