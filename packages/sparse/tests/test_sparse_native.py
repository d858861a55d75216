"""Ops in C against SciPy: orders and formats of arrays, memory, errors, and where rewrites put them in."""

from __future__ import annotations

import itertools
import threading
import unittest
from typing import Any

import numpy as np
import scipy.sparse
from sparse_values import FORMATS, array, sparse_value

import theano_sparse as S
import theano_tensor as T
from theano_linker_c import function
from theano_linker_c.cop import library
from theano_linker_c.kernels import CompressedKernel, library as kernel_library
from theano_linker_c.modes import get_mode

KINDS = ("plain", "zeros", "unsorted")
DTYPES = ("float32", "float64")


def has(f: Any, *ops: type) -> bool:
    """Tell whether all kinds of ops are in the program of a function, and each node of them runs a kernel."""
    results = [instruction for instruction in f.fn.program.instructions if isinstance(instruction.node.op, ops)]
    return {type(i.node.op) for i in results} >= set(ops) and all(
        isinstance(i.kernel, CompressedKernel) for i in results
    )


def duplicated(value: Any) -> Any:
    """Return a matrix that stores each of its elements in two halves, the second ones in front."""
    pairs = list(zip(value.indptr[:-1], value.indptr[1:], strict=True))
    order = np.concatenate([[], *(np.r_[a:b, a:b][::-1] for a, b in pairs)]).astype("int64")
    return type(value)((value.data[order] / 2, value.indices[order], value.indptr * 2), shape=value.shape)


def values(format: str, shape: tuple[int, int], dtype: str) -> list[Any]:
    """Return one matrix in all the ways in which it may be stored."""
    results = [sparse_value(format, shape, dtype, kind=kind) for kind in KINDS]
    results.append(duplicated(results[0]))
    wide = results[0].copy()
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    return [*results, wide]


class TestForms(unittest.TestCase):
    def check(self, make: Any, expected: Any, *ops: type, shape: tuple[int, int] = (6, 9)) -> None:
        for format, dtype in itertools.product(FORMATS, DTYPES):
            x = S.matrix(format, "x", dtype)
            fast = function([x], make(x), mode="FAST_RUN")
            python = function([x], make(x), mode=get_mode("FAST_RUN").clone(linker="py"))
            self.assertTrue(has(fast, *ops))
            for value in values(format, shape, dtype):
                reference = expected(value.toarray())
                for f in (fast, python, fast):
                    result = f(value)
                    self.assertEqual(result.dtype, dtype)
                    np.testing.assert_allclose(array(result), reference, rtol=1e-5, atol=1e-6)

    def test_no_compiler_runs_for_products_and_their_gradients(self) -> None:
        before = library.compiler_runs, kernel_library.compiler_runs
        for format, dtype in itertools.product(FORMATS, DTYPES):
            x, w = S.matrix(format, "x", dtype), T.matrix("w", dtype=dtype)
            product = S.structured_dot(x, w)
            f = function([x, w], [product, T.grad(None, w, known_grads={product: product})], mode="FAST_RUN")
            self.assertTrue(has(f, S.CompressedDot))
        self.assertEqual((library.compiler_runs, kernel_library.compiler_runs), before)

    def test_sums(self) -> None:
        for axis in (0, 1):
            self.check(lambda x, axis=axis: S.sp_sum(x, axis), lambda a, axis=axis: a.sum(axis), S.CompressedSum)
        self.check(lambda x: S.sp_sum(x), lambda a: a.sum())

    def test_dense_forms(self) -> None:
        self.check(S.dense_from_sparse, lambda a: a, S.CompressedToDense)
        for shape in ((0, 3), (3, 0), (1, 1)):
            self.check(S.dense_from_sparse, lambda a: a, S.CompressedToDense, shape=shape)

    def test_formats(self) -> None:
        for format in FORMATS:
            x = S.matrix("csr" if format == "csc" else "csc", "x")
            f = function([x], S.to_format(x, format), mode="FAST_RUN")
            self.assertTrue(has(f, S.ChangeCompression))
            for value in values(x.type.format, (6, 9), "float64"):
                result = f(value)
                result.check_format(full_check=True)
                self.assertEqual(result.format, format)
                np.testing.assert_array_equal(result.toarray(), value.toarray())
                result.indices[:] = 0
                np.testing.assert_array_equal(f(value).toarray(), value.toarray())

    def test_scales(self) -> None:
        for scale, factors, transposed in (
            (S.row_scale, np.arange(6.0), np.arange(6.0)[:, None]),
            (S.col_scale, np.arange(9.0), np.arange(9.0)),
        ):
            for format in FORMATS:
                x, v = S.matrix(format, "x"), T.dvector("v")
                f = function([x, v], scale(x, v), mode="FAST_RUN")
                self.assertTrue(has(f, S.GatherByIndex))
                for value in values(format, (6, 9), "float64"):
                    np.testing.assert_allclose(f(value, factors).toarray(), value.toarray() * transposed)

    def test_vectors_that_are_too_short(self) -> None:
        value = sparse_value("csr", (6, 9))
        x, v = S.csr_matrix("x"), T.dvector("v")
        _, indices, indptr, _ = S.csm_properties(x)
        modes: tuple[Any, ...] = ("FAST_RUN", get_mode("FAST_RUN").clone(linker="py"))
        for by_major, mode in itertools.product((True, False), modes):
            f = function([x, v], S.GatherByIndex(by_major)(v, indices, indptr), mode=mode)
            full = np.arange(9.0)[::-1]
            coordinates = value.tocoo()
            np.testing.assert_array_equal(f(value, full), full[coordinates.row if by_major else coordinates.col])
            with self.assertRaisesRegex(IndexError, "in a vector of 2"):
                f(value, full[:2])

    def test_signs_and_casts_join_other_loops(self) -> None:
        x = S.csr_matrix("x", "float64")
        f = function([x], S.structured_exp(S.cast(-x, "float32")), mode="FAST_RUN")
        self.assertEqual(sum(isinstance(node.op, T.Elemwise) for node in f.maker.fgraph.apply_nodes), 1)
        value = sparse_value("csr", (3, 4))
        np.testing.assert_allclose(f(value).data, np.exp(-value.data), rtol=1e-6)


