"""Derivatives at points where formulas are switched, overflow, vanish or cancel."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import linalg, nnet
from theano_tensor.gradient import Rop, grad, hessian


def slopes(of: Any, values: Any, dtype: str = "float64", order: int = 1) -> Any:
    """Return a derivative of an elementwise function at some values."""
    x = T.TensorType(dtype, (None,))("x")
    y = of(x)
    for _ in range(order):
        y = grad(y.sum(), x)
    return function([x], y)(np.asarray(values, dtype))


class TestSwitchedPoints(unittest.TestCase):
    def test_products_with_zeros(self) -> None:
        x = T.dvector("x")
        f = function([x], [hessian(T.prod(x), x), hessian(T.cumprod(x).sum(), x)])
        for values in ([2.0, 0.0, 3.0], [0.0, 0.0, 3.0], [2.0, 5.0, 3.0]):
            a, b, c = values
            product, cumulative = f(values)
            np.testing.assert_allclose(product, [[0, c, b], [c, 0, a], [b, a, 0]])
            np.testing.assert_allclose(cumulative, [[0, 1 + c, b], [1 + c, 0, a], [b, a, 0]])

    def test_products_over_some_axes(self) -> None:
        x = T.dtensor3("x")
        values = np.random.default_rng(3).uniform(0.5, 2, (2, 3, 4))
        values[0, 1, 2] = 0
        for axis in (None, (0, 2), 1, ()):
            with self.subTest(axis=axis):
                result = function([x], grad(T.prod(x, axis=axis).sum(), x))(values)
                other = np.where(values == 0, 1, values)
                count = (values == 0).sum(axis=axis, keepdims=True) if axis != () else (values == 0)
                expected = np.prod(other, axis=axis, keepdims=True) / other * ((count == 0) | (values == 0))
                np.testing.assert_allclose(result, expected)

    def test_directional_derivatives_of_cumulative_products(self) -> None:
        x, d = T.dmatrix("x"), T.dmatrix("d")
        f = function([x, d], Rop(T.cumprod(x, axis=1), x, d))
        np.testing.assert_allclose(f([[2.0, 0.0, 3.0]], [[1.0, 1.0, 1.0]]), [[1.0, 2.0, 6.0]])

    def test_recurrences(self) -> None:
        for dtype in ("float32", "float64"):
            x, a = (T.TensorType(dtype, (None, None))(name) for name in "xa")
            values = np.random.default_rng(5).normal(size=(2, 3, 4)).astype(dtype)
            for axis in (0, 1):
                y = T.extra_ops.Recurrence(axis)(x, a)
                result = function([x, a], y)(*values)
                rows, factors = (np.moveaxis(v, axis, 0) for v in values)
                expected = [rows[0]]
                for row, factor in zip(rows[1:], factors[1:], strict=True):
                    expected.append(row + factor * expected[-1])
                np.testing.assert_allclose(np.moveaxis(result, axis, 0), expected, rtol=1e-5)

    def test_sinc(self) -> None:
        np.testing.assert_allclose(slopes(T.sinc, [0.0, 1e-9, 1e-5], order=2), -(np.pi**2) / 3, rtol=1e-8)
        small = np.array([1e-12, 1e-8, -1e-6])
        np.testing.assert_allclose(slopes(T.sinc, small), -(np.pi**2) / 3 * small, rtol=1e-9)
        np.testing.assert_allclose(slopes(T.sinc, [0.0], order=4), np.pi**4 / 5)
        np.testing.assert_allclose(slopes(T.sinc, [0.5, 3.5]), [-4 / np.pi, 4 / (49 * np.pi)])

    def test_powers_whose_exponent_is_zero(self) -> None:
        x, y = T.dvector("x"), T.dvector("y")
        by_x = grad((x**y).sum(), x)
        f = function([x, y], [by_x, grad(by_x.sum(), y)])
        np.testing.assert_allclose(f([3.0, 1.0, 0.0], [0.0, 0.0, 0.0])[0], 0)
        np.testing.assert_allclose(f([3.0, 0.5], [0.0, 0.0])[1], [1 / 3, 2.0])
        np.testing.assert_allclose(slopes(lambda v: grad((v**2).sum(), v), [0.0]), 2.0)


class TestLargeAndSmallNumbers(unittest.TestCase):
    def test_inverse_hyperbolic_functions(self) -> None:
        for dtype, large in (("float32", [1e10, 1e20, 1e30]), ("float64", [1e100, 1e160, 1e300])):
            expected = 1 / np.asarray(large, dtype)
            for of in (T.arcsinh, T.arccosh):
                np.testing.assert_allclose(slopes(of, large, dtype), expected, rtol=1e-5)

    def test_angles(self) -> None:
        y, x = T.dvector("y"), T.dvector("x")
        plane = T.angle(T.complex(x, y))
        large, small = 1e200, 1e-200
        for of in (T.arctan2(y, x), plane):
            f = function([y, x], grad(of.sum(), [y, x]))
            by_y, by_x = f([large, small, 1.0], [large, small, large])
            np.testing.assert_allclose(by_y, [0.5 / large, 0.5 / small, 1 / large])
            np.testing.assert_allclose(by_x[:2], [-0.5 / large, -0.5 / small])

    def test_branches_of_the_inverse_hyperbolic_cosine(self) -> None:
        z = T.zvector("z")
        values = np.array([-2 + 1j, 2 - 1j, -0.5 - 3j])
        result = function([z], grad(T.real(T.arccosh(z)).sum(), z))(values)
        step = 1e-6
        by_real = (np.arccosh(values + step) - np.arccosh(values - step)).real / (2 * step)
        np.testing.assert_allclose(result.real, by_real, rtol=1e-6)

    def test_scaled_error_function(self) -> None:
        large = np.array([1e3, 1e5, 1e8, 1e12])
        root = np.sqrt(np.pi)
        np.testing.assert_allclose(slopes(T.erfcx, large), -1 / (root * large**2), rtol=1e-5)
        np.testing.assert_allclose(slopes(T.erfcx, large, order=2), 2 / (root * large**3), rtol=1e-5)
        # The slope is 2 x f - 2 / sqrt(pi), where that does not cancel.
        near = np.array([-3.0, -0.5, 0.0, 0.9, 1.1])
        f = function([(x := T.dvector("x"))], T.erfcx(x))(near)
        np.testing.assert_allclose(slopes(T.erfcx, near), 2 * near * f - 2 / root, rtol=1e-11)

    def test_polygamma_left_of_zero(self) -> None:
        small = np.array([-1e-17, -1e-12, 1e-9])
        np.testing.assert_allclose(slopes(T.psi, small), small**-2.0)
        np.testing.assert_allclose(slopes(T.tri_gamma, small), -2 * small**-3.0)
        np.testing.assert_array_equal(slopes(T.psi, np.array([-1e-320, 1e-320])), [np.inf, np.inf])

    def test_digamma_near_its_poles(self) -> None:
        near = np.nextafter([-1.0, -2.0, -30.0], 0)
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            x = T.dvector("x")
            result = function([x], T.psi(x), mode=mode)(near)
            np.testing.assert_allclose(result, -1 / (near - np.rint(near)), rtol=1e-12)

    def test_logarithm_of_a_complement(self) -> None:
        result = slopes(T.log1mexp, [-1e300, -1e5, -800.0], order=2)
        np.testing.assert_array_equal(result, 0)
        np.testing.assert_allclose(slopes(T.log1mexp, [-1e-10, -2.0]), [-1e10, -1 / np.expm1(2.0)])


class TestBelowQuotients(unittest.TestCase):
    """A divisor that overflows or vanishes cancels with the result, in second derivatives, too."""

    def test_logarithms_of_powers(self) -> None:
        for dtype, values in (("float32", [1e-30, -1e-15, 1e25]), ("float64", [1e-200, -1e100, 3.0])):
            x = np.array(values, dtype)
            for power, of in ((2, lambda v: T.log(v**2)), (2, lambda v: T.log(T.sqr(v))), (4, lambda v: T.log(v**4))):
                np.testing.assert_allclose(slopes(of, x, dtype), power / x, rtol=1e-5)
                with np.errstate(over="ignore"):
                    np.testing.assert_allclose(slopes(of, x, dtype, order=2), -power / x / x, rtol=1e-5)

    def test_values_of_logarithms_of_powers(self) -> None:
        """The power overflows or vanishes, its logarithm does not; a view between them changes nothing."""
        x = T.dvector("x")
        values = np.array([1e-100, 1e-200, 1e200])
        forms = {
            4: [x**4, x * x * x * x, T.sqr(T.sqr(x)), (x * 2) ** 4 / 16, (x**4)[::-1][::-1], T.sqr(x**2).reshape((3,))],
            -4: [x**-4, 1 / x**4, T.inv(x * x * x * x)],
            3: [x**3, x * x * x, x**5 / x**2],
            2: [T.sqrt(x**4), x**3 / x],
        }
        for power, powers in forms.items():
            for name, scale in (("log", 1), ("log2", np.log(2)), ("log10", np.log(10))):
                logs = [getattr(T, name)(p) for p in powers]
                result = function([x], logs)(values)
                np.testing.assert_allclose(result, [power * np.log(values) / scale] * len(logs), rtol=1e-12)
            slopes_ = function([x], [grad(T.log(p).sum(), x) for p in powers])(values)
            np.testing.assert_allclose(slopes_, [power / values] * len(powers), rtol=1e-12)
        even = function([x], [T.log(x**4), T.log(abs(x**2)), T.sqrt(x * x)])(-values)
        np.testing.assert_allclose(even, [4 * np.log(values), 2 * np.log(values), values])
        self.assertTrue(np.isnan(function([x], T.log(x**3))(-values)).all())

    def test_logarithms_of_powers_of_stable_forms(self) -> None:
        x = T.dvector("x")
        forms = [T.log(T.sigmoid(x) ** 4) / 4, T.log(T.nnet.softmax(x)[0] ** 2) / 2, T.log(T.exp(x) ** 2) / 2]
        result = function([x], forms)([-1000.0, 0.0])
        np.testing.assert_allclose(result, [[-1000, -np.log(2)], [-1000, 0], [-1000, 0]])

    def test_gradients_of_products_that_vanish(self) -> None:
        """The gradient of the logarithm of a product, written out: no factor is too small."""
        a, b, c = T.dvectors("a", "b", "c")
        cost = T.log(a * b * c)
        values = [np.array([1e-150, 1e150]), np.array([1e-160, 1e160]), np.array([2.0, 3.0])]
        for outputs in (grad(cost.sum(), [a, b, c]), [cost, *grad(cost.sum(), [a, b, c])]):
            with np.errstate(all="ignore"):
                result = function([a, b, c], outputs)(*values)[-3:]
            np.testing.assert_allclose(result, [1 / v for v in values])

    def test_quotients_by_differences_of_exponentials(self) -> None:
        a, b = T.dvectors("a", "b")
        large = np.array([800.0, 800.0, -800.0, 799.0, 2.0])
        other = np.array([799.0, -800.0, 800.0, 800.0, 1.0])
        inverse, bose = 1 / (T.exp(a) - T.exp(b)), 1 / (T.exp(a) - 1)
        result = function([a, b], [inverse, *grad(inverse.sum(), [a, b])])(large, other)
        gap = np.e**2 - np.e
        expected = [1 / gap, -(np.e**2) / gap**2, np.e / gap**2]
        for values, last in zip(result, expected, strict=True):
            np.testing.assert_allclose(values, [0, 0, 0, 0, last])
        one = function([a], [bose, grad(bose.sum(), a)])([800.0, 1.0, -800.0])
        np.testing.assert_allclose(one, [[0, 1 / np.expm1(1), -1], [0, -np.e / np.expm1(1) ** 2, 0]], atol=1e-300)
        tangent = (T.exp(a) - T.exp(b)) / (T.exp(a) + T.exp(b))
        np.testing.assert_allclose(function([a, b], tangent)(large, other), np.tanh((large - other) / 2))

    def test_constant_powers_at_small_numbers(self) -> None:
        small = [-1e-320, -1e-300, 0.0, 1e-200, 3.0]
        x = T.dvector("x")
        for power in (0.0, 1.0):
            first = grad((x**power).sum(), x)
            second = grad(first.sum(), x, disconnected_inputs="ignore")
            for mode in ("FAST_RUN", "FAST_COMPILE"):
                result = function([x], [first, second], mode=mode)(small)
                np.testing.assert_array_equal(result, [[power] * 5, [0.0] * 5])

    def test_logarithms_of_differences_of_exponentials(self) -> None:
        x = np.array([-800.0, -1.0, 800.0])
        for shift in (0.5, 3.0):
            f = lambda v, shift=shift: T.log(T.exp(v) - T.exp(v * 2 - x - shift))  # noqa: E731
            e = np.exp(-shift)
            np.testing.assert_allclose(slopes(f, x), (1 - 2 * e) / (1 - e))
            np.testing.assert_allclose(slopes(f, x, order=2), -e / (1 - e) ** 2)
        grown = slopes(lambda v: T.log(T.expm1(v)), [1e-10, 1.0, 50.0, 800.0], order=2)
        np.testing.assert_allclose(grown, [-1e20, -np.e / (np.e - 1) ** 2, -np.exp(-50.0), 0], atol=1e-300)

    def test_ends_of_distributions(self) -> None:
        for of, expected in (
            (lambda v: T.gammainc(1.0, v), (1, -1)),
            (lambda v: T.gammaincc(2.0, v), (0, -1)),
            (lambda v: T.betainc(1.0, 2.0, v), (2, -2)),
        ):
            for order in (1, 2):
                np.testing.assert_allclose(slopes(of, [0.0], order=order), expected[order - 1])

    def test_modified_bessel_functions(self) -> None:
        small = np.array([1e-300, -1e-170, 1e-20])
        np.testing.assert_allclose(slopes(T.i1, small, order=2), small * 0.375)
        np.testing.assert_allclose(slopes(lambda v: T.iv(2.0, v), small), small / 4)
        np.testing.assert_allclose(
            slopes(lambda v: T.iv(1.5, v), small[::2], order=0), small[::2] ** 1.5 * 0.2659615202
        )


class TestNoNumbers(unittest.TestCase):
    def test_activations_at_nan(self) -> None:
        for of in (nnet.elu, nnet.selu, nnet.relu, nnet.softsign, T.softplus, T.sigmoid):
            with self.subTest(of=str(of)):
                self.assertTrue(np.isnan(slopes(of, [np.nan])).all())

    def test_elu_where_its_pieces_meet(self) -> None:
        np.testing.assert_allclose(slopes(nnet.elu, [0.0, 800.0, -1.0]), [1, 1, np.exp(-1)])


class TestEqualValues(unittest.TestCase):
    def setUp(self) -> None:
        turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
        self.plain = np.diag([1.0, 1.0, 2.0, 3.0])
        self.turned = turn @ self.plain @ turn.T
        self.a = T.dmatrix("a")

    def test_singular_values(self) -> None:
        u, s, vt = linalg.svd(self.a, full_matrices=False)
        f = function([self.a], grad(T.sqrt((T.dot(u * s, vt) ** 2).sum()), self.a))
        for matrix in (self.plain, self.turned):
            np.testing.assert_allclose(f(matrix), matrix / np.linalg.norm(matrix), atol=1e-9)

    def test_eigenvalues(self) -> None:
        w, v = linalg.eigh(self.a)
        f = function([self.a], grad(T.sqrt((T.dot(v * w, v.T) ** 2).sum()), self.a))
        for matrix in (self.plain, self.turned):
            expected = matrix / np.linalg.norm(matrix)
            np.testing.assert_allclose(f(matrix), np.tril(expected) + np.tril(expected, -1), atol=1e-9)

    def test_what_depends_on_how_they_are_split(self) -> None:
        u, _, _ = linalg.svd(self.a, full_matrices=False)
        result = function([self.a], grad((u * np.arange(16.0).reshape(4, 4)).sum(), self.a))(self.plain)
        self.assertFalse(np.isfinite(result).all())

    def test_second_derivatives_of_sums(self) -> None:
        w, _ = linalg.eigh(self.a)
        first = grad(w.sum(), self.a)
        second = function([self.a], grad((first * np.arange(16.0).reshape(4, 4)).sum(), self.a))(self.turned)
        np.testing.assert_allclose(second, 0, atol=1e-9)

    def test_second_derivatives_by_eigenvalues(self) -> None:
        """The sum of the cubes of eigenvalues is the trace of a product: its derivatives are known."""
        a, d = self.a, T.dmatrix("d")
        direction = self.turned[::-1] + self.turned[::-1].T
        for values in (lambda x: linalg.eigh(x)[0], lambda x: linalg.eigh(x, "U")[0], linalg.eigvalsh):
            first = grad((values(a) ** 3).sum(), a)
            f = function([a, d], [grad((first * d).sum(), a), Rop(first, a, d)])
            for matrix in (self.plain, self.turned, np.eye(4), np.zeros((4, 4)), self.turned + 1e-12 * direction):
                full = 3 * (matrix @ direction + direction @ matrix)
                full = 2 * full - np.diag(np.diag(full))
                for item in f(matrix, direction):
                    half = np.triu if np.tril(item, -1).any() is np.False_ else np.tril
                    np.testing.assert_allclose(item, half(full), atol=1e-8)

    def test_second_derivatives_by_singular_values(self) -> None:
        a, d = self.a, T.dmatrix("d")
        direction = np.random.default_rng(8).normal(size=(4, 4))
        forms: tuple[Callable[[Any], Any], ...] = (
            lambda x: linalg.svd(x, compute_uv=False),
            lambda x: linalg.svd(x, full_matrices=False)[1],
        )
        for values in forms:
            first = grad((values(a) ** 4).sum(), a)
            f = function([a, d], grad((first * d).sum(), a))
            for rows, columns in ((4, 4), (4, 3), (2, 4)):
                for matrix in (self.plain, self.turned, np.eye(4), np.zeros((4, 4)), np.diag([2.0, 0, 2, 0])):
                    x, along = matrix[:rows, :columns], direction[:rows, :columns]
                    expected = 4 * (along @ x.T @ x + x @ along.T @ x + x @ x.T @ along)
                    np.testing.assert_allclose(f(x, along), expected, atol=1e-7)

    def test_second_derivatives_of_several_uses(self) -> None:
        """Two nodes for the eigenvalues of one matrix, stacks of matrices, and values that the gradient is given."""
        stack, d, g = T.dtensor3("stack"), T.dtensor3("d"), T.dmatrix("g")
        both = linalg.eigh(stack)[0] ** 2 * linalg.eigh(stack)[0]
        first = grad(both.sum(), stack)
        matrices = np.stack([self.plain, np.eye(4)])
        along = np.broadcast_to(self.turned, matrices.shape)
        result = function([stack, d], grad((first * d).sum(), stack))(matrices, along)
        full = 3 * (matrices @ along + along @ matrices)
        np.testing.assert_allclose(result, np.tril(2 * full) - np.eye(4) * full, atol=1e-8)
        outside = grad(None, stack, known_grads={linalg.eigh(stack)[0]: g})
        second = function([stack, g], grad(outside.sum(), stack))(matrices, np.ones((2, 4)))
        np.testing.assert_allclose(second, 0, atol=1e-9)

    def test_one_of_equal_singular_values(self) -> None:
        first = grad(linalg.svd(self.a, compute_uv=False)[0], self.a)
        second = function([self.a], grad(first.sum(), self.a))(np.eye(4))
        self.assertFalse(np.isfinite(second).all())


class TestDeterminants(unittest.TestCase):
    """The gradient is the matrix of cofactors, a polynomial of the entries: singular matrices have it, too."""

    def setUp(self) -> None:
        rng = np.random.default_rng(3)
        turn, other = np.linalg.qr(rng.normal(size=(2, 4, 4)))[0]
        # Ranks 4, 3, 2, 1 and 0, with equal singular values, and one that is hardly invertible.
        values = ([1, 1, 2, 3], [1, 1, 2, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 2, 1e-12])
        self.matrices = np.stack([turn @ np.diag(np.array(v, float)) @ other for v in values])
        self.direction = rng.normal(size=(4, 4))

    @staticmethod
    def cofactors(a: Any) -> Any:
        places = range(len(a))
        minors = [[np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in places] for i in places]
        return np.array(minors) * (-1.0) ** np.add.outer(places, places)

    def change(self, a: Any) -> Any:
        """Return the linear coefficient of a polynomial through some values."""
        steps = np.arange(-4, 5) / 4
        values = [self.cofactors(a + step * self.direction).ravel() for step in steps]
        return np.linalg.lstsq(np.vander(steps, 5), np.array(values), rcond=None)[0][-2].reshape(a.shape)

    def test_first_and_second_derivatives(self) -> None:
        a, d = T.dmatrix("a"), T.dmatrix("d")
        stack = T.dtensor3("stack")
        first = grad(linalg.det(a), a)
        expected = [first, grad((first * d).sum(), a), Rop(linalg.det(a), a, d)]
        f = function([a, d], expected)
        for matrix in self.matrices:
            result = f(matrix, self.direction)
            cofactors = self.cofactors(matrix)
            np.testing.assert_allclose(result[0], cofactors, atol=1e-12)
            np.testing.assert_allclose(result[1], self.change(matrix), atol=1e-10)
            np.testing.assert_allclose(result[2], (cofactors * self.direction).sum(), atol=1e-12)
        result = function([stack], grad(linalg.det(stack).sum(), stack))(self.matrices)
        np.testing.assert_allclose(result, [self.cofactors(m) for m in self.matrices], atol=1e-12)

    def test_complex_matrices(self) -> None:
        a = T.zmatrix("a")
        matrix = self.matrices[1] * (1 + 0.5j)
        gradient = function([a], grad(T.real(linalg.det(a)), a))(matrix)
        np.testing.assert_allclose(gradient, self.cofactors(self.matrices[1]) * np.conj((1 + 0.5j) ** 3), atol=1e-10)

    def test_determinants_beyond_the_range(self) -> None:
        """The determinant cancels with its reciprocal in the gradient of a logarithm."""
        a = T.dmatrix("a")
        matrix = np.diag(np.full(200, 1e3))
        for cost in (T.log(linalg.det(a)), T.log(T.sqr(linalg.det(a))) / 2):
            np.testing.assert_allclose(function([a], grad(cost, a))(matrix), np.linalg.inv(matrix))


if __name__ == "__main__":
    unittest.main()
