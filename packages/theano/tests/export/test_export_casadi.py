"""Functions as CasADi's `external` wants them, called as CasADi does."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .external import External, built

RNG = np.random.default_rng(8)


class TestValues(unittest.TestCase):
    """Values and how they are passed."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        x, y, s = T.dvector("x"), T.dmatrix("y"), T.dscalar("s")
        w = theano.shared(np.arange(6.0).reshape(2, 3), "w")
        self.inputs = x, y, s
        self.fn = theano.function([x, y, s], [T.exp(y).dot(x) * s, (y * w)[:, ::-1] * x.sum(), (x**2).sum()])
        self.shapes = {x: (3,), y: (2, 3)}
        self.values = RNG.normal(size=3), RNG.normal(size=(2, 3)), 0.7

    def test_values(self) -> None:
        """Matrices are in Fortran order."""
        f = External(built(self.fn, self.folder, "f", shapes=self.shapes, derivatives=0), "f")
        self.assertEqual(f.arguments, [("x", (3, 1, 1)), ("y", (2, 3, 1)), ("s", (1, 1, 1))])
        self.assertEqual([pattern for _, pattern in f.results], [(2, 1, 1), (2, 3, 1), (1, 1, 1)])
        for got, want in zip(f(*self.values), self.fn(*self.values), strict=True):
            np.testing.assert_allclose(got.reshape(want.shape), want)
        self.assertEqual(f.work[:3], [3, 3, 0])

    def test_null_pointers(self) -> None:
        """They stand for zeros, and for results that are not wanted."""
        f = External(built(self.fn, self.folder, "f", shapes=self.shapes, derivatives=0), "f")
        x, y, s = self.values
        shapes: tuple[Any, ...] = (3, (2, 3), ())
        for operands in ((None, y, s), (x, None, s), (x, y, None)):
            full = [np.zeros(n) if v is None else v for v, n in zip(operands, shapes, strict=True)]
            for expected in ((0, 1, 2), (1,), ()):
                result = f(*operands, expected=expected)
                for k, want in enumerate(self.fn(*full)):
                    if k in expected:
                        np.testing.assert_allclose(result[k].reshape(want.shape), want)
                    else:
                        self.assertIsNone(result[k])

    def test_jacobian(self) -> None:
        """Blocks are the derivatives, and zero ones have no elements."""
        path = built(self.fn, self.folder, "f", shapes=self.shapes)
        f, jac = External(path, "f"), External(path, "jac_f")
        self.assertEqual(len(jac.arguments), len(f.arguments) + len(f.results))
        self.assertEqual(jac.arguments[4], ("out_result_1", (2, 3, 0, 0, 0, 0)))
        self.assertEqual(jac.results[0], ("jac_result_0_x", (2, 3, 1)))
        self.assertEqual(jac.results[8], ("jac_result_2_s", (1, 1, 0, 0)))
        result = jac(*self.values, None, None, None)
        for k, block in enumerate(result):
            want = _differences(self.fn, self.values, k // 3, k % 3)
            if block is None:
                self.assertFalse(want.any())
            else:
                np.testing.assert_allclose(block, want, atol=1e-6)

    @slow
    def test_second_derivatives(self) -> None:
        """The Jacobian has a Jacobian."""
        x, y, _ = self.inputs
        fn = theano.function([x, y], T.exp(y).dot(x).sum() * x[0])
        path = built(fn, self.folder, "f", shapes=self.shapes, derivatives=2)
        first, second = External(path, "jac_f"), External(path, "jac_jac_f")
        self.assertEqual(
            [name for name, _ in second.arguments][2:], ["out_result", *(f"out_{n}" for n, _ in first.results)]
        )
        self.assertEqual(len(second.results), 2 * 3)
        values = self.values[:2]

        def jacobian(*argument: Any) -> list[Any]:
            return [block.ravel(order="F") for block in first(*argument, None)]

        result = second(*values, *[None] * 3)
        for k in (0, 1, 3):
            np.testing.assert_allclose(result[k], _differences(jacobian, values, k // 3, k % 3), atol=1e-5)
        self.assertIsNone(result[2])

    @slow
    def test_many_outputs(self) -> None:
        """Jacobians of many outputs."""
        x = T.dvector("x")
        fn = theano.function([x], T.tanh(T.outer(x, x))[:, 1:])
        path = built(fn, self.folder, "many", shapes={x: (5,)})
        value = RNG.normal(size=5)
        want = _differences(lambda v: [fn(v)], (value,), 0, 0)
        np.testing.assert_allclose(External(path, "jac_many")(value, None)[0], want, atol=1e-6)

    def test_memory_at_run_time(self) -> None:
        """Arrays whose lengths depend on values."""
        x = T.dvector("x")
        fn = theano.function([x], T.exp(x[x > 0]).sum())
        f = External(built(fn, self.folder, "f", shapes={x: (5,)}, derivatives=0), "f")
        value = RNG.normal(size=5)
        self.assertAlmostEqual(f(value)[0][0, 0], float(fn(value)))

    def test_failed_call(self) -> None:
        """CasADi learns of an error by the status."""
        x = T.dvector("x")
        fn = theano.function([x], x[T.cast(x[0], "int64")])
        f = External(built(fn, self.folder, "f", shapes={x: (2,)}, derivatives=0), "f")
        self.assertEqual(f([1, 5])[0], 5)
        with self.assertRaisesRegex(ValueError, "the call failed"):
            f([2, 5])

    def test_description(self) -> None:
        """The description names the function's matrices."""
        built(self.fn, self.folder, "f", shapes=self.shapes)
        with open(os.path.join(self.folder, "jac_f.json"), encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual((result["function"], result["casadi"]["function"]), ("jac_f_values", "jac_f"))
        self.assertEqual(result["casadi"]["results"][0], {"name": "jac_result_0_x", "shape": [2, 3], "dense": True})


class TestRefusals(unittest.TestCase):
    """Arguments that CasADi does not take."""

    def refused(self, kind: type[Exception], text: str, fn: Any, name: str = "f", **options: Any) -> None:
        """Look at an error."""
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(kind, text):
                theano.export_c(fn, os.path.join(folder, name), **({"abi": "casadi"} | options))
            self.assertEqual(os.listdir(folder), [])

    def test_types(self) -> None:
        """Other dtypes, more dimensions, unknown lengths, updates."""
        x, i, t = T.fvector("x"), T.lscalar("i"), T.dtensor3("t")
        n, v = theano.shared(0.0), T.dvector("v")
        self.refused(
            TypeError, "numbers, vectors and matrices of float64", theano.function([x], x * 2), shapes={x: (2,)}
        )
        self.refused(TypeError, "numbers, vectors and matrices of float64", theano.function([i], i * 2.0))
        self.refused(TypeError, "numbers, vectors and matrices", theano.function([t], t.sum()), shapes={t: (1, 2, 3)})
        self.refused(TypeError, "lengths of some inputs are not known", theano.function([v], v * 2))
        self.refused(TypeError, "updates shared variables", theano.function([], n * 2, updates=[(n, n + 1)]))

    def test_options(self) -> None:
        """Names and numbers that mean nothing."""
        s = T.dscalar("s")
        f = theano.function([s], s * 2)
        self.refused(ValueError, "abi='fortran' is not known", f, abi="fortran")
        self.refused(ValueError, "derivatives=3", f, derivatives=3)
        self.refused(ValueError, "no function called `a__b`", f, "a__b")


def _differences(fn: Any, values: Any, output: int, argument: int) -> Any:
    """Return a Jacobian by central differences, elements counted in Fortran order."""
    values, columns, step = [np.array(v, "float64") for v in values], [], 1e-5
    flat = values[argument].ravel(order="F")
    for k in range(flat.size):
        sides = []
        for sign in (1, -1):
            moved = flat.copy()
            moved[k] += sign * step
            operands = [*values]
            operands[argument] = moved.reshape(values[argument].shape, order="F")
            result = fn(*operands)
            sides.append(np.ravel(result[output], order="F"))
        columns.append((sides[0] - sides[1]) / (2 * step))
    return np.stack(columns, axis=1)
