"""Exported special functions, over wide ranges and at their poles."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(17)
EDGES = np.array([0.0, 1.0, 2.0, 0.5, np.inf, np.nan])


class TestSpecial(unittest.TestCase):
    """Functions that the C library does not have."""

    def test_one_argument(self) -> None:
        """Gamma, its relatives, inverses of error functions, Bessel functions."""
        x = T.dvector("x")
        names = ("gamma", "gammaln", "psi", "tri_gamma", "erfinv", "erfcinv", "erfcx", "j0", "j1", "i0", "i1")
        f = theano.function([x], [getattr(T, name)(x) for name in names])
        values = np.concatenate([RNG.uniform(-20, 30, 300), np.exp(RNG.uniform(-18, 5, 300)), RNG.uniform(-1, 1, 300)])
        with np.errstate(all="ignore"):
            check(f, (values,), (EDGES,), tolerance=2e-12)

    def test_poles(self) -> None:
        """Releases of SciPy differ in gamma at its poles: infinite or NaN, but no number."""
        x = T.dvector("x")
        (result,) = Exported(theano.function([x], T.gamma(x)))([-1.0, -2.0, -np.inf])
        self.assertFalse(np.isfinite(result).any(), result)

    def test_two_arguments(self) -> None:
        """Incomplete gamma and beta functions, and their gradients."""
        a, x = T.dvector("a"), T.dvector("x")
        out = [T.gammainc(a, x), T.gammaincc(a, x), T.chi2sf(x, a), T.betaln(a, x), T.betainc(a, x, 0.3)]
        out += T.grad(T.gammainc(a, x).sum(), [a, x])
        values = np.exp(RNG.uniform(-4, 4, 300)), np.exp(RNG.uniform(-4, 4, 300))
        check(theano.function([a, x], out), values, tolerance=1e-9)

    @slow
    def test_inverses_and_scaled_functions(self) -> None:
        """Inverses of incomplete functions, scaled Bessel functions, the functions of Owen and Gauss; edges."""
        a, b, p = T.dvectors("a", "b", "p")
        out = [op(a, p) for op in (T.gammaincinv, T.gammainccinv, T.ive, T.kve, T.owens_t)]
        out += [T.betaincinv(a, b, p), T.hyp2f1(a, b, b + 0.3, 2 * p - 1.2)]
        values = np.exp(RNG.uniform(-2, 3, 200)), np.exp(RNG.uniform(-2, 3, 200)), RNG.uniform(0, 0.999, 200)
        edges = np.array([1.0, 0.0, -1.0, 2.5, np.nan, 3]), np.full(6, 2.0), np.array([0.0, 0.5, 0.5, 1, 0.5, np.nan])
        with np.errstate(all="ignore"):
            check(theano.function([a, b, p], out), values, edges, tolerance=1e-12)

    @slow
    def test_bessel_orders(self) -> None:
        """Whole orders and any others, constant or not."""
        x, v = T.dvector("x"), T.dvector("v")
        f = theano.function([x], [T.jv(3.0, x), T.iv(2.0, x), *T.grad(T.j1(x).sum() + T.i1(x).sum(), [x])])
        check(f, (RNG.uniform(-60, 60, 200),), tolerance=1e-11)
        g = theano.function([v, x], [T.jv(v, x), T.iv(v, x), T.jv(0.5, x), T.iv(-1.5, x)])
        check(g, (RNG.uniform(-3, 20, 300), RNG.uniform(0.01, 60, 300)), tolerance=1e-10)
        check(g, (np.arange(-4.0, 12.0), -np.linspace(0.5, 40, 16)), tolerance=1e-10)

    def test_single_precision(self) -> None:
        """Computed in double precision, and rounded."""
        x = T.fvector("x")
        f = theano.function([x], [T.gammaln(x), T.erfinv(x), T.psi(x).sum()])
        check(f, (RNG.uniform(0.01, 0.99, 40).astype("float32"),))

    def test_complex(self) -> None:
        """Complex numbers are refused, by op and line."""
        x = T.dvector("x")
        with self.assertRaisesRegex(TypeError, r"test_export_special\.py:\d+.*complex numbers have no form"):
            Exported(theano.function([x], T.exp(T.complex(x, x)).real))
