"""Sums of products become calls of BLAS, with the same values as NumPy's, in every mode."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Variable
from theano_linker_c import Function, Mode, function
from theano_tensor.linear import Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger
from theano_testing.tiers import slow

from .blas_cases import RNG, VALUES, A, B, C, D, U, V, Z, each, of_blas, variables

MODES: tuple[Any, ...] = ("FAST_RUN", "FAST_COMPILE", "DebugMode", Mode("py", "fast_run"), Mode("cvm", "o3"))

Names = dict[str, Any]
Form = Callable[[Any, Names], Any]


def compiled(form: Form, dtype: str, mode: Any = "FAST_RUN") -> tuple[Function, list[Any]]:
    names = variables(dtype)
    output = form(tt.dot, names)
    f = function(list(names.values()), output, mode=mode, on_unused_input="ignore")
    return f, [np.asarray(VALUES[name], dtype=dtype) for name in names]


#: The expression, and the ops that compute it.
FORMS: tuple[tuple[str, Form, list[type]], ...] = (
    ("product", lambda dot, n: dot(n["a"], n["b"]), [Dot22]),
    ("multiple", lambda dot, n: 3 * dot(n["a"], n["b"]), [Dot22Scalar]),
    ("symbolic multiple", lambda dot, n: dot(n["a"], n["b"]) * n["s"] * 2, [Dot22Scalar]),
    ("negative", lambda dot, n: -dot(n["a"], n["b"]), [Dot22Scalar]),
    ("sum", lambda dot, n: n["z"] + dot(n["a"], n["b"]), [Gemm]),
    ("difference", lambda dot, n: n["z"] - dot(n["a"], n["b"]), [Gemm]),
    ("other difference", lambda dot, n: dot(n["a"], n["b"]) - n["z"], [Gemm]),
    ("beta and alpha", lambda dot, n: 0.5 * n["z"] - 2 * dot(n["a"], n["b"]), [Gemm]),
    ("symbolic alpha", lambda dot, n: n["z"] * 3 + n["s"] * dot(n["a"], n["b"]), [Gemm]),
    ("symbolic beta", lambda dot, n: n["s"] * n["z"] + dot(n["a"], n["b"]), [Gemm]),
    ("scalars all over", lambda dot, n: -(n["s"] * (n["z"] * 2 - dot(n["a"], n["b"]) * n["s"])) / 4, [Gemm]),
    ("decay", lambda dot, n: n["z"] - 0.125 * (dot(n["a"], n["b"]) + 0.25 * n["z"]), [Gemm]),
    ("two products", lambda dot, n: dot(n["a"], n["b"]) + dot(n["c"], n["d"]), [Dot22, Gemm]),
    ("two and a matrix", lambda dot, n: n["z"] - dot(n["a"], n["b"]) + 2 * dot(n["c"], n["d"]), [Gemm, Gemm]),
    ("transposes", lambda dot, n: n["z"].T + 2 * dot(n["b"].T, n["a"].T), [Gemm]),
    ("vector", lambda dot, n: n["z"][:, 0] - 0.125 * dot(n["a"], n["u"]), [Gemv]),
    ("vector from left", lambda dot, n: n["v"] + dot(n["u"], n["b"]), [Gemv]),
    ("two vectors", lambda dot, n: n["v"] * 2 - dot(n["u"], n["b"]) + dot(n["z"].T, n["c"][:, 0]), [Gemv, Gemv]),
)


class TestForms(unittest.TestCase):
    @slow
    @each(*FORMS)
    def test_values_in_every_mode(self, name: str, form: Form, expected: list[type]) -> None:
        truth = form(np.dot, VALUES)
        for dtype, tolerance in (("float64", 1e-11), ("float32", 3e-4)):
            for mode in MODES:
                with self.subTest(dtype=dtype, mode=str(mode)):
                    f, values = compiled(form, dtype, mode)
                    result = f(*values)
                    self.assertEqual(result.dtype.name, dtype)
                    np.testing.assert_allclose(result, truth, rtol=tolerance, atol=tolerance)

    @each(*FORMS)
    def test_fires_in_the_full_pipeline(self, name: str, form: Form, expected: list[type]) -> None:
        f, _ = compiled(form, "float64")
        self.assertEqual(sorted(t.__name__ for t in of_blas(f)), sorted(t.__name__ for t in expected))

    @each(*FORMS)
    def test_gradients(self, name: str, form: Form, expected: list[type]) -> None:
        names = variables("float64")
        weights = RNG.normal(size=form(np.dot, VALUES).shape)
        cost = (form(tt.dot, names) * weights).sum()
        wrt = list(names.values())
        gradients = tt.grad(cost, wrt, disconnected_inputs="ignore")
        values = [np.asarray(VALUES[key]) for key in names]
        plain = function(wrt, gradients, mode=Mode("py", None), on_unused_input="ignore")(*values)
        fast = function(wrt, gradients, on_unused_input="ignore")(*values)
        for a, b in zip(plain, fast, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)

    @each(*FORMS)
    def test_operands_that_are_not_contiguous(self, name: str, form: Form, expected: list[type]) -> None:
        f, values = compiled(form, "float64")
        truth = form(np.dot, VALUES)
        layouts: list[Callable[[Any], Any]] = [
            np.asfortranarray,
            lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
            lambda x: x[..., ::-1].copy()[..., ::-1],
            lambda x: np.repeat(x, 3, axis=0)[::3],
        ]
        for layout in layouts:
            operands = [layout(x) if x.ndim else x for x in values]
            np.testing.assert_allclose(f(*operands), truth, rtol=1e-11, atol=1e-12)


class TestGuards(unittest.TestCase):
    def test_a_product_that_is_used_twice_is_computed_once(self) -> None:
        n = variables("float64")
        product = tt.dot(n["a"], n["b"])
        f = function([n["a"], n["b"], n["z"]], [n["z"] - product, 2 * n["z"] + 3 * product])
        self.assertEqual(of_blas(f), [Dot22])
        first, second = f(A, B, Z)
        np.testing.assert_allclose(first, Z - A @ B)
        np.testing.assert_allclose(second, 2 * Z + 3 * A @ B)

    def test_a_bias_stays_elementwise(self) -> None:
        n = variables("float64")
        f = function([n["a"], n["b"], n["v"]], tt.dot(n["a"], n["b"]) + n["v"])
        self.assertEqual(of_blas(f), [Dot22])
        np.testing.assert_allclose(f(A, B, V), A @ B + V)

    def test_elementwise_operations_add_what_they_read_anyway(self) -> None:
        n = variables("float64")
        f = function([n["a"], n["b"], n["z"]], tt.tanh(n["z"] + tt.dot(n["a"], n["b"])))
        self.assertEqual(of_blas(f), [Dot22])
        np.testing.assert_allclose(f(A, B, Z), np.tanh(Z + A @ B))

    def test_two_products_and_a_bias_inside_a_function(self) -> None:
        n = variables("float64")
        h = tt.tanh(tt.dot(n["a"], n["b"]) + tt.dot(n["c"], n["d"]) + n["v"])
        f = function([n[k] for k in "abcdv"], h)
        self.assertEqual(of_blas(f), [Dot22, Gemm])
        np.testing.assert_allclose(f(A, B, C, D, V), np.tanh(A @ B + C @ D + V))

    def test_mixed_dtypes_are_left_alone(self) -> None:
        x, y, z = tt.fmatrix("x"), tt.dmatrix("y"), tt.dmatrix("z")
        f = function([x, y, z], z + tt.dot(x, y))
        self.assertEqual(of_blas(f), [Dot])
        single = A.astype("float32")
        np.testing.assert_allclose(f(single, B, Z), Z + single @ B, rtol=1e-6)

    def test_a_wider_scalar_gives_a_wider_result(self) -> None:
        x, y, s = tt.fmatrix("x"), tt.fmatrix("y"), tt.dscalar("s")
        f = function([x, y, s], s * tt.dot(x, y))
        self.assertEqual(of_blas(f), [Dot22])
        self.assertEqual(f(A.astype("f"), B.astype("f"), 2.0).dtype, np.float64)

    @each(("int64", Dot), ("complex128", Dot22))
    def test_dtypes_without_sums_of_blas(self, dtype: str, expected: type) -> None:
        x, y, z = (tt.matrix(name, dtype=dtype) for name in "xyz")
        f = function([x, y, z], z + tt.dot(x, y))
        self.assertEqual(of_blas(f), [expected])
        values = [(10 * v).astype(dtype) for v in (A, B, Z)]
        np.testing.assert_allclose(f(*values), values[2] + values[0] @ values[1])

    def test_a_smaller_dtype_in_the_sum_is_converted(self) -> None:
        x, y, z = tt.dmatrix("x"), tt.dmatrix("y"), tt.bmatrix("z")
        small = (10 * Z).astype("int8")
        f = function([x, y, z], 0.5 * z - tt.dot(x, y))
        np.testing.assert_allclose(f(A, B, small), 0.5 * small - A @ B)

    def test_rank_one(self) -> None:
        z, x, y = tt.dmatrix("z"), tt.dvector("x"), tt.dvector("y")
        f = function([z, x, y], z - 0.5 * tt.outer(x, y))
        self.assertEqual(of_blas(f), [Ger])
        np.testing.assert_allclose(f(Z, A[:, 0], V), Z - 0.5 * np.outer(A[:, 0], V))
        g = function([x, y], tt.outer(x, y))
        self.assertEqual(of_blas(g), [])
        np.testing.assert_allclose(g(U, V), np.outer(U, V))

    @each(("z", (None, 1), (5, 1)), ("y", (1, None), (1, 5)))
    def test_one_column_or_one_row(self, name: str, static: tuple[int | None, ...], shape: tuple[int, ...]) -> None:
        thin, small = tt.tensor("float64", shape=static, name="thin"), RNG.normal(size=shape)
        column = shape[1] == 1
        wide, total = tt.dmatrix("wide"), tt.tensor("float64", shape=static, name="total")
        product = tt.dot(wide, thin) if column else tt.dot(thin, wide)
        values = A if column else B
        truth = A @ small if column else small @ B
        f = function([total, wide, thin], 2 * total - product)
        self.assertEqual(of_blas(f), [Gemv])
        np.testing.assert_allclose(f(truth, values, small), truth)
        g = function([wide, thin], product)
        self.assertEqual(of_blas(g), [Dot])
        np.testing.assert_allclose(g(values, small), truth)

    def test_excluded_by_name(self) -> None:
        n = variables("float64")
        expression = n["z"] - tt.dot(n["a"], n["b"])
        inputs: list[Variable] = [n["a"], n["b"], n["z"]]
        for name, expected in (("BlasOpt", [Dot]), ("dot22", [Dot]), ("gemm", [Dot22]), ("gemm_optimizer", [Dot22])):
            f = function(inputs, expression, mode=Mode("cvm", "fast_run").excluding(name))
            with self.subTest(name=name):
                self.assertEqual(of_blas(f), expected)
                np.testing.assert_allclose(f(A, B, Z), Z - A @ B)

    def test_in_place_where_the_matrix_is_ours(self) -> None:
        n = variables("float64")
        f = function([n[k] for k in "abcd"], tt.dot(n["a"], n["b"]) - tt.dot(n["c"], n["d"]))
        (node,) = (x for x in f.maker.fgraph.toposort() if isinstance(x.op, Gemm))
        self.assertEqual(str(node.op), "Gemm{inplace}")
        g = function([n[k] for k in "abz"], n["z"] + tt.dot(n["a"], n["b"]))
        (other,) = (x for x in g.maker.fgraph.toposort() if isinstance(x.op, Gemm))
        self.assertFalse(other.op.inplace)
        before = Z.copy()
        np.testing.assert_allclose(g(A, B, Z), Z + A @ B)
        np.testing.assert_array_equal(Z, before)


class TestEdges(unittest.TestCase):
    def test_not_a_number_in_the_product_survives_a_factor_of_zero(self) -> None:
        n = variables("float64")
        bad = A.copy()
        bad[1, 2] = np.nan
        for expression in (n["z"] + n["s"] * tt.dot(n["a"], n["b"]), n["s"] * tt.dot(n["a"], n["b"])):
            for mode in ("FAST_RUN", "FAST_COMPILE", Mode("py", "fast_run")):
                f = function([n["a"], n["b"], n["z"], n["s"]], expression, mode=mode, on_unused_input="ignore")
                result = f(bad, B, Z, 0.0)
                np.testing.assert_array_equal(np.isnan(result), np.arange(4)[:, None] + np.zeros((1, 3)) == 1)

    def test_infinity_in_the_matrix_survives_a_factor_of_zero(self) -> None:
        n = variables("float64")
        bad = Z.copy()
        bad[0, 0] = np.inf
        f = function([n["a"], n["b"], n["z"], n["s"]], n["s"] * n["z"] + tt.dot(n["a"], n["b"]))
        result = f(A, B, bad, 0.0)
        self.assertTrue(np.isnan(result[0, 0]))
        np.testing.assert_allclose(result.ravel()[1:], (A @ B).ravel()[1:])

    @each((0, 5, 3), (4, 0, 3), (4, 5, 0), (0, 0, 0))
    def test_empty(self, rows: int, inner: int, columns: int) -> None:
        n = variables("float64")
        a, b, z = np.ones((rows, inner)), np.ones((inner, columns)), np.ones((rows, columns))
        inputs: list[Variable] = [n["a"], n["b"], n["z"]]
        f = function(inputs, [2 * n["z"] - tt.dot(n["a"], n["b"]), 3 * tt.dot(n["a"] * 2, n["b"])])
        first, second = f(a, b, z)
        np.testing.assert_array_equal(first, 2 * z - a @ b)
        np.testing.assert_array_equal(second, 6 * (a @ b))

    def test_large_products_are_shared_among_threads(self) -> None:
        x, y, z = tt.fmatrix("x"), tt.fmatrix("y"), tt.fmatrix("z")
        f = function([x, y, z], [z - 0.5 * tt.dot(x, y), tt.dot(y.T, x.T)])
        for rows, inner, columns in ((301, 150, 97), (33, 400, 517)):
            a, b = RNG.normal(size=(rows, inner)).astype("f"), RNG.normal(size=(inner, columns)).astype("f")
            c = RNG.normal(size=(rows, columns)).astype("f")
            first, second = f(a, b, c)
            np.testing.assert_allclose(first, c - 0.5 * a @ b, rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(second, (a @ b).T, rtol=1e-3, atol=1e-3)

    @each(((4, 5), (6, 3), (4, 3)), ((4, 5), (5, 3), (4, 2)), ((4, 5), (5, 3), (1, 3)))
    def test_wrong_shapes_are_told(self, *shapes: tuple[int, int]) -> None:
        n = variables("float64")
        a, b, z = (np.ones(shape) for shape in shapes)
        for mode in (Mode("py", "fast_run"), "FAST_RUN"):
            f = function([n["a"], n["b"], n["z"]], n["z"] + tt.dot(n["a"], n["b"]), mode=mode)
            with self.assertRaisesRegex(ValueError, "Shape mismatch: x has 5 cols|cannot be added"):
                f(a, b, z)


class TestAliasedProducts(unittest.TestCase):
    """The summand of a product may be one of its factors."""

    def test_a_product_is_not_added_in_place_to_its_factor(self) -> None:
        x, y = tt.dmatrices("x", "y")
        total = tt.dot(x, y) - 2 * tt.roll(x, 1, 1)
        f = function([x, y], [tt.roll(x, 1, 1) - 2 * tt.dot(tt.roll(x, 1, 1), y), total])
        a, b = np.arange(9.0).reshape(3, 3), np.eye(3) * 3
        rolled = np.roll(a, 1, 1)
        np.testing.assert_allclose(f(a, b), [rolled - 2 * rolled @ b, a @ b - 2 * rolled])