class TestSampled(unittest.TestCase):
    def test_values(self) -> None:
        for dtype, inner in itertools.product(DTYPES, (0, 1, 5, 16, 37)):
            x, y, p = T.matrix("x", dtype), T.matrix("y", dtype), S.csr_matrix("p", dtype)
            f = function([x, y, p], S.sampling_dot(x, y, p), mode="FAST_RUN")
            self.assertTrue(has(f, S.SampledProduct, S.CooIndices))
            rng = np.random.default_rng(0)
            a, b = rng.normal(size=(6, inner)).astype(dtype), rng.normal(size=(9, inner)).astype(dtype)
            for value in values("csr", (6, 9), dtype):
                for left, right in ((a, b), (np.asfortranarray(a), np.asfortranarray(b)), (a[:, ::-1], b[:, ::-1])):
                    expected = value.toarray() * (left @ right.T)
                    np.testing.assert_allclose(f(left, right, value).toarray(), expected, rtol=1e-4, atol=1e-5)

    def test_other_dtypes_run_without_code_in_c(self) -> None:
        for dtype, other in (("int32", "int32"), ("complex64", "complex64"), ("float32", "float64")):
            x, y, p = T.matrix("x", dtype), T.matrix("y", other), S.csr_matrix("p", other)
            f = function([x, y, p], S.sampling_dot(x, y, p), mode="FAST_RUN")
            self.assertFalse(has(f, S.SampledProduct))
            a, b = np.arange(6).reshape(2, 3).astype(dtype), np.ones((4, 3), other)
            value = sparse_value("csr", (2, 4), other)
            np.testing.assert_allclose(f(a, b, value).toarray(), value.toarray() * (a @ b.T))

    def test_positions_that_are_none(self) -> None:
        x, y, i, j = T.dmatrix("x"), T.dmatrix("y"), T.ivector("i"), T.lvector("j")
        for mode in ("FAST_RUN", get_mode("FAST_RUN").clone(linker="py")):
            f = function([x, y, i, j], S.SampledProduct()(x, y, i, j), mode=mode)
            a, b = np.ones((2, 3)), np.ones((3, 4))
            np.testing.assert_array_equal(f(a, b, [0, -1], [3, -4]), [3, 3])
            for rows, columns in (([2, 0], [0, 0]), ([0, 0], [4, 0]), ([-3, 0], [0, 0])):
                with self.assertRaises(IndexError):
                    f(a, b, rows, columns)
            with self.assertRaisesRegex(ValueError, "columns"):
                f(a, b[:2], [0], [0])


