"""Elementwise functions, reductions, shapes, creation and indexing."""

from __future__ import annotations

import unittest

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.ifelse import ifelse
from pytensor.tensor.type_other import make_slice, slicetype
from pytensor.tensor.xlogx import xlogx, xlogy0
from pytensor_values import check

import theano_pytensor as theano_pytensor

X, V, K = pt.dmatrix("x"), pt.dvector("v"), pt.lvector("i")
MATRIX = np.random.default_rng(0).normal(size=(4, 3))
VECTOR = np.array([0.3, 0.6, 0.9])
INDICES = np.array([2, 0, 2])


class TestElementwise(unittest.TestCase):
    def test_functions_of_floats(self) -> None:
        names = [
            "abs",
            "sign",
            "sqr",
            "exp",
            "expm1",
            "sin",
            "cos",
            "tanh",
            "arctan",
            "arcsinh",
            "erf",
            "ceil",
            "floor",
        ]
        names += ["isnan", "sigmoid", "softplus", "deg2rad", "neg"]
        check([X], [getattr(pt, name)(X) for name in names], MATRIX)

    def test_functions_of_positive_numbers(self) -> None:
        names = ["log", "log1p", "sqrt", "gammaln", "digamma", "erfinv", "erfcx", "tri_gamma", "reciprocal", "log1mexp"]
        names += ["i0", "j1"]
        arguments = {"log1mexp": -V, "erfinv": V / 2}
        check([V], [getattr(pt, name)(arguments.get(name, V)) for name in names], VECTOR)

    def test_functions_of_several_arguments(self) -> None:
        pairs = [pt.add, pt.mul, pt.sub, pt.true_div, pt.maximum, pt.minimum, pt.lt, pt.eq, pt.arctan2, pt.gammainc]
        check([X, V], [f(abs(X), V) for f in pairs] + [pt.switch(X > 0, X, V), pt.clip(X, 0.1, 0.4)], MATRIX, VECTOR)

    def test_integers_stay_integers(self) -> None:
        small = pt.bvector("b")
        outputs = [
            small + small,
            small // 2,
            small % 3,
            small**2,
            pt.exp(small),
            small / 2,
            pt.invert(small),
            small > 1,
        ]
        check([small], outputs, np.array([1, 2, 5], "int8"))

    def test_casts(self) -> None:
        check([X], [X.astype("int32"), X.astype("float32"), X.astype("bool"), pt.real(X.astype("complex64"))], MATRIX)

    def test_an_op_without_a_rule(self) -> None:
        z = pt.zvector("z")
        check([z], [pt.erf(z) + 1], VECTOR + 1j, performed=["Elemwise{Erf}"])

    def test_special_functions(self) -> None:
        n, a, p = pt.lscalar("n"), pt.dvector("a"), pt.dvector("p")
        outputs = [
            pt.gammaincinv(a, p), pt.gammainccinv(a, p), pt.betaincinv(a, a + 1, p), pt.owens_t(p, a),
            pt.hyp2f1(p, a, a + 0.5, p), pt.kve(a, p), pt.ive(a, 1000 * p), xlogx(p - 0.25), xlogy0(p - 0.25, p),
            pt.polygamma(0, p), pt.polygamma(2, p), pt.polygamma(n, p),
        ]  # fmt: skip
        check([n, a, p], outputs, 3, np.array([0.5, 1.0, 4.0]), np.array([0.25, 0.5, 0.75]))

    def test_derivatives_that_are_loops_of_scalars(self) -> None:
        a, x = pt.dvector("a"), pt.dscalar("x")
        output = pt.betainc(a, 2.0, x)
        check([a, x], pt.grad(output.sum(), [a, x]), np.array([0.5, 1.0, 4.0]), 0.5)


