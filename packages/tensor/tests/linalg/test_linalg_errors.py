"""Linear algebra: wrong input, singular and indefinite matrices, native forms, second derivatives."""

from __future__ import annotations

import pickle
import unittest
from typing import Any

import numpy as np
import scipy.linalg

import theano_tensor as T
import theano_tensor.linalg as L
from theano_linker_c import Mode, function
from theano_linker_c.kernels import LapackKernel, lapack_addresses, native_kernel
from theano_tensor import DTypeError, ShapeError
from theano_testing.tensor import verify_grad

RNG = np.random.default_rng(13)
SQUARE = RNG.normal(size=(4, 4)) + 3 * np.eye(4)
DEFINITE = SQUARE @ SQUARE.T
SINGULAR = np.ones((3, 3))
INDEFINITE = np.diag([1.0, -1.0, 2.0])
MODES = (Mode("py", "fast_run"), Mode("cvm", "fast_run"))


class TestBadInput(unittest.TestCase):
    def test_wrong_shapes_are_refused_at_once(self) -> None:
        v, cube = T.dvector("v"), T.dtensor3("cube")
        wide = T.TensorType("float64", (2, 3))("wide")
        takers: tuple[Any, ...] = (L.matrix_inverse, L.det, L.slogdet, L.cholesky, L.eig, L.eigh, L.eigvalsh, L.expm)
        for take in takers:
            with self.subTest(str(take)):
                self.assertRaisesRegex(ShapeError, "takes a matrix", take, v)
                with self.assertRaisesRegex(ShapeError, "square matrix, this one is 2 by 3"):
                    function([wide], take(wide))
        others: tuple[Any, ...] = (L.pinv, L.svd, L.qr, L.trace)
        for take in others:
            self.assertRaisesRegex(ShapeError, "takes a matrix", take, v)
        calls: tuple[tuple[type[Exception], str, Any], ...] = (
            (ShapeError, "2 rows, the right-hand side 3", lambda: function([wide], L.solve(wide[:, :2], wide.T))),
            (ShapeError, "a stack of matrices", lambda: L.Solve()(cube, v)),
            (ShapeError, "takes a vector or a matrix", lambda: L.Solve()(cube[0], T.dscalar())),
            (ShapeError, "three dimensions", lambda: L.kron(v, v)),
            (ShapeError, "lstsq takes", lambda: L.lstsq(cube, v)),
            (ShapeError, "no dimensions for columns", lambda: L.tensorinv(cube, 3)),
            (ValueError, "ind must be positive", lambda: L.tensorinv(cube, 0)),
            (ShapeError, "more dimensions than b", lambda: L.tensorsolve(v, v)),
            (TypeError, "takes a matrix", lambda: L.spectral_radius_bound(v, 2)),
            (TypeError, "an integer", lambda: L.spectral_radius_bound(cube[0], 2.0)),  # type: ignore[arg-type]
            (ValueError, "positive", lambda: L.spectral_radius_bound(cube[0], 0)),
            (TypeError, "Python integer", lambda: L.matrix_power(cube[0], 1.5)),  # type: ignore[arg-type]
            (ValueError, "nothing to multiply", L.matrix_dot),
            (ValueError, "A_structure='band'", lambda: L.Solve("band")),
            (ValueError, "on_error='ignore'", lambda: L.Cholesky(on_error="ignore")),
            (ValueError, "UPLO='X'", lambda: L.Eigh("X")),
            (ValueError, "mode='full'", lambda: L.qr(cube, "full")),
            (ValueError, "mode='reduced'", lambda: L.QRIncomplete("reduced")),
            (ValueError, "no norm of order 3", lambda: L.norm(cube[0], 3)),
            (ValueError, "no norm of order 'fro'", lambda: L.norm(v, "fro")),
            (ValueError, "vector or a matrix", lambda: L.norm(T.dscalar())),
            (DTypeError, "real numbers", lambda: L.eigvalsh(T.zmatrix())),
        )
        for error, text, call in calls:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                call()

    def test_matrices_that_turn_out_not_to_be_square(self) -> None:
        x, b = T.dmatrix("x"), T.dvector("b")
        for mode in MODES:
            for output in (L.matrix_inverse(x), L.det(x), L.cholesky(x), L.eigh(x)[0], L.expm(x), L.eig(x)[0]):
                with self.subTest(str(output)), self.assertRaisesRegex(np.linalg.LinAlgError, "2 by 3, not square"):
                    function([x], output, mode=mode)(np.ones((2, 3)))
            with self.assertRaisesRegex(np.linalg.LinAlgError, "not square"):
                function([x, b], L.solve(x, b), mode=mode)(np.ones((2, 3)), np.ones(2))
            with self.assertRaisesRegex(ValueError, r"shapes \(4, 4\) and \(3,\)"):
                function([x, b], L.solve(x, b), mode=mode)(SQUARE, np.ones(3))

    def test_singular_matrices(self) -> None:
        x, b = T.dmatrix("x"), T.dvector("b")
        for mode in MODES:
            with self.assertRaisesRegex(np.linalg.LinAlgError, "Singular matrix(.|\n)*`x`"):
                function([x], L.matrix_inverse(x), mode=mode)(SINGULAR)
            for op in (L.solve, L.solve_symmetric, L.solve_lower_triangular, L.solve_upper_triangular):
                with self.subTest(str(op)), self.assertRaisesRegex(np.linalg.LinAlgError, "Singular matrix"):
                    function([x, b], op(x, b), mode=mode)(np.zeros((3, 3)), np.ones(3))
            self.assertEqual(function([x], L.det(x), mode=mode)(SINGULAR), 0.0)
            sign, size = function([x], L.slogdet(x), mode=mode)(SINGULAR)
            self.assertEqual((sign, size), (0.0, -np.inf))

    def test_matrices_that_are_not_positive_definite(self) -> None:
        x, stack = T.dmatrix("x"), T.dtensor3("stack")
        self.assertIs(scipy.linalg.LinAlgError, np.linalg.LinAlgError)
        for mode in MODES:
            with self.assertRaisesRegex(np.linalg.LinAlgError, "not positive definite(.|\n)*`x`"):
                function([x], L.cholesky(x), mode=mode)(INDEFINITE)
            for lower in (True, False):
                op = L.Cholesky(lower, on_error="nan")
                result = function([x], op(x), mode=mode)(INDEFINITE)
                self.assertTrue(np.isnan(result).all())
                both = function([stack], op(stack), mode=mode)(np.stack([INDEFINITE, np.eye(3)]))
                self.assertTrue(np.isnan(both[0]).all())
                np.testing.assert_array_equal(both[1], np.eye(3))

    def test_gradients_are_nan_where_there_is_no_factor(self) -> None:
        stack = T.dtensor3("stack")
        values = np.stack([INDEFINITE, np.eye(3)])
        for lower in (True, False):
            slope = T.grad(L.Cholesky(lower, on_error="nan")(stack).sum(), stack)
            result = function([stack], slope)(values)
            self.assertTrue(np.isnan(result[0]).all())
            expected = T.grad(L.Cholesky(lower)(stack).sum(), stack)
            np.testing.assert_allclose(result[1:], function([stack], expected)(values[1:]))

    def test_tensors_that_are_not_square(self) -> None:
        a = T.dtensor4("a")
        with self.assertRaisesRegex(np.linalg.LinAlgError, "tensorinv"):
            function([a], L.tensorinv(a))(np.ones((2, 3, 4, 5)))

    def test_gradients_that_do_not_exist(self) -> None:
        x = T.dmatrix("x")
        for output in (L.svd(x)[0], L.qr(x, "complete")[0], L.qr(x, "raw")[0], T.real(L.eig(x)[1])):
            with self.subTest(str(output)), self.assertRaises(Exception) as caught:
                T.grad(output.sum(), x)
            self.assertIn("undefined", str(caught.exception))
        residuals = L.lstsq(x, x[0])[1]
        with self.assertRaisesRegex(Exception, "undefined"):
            T.grad(residuals.sum(), x)
        z = T.zmatrix("z")
        with self.assertRaisesRegex(Exception, "not holomorphic"):
            T.grad(T.real(L.cholesky(z)).sum(), z)


