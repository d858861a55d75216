"""Which BLAS products are taken from: SciPy's, or the library that a flag names."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from theano_graph import ConfigError, config
from theano_linker_c.kernels import blas_address, lapack_addresses, library_files, link_arguments
from theano_linker_c.scalar import upcast
from theano_testing.tiers import slow

# A product of column-major matrices without transposes, times a factor that gives it away.
SOURCE = """
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc) {
  for (int i = 0; i < *m; i++)
    for (int j = 0; j < *n; j++) {
      double sum = 0;
      for (int p = 0; p < *k; p++)
        sum += a[i + p * *lda] * b[p + j * *ldb];
      c[i + j * *ldc] = 1000 * *alpha * sum;
    }
}
"""


# Threads that ask for routines before any of them is there: the interpreter changes threads as often as it can.
AT_ONCE = """
import sys, threading
from theano_linker_c.kernels import blas_address, lapack_addresses
sys.setswitchinterval(1e-6)
begin = threading.Barrier(8)
found = []
def ask():
    begin.wait()
    found.append((blas_address("gemm", "float64"), lapack_addresses("cholesky", "float64")))
threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import scipy.linalg
print(len(found), len(set(map(str, found))), scipy.linalg.cholesky([[4.0]]).item())
"""


class TestThreads(unittest.TestCase):
    @slow
    def test_the_first_routines_in_many_threads(self) -> None:
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, timeout=600)
            self.assertEqual((done.stdout, done.stderr), ("8 1 2.0\n", ""))


class TestArguments(unittest.TestCase):
    def test_kinds(self) -> None:
        result = link_arguments("-L/a -L /b -I/inc -lone -l two /c/libthree.so -Wl,-rpath,/a")
        self.assertEqual(result.libraries, ("one", "two"))
        self.assertEqual(result.folders, ("/a", "/b"))
        self.assertEqual(result.headers, ("/inc",))
        self.assertEqual(result.others, ("/c/libthree.so", "-Wl,-rpath,/a"))

    def test_folders_are_looked_through_first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "libm.so")
            open(path, "wb").close()
            self.assertEqual(library_files(link_arguments(f"-L/nowhere -L{folder} -lm")), [path])
        self.assertIn("libm", library_files(link_arguments("-lm"))[0])


class TestLibrary(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        source = os.path.join(self.folder, "own.c")
        with open(source, "w", encoding="ascii") as file:
            file.write(SOURCE)
        command = [str(config.cxx), "-x", "c", "-shared", "-fPIC", source, "-o"]
        subprocess.run([*command, os.path.join(self.folder, "libownblas.so")], check=True)
        self.flags = f"-L{self.folder} -lownblas"

    def product(self, address: int) -> float:
        a, b, c = np.array([[3.0]]), np.array([[5.0]]), np.zeros((1, 1))
        one, alpha, zero = ctypes.c_int(1), ctypes.c_double(1.0), ctypes.c_double(0.0)
        n = ctypes.byref(one)
        routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)
        routine(b"N", b"N", n, n, n, ctypes.byref(alpha), a.ctypes.data, n, b.ctypes.data, n, ctypes.byref(zero),
                c.ctypes.data, n)  # fmt: skip
        return float(c[0, 0])

    def test_the_named_library_counts_while_the_flag_is_set(self) -> None:
        with config.change_flags(blas__ldflags=self.flags):
            name, address = blas_address("gemm", "float64")
            self.assertEqual((name, self.product(address)), ("dgemm", 15000.0))
        self.assertEqual(self.product(blas_address("gemm", "float64")[1]), 15.0)

    def test_a_path_is_enough(self) -> None:
        with config.change_flags(blas__ldflags=os.path.join(self.folder, "libownblas.so")):
            self.assertEqual(self.product(blas_address("gemm", "float64")[1]), 15000.0)

    def test_a_library_without_the_routine(self) -> None:
        with config.change_flags(blas__ldflags=self.flags):
            with self.assertRaisesRegex(ConfigError, r"libownblas.so has the BLAS routine 'sgemm'(.|\n)*Fortran"):
                blas_address("gemm", "float32")
            with self.assertRaisesRegex(ConfigError, "'dtrsv'"):
                lapack_addresses("triangular", "float64")

    def test_a_library_that_is_not_there(self) -> None:
        with (
            config.change_flags(blas__ldflags="-lthere_is_no_such_blas"),
            self.assertRaisesRegex(
                ConfigError, r"'libthere_is_no_such_blas.so' cannot be loaded(.|\n)*change_flags(.|\n)*-L"
            ),
        ):
            blas_address("gemm", "float64")

    def test_flags_without_a_library(self) -> None:
        with config.change_flags(blas__ldflags="-L/usr/lib"), self.assertRaisesRegex(ConfigError, "names no library"):
            blas_address("gemm", "float64")

    def test_lapack_is_scipys_all_the_same(self) -> None:
        with config.change_flags(blas__ldflags=self.flags):
            inside = lapack_addresses("cholesky", "float64")
        self.assertEqual(inside, lapack_addresses("cholesky", "float64"))

    def test_integers_have_no_routine(self) -> None:
        self.assertEqual(blas_address("gemm", upcast("int8", "int32")), ("", 0))
