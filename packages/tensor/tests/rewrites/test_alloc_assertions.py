"""The flag by which filled tensors give way where shapes are not known to agree."""

from __future__ import annotations

import unittest

import numpy as np

import theano_tensor as tt
from theano_graph import config
from theano_linker_c import function
from theano_testing.linker_c import compare_machines


class TestAllocFlag(unittest.TestCase):
    def setUp(self) -> None:
        self.y, self.n = tt.dvector("y"), tt.lscalar("n")
        self.out = self.y + tt.alloc(tt.constant(2.0), self.n)

    def test_lengths_that_differ_are_an_error(self) -> None:
        f = function([self.y, self.n], self.out)
        np.testing.assert_array_equal(f([1.0, 2.0], 2), [3.0, 4.0])
        with self.assertRaisesRegex(ValueError, "length"):
            f([1.0, 2.0], 3)

    def test_without_the_assertion_nobody_looks(self) -> None:
        with config.change_flags(experimental__local_alloc_elemwise_assert=False):
            f = function([self.y, self.n], self.out, on_unused_input="ignore")
        np.testing.assert_array_equal(f([1.0, 2.0], 3), [3.0, 4.0])

    def test_known_lengths_need_no_assertion(self) -> None:
        out = self.y + tt.alloc(tt.constant(2.0), self.y.shape[0])
        compare_machines([self.y], [out], [np.array([1.0, 5.0])])
        self.assertEqual(len(function([self.y], out).maker.fgraph.apply_nodes), 1)