class TestForms(unittest.TestCase):
    def test_matrices_of_real_numbers_and_stacks_of_them_are_native(self) -> None:
        x, b, single = T.dmatrix("x"), T.dvector("b"), T.fmatrix("s")
        tasks = {
            "cholesky": L.cholesky(x),
            "triangular": L.solve_lower_triangular(x, b),
            "solve": L.solve(single, T.fvector()),
            "symmetric": L.solve_symmetric(x, b),
            "inverse": L.matrix_inverse(single),
            "det": L.det(x),
            "slogdet": L.slogdet(x)[0],
            "eigh": L.eigh(x)[0],
            "svd": L.svd(single)[0],
            "qr": L.qr(x)[0],
            "factor_back": L.CholeskyGrad()(x, x, x),
        }
        stacks = {"cholesky": L.cholesky(T.ftensor4()), "solve": L.solve(T.dtensor3(), T.dtensor3())}
        for task, output in (*tasks.items(), *stacks.items()):
            with self.subTest(task, ndim=output.type.ndim):
                kernel = native_kernel.lookup(output.owner.op)(output.owner)
                assert isinstance(kernel, LapackKernel)
                self.assertEqual((kernel.task, kernel.dtype), (task, output.owner.inputs[0].type.dtype))
                self.assertTrue(all(lapack_addresses(kernel.task, kernel.dtype)))
        for output in (
            L.matrix_inverse(T.zmatrix()),
            L.matrix_inverse(T.ztensor3()),
            L.CholeskyGrad(False)(x, x, x),
            L.qr(x, "raw")[0],
        ):
            self.assertIsNone(native_kernel.lookup(output.owner.op)(output.owner))

    def test_blocks_of_the_gradient_of_a_factor(self) -> None:
        x, f, g = T.dmatrices("x", "f", "g")
        for lower in (True, False):
            op = L.CholeskyGrad(lower)
            calls = [function([x, f, g], op(x, f, g), mode=mode) for mode in MODES]
            plain = function([f, g], op.expression(x, f, g))
            for n in (1, 31, 32, 33, 70):
                matrix = RNG.normal(size=(n, n))
                factor = np.linalg.cholesky(matrix @ matrix.T + n * np.eye(n))
                factor = factor if lower else factor.T
                expected = plain(factor, matrix)
                for call in calls:
                    np.testing.assert_allclose(call(matrix, factor, matrix), expected, atol=1e-12)

    def test_layouts(self) -> None:
        x, b = T.dmatrix("x"), T.dmatrix("b")
        for op in (L.solve, L.solve_lower_triangular, L.solve_upper_triangular, L.solve_symmetric):
            call = function([x, b], op(x, b))
            expected = call(DEFINITE, SQUARE)
            wide = np.zeros((4, 9))
            wide[:, 1::2] = DEFINITE
            for layout in (np.asfortranarray(DEFINITE), wide[:, 1::2], DEFINITE[::-1, ::-1].copy()[::-1, ::-1]):
                for right in (np.asfortranarray(SQUARE), SQUARE[::-1].copy()[::-1]):
                    np.testing.assert_allclose(call(layout, right), expected)

    def test_overwriting_is_asked_of_the_graph(self) -> None:
        x, b = T.dmatrix("x"), T.dvector("b")
        op = L.Solve(overwrite_b=True)
        self.assertEqual(op.destroy_map, {0: [1]})
        result = function([x, b], op(x, b + 1), accept_inplace=True)(SQUARE, np.zeros(4))
        np.testing.assert_allclose(result, np.linalg.solve(SQUARE, np.ones(4)))
        with self.assertRaisesRegex(TypeError, "overwrites its input"):
            function([x, b], op(x, b + 1))

    def test_integers_and_half_precision(self) -> None:
        self.assertEqual(L.matrix_inverse(T.lmatrix()).dtype, "float64")
        self.assertEqual(L.det(T.TensorType("float16", (None, None))()).dtype, "float32")
        np.testing.assert_allclose(L.det(T.constant([[1, 2], [3, 4]])).eval(), -2.0)

    def test_eigenvalues_come_in_pairs(self) -> None:
        values, vectors = (v.eval() for v in L.eig(T.constant([[0.0, 1.0], [-1.0, 0.0]])))
        np.testing.assert_allclose(np.sort_complex(values), [-1j, 1j])
        np.testing.assert_allclose(np.array([[0.0, 1.0], [-1.0, 0.0]]) @ vectors, vectors * values, atol=1e-12)

    def test_least_squares(self) -> None:
        a, b = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 3))
        results = [v.eval() for v in L.lstsq(T.constant(a), T.constant(b))]
        expected: tuple[Any, ...] = np.linalg.lstsq(a, b, rcond=-1)
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, other)

    def test_functions_pickle(self) -> None:
        x, b = T.dmatrix("x"), T.dvector("b")
        call = function([x, b], [L.solve(L.psd(x), b), L.det(x), *L.svd(x)])
        for one, other in zip(
            pickle.loads(pickle.dumps(call))(DEFINITE, SQUARE[0]), call(DEFINITE, SQUARE[0]), strict=True
        ):
            np.testing.assert_array_equal(one, other)


