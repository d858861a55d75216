"""Pooling against loops over windows, convolution of signals against SciPy."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.signal import convolve2d

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import Mode, function
from theano_tensor.signal import conv, pool
from theano_testing.tensor import OpRecord, OpTestCase, assert_allclose, fetch_seed, op_tests
from theano_testing.tiers import slow

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
MODES = (Mode("cvm", "fast_run"), Mode("cvm", "fast_compile"), Mode("py", None))


def _number(n: int, w: int, s: int, p: int, ignore_border: bool) -> int:
    """How many windows there are, in the words of the manual."""
    if ignore_border:
        return len([i for i in range(0, n + 2 * p, s) if i + w <= n + 2 * p])
    results: list[int] = []
    for start in range(0, n, s):
        if results and results[-1] + w >= n:
            break
        results.append(start)
    return len(results)


def pooled(
    x: Any,
    ws: Sequence[int],
    ignore_border: bool,
    stride: Sequence[int] | None = None,
    pad: Sequence[int] | None = None,
    mode: str = "max",
) -> Any:
    """Pool, window by window."""
    ndim = len(ws)
    steps, pads = stride or ws, pad or (0,) * ndim
    lead, lengths = x.shape[:-ndim], x.shape[-ndim:]
    counts = [_number(*v, ignore_border) for v in zip(lengths, ws, steps, pads, strict=True)]
    result = np.zeros((*lead, *counts), x.dtype)
    for position in np.ndindex(*counts):
        starts = [i * s - p for i, s, p in zip(position, steps, pads, strict=True)]
        inside = tuple(slice(max(a, 0), min(a + w, n)) for a, w, n in zip(starts, ws, lengths, strict=True))
        window = x[(..., *inside)].reshape(*lead, -1)
        if mode == "max":
            result[(..., *position)] = window.max(-1)
            continue
        value = window.sum(-1)
        if mode == "average_exc_pad":
            value = value / window.shape[-1]
        elif mode == "average_inc_pad":
            ends = [min(a + w, n + p) for a, w, n, p in zip(starts, ws, lengths, pads, strict=True)]
            value = value / np.prod([e - a for e, a in zip(ends, starts, strict=True)])
        result[(..., *position)] = value
    return result


#: Name, shape, windows, whether to ignore borders, steps, padding.
CASES: tuple[tuple[str, tuple[int, ...], tuple[int, ...], bool, Any, Any], ...] = (
    ("tiles", (2, 3, 4, 6), (2, 3), True, None, None),
    ("tiles_inside", (2, 5, 7), (2, 3), True, None, None),
    ("tiles_over_the_border", (2, 5, 7), (2, 3), False, None, None),
    ("overlapping", (2, 6, 7), (3, 2), True, (2, 1), None),
    ("overlapping_over_the_border", (2, 6, 8), (3, 3), False, (2, 2), None),
    ("with_gaps", (6, 7), (2, 2), True, (3, 4), None),
    ("with_gaps_over_the_border", (6, 7), (1, 2), False, (4, 3), None),
    ("padded", (2, 1, 5, 6), (3, 2), True, (2, 2), (1, 1)),
    ("padded_much", (5, 6), (3, 3), True, (1, 2), (2, 2)),
    ("volumes", (2, 4, 5, 3), (2, 2, 3), True, None, None),
    ("volumes_over_the_border", (4, 5, 3), (3, 2, 2), False, (2, 2, 1), None),
    ("volumes_padded", (1, 4, 5, 3), (3, 2, 2), True, (2, 1, 1), (1, 0, 1)),
)


def _records(name: str, shape: tuple[int, ...], ws: Any, ignore: bool, stride: Any, pad: Any) -> list[OpRecord]:
    call = pool.pool_2d if len(ws) == 2 else pool.pool_3d
    # Different numbers, so that there is one largest element.
    x = RNG.permutation(int(np.prod(shape))).reshape(shape) / 7.0
    records = []
    for mode in ("max", "sum", "average_inc_pad", "average_exc_pad"):
        keywords: dict[str, Any] = {"stride": stride, "mode": mode} | ({} if pad is None else {"pad": pad})
        records.append(
            OpRecord(
                f"{mode}_of_{name}",
                lambda v, k=keywords: call(v, ws, ignore, **k),
                lambda v, k=keywords: pooled(v, ws, ignore, **k),
                [[x], [x.astype("float32")]],
                [[x]],
            )
        )
    return records


def _derivative(x: Any) -> Any:
    """The gradient of a pooled square, whose own derivatives are looked at."""
    return tt.grad((pool.pool_2d(x**2, (2, 2), False, (1, 2)) ** 2).sum(), x)


def _derivative_by_windows(x: Any) -> Any:
    result = np.zeros_like(x)
    for i in range(x.shape[0] - 1):
        for j in range(0, x.shape[1], 2):
            window = x[i : i + 2, j : j + 2] ** 2
            row, column = np.unravel_index(window.argmax(), window.shape)
            result[i + row, j + column] += 2 * window.max() * 2 * x[i + row, j + column]
    return result


SHUFFLED = (RNG.permutation(20).reshape(4, 5) + 1) / 9.0
INTEGERS = RNG.permutation(24).reshape(4, 6)
RECORDS = [
    *(record for case in CASES for record in _records(*case)),
    OpRecord("derivative_of_pooling", _derivative, _derivative_by_windows, [[SHUFFLED]], [[SHUFFLED]]),
    OpRecord(
        "derivative_of_averages",
        lambda x: tt.grad((pool.pool_2d(x, (2, 3), True, (1, 1), (1, 1), "average_exc_pad") ** 3).sum(), x),
        lambda x: _by_unit_vectors(x),
        [[SHUFFLED]],
        [[SHUFFLED]],
    ),
    OpRecord(
        "pooling_of_integers",
        lambda x: [pool.pool_2d(x, (2, 4), False, mode=mode) for mode in ("max", "sum", "average_exc_pad")],
        lambda x: [
            pooled(x, (2, 4), False),
            pooled(x, (2, 4), False, mode="sum"),
            pooled(x.astype("float64"), (2, 4), False, mode="average_exc_pad"),
        ],
        [[INTEGERS], [INTEGERS.astype("uint8")]],
    ),
    OpRecord(
        "elements_at_the_largest",
        lambda t: pool.MaxPoolGradGrad(True)(SHUFFLED, pooled(SHUFFLED, (2, 5), True), t, *(((2, 5),) * 2), (0, 0)),
        lambda t: t.reshape(2, 10)[[0, 1], SHUFFLED.reshape(2, 10).argmax(1)][:, None],
        [[SHUFFLED**2]],
        [[SHUFFLED**2]],
    ),
    OpRecord(
        "largest_elements_kept",
        lambda x: pool.max_pool_2d_same_size(x, (2, 2)),
        lambda x: np.where(np.kron(pooled(x, (2, 2), True), np.ones((2, 2))) == x[:, :4], x[:, :4], 0) @ np.eye(4, 5),
        [[SHUFFLED]],
        [[SHUFFLED]],
    ),
]


def _by_unit_vectors(x: Any) -> Any:
    arguments: tuple[Any, ...] = ((2, 3), True, (1, 1), (1, 1), "average_exc_pad")
    outer = 3 * pooled(x, *arguments) ** 2
    result = np.zeros_like(x)
    for i in np.ndindex(*x.shape):
        unit = np.zeros_like(x)
        unit[i] = 1
        result[i] = (pooled(unit, *arguments) * outer).sum()
    return result


for _record in RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class


class TestPooling(unittest.TestCase):
    def test_symbolic_layout(self) -> None:
        x, ws, stride, pad = tt.dtensor3("x"), tt.lvector("ws"), tt.ivector("stride"), tt.lvector("pad")
        value = RNG.randn(2, 6, 7)
        f = function([x, ws, stride, pad], pool.pool_2d(x, ws, True, stride, pad, "average_inc_pad"))
        for layout in (((2, 3), (2, 1), (1, 1)), ((3, 3), (1, 2), (0, 2))):
            assert_allclose(f(value, *layout), pooled(value, layout[0], True, *layout[1:], mode="average_inc_pad"))
        gradient = function([x, ws], tt.grad(pool.pool_2d(x, ws, ignore_border=False).sum(), x))(value, [2, 2])
        self.assertEqual(gradient.sum(), 2 * 3 * 4)

    def test_static_shapes(self) -> None:
        x = tt.TensorType("float64", (None, 5, 7))("x")
        self.assertEqual(pool.pool_2d(x, (2, 3), ignore_border=True).type.shape, (None, 2, 2))
        self.assertEqual(pool.pool_2d(x, (2, 3), ignore_border=False).type.shape, (None, 3, 3))
        self.assertEqual(tt.grad(pool.pool_2d(x, (2, 3), True).sum(), x).type.shape, (None, 5, 7))

    @slow
    def test_numbers_of_windows(self) -> None:
        for n in range(1, 8):
            for w in range(1, 5):
                for s in range(1, 5):
                    for ignore in (False, True):
                        result = pool.pool_2d(np.ones((n, 1)), (w, 1), ignore, (s, 1)).eval()
                        self.assertEqual(len(result), _number(n, w, s, 0, ignore), (n, w, s, ignore))

    def test_first_of_equal_elements_gets_the_gradient(self) -> None:
        x = tt.dmatrix("x")
        f = function([x], [tt.grad(pool.pool_2d(x, (2, 2), True).sum(), x), pool.max_pool_2d_same_size(x, (2, 2))])
        gradient, saved = f(np.full((2, 4), 3.0))
        self.assertEqual(gradient.tolist(), [[1, 0, 1, 0], [0, 0, 0, 0]])
        self.assertEqual(saved.tolist(), [[3, 0, 3, 0], [0, 0, 0, 0]])

    def test_infinite_and_missing_elements(self) -> None:
        value = np.array([[-np.inf, -np.inf], [np.nan, 1.0]])
        for mode in MODES:
            x = tt.dmatrix("x")
            result = function([x], pool.pool_2d(x, (1, 2), True), mode=mode)(value)
            self.assertEqual(result[0, 0], -np.inf)
            self.assertTrue(np.isnan(result[1, 0]))

    def test_infinite_gradients_stay_in_their_windows(self) -> None:
        x, g = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[np.inf, np.nan]])
        for step, count in ((2, 2), (1, 3)):
            layout = ((1, 2), (1, step), (0, 0))
            largest, by_windows = pool.Pool(True)(x, *layout), np.resize(g, (1, count))
            result = pool.MaxPoolGrad(True)(x, largest, by_windows, *layout).eval()
            self.assertEqual(result[0, 0], 0)
            self.assertEqual(result[0, 1], np.inf)

    def test_ignore_border_not_given(self) -> None:
        x = np.ones((5, 5))
        with self.assertWarnsRegex(UserWarning, "ignore_border is not given"):
            result = pool.pool_2d(x, (2, 2))
        self.assertEqual(result.eval().shape, (3, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pool.pool_2d(x, (2, 2), ignore_border=False)

    def test_former_names(self) -> None:
        x = RNG.randn(6, 7)
        with self.assertWarnsRegex(DeprecationWarning, "ds is called ws"):
            result = pool.pool_2d(x, ds=(3, 2), ignore_border=True, st=(1, 2), padding=(1, 0))
        assert_allclose(result.eval(), pooled(x, (3, 2), True, (1, 2), (1, 0)))
        with self.assertRaisesRegex(ValueError, "ds is the former name of ws"):
            pool.pool_2d(x, (2, 2), ds=(2, 2), ignore_border=True)

    def test_refused(self) -> None:
        m, v = tt.dmatrix("m"), tt.dvector("v")
        cases: tuple[tuple[type[Exception], str, Callable[[], Any]], ...] = (
            (ValueError, "unknown mode 'min'", lambda: pool.pool_2d(m, (2, 2), True, mode="min")),
            (ValueError, "no size", lambda: pool.pool_2d(m, ignore_border=True)),
            (
                tt.ShapeError,
                "over 2 axes requires a dimension >= 2, not 1(.|\n)*`v`",
                lambda: pool.pool_2d(v, (2, 2), True),
            ),
            (tt.ShapeError, "3 axes(.|\n)*`m`", lambda: pool.pool_3d(m, (2, 2, 2), True)),
            (tt.ShapeError, "ws has 3 entries for 2 axes", lambda: pool.pool_2d(m, (2, 2, 2), True)),
            (tt.ShapeError, "stride has 1 entries", lambda: pool.pool_2d(m, (2, 2), True, (1,))),
            (tt.DTypeError, "complex(.|\n)*`z`", lambda: pool.pool_2d(tt.zmatrix("z"), (2, 2), True)),
        )
        for error, pattern, call in cases:
            with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern) as caught:
                call()
            self.assertIn("Hint", str(caught.exception))

    def test_layouts_that_cannot_be(self) -> None:
        x = tt.dmatrix("x")
        for pattern, arguments in (
            ("must be at least 1", ((0, 2), True)),
            ("must be at least 1", ((2, 2), True, (1, 0))),
            ("padding must be smaller", ((2, 2), True, None, tt.constant([2, 0]))),
            ("needs ignore_border", ((3, 3), False, None, tt.constant([1, 1]))),
        ):
            for mode in MODES:
                f = function([x], pool.pool_2d(x, *arguments), mode=mode)
                with self.subTest(pattern=pattern), self.assertRaisesRegex(ValueError, pattern):
                    f(np.ones((5, 5)))

    def test_padding_given_as_numbers_is_refused_at_once(self) -> None:
        x = tt.dmatrix("x")
        for pattern, arguments in (
            ("padding must be smaller", ((2, 2), True, None, (2, 0))),
            ("needs ignore_border", ((3, 3), False, None, (1, 1))),
        ):
            for error in (ValueError, NotImplementedError):
                with self.subTest(pattern=pattern), self.assertRaisesRegex(error, pattern):
                    pool.pool_2d(x, *arguments)

    def test_windows_of_sums_may_see_padding_alone(self) -> None:
        x = np.ones((2, 3))
        for mode in ("sum", "average_inc_pad"):
            result = pool.pool_2d(x, (1, 1), True, None, (1, 1), mode=mode)
            np.testing.assert_array_equal(result.eval(), np.pad(x, 1))

    def test_shape_of_the_result(self) -> None:
        self.assertEqual(pool.Pool.out_shape((9, 8, 6), (2, 2)), [9, 4, 3])
        self.assertEqual(pool.Pool.out_shape((9, 8, 7), (2, 2), True, (1, 2), (1, 0)), [9, 9, 3])
        n = tt.lscalar("n")
        result = pool.Pool.out_shape((3, n, 7), (2, 2))
        self.assertEqual((result[0], int(result[1].eval({n: 5})), result[2]), (3, 3, 4))
        with self.assertRaisesRegex(TypeError, "over 2 axes"):
            pool.Pool.out_shape((9,), (2, 2))
        with self.assertRaisesRegex(ValueError, "no size"):
            pool.Pool.out_shape((9, 9))

    def test_op_with_default_arguments(self) -> None:
        x = RNG.randn(4, 6)
        node = pool.Pool(ignore_border=True, openmp=False).make_node(x, (2, 3))
        assert_allclose(node.outputs[0].eval(), pooled(x, (2, 3), True, None, None))
        g = RNG.randn(2, 2)
        gradient = pool.AveragePoolGrad(True, "sum")(x, g, (2, 3))
        assert_allclose(gradient.eval(), np.kron(g, np.ones((2, 3))))

    def test_gradients_refuse_other_shapes(self) -> None:
        x, g = tt.dmatrix("x"), tt.dmatrix("g")
        layout = ((2, 2), (2, 2), (0, 0))
        for output in (
            pool.AveragePoolGrad(True)(g, (4, 4), *layout),
            pool.MaxPoolGrad(True)(g, g, g, *layout),
            pool.MaxPoolGradGrad(True)(g, x, x, *layout),
        ):
            inputs = [v for v in (x, g) if v in output.owner.inputs]
            with self.assertRaisesRegex(ValueError, "pooling: (there are|shapes)"):
                function(inputs, output)(*(np.ones((3, 3)) for _ in inputs))


class TestSignals(unittest.TestCase):
    def test_every_image_with_every_filter(self) -> None:
        images, filters = RNG.randn(3, 6, 7), RNG.randn(2, 3, 2)
        for mode in ("valid", "full"):
            expected = np.array([[convolve2d(i, f, mode) for f in filters] for i in images])
            assert_allclose(conv.conv2d(images, filters, images.shape, filters.shape, mode).eval(), expected)
            assert_allclose(conv.conv2d(images[0], filters, border_mode=mode).eval(), expected[0])
            assert_allclose(conv.conv2d(images, filters[1], border_mode=mode).eval(), expected[:, 1])
            alone = conv.conv2d(images[2], filters[0], (6, 7), (3, 2), mode, subsample=(2, 3), openmp=True)
            assert_allclose(alone.eval(), expected[2, 0, ::2, ::3])

    def test_gradient(self) -> None:
        x, w = tt.dmatrix("x"), tt.dmatrix("w")
        image, kernel = RNG.randn(5, 6), RNG.randn(2, 3)
        by_x, by_w = function([x, w], tt.grad((conv.conv2d(x, w) ** 2).sum(), [x, w]))(image, kernel)
        top = 2 * convolve2d(image, kernel, "valid")
        assert_allclose(by_x, convolve2d(top, kernel[::-1, ::-1]))
        assert_allclose(by_w, convolve2d(image[::-1, ::-1], top, "valid"))

    def test_refused(self) -> None:
        m, c = tt.dmatrix("m"), tt.dtensor4("c")
        for x, w, shape in ((m, c, None), (c, m, None), (m, m, (1, 2, 3))):
            with self.assertRaisesRegex(tt.ShapeError, "two or three dimensions(.|\n)*Hint"):
                conv.conv2d(x, w, shape)
