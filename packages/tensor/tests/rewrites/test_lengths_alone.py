"""Where only the shape of a result is wanted, the result is not computed."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import ShapeI
from theano_tensor.elemwise import Elemwise
from theano_tensor.shape import MakeVector, SameLengths

RNG = np.random.default_rng(3)
#: Ops that may be left in a function that works with lengths only.
CHEAP = (MakeVector, SameLengths, ShapeI)


def _is_cheap(node: Any) -> bool:
    op = node.op
    if isinstance(op, Elemwise):
        return all(v.type.ndim == 0 and v.type.dtype in ("int64", "bool") for v in node.outputs)
    return isinstance(op, CHEAP) or all(v.type.dtype == "int64" and v.type.ndim <= 1 for v in node.outputs)


class TestLengthsAlone(unittest.TestCase):
    def test_every_shape_rule_in_the_pipeline(self) -> None:
        x, y, t, v = T.dmatrix("x"), T.dmatrix("y"), T.dtensor3("t"), T.dvector("v")
        n = T.lscalar("n")
        results: tuple[Any, ...] = (
            T.tanh(x) + 1,
            T.dot(x, y),
            T.batched_dot(t, t.dimshuffle(0, 2, 1)),
            T.einsum("ij,jk->k", x, y),
            x.sum(0),
            x.argmax(1),
            T.concatenate([x, T.exp(x)], axis=1),
            T.stack([x, x], axis=1),
            T.exp(x).reshape((n, -1)),
            T.exp(x).flatten(),
            x.T[1:, ::2],
            x[:, n],
            T.set_subtensor(x[1:], 0.0),
            T.zeros((n, 3)),
            T.alloc(v, n, v.shape[0]),
            T.eye(n, 4),
            T.arange(n),
            T.cumsum(x, 1),
            T.diff(x, 2),
            T.repeat(x, n, 1),
            T.tile(x, (2, n)),
            T.roll(x, n),
            T.diagonal(x, 1),
            T.diag(v),
            T.fill_diagonal(x, 0.0),
            T.sort(x, 0),
            T.argsort(x),
            T.topk(x, 2),
            T.searchsorted(v, x),
            T.cpu_contiguous(x),
            T.pad(x, 2, "reflect"),
            T.to_one_hot(T.argmax(x, 1), 5),
            T.tril(x),
            T.specify_shape(x, (3, None)),
            T.addbroadcast(x[:1], 0) * 2,
            T.split(x, [1, 2], 2)[1],
            T.bartlett(n),
            T.broadcast_to(v, (n, v.shape[0])),
        )
        inputs = [x, y, t, v, n]
        values = [RNG.normal(size=s) for s in ((3, 4), (4, 5), (2, 3, 4), (6,))]
        for result in results:
            with self.subTest(str(result)):
                lengths: Any = function(inputs, result.shape, mode="FAST_RUN", on_unused_input="ignore")
                full: Any = function(inputs, result, mode="FAST_COMPILE", on_unused_input="ignore")
                self.assertEqual(tuple(lengths(*values, 2)), full(*values, 2).shape)
                costly = [str(node.op) for node in lengths.maker.fgraph.toposort() if not _is_cheap(node)]
                self.assertEqual(costly, [])

    def test_what_is_filled_is_not_computed(self) -> None:
        x, v = T.dmatrix("x"), T.dvector("v")
        for like in (T.dot(x, v), T.cumsum(T.exp(v)), T.dot(T.exp(T.dot(x, x)), v)):
            compiled: Any = function([x, v], T.fill(like, 3.0), on_unused_input="ignore")
            ops = {type(node.op).__name__ for node in compiled.maker.fgraph.toposort()}
            self.assertEqual(ops - {"SameLengths"}, {"Alloc", "ShapeI"})
            np.testing.assert_array_equal(compiled(np.ones((2, 2)), np.ones(2)), [3.0, 3.0])

    def test_lengths_that_only_values_know(self) -> None:
        x = T.lvector("x")
        compiled: Any = function([x], [T.unique(x).shape, T.bincount(x).shape, x.nonzero()[0].shape])
        self.assertEqual([int(s[0]) for s in compiled(np.array([3, 0, 3]))], [2, 4, 2])

    def test_manual_example(self) -> None:
        x, y = T.dmatrices("x", "y")
        joined = T.join(0, x, y)
        a, b = np.zeros((5, 4)), np.zeros((3, 3))
        shape: Any = function([x, y], joined.shape)
        self.assertEqual(shape(a, b).tolist(), [8, 4])
        for checked in (function([x, y], joined.shape, mode="FAST_COMPILE"), function([x, y], joined)):
            refusing: Any = checked
            with self.assertRaises(ValueError):
                refusing(a, b)
