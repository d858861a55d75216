"""Batch normalization, the softmax in two levels, tables of classes; and arguments that all functions refuse."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

import theano_tensor as tt
import theano_tensor.nnet as N
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import Mode, function, shared
from theano_tensor.nnet import bn, losses
from theano_testing.tensor import OpRecord, OpTestCase, assert_allclose, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
IMAGES = RNG.randn(4, 3, 2, 5)
SCALE, SHIFT = RNG.rand(3) + 0.5, RNG.randn(3)
FEATURES, W1, B1 = RNG.randn(5, 3), RNG.randn(3, 4), RNG.randn(4)
W2, B2, WANTED = RNG.randn(4, 3, 2), RNG.randn(4, 2), np.array([0, 6, 3, 1, 6])


def _normalized(x: Any, gamma: Any, beta: Any, axes: tuple[int, ...]) -> list[Any]:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    order = tuple(i for i in range(x.ndim) if i not in axes)
    scale, shift = (np.expand_dims(v, axes) if v.ndim == len(order) else v for v in (gamma, beta))
    invstd = 1 / np.sqrt(var + 1e-4)
    # Moments come in the layout of the parameters.
    return [(x - mean) * scale * invstd + shift, mean.reshape(gamma.shape), invstd.reshape(gamma.shape)]


def _with_moments(x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    return (x - mean) * gamma / np.sqrt(var + 1e-4) + beta


def _two_levels(x: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    outer = special.softmax(x @ w1 + b1, axis=1)
    inner = special.softmax(np.einsum("bf,cfo->bco", x, w2) + b2, axis=2)
    return (outer[:, :, None] * inner).reshape(len(x), -1)[:, :7]


def _h(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, target: Any = None) -> Any:
    return losses.h_softmax(x, 5, 7, 4, 2, w1, b1, w2, b2, target)


PARAMETERS = [FEATURES, W1, B1, W2, B2]
RECORDS = (
    OpRecord(
        "batch_normalization_of_activations",
        bn.batch_normalization_train,
        lambda x, g, b: _normalized(x, g, b, (0,)),
        [[IMAGES[:, 0, 0], RNG.rand(5), RNG.randn(5)], [IMAGES, RNG.rand(3, 2, 5), RNG.randn(1, 3, 2, 5)[0]]],
    ),
    OpRecord(
        "batch_normalization_of_channels",
        lambda x, g, b: bn.batch_normalization_train(x, g, b, "spatial")[0],
        lambda x, g, b: _normalized(x, g, b, (0, 2, 3))[0],
        [[IMAGES, SCALE, SHIFT], [v.astype("float32") for v in (IMAGES, SCALE, SHIFT)]],
        [[IMAGES, SCALE, SHIFT]],
    ),
    OpRecord(
        "batch_normalization_with_kept_axes",
        lambda x, g, b: bn.batch_normalization_train(x, g, b, (0, 1))[0],
        lambda x, g, b: _normalized(x, g, b, (0, 1))[0],
        [[IMAGES[0], RNG.rand(1, 1, 5), RNG.randn(1, 1, 5)]],
        [[IMAGES[0], RNG.rand(1, 1, 5), RNG.randn(1, 1, 5)]],
    ),
    OpRecord(
        "batch_normalization_with_given_moments",
        lambda x, g, b, m, v: bn.batch_normalization_test(x, g, b, m, v, "spatial"),
        lambda x, *p: _with_moments(x, *(v[:, None, None] for v in p)),
        [[IMAGES, SCALE, SHIFT, SHIFT[::-1].copy(), SCALE[::-1].copy()]],
        [[IMAGES, SCALE, SHIFT, SHIFT[::-1].copy(), SCALE[::-1].copy()]],
    ),
    OpRecord(
        "batch_normalization_by_hand",
        lambda x, g, b, m, s: bn.batch_normalization(x, g, b, m, s, "high_mem"),
        lambda x, g, b, m, s: (x - m) * g / s + b,
        [[FEATURES, *(RNG.rand(3) + 0.5 for _ in range(4))]],
        [[FEATURES, *(RNG.rand(3) + 0.5 for _ in range(4))]],
    ),
    OpRecord("softmax_in_two_levels", _h, _two_levels, [PARAMETERS], [PARAMETERS]),
    OpRecord(
        "softmax_in_two_levels_of_targets",
        lambda x, w1, b1, w2, b2: _h(x, w1, b1, w2, b2, WANTED),
        lambda *p: _two_levels(*p)[np.arange(5), WANTED],
        [PARAMETERS],
        [PARAMETERS],
    ),
)

for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class


class TestRunningAverages(unittest.TestCase):
    def test_as_documented(self) -> None:
        for layout in (SCALE, SCALE[None, :, None, None]):
            pattern = [n == 1 for n in layout.shape]
            mean, var = shared(layout * 2, broadcastable=pattern), shared(layout + 1, broadcastable=pattern)
            results = bn.batch_normalization_train(
                IMAGES, layout, layout, "spatial", running_average_factor=0.25, running_mean=mean, running_var=var
            )
            self.assertEqual(len(results), 5)
            function([], results[0], updates=[(mean, results[3]), (var, results[4])])()
            axes, m = (0, 2, 3), 4 * 2 * 5
            batch = IMAGES.mean(axes).reshape(layout.shape), IMAGES.var(axes).reshape(layout.shape)
            assert_allclose(mean.get_value(), layout * 2 * 0.75 + batch[0] * 0.25)
            assert_allclose(var.get_value(), (layout + 1) * 0.75 + batch[1] * 0.25 * m / (m - 1))

    def test_single_precision_stays(self) -> None:
        x, v = tt.ftensor4("x"), tt.fvector("v")
        results = bn.batch_normalization_train(x, v, v, "spatial", running_mean=v, running_var=v)
        self.assertEqual({r.type.dtype for r in results}, {"float32"})
        self.assertEqual([r.type.ndim for r in results], [4, 1, 1, 1, 1])


class TestTables(unittest.TestCase):
    def test_confusion_matrix(self) -> None:
        actual, pred = tt.lvector("actual"), tt.ivector("pred")
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            count = function([actual, pred], losses.confusion_matrix(actual, pred), mode=mode)
            table, classes = count([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
            self.assertEqual(table.tolist(), [[2, 0, 0], [0, 0, 1], [1, 0, 2]])
            self.assertEqual(classes.tolist(), [0, 1, 2])
            self.assertEqual(count([7], [-3])[0].tolist(), [[0, 0], [1, 0]])

    def test_targets_in_a_column(self) -> None:
        x = tt.imatrix("x")
        column = tt.imatrix("t")
        result = losses.h_softmax(x, 5, 8, 4, 2, W1, B1, W2, B2, column)
        values = (FEATURES * 2).astype("int32")
        got = function([x, column], result)(values, WANTED[:, None].astype("int32"))
        outer = special.softmax(values @ W1 + B1, axis=1)
        inner = special.softmax(np.einsum("bf,cfo->bco", values, W2) + B2, axis=2)
        every = (outer[:, :, None] * inner).reshape(5, 8)
        assert_allclose(got, every[np.arange(5), WANTED])
        assert_allclose(function([x], losses.h_softmax(x, 5, 8, 4, 2, W1, B1, W2, B2))(values), every)


class TestRefused(unittest.TestCase):
    def _refuses(self, error: type[Exception], pattern: str, call: Callable[[], Any]) -> None:
        with self.assertRaisesRegex(error, pattern) as caught:
            call()
        self.assertIn("Hint", str(caught.exception))

    def test_shapes(self) -> None:
        v, m, c = tt.dvector("v"), tt.dmatrix("m"), tt.dtensor3("c")
        shape = tt.ShapeError
        self._refuses(shape, "vector or a matrix, not 3(.|\n)*`c`", lambda: N.softmax(c))
        self._refuses(shape, "vector or a matrix, not 0", lambda: N.logsoftmax(tt.dscalar("s")))
        self._refuses(shape, "no axis 3(.|\n)*`c`", lambda: N.softmax(c, axis=3))
        self._refuses(shape, "no axis -3(.|\n)*`m`", lambda: N.logsoftmax(m, axis=-3))
        self._refuses(shape, "softmax_with_bias(.|\n)*`m`", lambda: N.softmax_with_bias(m, m))
        self._refuses(shape, "with_bias(.|\n)*`v`", lambda: N.crossentropy_softmax_1hot_with_bias(v, v, [0]))
        self._refuses(shape, "class numbers(.|\n)*`v`", lambda: N.crossentropy_categorical_1hot(v, [0]))
        self._refuses(shape, "crossentropy_softmax_1hot takes", lambda: N.crossentropy_softmax_1hot(m, m))
        self._refuses(shape, "integers(.|\n)*`m`(.|\n)*`v`", lambda: N.categorical_crossentropy(m, v))
        self._refuses(shape, "two vectors(.|\n)*`m`", lambda: losses.confusion_matrix(m, [1]))
        self._refuses(shape, "a number and a matrix(.|\n)*`v`", lambda: losses.prepend_1_to_each_row(v))
        self._refuses(shape, "W2 has 2 dimensions", lambda: losses.h_softmax(m, 1, 2, 2, 2, m, v, m, m))
        self._refuses(shape, "too few for 9 outputs", lambda: losses.h_softmax(m, 1, 9, 4, 2, W1, B1, W2, B2))

    def test_dtypes(self) -> None:
        m = tt.dmatrix("m")
        self._refuses(tt.DTypeError, "complex(.|\n)*`z`", lambda: N.softmax(tt.zmatrix("z")))
        self._refuses(
            tt.DTypeError, "integers, not float64(.|\n)*`y`", lambda: N.crossentropy_softmax_1hot(m, tt.dvector("y"))
        )
        self._refuses(tt.DTypeError, "not float64(.|\n)*`t`", lambda: _h(FEATURES, W1, B1, W2, B2, tt.dvector("t")))

    def test_batch_normalization(self) -> None:
        x, v = tt.dmatrix("x"), tt.dvector("v")
        train, operands = bn.batch_normalization_train, bn.batch_normalization_test
        self._refuses(ValueError, "epsilon=1e-06 is too small", lambda: train(x, v, v, epsilon=1e-6))
        self._refuses(ValueError, "epsilon=0 is too small", lambda: operands(x, v, v, v, v, epsilon=0))
        self._refuses(ValueError, "unknown axes 'rows'", lambda: train(x, v, v, axes="rows"))
        self._refuses(ValueError, "one of running_mean", lambda: train(x, v, v, running_mean=v))
        self._refuses(ValueError, "unknown mode 'mem'", lambda: bn.batch_normalization(x, v, v, v, v, "mem"))
        self._refuses(tt.ShapeError, r"axes \(0, 2\)(.|\n)*`x`", lambda: train(x, v, v, axes=(0, 2)))
        self._refuses(tt.ShapeError, r"axes \(\)", lambda: train(x, v, v, axes=()))
        self._refuses(tt.ShapeError, "gamma has 0 dimensions", lambda: train(x, 1.0, v))
        self._refuses(tt.ShapeError, "same layout", lambda: train(x, v, x))

    def test_parameters_that_broadcast_by_accident(self) -> None:
        x, g = tt.dmatrix("x"), tt.dmatrix("g")
        for mode in (Mode("cvm", "fast_run"), Mode("py", None)):
            f = function([x, g], bn.batch_normalization_train(x, g, g)[0], mode=mode)
            with self.assertRaises(ValueError):
                f(FEATURES, np.ones((5, 3)))
