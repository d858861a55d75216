"""Exported code that puts results into the memory of operands reads nothing that it has overwritten."""

from __future__ import annotations

import unittest

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

from .harness import Exported, check

RNG = np.random.default_rng(23)


class TestOverwriting(unittest.TestCase):
    @slow
    def test_a_product_is_added_to_one_of_its_factors(self) -> None:
        x = T.dmatrix("x")
        z = T.exp(x)
        outputs = [
            z + 2 * z.dot(z),
            z + 2 * x.dot(z),
            z - z.T.dot(z),
            z[0] + 2 * T.dot(z, z[0]),
            z + T.outer(z[0], z[1]),
        ]
        for out in outputs:
            check(theano.function([x], out), *((RNG.normal(size=(size, size)),) for size in (20, 3)))

    @slow
    def test_a_part_is_set_to_the_array_itself(self) -> None:
        v = T.dvector("v")
        y = T.exp(v)
        order = T.constant([2, 0, 1])
        for index in (slice(None, None, -1), T.arange(y.shape[0])[::-1], order):
            for change in (T.set_subtensor, T.inc_subtensor):
                check(theano.function([v], change(y[index], y)), (np.arange(3.0),))
        check(theano.function([v], T.inc_subtensor(y[1:], y[:-1])), (np.arange(5.0),))

    def test_a_new_value_is_put_together_in_place(self) -> None:
        x = T.dtensor3("x")
        v, w = theano.shared(RNG.normal(size=(4, 3)), "v"), theano.shared(RNG.normal(size=(4, 3)), "w")
        m = theano.shared(RNG.normal(size=(2, 3, 3)), "m")
        updates = [(v, T.concatenate([w[1:], w[:1]])), (w, T.concatenate([w[2:], w[:2]])), (m, T.batched_dot(x, x))]
        f = theano.function([x], [], updates=updates)
        exported, values = Exported(f), RNG.normal(size=(2, 3, 3))
        for _ in range(2):
            exported(values)
            f(values)
        result = dict(zip((state["name"] for state in exported.description["state"]), exported.states(), strict=True))
        for variable in (v, w, m):
            np.testing.assert_allclose(result[str(variable)], variable.get_value(), rtol=1e-12)
        exported.free()

    @slow
    def test_a_new_value_is_a_product_with_another_new_value(self) -> None:
        v = T.dvector("v")
        for size in (2, 30):
            w = theano.shared(RNG.normal(size=(size, size)), "w")
            moved = w + v
            f = theano.function([v], w.sum(), updates=[(w, moved + 2 * w.dot(moved))])
            exported = Exported(f, {v: (size,)}, static=True)
            values = RNG.normal(size=size)
            exported(values)
            f(values)
            np.testing.assert_allclose(exported.states()[0], w.get_value(), rtol=1e-12)
            exported.free()
