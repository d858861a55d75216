"""Elements that are stored several times at one position: functions are of their sum, and so are gradients."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sparse_values import FORMATS, array

import theano_sparse as sparse
import theano_tensor as T
from theano_linker_c import function
from theano_tensor.gradient import grad

WEIGHTS = np.arange(1.0, 10).reshape(3, 3)
DATA = np.array([1.0, 2.0, 0.5, 0.25, 3.0])
INDICES, INDPTR, SHAPE = np.array([1, 1, 0, 2, 2], "int32"), np.array([0, 2, 3, 5], "int32"), np.array([3, 3])
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(sparse, name) for name in ("sqr", "sqrt", "sin", "tanh", "log1p", "structured_exp", "sgn")},
    "power": lambda x: sparse.structured_pow(x, 3.0),
    "maximum": lambda x: sparse.structured_maximum(x, 2.0),
    "sum with a number": lambda x: sparse.structured_add(x, 2.0),
    "own": sparse.structured_monoid(lambda v: v / (1 + v)),
    "chain": lambda x: sparse.sqr(sparse.sin(x) * 2.0),
    "multiple": lambda x: x * 3.0,
    "negative": lambda x: -x,
    "columns": lambda x: sparse.col_scale(x, np.array([1.0, 2, 3])),
    "difference": lambda x: sparse.sub(x, T.constant(WEIGHTS)),
    "product": lambda x: sparse.structured_dot(x, T.constant(WEIGHTS)),
    "sums": lambda x: sparse.sp_sum(x, axis=0, sparse_grad=True),
    "cleaned": sparse.clean,
    "sum of two": lambda x: sparse.sqr(x) + x,
}


class TestDuplicates(unittest.TestCase):
    def test_values_and_gradients(self) -> None:
        d = T.dvector("d")
        for form in FORMATS:
            kind: Any = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}[form]
            once = kind(kind((DATA, INDICES, INDPTR), shape=SHAPE).toarray())
            at = kind((np.ones(5), INDICES, INDPTR), shape=SHAPE).tocoo()
            outputs: dict[Any, Any] = {}
            for indices, indptr in ((INDICES, INDPTR), (once.indices, once.indptr)):
                x = sparse.CSM(form)(d, indices, indptr, SHAPE)
                outputs[len(indices)] = []
                for build in FUNCTIONS.values():
                    y = build(x)
                    full = sparse.dense_from_sparse(y) if isinstance(y, sparse.SparseVariable) else y
                    weights = WEIGHTS if full.type.ndim == 2 else WEIGHTS[0]
                    outputs[len(indices)] += [full, grad((full * weights).sum(), d)]
            result = function([d], outputs[5])(DATA)
            expected = function([d], outputs[3])(once.data)
            for k, name in enumerate(FUNCTIONS):
                with self.subTest(function=name, format=form):
                    np.testing.assert_allclose(result[2 * k], expected[2 * k])
                    slopes = kind((expected[2 * k + 1], once.indices, once.indptr), shape=SHAPE).toarray()
                    np.testing.assert_allclose(result[2 * k + 1], slopes[at.row, at.col])

    def test_roundings(self) -> None:
        x = sparse.csr_matrix("x")
        halves = scipy.sparse.csr_matrix((np.array([0.5, 0.5]), [1, 1], [0, 2]), shape=(1, 2))
        self.assertEqual(array(function([x], sparse.cast(x, "int32"))(halves)).tolist(), [[0, 1]])

    def test_the_order_of_different_positions_is_kept(self) -> None:
        x = sparse.csr_matrix("x")
        unsorted = scipy.sparse.csr_matrix((np.array([1.0, 2]), [1, 0], [0, 2]), shape=(1, 2))
        result = function([x], sparse.csm_data(sparse.sqr(x)))(unsorted)
        self.assertEqual(result.tolist(), [1, 4])

    def test_known_positions_are_looked_at_once(self) -> None:
        d = T.dvector("d")
        x = sparse.CSR(d, np.array([0, 1]), np.array([0, 2]), np.array([1, 2]))
        f = function([d], sparse.csm_data(sparse.sqr(sparse.sin(x))))
        self.assertFalse(any(isinstance(node.op, sparse.SumDuplicates) for node in f.maker.fgraph.apply_nodes))


if __name__ == "__main__":
    unittest.main()
