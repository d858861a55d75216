"""The flag `blas.ldflags`: the source of products, and the libraries that C code of ops links."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from collections.abc import Sequence

import numpy as np

import theano
import theano.tensor as T
from theano.gof import Apply, Op, Variable
from theano.tensor.blas import blas_header_text, blas_header_version, ldflags
from theano.tests import unittest_tools as utt
from theano_graph import ConfigError

# Results that no correct library gives show whose they are.
LIBRARY = """
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc) {
  for (int j = 0; j < *n; j++)
    for (int i = 0; i < *m; i++)
      c[i + j * *ldc] = 77;
}
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy) { return 55; }
"""


class VectorProduct(Op):
    """The product of two contiguous vectors, computed by BLAS from C."""

    __props__ = ()

    def make_node(self, *inputs: Variable) -> Apply:
        return Apply(self, list(inputs), [T.dscalar()])

    def c_support_code(self) -> str:
        return blas_header_text()

    def c_libraries(self) -> Sequence[str]:
        return ldflags()

    def c_lib_dirs(self) -> Sequence[str]:
        return ldflags(libs=False, libs_dir=True)

    def c_compile_args(self) -> Sequence[str]:
        return ldflags(libs=False, flags=True)

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]) -> str:
        (x, y), (z,) = inputs, outputs
        return f"""
        int n = (int)PyArray_DIMS({x})[0], one = 1;
        Py_XDECREF({z});
        {z} = (PyArrayObject *)PyArray_SimpleNew(0, NULL, NPY_DOUBLE);
        if ({z} == NULL) {sub["fail"]}
        *(double *)PyArray_DATA({z}) =
            ddot_(&n, (double *)PyArray_DATA({x}), &one, (double *)PyArray_DATA({y}), &one);
        """

    def c_code_cache_version(self) -> tuple[int, ...]:
        return blas_header_version()


class TestOwnLibrary(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        source = os.path.join(folder.name, "library.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(LIBRARY)
        library = os.path.join(folder.name, "libumbrellablas.so")
        subprocess.run([theano.config.cxx, "-x", "c", "-shared", "-fPIC", source, "-o", library], check=True)
        self.flags = f"-L{folder.name} -Wl,-rpath,{folder.name} -lumbrellablas"
        self.a, self.b = np.random.default_rng(utt.fetch_seed()).normal(size=(2, 5, 5))

    def test_products_of_functions_compiled_meanwhile(self) -> None:
        x, y = T.dmatrices("x", "y")
        with theano.config.change_flags(blas__ldflags=self.flags):
            f = theano.function([x, y], T.dot(x, y))
        np.testing.assert_array_equal(f(self.a, self.b), np.full((5, 5), 77.0))
        g = theano.function([x, y], T.dot(x, y))
        utt.assert_allclose(g(self.a, self.b), self.a @ self.b)

    def test_code_of_ops(self) -> None:
        x, y = T.dvectors("x", "y")
        with theano.config.change_flags(blas__ldflags=self.flags):
            self.assertEqual(ldflags(), ["umbrellablas"])
            f = theano.function([x, y], VectorProduct()(x, y))
        self.assertEqual(f(self.a[0], self.b[0]), 55.0)

    def test_code_of_ops_without_a_library(self) -> None:
        x, y = T.dvectors("x", "y")
        self.assertEqual(ldflags(flags=True, libs_dir=True, include_dir=True), [])
        f = theano.function([x, y], VectorProduct()(x, y))
        utt.assert_allclose(f(self.a[0], self.b[0]), self.a[0] @ self.b[0])

    def test_a_missing_library_is_an_error_of_the_compilation(self) -> None:
        x, y = T.dmatrices("x", "y")
        message = r"libnot_here.so(.|\n)*`blas.ldflags` is '-lnot_here'"
        with theano.config.change_flags(blas__ldflags="-lnot_here"), self.assertRaisesRegex(ConfigError, message):
            theano.function([x, y], T.dot(x, y))