class TestProducts(unittest.TestCase):
    def test_of_dense_and_sparse_matrices(self) -> None:
        rng = np.random.default_rng(0)
        for format, dtype, length in itertools.product(FORMATS, DTYPES, (0, 1, 3, 10, 70)):
            x, m, n = S.matrix(format, "x", dtype), T.matrix("m", dtype), T.matrix("n", dtype)
            f = function([x, m, n], [S.dot(x, m), S.dot(n, x)], mode="FAST_RUN")
            self.assertTrue(has(f, S.CompressedDot))
            a, b = rng.normal(size=(9, length)).astype(dtype), rng.normal(size=(length, 6)).astype(dtype)
            for value in values(format, (6, 9), dtype):
                for item, expected in zip(f(value, a, b), (value @ a, b @ value.toarray()), strict=True):
                    np.testing.assert_allclose(item, expected, rtol=1e-4, atol=1e-5)

    def test_of_other_dtypes(self) -> None:
        for dtype, other in (("int8", "float32"), ("float32", "float64"), ("float64", "int64"), ("uint8", "float64")):
            x, m = S.csr_matrix("x", dtype), T.matrix("m", other)
            f = function([x, m], S.structured_dot(x, m), mode="FAST_RUN")
            self.assertTrue(has(f, S.CompressedDot))
            value, dense = sparse_value("csr", (3, 4), dtype), np.arange(8).reshape(4, 2).astype(other)
            np.testing.assert_allclose(f(value, dense), value.toarray() @ dense, rtol=1e-6)
        x = S.csr_matrix("x", "complex64")
        m = T.matrix("m", "complex64")
        value = sparse_value("csr", (3, 4), "complex64") * np.complex64(1 + 2j)
        dense = (np.arange(8) * 1j).reshape(4, 2).astype("complex64")
        result = function([x, m], S.structured_dot(x, m), mode="FAST_RUN")(value, dense)
        np.testing.assert_allclose(result, value.toarray() @ dense, rtol=1e-6)

    def test_put_in_by_hand_for_other_dtypes(self) -> None:
        x, m, z = S.csc_matrix("x", "complex64"), T.matrix("m", "complex64"), T.matrix("z", "complex64")
        data, indices, indptr, shape = S.csm_properties(x)
        result = S.UsmmCscDense()(2, data, indices, indptr, shape[0], m, z)
        value = sparse_value("csc", (3, 4), "complex64") * np.complex64(1j)
        f = function([x, m, z], result, mode="FAST_RUN")
        self.assertFalse(has(f, S.UsmmCscDense))
        ones, zeros = np.ones((4, 2), "complex64"), np.zeros((3, 2), "complex64")
        np.testing.assert_allclose(f(value, ones, zeros), 2 * (value @ ones))

    def test_long_products_let_other_threads_run(self) -> None:
        x, m = S.csr_matrix("x"), T.dmatrix("m")
        f = function([x, m], S.structured_dot(x, m), mode="FAST_RUN")
        value, dense = scipy.sparse.random(500, 400, 0.1, format="csr"), np.ones((400, 50))
        expected, wrong = value @ dense, list[int]()

        def call() -> None:
            wrong.extend(k for k in range(20) if not np.allclose(f(value, dense), expected))

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class TestArraysThatChange(unittest.TestCase):
    """Another thread writes nonsense into the arrays of a matrix during calls: no other memory is read or written."""

    def calls(self, format: str, make: Any, *ops: type) -> None:
        rng = np.random.RandomState(0)
        x, y = S.matrix(format, "x"), T.dmatrix("y")
        f = function([x, y], make(x, y), mode="FAST_RUN", on_unused_input="ignore")
        self.assertTrue(has(f, *ops))
        value = sparse_value(format, (150, 200), "float64")
        factor = rng.rand(200, 40)
        indices, indptr = value.indices.copy(), value.indptr.copy()
        over = threading.Event()

        def scribble() -> None:
            while not over.is_set():
                value.indices[:] = 2**30
                value.indptr[1:-1] = 2**30
                value.indices[:], value.indptr[:] = indices, indptr

        thread = threading.Thread(target=scribble)
        thread.start()
        refused = []
        try:
            for _ in range(25):
                try:
                    f(value, factor)
                except ValueError as error:
                    refused.append(str(error))
        finally:
            over.set()
            thread.join()
        for text in refused:
            self.assertIn("the arrays do not make a sparse matrix", text)
        np.testing.assert_allclose(array(f(value, factor)), array(f(value.copy(), factor)))

    def test_calls_end(self) -> None:
        for format, other in (("csr", "csc"), ("csc", "csr")):
            self.calls(format, lambda x, y: S.structured_dot(x, y), S.CompressedDot)
            self.calls(format, lambda x, y: S.structured_dot(x, y[:, :1]), S.CompressedDot)
            self.calls(format, lambda x, y: S.sp_sum(x, 0), S.CompressedSum)
            self.calls(format, lambda x, y: S.sp_sum(x, 1), S.CompressedSum)
            self.calls(format, lambda x, y: S.dense_from_sparse(x), S.CompressedToDense)
            self.calls(format, lambda x, y, other=other: S.to_format(x, other), S.ChangeCompression)


class TestByteOrder(unittest.TestCase):
    """Data and positions in the other byte order mean the same numbers."""

    def test_every_form(self) -> None:
        for format in FORMATS:
            x, y = S.matrix(format, "x"), T.dmatrix("y")
            outputs = [S.structured_dot(x, y), S.sp_sum(x, 0), S.sp_sum(x, 1), S.dense_from_sparse(x), S.sqr(x)]
            outputs += [S.to_format(x, "csc" if format == "csr" else "csr"), S.transpose(x), S.add(x, x), S.mul(x, x)]
            outputs.append(S.csm_properties(x)[0])
            value = sparse_value(format, (6, 9), "float64")
            factor = np.random.RandomState(1).rand(9, 4)
            for mode in ("FAST_RUN", "FAST_COMPILE"):
                f = function([x, y], outputs, mode=mode)
                expected = f(value, factor)
                for parts in (("data",), ("indices", "indptr"), ("data", "indices", "indptr")):
                    swapped = value.copy()
                    for name in parts:
                        part = getattr(swapped, name)
                        setattr(swapped, name, part.astype(part.dtype.newbyteorder()))
                    for one, other in zip(f(swapped, factor), expected, strict=True):
                        np.testing.assert_allclose(array(one), array(other), err_msg=f"{format} {mode} {parts}")
