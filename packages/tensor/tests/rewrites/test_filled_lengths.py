"""Tensors that are filled by numbers that are no lengths are refused, also where rewriting leaves them out."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as T
from theano_linker_c import Function, function, shared
from theano_tensor.control import ifelse


def checks(f: Function) -> int:
    """Return how many nodes do nothing but check."""
    return sum(isinstance(node.op, T.CheckAndRaise) for node in f.maker.fgraph.apply_nodes)


class TestFilledLengths(unittest.TestCase):
    def test_negative_lengths(self) -> None:
        n = T.lscalar("n")
        square = T.zeros((n, n))
        results = {
            "sum": T.sum(square),
            "sum of ones": T.sum(T.ones((n, n))),
            "prod": T.prod(square),
            "mean": T.mean(T.ones((n,))),
            "product": T.sum(square * 2),
            "dot": T.sum(T.dot(square, square)),
            "part": T.sum(square[0:0]),
            "transposed": T.sum(square.T),
            "like": T.sum(T.zeros_like(T.ones((n, n)))),
            "shape": square.shape,
            "size": square.size,
            "computed": T.sum(T.zeros((2 * n - 3,))),
        }
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            for name, result in results.items():
                with self.subTest(name, mode=mode):
                    f = function([n], result, mode=mode)
                    f(2)
                    for value in (-1, -3):
                        with self.assertRaisesRegex(ValueError, "alloc.* a length is negative"):
                            f(value)

    def test_lengths_of_joins_do_not_wrap_around(self) -> None:
        n = T.lscalar("n")
        x = T.alloc(np.float64(0), n)
        for name, result in {
            "concatenate": T.concatenate([x, x]).shape[0],
            "tile": T.tile(x, 3).shape[0],
            "repeat": T.repeat(x, 2).shape[0],
            "stack": T.flatten(T.stack([x, x])).shape[0],
            "size": T.alloc(np.float64(0), n, n).size,
        }.items():
            f = function([n], result)
            self.assertGreater(f(5), 5)
            for value in (2**62, 2**63 - 1):
                with self.subTest(name), self.assertRaisesRegex(ValueError, "more elements than a tensor can have"):
                    f(value)

    def test_lengths_that_are_known_to_fit_are_not_checked(self) -> None:
        n, m, x = T.lscalar("n"), T.lscalar("m"), T.dmatrix("x")
        for inputs, result in (
            ([x], T.sum(T.zeros((x.shape[0], 3))) + T.sum(x)),
            ([n, m], T.zeros((n, m))),
            ([n, m, x], x + T.zeros((n, m))),
            ([n, m, x], T.set_subtensor(T.zeros((n, m))[:2], x)),
            ([n, m, x], T.sum(T.concatenate([T.zeros((n, m)), x]))),
        ):
            self.assertEqual(checks(function(inputs, result)), 0)

    def test_each_tensor_has_its_own_number_of_elements(self) -> None:
        ns = T.lscalars("abc")
        f = function(ns, sum(T.sum(T.zeros((n,))) for n in ns))
        self.assertEqual(f(2**25, 2**25, 2**25), 0.0)

    def test_a_branch_that_is_not_taken_is_not_looked_at(self) -> None:
        b, n = T.bscalar("b"), T.lscalar("n")
        f = function([b, n], ifelse(b, T.sum(T.zeros((n,))), T.sum(T.ones((2,)))))
        self.assertEqual(f(0, -1), 2.0)

    def test_updates_alone(self) -> None:
        n, total = T.lscalar("n"), shared(np.float64(0))
        f = function([n], updates={total: total + T.sum(T.ones((n,)))})
        f(3)
        with self.assertRaisesRegex(ValueError, "a length is negative"):
            f(-3)
        self.assertEqual(float(total.get_value()), 3.0)


if __name__ == "__main__":
    unittest.main()
