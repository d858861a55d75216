"""CasADi itself with exported functions: derivatives, and optimisation by IPOPT."""

from __future__ import annotations

import tempfile
import unittest
from typing import Any

import casadi
import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .external import built

_QUIET = {"ipopt.print_level": 0, "ipopt.sb": "yes", "print_time": False}


class TestSolvers(unittest.TestCase):
    """Problems whose solutions are known."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.x = T.dvector("x")

    def external(self, outputs: Any, name: str, derivatives: int) -> Any:
        """Return a function of four variables."""
        fn = theano.function([self.x], outputs)
        path = built(fn, self.folder, name, shapes={self.x: (4,)}, derivatives=derivatives)
        return casadi.external(name, path)

    @slow
    def test_rosenbrock(self) -> None:
        """With our gradient, and with our Hessian, too."""
        x = self.x
        cost = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        z = casadi.MX.sym("z", 4)
        for derivatives, form in ((1, "limited-memory"), (2, "exact")):
            f = self.external(cost, f"rosenbrock_{derivatives}", derivatives)
            options = {**_QUIET, "ipopt.hessian_approximation": form}
            solver = casadi.nlpsol("solver", "ipopt", {"x": z, "f": f(z)}, options)
            result = solver(x0=[0.5, 0.8, 1.2, 1.5])
            self.assertTrue(solver.stats()["success"])
            np.testing.assert_allclose(result["x"].full().ravel(), 1, atol=1e-5)

    @slow
    def test_constraints(self) -> None:
        """Problem 71 of Hock and Schittkowski."""
        x = self.x
        outputs = [x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], T.stack([x.prod(), (x**2).sum()])]
        f = self.external(outputs, "problem", 2)
        z = casadi.MX.sym("z", 4)
        cost, constraints = f(z)
        solver = casadi.nlpsol("solver", "ipopt", {"x": z, "f": cost, "g": constraints}, _QUIET)
        result = solver(x0=[1, 5, 5, 1], lbx=1, ubx=5, lbg=[25, 40], ubg=[np.inf, 40])
        self.assertTrue(solver.stats()["success"])
        np.testing.assert_allclose(result["x"].full().ravel(), [1, 4.743, 3.82115, 1.379408], atol=1e-5)

    @slow
    def test_derivatives(self) -> None:
        """CasADi's own derivatives of the same expressions."""
        x, y = self.x, T.dmatrix("y")
        fn = theano.function([x, y], [T.exp(y).dot(x), y[:, ::-1] * x.sum(), x * 3])
        path = built(fn, self.folder, "several", shapes={x: (3,), y: (2, 3)}, derivatives=2)
        a, b = casadi.SX.sym("a", 3), casadi.SX.sym("b", 2, 3)
        private = casadi.Function("own", [a, b], [casadi.exp(b) @ a, b[:, ::-1] * casadi.sum1(a), a * 3])
        ours = casadi.external("several", path)
        rng = np.random.default_rng(2)
        values = [rng.normal(size=3), rng.normal(size=(2, 3))]
        for _ in range(3):
            result, expected = ours(*values), private(*values)
            for got, want in zip(result, expected, strict=True):
                np.testing.assert_allclose(casadi.DM(got).full(), casadi.DM(want).full(), atol=1e-12)
            if "jac_jac" not in ours.name():
                values += [np.zeros(private.size_out(k)) for k in range(private.n_out())]
                ours, private = ours.jacobian(), private.jacobian()
