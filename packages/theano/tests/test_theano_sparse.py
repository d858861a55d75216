from __future__ import annotations

import subprocess
import sys
import unittest
from typing import Any

import numpy as np
import scipy.sparse as sp

import theano
import theano.tensor as T
from theano import sparse
from theano.sparse.tests.test_basic import sparse_random_inputs
from theano_testing.tiers import slow


class TestChapter(unittest.TestCase):
    """The programs of the chapter about sparse matrices."""

    @slow
    def test_import_theano_does_not_load_it(self) -> None:
        program = "import sys, theano; print(any('sparse' in name.split('.') for name in sys.modules))"
        result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        self.assertEqual(result.strip(), "False")

    def test_a_full_cycle(self) -> None:
        x = sparse.csc_matrix(name="x", dtype="float32")
        y = sparse.dense_from_sparse(x)
        z = sparse.csc_from_dense(y)
        self.assertEqual(z.type, x.type)

    def test_reconstruction_gives_the_transpose(self) -> None:
        x = sparse.csc_matrix(name="x", dtype="int64")
        data, indices, indptr, shape = sparse.csm_properties(x)
        f = theano.function([x], sparse.CSR(data, indices, indptr, shape))
        a = sp.csc_matrix(np.asarray([[0, 1, 1], [0, 0, 0], [1, 0, 0]]))
        self.assertEqual(f(a).toarray().tolist(), [[0, 0, 1], [1, 0, 0], [1, 0, 0]])

    def test_structured_add(self) -> None:
        x = sparse.csc_matrix(name="x", dtype="float32")
        f = theano.function([x], sparse.structured_add(x, 2))
        a = sp.csc_matrix(np.asarray([[0, 0, -1], [0, -2, 1], [3, 0, 0]], dtype="float32"))
        self.assertEqual(f(a).toarray().tolist(), [[0, 0, 1], [0, 0, 3], [5, 0, 0]])

    def test_logistic_regression_on_sparse_rows(self) -> None:
        x, y = sparse.csr_matrix("x"), T.dvector("y")
        w = theano.shared(np.zeros((30, 1)), name="w")
        p = T.nnet.sigmoid(sparse.structured_dot(x, w)[:, 0])
        cost = T.nnet.binary_crossentropy(p, y).mean()
        step = theano.function([x, y], cost, updates=[(w, w - 2.0 * T.grad(cost, w))])
        rows = sp.random(200, 30, 0.2, format="csr", random_state=0)
        target: Any = np.asarray(rows[:, :15].sum(1) > rows[:, 15:].sum(1)).ravel().astype("float64")
        first = step(rows, target)
        for _ in range(300):
            last = step(rows, target)
        self.assertAlmostEqual(float(first), np.log(2), places=6)
        self.assertLess(last, 0.4)

    def test_dotted_names(self) -> None:
        self.assertIs(sparse.basic.structured_dot, sparse.structured_dot)
        self.assertIs(sparse.sandbox.truedot.true_dot, sparse.true_dot)
        self.assertIs(sparse.type.SparseType, sparse.SparseType)
        self.assertEqual(sparse.sandbox.sp2.csr_dbinomial.format, "csr")
        self.assertEqual(len(sparse.all_dtypes), 12)


class TestHelpers(unittest.TestCase):
    def test_convolution_by_sparse_products(self) -> None:
        kernels, images = T.dmatrix("kernels"), T.dmatrix("images")
        output, shape = sparse.sandbox.sp.convolve(kernels, (2, 2), 1, images, (3, 3))
        pooled, areas = sparse.sandbox.sp.max_pool(output, shape, (2, 2))
        f = theano.function([kernels, images], [output, pooled])
        result = f(np.ones((1, 4)), np.arange(9.0)[None])
        self.assertEqual((shape, areas), ((1, 2, 2), (1, 1)))
        self.assertEqual([v.tolist() for v in result], [[[8, 12, 20, 24]], [[24]]])

    def test_random_inputs(self) -> None:
        variables, values = sparse_random_inputs("csr", (5, 4), n=2, out_dtype="float64", unsorted_indices=True)
        f = theano.function(variables, sparse.add(*variables))
        np.testing.assert_allclose(f(*values).toarray(), values[0].toarray() + values[1].toarray())
