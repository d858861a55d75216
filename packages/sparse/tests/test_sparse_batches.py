"""Sparse ops and batches."""

from __future__ import annotations

import unittest

import numpy as np
import scipy.sparse

import theano_sparse
import theano_tensor as tt
from theano_linker_c import function
from theano_testing.gaps import without_batch_rule


class TestBatches(unittest.TestCase):
    def test_refusal_names_the_op(self) -> None:
        x, y, ys = theano_sparse.csr_matrix("x"), tt.dmatrix("y"), tt.dtensor3("ys")
        with self.assertRaisesRegex(tt.BatchError, "op Dot cannot be applied to a batch.*\n.*\n  Hint"):
            tt.vectorize_graph(theano_sparse.dot(x, y), {y: ys})

    def test_sparse_matrices_that_are_the_same_for_all_entries(self) -> None:
        x, y, ys = theano_sparse.csr_matrix("x"), tt.dmatrix("y"), tt.dtensor3("ys")
        sums = tt.vectorize_graph((theano_sparse.dense_from_sparse(x) * y).sum(), {y: ys})
        values = scipy.sparse.csr_matrix(np.eye(2)), np.arange(12.0).reshape(3, 2, 2)
        np.testing.assert_allclose(function([x, ys], sums)(*values), [3.0, 11.0, 19.0])

    def test_every_op_says_so(self) -> None:
        self.assertEqual(without_batch_rule(["theano_sparse"]), [])
