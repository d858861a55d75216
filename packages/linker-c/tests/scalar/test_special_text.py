"""The text of special functions in C, and the numbers that stand in it."""

from __future__ import annotations

import re
import unittest
from fractions import Fraction

import numpy as np
from scipy import special

from theano_linker_c.scalar import called_special_functions, special_definitions, special_functions

#: Coefficients of Stirling's series, DLMF 5.11.3.
STIRLING = (Fraction(1), Fraction(1, 12), Fraction(1, 288), Fraction(-139, 51840))


def numbers(name: str) -> list[float]:
    """Return the numbers of the array in a function."""
    inside = re.search(r"series(?:\[\d+\])+ = (\{.*?\});", special_functions()[name], re.DOTALL)
    assert inside is not None
    return [float(number) for number in re.findall(r"-?\d[\d.e+-]*", inside[1])]


def temme(powers: int, orders: int) -> list[list[float]]:
    """Return the power series of the functions c in DLMF 8.12.9.

    With ``lambda - 1 - log(lambda) = eta**2 / 2``, ``m = lambda - 1`` is a power series in eta: its derivative is
    ``eta * (1 + m) / m``. Then ``c[0] = 1 / m - 1 / eta``, and ``c[k] = c[k-1]' / eta + (-1)**k g[k] / m`` (8.12.11),
    where g are Stirling's coefficients.
    """
    count = powers + 2 * orders + 3
    m = [Fraction(0), Fraction(1)]
    for n in range(2, count):
        # The coefficient of eta**n in m m' = eta (1 + m).
        reference = sum((m[i] * m[n + 1 - i] * (n + 1 - i) for i in range(2, n)), Fraction(0))
        m.append((m[n - 1] - reference) / (n + 1))
    # 1 / m = 1 / eta + r[0] + r[1] eta + ...
    r: list[Fraction] = []
    for n in range(count - 2):
        r.append(-m[n + 2] - sum((r[i] * m[n + 1 - i] for i in range(n)), Fraction(0)))
    rows, row = [r], r
    for k in range(1, orders):
        g = (-1) ** k * STIRLING[k]
        # Of the poles, that of c' / eta and that of g / m cancel.
        row = [(n + 2) * row[n + 2] + g * r[n] for n in range(len(row) - 2)]
        rows.append(row)
    return [[float(c) for c in row[:powers]] for row in rows]


class TestSpecialText(unittest.TestCase):
    def test_the_series_of_the_logarithm_of_gamma(self) -> None:
        result = numbers("theano_gammaln_beyond")
        expected = [-0.57721566490153286061, *((-1) ** k * special.zeta(k) / k for k in range(2, 33))]
        self.assertEqual(len(result), len(expected))
        for a, b in zip(result, expected, strict=True):
            self.assertAlmostEqual(a / b, 1, delta=1e-14)

    def test_the_expansion_for_large_parameters(self) -> None:
        self.assertEqual(numbers("theano_gamma_large"), [c for row in temme(22, 4) for c in row])

    def test_the_points_and_weights_of_the_integral_of_owen(self) -> None:
        points, weights = np.polynomial.legendre.leggauss(16)
        np.testing.assert_allclose(numbers("theano_owen_integral"), [*points[8:], *weights[8:]], rtol=1e-14)

    def test_what_a_function_calls_comes_first(self) -> None:
        texts = special_definitions(["betainc", "gammaln"])
        for k, text in enumerate(texts):
            for other in re.findall(r"theano_\w+", text):
                defined = [
                    n for n, one in enumerate(texts) if re.search(rf"^static double {other}\(", one, re.MULTILINE)
                ]
                self.assertTrue(defined and defined[0] <= k, other)
        self.assertEqual(len(set(texts)), len(texts))

    def test_which_functions_a_text_calls(self) -> None:
        text = "theano_special_psi(x, 0) + theano_special_jv(2, theano_special_psi(y, 0), 0) + theano_special_psi"
        self.assertEqual(called_special_functions(text), ["psi", "jv"])

    def test_a_function_that_is_not_there(self) -> None:
        with self.assertRaisesRegex(KeyError, "zeta"):
            special_definitions(["gammaln", "zeta"])
