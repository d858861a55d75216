"""Shapes, reshaping, new tensors, joining."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from tensor_cases import MODES, check_gradient, compiled, node_of, run

import theano_tensor as T
from theano_graph import shape_rule
from theano_linker_c import function
from theano_tensor import TensorConstant
from theano_testing.tiers import examples

RNG = np.random.default_rng(11)


class TestShape(unittest.TestCase):
    def test_known_shape_becomes_a_constant(self) -> None:
        x = T.tensor(shape=(2, 3))
        f: Any = function([x], [x.shape, (x**2).shape])  # the shape mentions x, which may be an input
        self.assertEqual([v.tolist() for v in f(np.ones((2, 3)))], [[2, 3], [2, 3]])
        self.assertEqual({type(n.op).__name__ for n in f.maker.fgraph.apply_nodes}, {"DeepCopyOp"})
        self.assertIsInstance(T.constant(np.ones((2, 3))).shape, TensorConstant)
        self.assertIsInstance(T.shape_i(x, 0), TensorConstant)
        self.assertEqual(int(T.get_scalar_constant_value(x.shape[1])), 3)
        self.assertEqual(T.zeros(x.shape).type.shape, (2, 3))

    def test_one_number_of_a_constant_is_known(self) -> None:
        lengths = T.constant([4, 6])
        for i, expected in ((0, 4), (1, 6), (-1, 6), (-2, 4)):
            self.assertEqual(int(T.get_scalar_constant_value(lengths[i])), expected)
        for unknown in (lengths, T.lvector()[0]):
            with self.assertRaises(T.NotScalarConstantError):
                T.get_scalar_constant_value(unknown)

    def test_values(self) -> None:
        x = T.dmatrix("x")
        a = np.zeros((2, 5))
        shape, rows, last, size = run([x], [x.shape, x.shape[0], x.shape[-1], x.size], a)
        self.assertEqual((shape.tolist(), int(rows), int(last), int(size)), ([2, 5], 2, 5, 10))
        self.assertEqual(shape.dtype, "int64")
        self.assertEqual(str(node_of(x.shape).op), "Shape")
        self.assertEqual(str(node_of(x.shape[1]).op), "Shape_i{1}")

    def test_specify(self) -> None:
        x = T.dmatrix("x")
        y = T.specify_shape(x, (2, None))
        self.assertEqual(y.static_shape, (2, None))
        np.testing.assert_array_equal(run([x], y + 0, np.ones((2, 3))), np.ones((2, 3)))
        for mode in MODES:
            with (
                self.subTest(mode=mode),
                self.assertRaisesRegex(AssertionError, "dimension 0 has length 3, expected 2"),
            ):
                run([x], y, np.ones((3, 3)), mode=mode)
        with self.assertRaisesRegex(ValueError, "dimension 0 has length 2, which cannot be 3"):
            compiled(T.specify_shape(y, (3, None)))
        with self.assertRaisesRegex(ValueError, "1 lengths were specified for 2"):
            T.specify_shape(x, (3,))
        check_gradient(lambda v: T.specify_shape(v, (2, 2)) * 2, np.ones((2, 2)))


class TestRebroadcast(unittest.TestCase):
    def test_claims_are_checked(self) -> None:
        x = T.dmatrix("x")
        row = T.addbroadcast(x, 0)
        self.assertEqual(row.broadcastable, (True, False))
        a = RNG.random((2, 3))
        np.testing.assert_array_equal(run([x], row + a, a[:1]), a[:1] + a)
        for mode in MODES:
            with self.subTest(mode=mode), self.assertRaisesRegex(ValueError, "supposed to be 1 .got 2 instead"):
                run([x], row, a, mode=mode)

    def test_patterns(self) -> None:
        x = T.drow("x")
        self.assertEqual(T.unbroadcast(x, 0).broadcastable, (False, False))
        self.assertEqual(T.patternbroadcast(x, (False, True)).broadcastable, (False, True))
        self.assertIs(T.patternbroadcast(x, (True, False)), x)
        with self.assertRaisesRegex(ValueError, "axis 2 is out of range"):
            T.addbroadcast(x, 2)
        with self.assertRaisesRegex(ValueError, "has length 3, not 1"):
            compiled(T.addbroadcast(T.tensor(shape=(3,)), 0))

    def test_gradient(self) -> None:
        check_gradient(lambda v: T.addbroadcast(v, 0) * np.ones((3, 2)), RNG.random((1, 2)))


class TestReshape(unittest.TestCase):
    def test_values_and_static_shapes(self) -> None:
        x = T.tensor(shape=(2, 6), name="x")
        a = np.arange(12.0).reshape(2, 6)
        for shape, static in (((3, 4), (3, 4)), ((-1,), (12,)), ((2, -1, 3), (2, 2, 3)), ((1, 12), (1, 12))):
            with self.subTest(shape=shape):
                y = x.reshape(shape)
                self.assertEqual(y.static_shape, static)
                np.testing.assert_array_equal(run([x], y, a), a.reshape(shape))

    def test_symbolic_lengths(self) -> None:
        x, n = T.dvector("x"), T.lscalar("n")
        a = np.arange(6.0)
        np.testing.assert_array_equal(run([x, n], x.reshape((n, -1)), a, 2), a.reshape(2, 3))
        s = T.lvector("s")
        np.testing.assert_array_equal(run([x, s], x.reshape(s, ndim=2), a, np.array([3, 2])), a.reshape(3, 2))
        with self.assertRaisesRegex(ValueError, "pass ndim="):
            x.reshape(s)

    def test_errors(self) -> None:
        x = T.tensor(shape=(2, 3), name="x")
        for shape in ((4,), (4, -1)):
            with self.subTest(shape=shape), self.assertRaisesRegex(ValueError, "reshape(.|\n)*`x`: float64"):
                compiled(x.reshape(shape))
        for shape in ((-1, -1), (-2, 3)):
            with self.subTest(shape=shape), self.assertRaisesRegex(ValueError, "reshape(.|\n)*is no shape"):
                run([x], x.reshape(shape), np.zeros((2, 3)))
        with self.assertRaisesRegex(TypeError, "integer"):
            x.reshape((2.0, 3))
        v = T.dvector("v")
        for mode in MODES:
            with self.assertRaisesRegex(ValueError, r"cannot give an array of shape \(5,\) the shape"):
                run([v], v.reshape((2, 3)), np.zeros(5), mode=mode)

    def test_relatives(self) -> None:
        x = T.dtensor3("x")
        a = RNG.random((2, 3, 4))
        table: list[tuple[Any, Any]] = [
            (x.flatten(), a.ravel()),
            (x.flatten(2), a.reshape(2, 12)),
            (x.ravel(), a.ravel()),
            (x.T, a.T),
            (x.transpose(1, 0, 2), a.transpose(1, 0, 2)),
            (x.transpose((2, 0, 1)), a.transpose(2, 0, 1)),
            (x.swapaxes(0, 2), a.swapaxes(0, 2)),
            (T.shape_padleft(x, 2), a[None, None]),
            (T.shape_padright(x), a[..., None]),
            (T.shape_padaxis(x, 1), a[:, None]),
            (T.shape_padaxis(x, -1), a[..., None]),
            (x.sum(axis=1, keepdims=True).squeeze(), a.sum(axis=1)),
        ]
        for (_, expected), result in zip(table, run([x], [e for e, _ in table], a), strict=True):
            np.testing.assert_allclose(result, expected)
        with self.assertRaisesRegex(ValueError, "flatten: 4 dimensions"):
            x.flatten(4)
        self.assertEqual(str(node_of(T.shape_padaxis(T.tensor3(), 1)).op), "InplaceDimShuffle{0,x,1,2}")

    def test_gradient_and_shape_rule(self) -> None:
        check_gradient(lambda x: x.reshape((3, -1)) ** 2, RNG.random((2, 6)))
        x, n = T.dvector("x"), T.lscalar("n")
        node = node_of(x.reshape((2, -1)))
        (shape,) = shape_rule.lookup(node.op)(node, [(n,), (2,)])
        self.assertEqual(shape[0], 2)
        self.assertEqual(int(run([n], shape[1], 6)), 3)


class TestNew(unittest.TestCase):
    def test_fills(self) -> None:
        n = T.lscalar("n")
        x = T.imatrix("x")
        a = np.ones((2, 3), "int32")
        table: list[tuple[Any, Any]] = [
            (T.zeros((2, n)), np.zeros((2, 3))),
            (T.ones(n, dtype="int8"), np.ones(3, "int8")),
            (T.alloc(1.5, n, 2), np.full((3, 2), 1.5, "float32")),
            (T.full((n,), 7, "int16"), np.full(3, 7, "int16")),
            (T.zeros_like(x), a * 0),
            (T.ones_like(x, dtype="float32"), a.astype("float32")),
            (T.fill(x, 2.5), np.full((2, 3), 2.5, "float32")),
            (T.zeros(x.shape), np.zeros((2, 3))),
            (T.eye(n, 4, 1), np.eye(3, 4, 1)),
            (T.identity_like(x), np.eye(2, 3, dtype="int32")),
        ]
        for (_, expected), result in zip(table, run([n, x], [e for e, _ in table], 3, a), strict=True):
            np.testing.assert_array_equal(result, expected)
            self.assertEqual(result.dtype, expected.dtype)

    def test_alloc_details(self) -> None:
        self.assertEqual(T.zeros((2, 3)).static_shape, (2, 3))
        check_gradient(lambda v: T.alloc(v, 3, 2), RNG.random(2))
        check_gradient(lambda v: T.alloc(v, 2, 3), np.asarray(1.5))
        with self.assertRaisesRegex(ValueError, "does not fit into"):
            compiled(T.alloc(np.zeros(3), 2, 4))
        with self.assertRaisesRegex(TypeError, "integer"):
            T.zeros((1.5,))
        n = T.lscalar("n")
        with self.assertRaisesRegex(ValueError, "negative"):
            run([n], T.zeros((n,)), -1, mode="FAST_COMPILE")

    def test_ranges(self) -> None:
        n = T.lscalar("n")
        for arguments in ((5,), (1, 5), (5, 1, -2), (0, 1, 0.25)):
            result = T.arange(*arguments)
            expected = np.arange(*arguments)
            self.assertEqual(result.static_shape, expected.shape)
            np.testing.assert_allclose(run([], result), expected)
        np.testing.assert_array_equal(run([n], T.arange(n, dtype="int8"), 3), np.arange(3, dtype="int8"))
        node = node_of(T.arange(1, n, 2))
        (shape,) = shape_rule.lookup(node.op)(node, [(), (), ()])
        self.assertEqual(
            [int(run([n], shape[0], k)) for k in (0, 1, 2, 4)], [len(range(1, k, 2)) for k in (0, 1, 2, 4)]
        )


class TestJoin(unittest.TestCase):
    def test_values(self) -> None:
        x, y = T.dmatrices("x", "y")
        a, b = RNG.random((2, 3)), RNG.random((2, 3))
        table: list[tuple[Any, Any]] = [
            (T.join(0, x, y), np.concatenate([a, b])),
            (T.concatenate([x, y], axis=-1), np.concatenate([a, b], axis=-1)),
            (T.stack([x, y]), np.stack([a, b])),
            (T.stack([x, y], axis=-1), np.stack([a, b], axis=-1)),
            (T.stack(x, y), np.stack([a, b])),
            (T.stacklists([[x, y], [y, x]]), np.array([[a, b], [b, a]])),
        ]
        for (_, expected), result in zip(table, run([x, y], [e for e, _ in table], a, b), strict=True):
            np.testing.assert_array_equal(result, expected)

    def test_symbolic_axis_and_mixed_dtypes(self) -> None:
        x, y, axis = T.dmatrix("x"), T.imatrix("y"), T.lscalar("axis")
        a, b = RNG.random((2, 2)), np.ones((2, 2), "int32")
        for k in (0, 1):
            np.testing.assert_array_equal(
                run([x, y, axis], T.join(axis, x, y), a, b, k), np.concatenate([a, b], axis=k)
            )

    def test_split(self) -> None:
        x = T.dvector("x")
        parts = T.split(x, [1, 2], 2)
        first, second = run([x], parts, np.arange(3.0))
        self.assertEqual((first.tolist(), second.tolist()), ([0.0], [1.0, 2.0]))
        with self.assertRaisesRegex(ValueError, "do not add up"):
            run([x], parts, np.arange(4.0), mode="FAST_COMPILE")

    def test_gradients(self) -> None:
        a, b = RNG.random((2, 3)), RNG.random((2, 1))
        check_gradient(lambda x, y: T.concatenate([x, y, x], axis=1) ** 2, a, b)
        check_gradient(lambda x: T.stack([x, 2 * x], axis=1), a)
        check_gradient(lambda x: T.split(x, [1, 2], 2, axis=1)[1] ** 2, a)

    def test_errors(self) -> None:
        x, v = T.dmatrix("x"), T.dvector("v")
        with self.assertRaisesRegex(ValueError, "same number of dimensions(.|\n)*`v`"):
            T.concatenate([x, v])
        with self.assertRaisesRegex(ValueError, "axis 2 is out of range"):
            T.concatenate([x, x], axis=2)
        with self.assertRaisesRegex(TypeError, "list or tuple"):
            T.concatenate(x)  # type: ignore[arg-type]  # wrong on purpose
        with self.assertRaisesRegex(ValueError, "the lengths of dimension 1 differ: 3 and 4"):
            compiled(T.concatenate([T.tensor(shape=(None, 3)), T.tensor(shape=(None, 4))]))
        with self.assertRaisesRegex(ValueError, "nothing to stack"):
            T.stack([])
        y = T.dmatrix("y")
        for mode in MODES:
            with self.assertRaisesRegex(ValueError, r"shapes \(5, 4\), \(3, 3\) do not fit"):
                run([x, y], T.join(0, x, y), np.zeros((5, 4)), np.zeros((3, 3)), mode=mode)


SLICES = st.builds(
    slice,
    st.one_of(st.none(), st.integers(-5, 5)),
    st.one_of(st.none(), st.integers(-5, 5)),
    st.one_of(st.none(), st.integers(-3, 3).filter(bool)),
)


class TestIndexing(unittest.TestCase):
    def test_values(self) -> None:
        x, i = T.dtensor3("x"), T.lscalar("i")
        a = RNG.random((3, 4, 5))
        table: list[tuple[Any, Any]] = [
            (x[0], a[0]),
            (x[-1, 2], a[-1, 2]),
            (x[0, 1, 2], a[0, 1, 2]),
            (x[..., 1], a[..., 1]),
            (x[1:, ::2, ::-1], a[1:, ::2, ::-1]),
            (x[None, :, 1, None], a[None, :, 1, None]),
            (x[i], a[1]),
            (x[i:, :-i], a[1:, :-1]),
            (x[::i, i - 1], a[::1, 0]),
            (x[:, ..., i], a[:, ..., 1]),
            (x[()], a),
            (x[np.int64(1)], a[1]),
        ]
        for (_, expected), result in zip(table, run([x, i], [e for e, _ in table], a, 1), strict=True):
            np.testing.assert_array_equal(result, expected)
            self.assertEqual(result.shape, expected.shape)

    @settings(max_examples=examples(60), deadline=None)
    @given(st.integers(0, 4), SLICES)
    def test_slices_of_known_and_unknown_lengths(self, n: int, part: slice) -> None:
        a = np.arange(float(n))
        reference = T.tensor(shape=(n,))[part]
        self.assertEqual(reference.static_shape, a[part].shape)
        x, length = T.dvector("x"), T.lscalar("n")
        y = x[part]
        np.testing.assert_array_equal(run([x], y, a, mode="FAST_COMPILE"), a[part])
        if y is not x:
            (shape,) = shape_rule.lookup(node_of(y).op)(node_of(y), [(length,)])
            self.assertEqual(int(run([length], T.as_tensor_variable(shape[0]), n, mode="FAST_COMPILE")), len(a[part]))

    def test_gradients(self) -> None:
        a = RNG.random((3, 4))
        check_gradient(lambda x: x[1:, ::2] ** 2, a)
        check_gradient(lambda x: x[0] * x[-1, 1], a)
        check_gradient(lambda x, y: T.inc_subtensor(x[1:, 0], y) ** 2, a, RNG.random(2))
        check_gradient(lambda x, y: T.set_subtensor(x[:, 1:], y) ** 2, a, RNG.random((3, 3)))
        check_gradient(lambda x, y: T.set_subtensor(x[:2], y) ** 2, a, np.asarray(0.3))

    def test_assignment_forms(self) -> None:
        r = T.ivector("r")
        a = np.arange(5, dtype="int32")
        new, more = run([r], [T.set_subtensor(r[3:], 5), T.inc_subtensor(r[:2], 10)], a)
        self.assertEqual((new.tolist(), more.tolist()), ([0, 1, 2, 5, 5], [10, 11, 2, 3, 4]))
        self.assertEqual(a.tolist(), [0, 1, 2, 3, 4])
        with self.assertRaisesRegex(TypeError, "not the result of indexing"):
            T.set_subtensor(r, 1)
        with self.assertRaisesRegex(TypeError, "another kind"):
            T.set_subtensor(r[0], 0.5)

    def test_errors(self) -> None:
        x = T.tensor(shape=(3, None), name="x")
        table: list[tuple[Any, type[Exception], str]] = [
            ((0, 0, 0), TypeError, "too many indices for array: 3 for 2"),
            (0.5, TypeError, "0.5 .float. is no index"),
            ("a", TypeError, "is no index"),
            (T.dscalar("d"), TypeError, "integers or truth values, not float64(.|\n)*`d`"),
            ((Ellipsis, Ellipsis), TypeError, "only one Ellipsis"),
            (slice(None, None, 0), TypeError, "step 0"),
        ]
        for index, kind, text in table:
            with self.subTest(index=str(index)), self.assertRaisesRegex(kind, text):
                _ = x[index]
        v = T.dvector("v")
        for mode in MODES:
            with self.assertRaises(IndexError):
                run([v], v[3], np.zeros(2), mode=mode)


class TestKnownValues(unittest.TestCase):
    def test_scalar_constants(self) -> None:
        x = T.dmatrix("x")
        self.assertEqual(int(T.get_scalar_constant_value(3)), 3)
        self.assertEqual(float(T.get_scalar_constant_value(T.fill(x, 2.5))), 2.5)
        self.assertEqual(int(T.get_scalar_constant_value(T.cast(T.constant(2.7), "int8"))), 2)
        self.assertEqual(float(T.get_scalar_constant_value(T.ones((2, x.shape[0])))), 1.0)
        for unknown in (x, x.sum(), T.constant([1, 2]), x.shape[0]):
            with self.assertRaisesRegex(ValueError, "not known to be one number"):
                T.get_scalar_constant_value(unknown)