class TestReductions(unittest.TestCase):
    def test_over_axes(self) -> None:
        outputs = [
            X.sum(),
            X.sum(0),
            X.prod(1),
            X.max(axis=0),
            X.min(),
            X.mean(1),
            X.var(),
            (X > 0).all(1),
            (X > 2).any(),
        ]
        check([X], outputs, MATRIX)

    def test_places_of_the_largest(self) -> None:
        cube = pt.dtensor3("c")
        check([cube], [cube.argmax(), cube.argmax(1), pt.argmax(cube, axis=(0, 2))], MATRIX.reshape(2, 2, 3))

    def test_softmax_and_its_gradient(self) -> None:
        p = pt.special.softmax(X, axis=1)
        q = pt.special.log_softmax(X, axis=0)
        check([X], [p, q, pt.grad((p**2).sum() + (q**2).sum(), X)], MATRIX)


class TestShapes(unittest.TestCase):
    def test_axes_and_lengths(self) -> None:
        outputs = [
            X.T,
            X[None].shape,
            X.reshape((2, -1)),
            X.flatten(),
            X.dimshuffle(1, "x", 0),
            pt.expand_dims(V, 1) * X.T,
        ]
        check([X, V], outputs, MATRIX, VECTOR)

    def test_joined_and_split_axes(self) -> None:
        check([X], [pt.join_dims(X, 0, 2), pt.split_dims(X, (2, 2), axis=0)], MATRIX)

    def test_a_wrong_shape_is_an_error(self) -> None:
        with self.assertRaisesRegex(AssertionError, "shape"):
            check([X], [pt.specify_shape(X, (4, 7)) + 1], MATRIX)

    def test_creation(self) -> None:
        n = pt.lscalar("n")
        outputs = [
            pt.zeros((n, 2)),
            pt.arange(n),
            pt.eye(n, k=1),
            pt.stack([n, n + 1]),
            pt.full((2, n), 7.0),
            pt.tri(n),
        ]
        check([n], outputs, 3)

    def test_joins_and_splits(self) -> None:
        parts = pt.split(V, [1, 2], n_splits=2)
        check([X, V], [pt.concatenate([X, X], axis=1), pt.vertical_stack(X, V[None]), *parts], MATRIX, VECTOR)

    def test_diagonals(self) -> None:
        check([X, V], [pt.diagonal(X), pt.diag(V), pt.diag(V, k=1), pt.fill_diagonal(X, 2.0)], MATRIX, VECTOR)


class TestIndexing(unittest.TestCase):
    def test_reading(self) -> None:
        n = K[0]
        outputs = [
            X[1],
            X[1:, ::2],
            X[n - 1, :],
            X[:n],
            X[K],
            X[K, K],
            X[:, K],
            X[K[:, None], K],
            X[::-1],
            X[X > 0],
            V[-1],
        ]
        check([X, V, K], outputs, MATRIX, VECTOR, INDICES)

    def test_setting(self) -> None:
        outputs = [X[1].set(V), X[K].set(V), X[:2, K].set(1.0), X[X > 0].set(0.0), X[1:, 0].set(V), X[K, K].set(V)]
        check([X, V, K], outputs, MATRIX, VECTOR, INDICES)

    def test_slices_as_variables(self) -> None:
        s, n = slicetype("s"), K[0]
        if int(pytensor.__version__.split(".")[0]) > 2:
            with self.assertRaises(Exception):  # noqa: B017  (PyTensor 3 takes no variables of slices as indices)
                X[s]
            return
        either = ifelse(n > 1, make_slice(n - 1, None), make_slice(None, n))
        outputs = [X[s, K], X[s].inc(2.0), X[either], pt.grad((X[s] ** 2).sum(), X)]
        check([X, K, s], outputs, MATRIX, INDICES, slice(None, None, -2))
        self.assertEqual(slice(2, None), pytensor.function([K], make_slice(n, None), mode="THEANO")(INDICES))

    def test_incrementing_adds_up_repeated_entries(self) -> None:
        outputs = [X[1].inc(V), X[K].inc(V), X[K, K].inc(V), X[:, K].inc(V), V[K].inc(1.0)]
        check([X, V, K], outputs, MATRIX, VECTOR, INDICES)

    def test_gradients(self) -> None:
        cost = (X[K] ** 2).sum() + (X[:, 1] ** 3).sum() + (X[K, K] ** 2).sum()
        check([X, K], [pt.grad(cost, X)], MATRIX, INDICES)
