"""Functions of NumPy's subpackages and of SciPy on tensor variables; errors of the others name our functions."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import theano_tensor as T
import theano_tensor.linalg
from theano_linker_c import function
from theano_tensor._protocols._numpy_protocols import full_name

numpy: Any = np  # annotations of NumPy know nothing of symbolic arguments
special: Any = scipy.special
RNG = np.random.default_rng(3)
SQUARE = RNG.uniform(0.5, 2.0, (3, 3))
POSITIVE = SQUARE @ SQUARE.T + 3 * np.eye(3)


class TestSymbolicForms(unittest.TestCase):
    def compare(self, build: Callable[..., Any], *values: Any) -> None:
        """Compare the result of `build` on variables with its result on arrays."""
        inputs = [T.tensor(v.dtype.name, shape=(None,) * v.ndim) for v in values]
        result, expected = build(*inputs), build(*values)
        outputs, reference = (list(x) if isinstance(x, (list, tuple)) else [x] for x in (result, expected))
        compiled: Any = function(inputs, outputs)
        for item, value in zip(compiled(*values), reference, strict=True):
            np.testing.assert_allclose(item, value, atol=1e-10)

    def test_linear_algebra(self) -> None:
        linalg = numpy.linalg
        builds: tuple[Callable[[Any], Any], ...] = (
            linalg.norm,
            lambda x: linalg.norm(x, 2),
            lambda x: linalg.norm(x, "fro"),
            lambda x: linalg.norm(x, axis=1),
            lambda x: linalg.norm(x, 1, axis=0, keepdims=True),
            lambda x: linalg.norm(x[0], np.inf),
            linalg.inv,
            linalg.det,
            linalg.pinv,
            lambda x: linalg.solve(x, x[0]),
            lambda x: linalg.solve(x, x.T),
            linalg.cholesky,
            linalg.eigvalsh,
            lambda x: linalg.svd(x, compute_uv=False),
            lambda x: linalg.qr(x, mode="r"),
            linalg.slogdet,
            lambda x: linalg.matrix_power(x, 3),
            lambda x: linalg.multi_dot([x, x, x]),
        )
        for i, build in enumerate(builds):
            with self.subTest(i):
                self.compare(build, POSITIVE)
        self.assertEqual(len(linalg.eigh(T.dmatrix())), 2)

    def test_special_functions(self) -> None:
        for name in ("expit", "erf", "erfc", "gammaln", "psi", "digamma", "j0", "i1", "cbrt", "exp2", "log1p", "round"):
            with self.subTest(name):
                self.compare(getattr(special, name), SQUARE)
        for name in ("gammainc", "gammaincc", "betaln", "jv"):
            with self.subTest(name):
                self.compare(getattr(special, name), SQUARE, SQUARE.T + 1)
        self.compare(lambda x: special.betainc(x, 2.0, x / 4), SQUARE)

    def test_numbers_in_a_row(self) -> None:
        self.compare(lambda x: numpy.linspace(x[0], 5.0, 4), SQUARE[0])
        self.compare(lambda x, y: numpy.meshgrid(x, y), SQUARE[0], SQUARE[1])
        self.compare(numpy.sinc, SQUARE)


class TestRefusals(unittest.TestCase):
    def test_named_as_users_know_them(self) -> None:
        names = {
            "numpy.exp": np.exp,
            "numpy.linalg.norm": np.linalg.norm,
            "scipy.special.expit": special.expit,
            "scipy.special.ndtr": special.ndtr,
            "numpy.exp2": np.exp2,
            "scipy.special.exp2": special.exp2,
        }
        self.assertEqual({name: full_name(item) for name, item in names.items()}, {name: name for name in names})

    def test_error_names_the_function_and_what_is_here(self) -> None:
        x = T.dvector("x")
        cases: tuple[tuple[str, str, Callable[[], Any]], ...] = (
            ("numpy.percentile", "T.sort", lambda: numpy.percentile(x, 50)),
            ("numpy.fft.fft", "theano.tensor.fft.rfft", lambda: numpy.fft.fft(x)),
            ("numpy.nansum", "T.isnan", lambda: numpy.nansum(x)),
            ("numpy.count_nonzero", "T.neq", lambda: numpy.count_nonzero(x)),
            ("numpy.cov", "T.cov", lambda: numpy.cov(x)),
            ("numpy.tril_indices_from", "theano.tensor.tri", lambda: numpy.tril_indices_from(x)),
            ("numpy.linalg.cond", "T.nlinalg.svd", lambda: numpy.linalg.cond(x)),
            ("numpy.unwrap", "functions of theano.tensor", lambda: numpy.unwrap(x)),
            ("scipy.special.logit", "T.log", lambda: special.logit(x)),
            ("scipy.special.zeta", "T.psi", lambda: special.zeta(x, 2.0)),
            ("scipy.special.kv", "eval", lambda: special.kv(1.0, x)),
            ("scipy.special.erf with where", "theano.tensor.erf", lambda: special.erf(x, where=[True])),
            ("numpy.linalg.norm of order 2 over two axes", "T.nlinalg.norm", lambda: numpy.linalg.norm(x, 2, (0, 1))),
        )
        for name, here, ask in cases:
            with self.subTest(name), self.assertRaises(TypeError) as caught:
                ask()
            self.assertRegex(str(caught.exception), f"^{name}.* has no symbolic form\n  Hint: .*{here}")
