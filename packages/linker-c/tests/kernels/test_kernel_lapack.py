"""Addresses of LAPACK's routines, and descriptions of their results."""

from __future__ import annotations

import ctypes
import unittest

import numpy as np

from theano_linker_c.kernels import ROUTINES, LapackKernel, lapack_addresses


class TestLapack(unittest.TestCase):
    def test_every_task_has_its_routines(self) -> None:
        for task, names in ROUTINES.items():
            for dtype in ("float32", "float64"):
                with self.subTest(task, dtype=dtype):
                    addresses = lapack_addresses(task, dtype)
                    self.assertEqual(len(addresses), len(names))
                    self.assertTrue(all(addresses))

    def test_other_dtypes_have_none(self) -> None:
        self.assertEqual(lapack_addresses("cholesky", "float16"), ())
        self.assertEqual(lapack_addresses("solve", "complex128"), ())

    def test_descriptions_compare_by_value(self) -> None:
        self.assertEqual(LapackKernel("det", "float64"), LapackKernel("det", "float64", 0))
        self.assertNotEqual(LapackKernel("cholesky", "float64", 1), LapackKernel("cholesky", "float64", 0))
        self.assertFalse(LapackKernel("det", "float64").needs_code)

    def test_an_address_is_the_routine(self) -> None:
        (address,) = lapack_addresses("cholesky", "float64")
        matrix = np.array([[4.0, 2.0], [2.0, 10.0]])
        n, info = ctypes.c_int(2), ctypes.c_int(0)
        factor = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 5)(address)
        factor(
            ctypes.create_string_buffer(b"U"), ctypes.byref(n), matrix.ctypes.data, ctypes.byref(n), ctypes.byref(info)
        )
        self.assertEqual(info.value, 0)
        np.testing.assert_allclose(np.tril(matrix), [[2.0, 0.0], [1.0, 3.0]])


if __name__ == "__main__":
    unittest.main()
