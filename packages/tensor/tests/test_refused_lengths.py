"""Operands of known lengths that cannot fit: where every call computes them, and where a branch holds them."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import config
from theano_linker_c import function
from theano_tensor import linalg
from theano_tensor.builders import OpFromGraph
from theano_tensor.control import ifelse
from theano_tensor.fourier import irfft


def ones(*shape: int) -> Any:
    return T.constant(np.ones(shape))


CASES: dict[str, Callable[[], Any]] = {
    "add": lambda: ones(3) + ones(4),
    "dot": lambda: T.dot(ones(2, 3), ones(4, 5)),
    "batched_dot": lambda: T.batched_dot(ones(2, 3, 4), ones(3, 4, 5)),
    "matmul": lambda: T.matmul(ones(2, 3, 4), ones(2, 5, 4)),
    "stacks": lambda: T.matmul(ones(2, 3, 4), ones(3, 4, 5)),
    "inner": lambda: T.inner(ones(3), ones(4)),
    "tensordot": lambda: T.tensordot(ones(2, 3), ones(3, 2), axes=2),
    "einsum": lambda: T.einsum("ij,jk->ik", ones(2, 3), ones(4, 5)),
    "gemm": lambda: T.linear.Gemm(inplace=False)(ones(2, 2), ones(), ones(2, 3), ones(3, 4), ones()),
    "join": lambda: T.concatenate([ones(2, 3), ones(2, 3), ones(2, 4)]),
    "stack": lambda: T.stack([ones(3), ones(4)]),
    "reshape": lambda: T.reshape(ones(3), (2, 2)),
    "reshape by -1": lambda: T.reshape(ones(3), (2, -1)),
    "alloc": lambda: T.alloc(ones(3), 4),
    "broadcast_to": lambda: T.broadcast_to(ones(2), (3,)),
    "specify_shape": lambda: T.specify_shape(ones(3), [4]),
    "addbroadcast": lambda: T.addbroadcast(ones(3, 1), 0),
    "set_subtensor": lambda: T.set_subtensor(ones(5)[:2], ones(3)),
    "inc_subtensor": lambda: T.inc_subtensor(ones(5)[T.constant([0, 1])], ones(3)),
    "repeat": lambda: T.repeat(ones(3), T.constant([1, 2])),
    "choose": lambda: T.choose(T.constant([0, 1, 1]), ones(2, 4)),
    "bincount": lambda: T.bincount(T.constant([1, 2]), ones(3)),
    "fill_diagonal": lambda: T.fill_diagonal(ones(3, 3, 4), 1.0),
    "topk": lambda: T.topk(ones(3), 5),
    "inverse": lambda: linalg.matrix_inverse(ones(2, 3)),
    "det": lambda: linalg.det(ones(2, 3)),
    "cholesky": lambda: linalg.cholesky(ones(2, 3)),
    "solve": lambda: linalg.solve(ones(3, 3), ones(4, 2)),
    "irfft": lambda: irfft(ones(2, 3, 3)),
    "number": lambda: ones(2, 3)[0, -4],
    "number of rows": lambda: T.eye(3)[3],
    "numbers": lambda: ones(2, 3)[T.constant([0, 2])],
    "numbers of two dimensions": lambda: ones(2, 3)[T.constant([0, 1]), T.constant([0, 1, 2])],
    "mask": lambda: ones(3)[T.constant(np.zeros(4, dtype=bool))],
    "set_subtensor of a number": lambda: T.set_subtensor(ones(3)[3], 1.0),
    "inc_subtensor of numbers": lambda: T.inc_subtensor(ones(3)[T.constant([0, 3])], 1.0),
    "part of a stack": lambda: T.stack([ones(), ones()])[2],
}
ERRORS = (T.ShapeError, IndexError)


class TestRefusedLengths(unittest.TestCase):
    def test_refused_where_every_call_needs_it(self) -> None:
        for name, build in CASES.items():
            with self.subTest(name):
                result = build()
                with self.assertRaisesRegex(ERRORS, "called at .*test_refused_lengths"):
                    function([], result)

    def test_raised_in_the_branch_that_runs(self) -> None:
        choice = T.iscalar("choice")
        names = list(CASES)
        totals = [T.sum(build()) for build in CASES.values()]
        for mode in ("FAST_RUN", "FAST_COMPILE"):
            results = [ifelse(T.eq(choice, k), total, ones()) for k, total in enumerate(totals)]
            f = function([choice], results, mode=mode)
            self.assertEqual(f(-1), [1.0] * len(totals))
            for k, name in enumerate(names):
                with self.subTest(name, mode=mode), self.assertRaises(ERRORS):
                    f(k)

    def test_gradients_are_refused_alike(self) -> None:
        choice, x = T.iscalar("choice"), T.TensorType("float64", shape=(2, 3))("x")
        for result in (T.dot(x, ones(4, 5)), T.concatenate([ones(2, 4), x]), T.reshape(x, (4,))):
            slope = T.grad(ifelse(choice, T.sum(result), T.sum(x)), x)
            f = function([choice, x], slope)
            self.assertEqual(f(0, np.ones((2, 3))).tolist(), np.ones((2, 3)).tolist())
            with self.assertRaises(T.ShapeError):
                f(1, np.ones((2, 3)))

    def test_inside_of_ops_when_they_run(self) -> None:
        f = function([], OpFromGraph([], [T.sum(T.dot(ones(3), ones(4)))])())
        with self.assertRaisesRegex(T.ShapeError, "inner lengths differ"):
            f()

    def test_a_choice_that_is_known_leaves_it_out(self) -> None:
        f = function([], ifelse(T.constant(0), T.sum(T.dot(ones(3), ones(4))), ones()))
        self.assertEqual(f(), 1.0)

    def test_test_values_show_it_at_once(self) -> None:
        with config.change_flags(compute_test_value="raise"), self.assertRaises(T.ShapeError):
            T.dot(ones(3), ones(4))

    def test_archives_name_errors_of_shapes_alone(self) -> None:
        stand_in: Any = T.dot(ones(3), ones(4)).owner
        op = stand_in.inputs[1].owner.op
        with self.assertRaisesRegex(ValueError, "no error of lengths"):
            type(op)("annotations", "", op.types)


if __name__ == "__main__":
    unittest.main()