class TestSecondDerivatives(unittest.TestCase):
    def check(self, build: Any, point: Any) -> None:
        """Differentiate the gradient of a number."""

        def gradient(x: Any) -> Any:
            return T.grad(build(x), x)

        verify_grad(gradient, [point], rng=RNG, abs_tol=1e-3, rel_tol=1e-3)

    def test_of_inverse_and_determinant(self) -> None:
        self.check(lambda x: (L.matrix_inverse(x) ** 2).sum(), SQUARE)
        self.check(lambda x: L.slogdet(x)[1], SQUARE)

    def test_of_factors(self) -> None:
        self.check(lambda x: (L.cholesky(x) ** 3).sum(), DEFINITE)
        self.check(lambda x: (L.Cholesky(lower=False)(x) ** 3).sum(), DEFINITE)

    def test_of_eigenvalues_and_vectors(self) -> None:
        self.check(lambda x: (L.eigh(x)[1][:, 0] ** 4).sum() + (L.eigh(x)[0] ** 3).sum(), DEFINITE)
        other = T.constant(DEFINITE[::-1, ::-1].copy())
        self.check(lambda x: (L.eigvalsh(x, other) ** 3).sum(), DEFINITE)
        self.check(lambda x: (L.eigvalsh(other, x) ** 3).sum(), DEFINITE)

    def test_of_equations_whose_sides_depend_on_each_other(self) -> None:
        verify_grad(lambda x: L.tensorsolve(x, x[0] ** 2), [SQUARE], rng=RNG)
        verify_grad(lambda x: L.lstsq(x, x[:, 0] ** 2)[0], [SQUARE[:, :2]], rng=RNG)

    def test_singular_vectors_have_the_signs_of_numpy(self) -> None:
        x = T.dmatrix("x")
        for shape in ((3, 3), (3, 5), (5, 3), (1, 4)):
            value = RNG.normal(size=shape)
            for full in (True, False):
                result = function([x], list(L.svd(x, full_matrices=full)))(value)
                k = min(shape)
                for mine, other in zip(result, np.linalg.svd(value, full_matrices=full), strict=True):
                    part = (slice(k),) * mine.ndim
                    np.testing.assert_allclose(mine[part], other[part], atol=1e-10)

    def test_of_the_exponential(self) -> None:
        self.check(lambda x: (L.expm(x) ** 2).sum(), SQUARE / 4)


class TestMethods(unittest.TestCase):
    def test_derivatives_can_be_asked_of_an_op(self) -> None:
        x = T.dmatrix("x")
        invert: Any = L.matrix_inverse
        y = invert(x)
        (by_rule,) = invert.L_op([x], [y], [T.ones_like(y)])
        (by_grad,) = invert.grad([x], [T.ones_like(y)])
        (forward,) = invert.R_op([x], [T.ones_like(x)])
        inverse = np.linalg.inv(SQUARE)
        ones = np.ones((4, 4))
        for item in function([x], [by_rule, by_grad])(SQUARE):
            np.testing.assert_allclose(item, -inverse.T @ ones @ inverse.T)
        np.testing.assert_allclose(function([x], forward)(SQUARE), -inverse @ ones @ inverse)
        # Outputs of another application are not used: the op is applied to the inputs that are given.
        (of_others,) = invert.L_op([x.T], [y], [T.ones_like(y)])
        np.testing.assert_allclose(function([x], of_others)(SQUARE), -inverse @ ones @ inverse)

    def test_gradient_of_eigenvalues_by_a_real_matrix(self) -> None:
        verify_grad(lambda x: T.real(L.eig(x)[0]) ** 2 + T.imag(L.eig(x)[0]) ** 2, [SQUARE], rng=RNG)


if __name__ == "__main__":
    unittest.main()
