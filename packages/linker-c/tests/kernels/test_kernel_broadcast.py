"""The shape that operands have together."""

from __future__ import annotations

import unittest

import numpy as np

from theano_linker_c.kernels import broadcast_lengths


class TestBroadcastLengths(unittest.TestCase):
    def test_declared_dimensions_take_the_length_of_the_others(self) -> None:
        shapes = [(2, 1, 4), (1, 3, 4), (2, 3, 4)]
        declared = [(False, True, False), (True, False, False), (False, False, False)]
        self.assertEqual(broadcast_lengths(shapes, declared, 3), np.broadcast_shapes(*shapes))

    def test_a_dimension_that_all_broadcast_has_length_1(self) -> None:
        self.assertEqual(broadcast_lengths([(1, 0), (1, 0)], [(True, False)] * 2, 2), (1, 0))

    def test_numbers_and_no_operands(self) -> None:
        self.assertEqual(broadcast_lengths([(), ()], [(), ()], 0), ())
        self.assertEqual(broadcast_lengths([], [], 0), ())

    def test_lengths_that_differ_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, r"input\[0\]\.shape\[1\] = 3, input\[2\]\.shape\[1\] = 4.*\n.*equal"):
            broadcast_lengths([(2, 3), (2, 1), (2, 4)], [(False, False), (False, True), (False, False)], 2)

    def test_a_length_of_1_that_was_not_declared_does_not_broadcast(self) -> None:
        with self.assertRaisesRegex(ValueError, r"(?s)mis-match.*broadcasts only where it is declared"):
            broadcast_lengths([(3,), (1,)], [(False,), (False,)], 1)

    def test_a_declared_dimension_has_to_have_length_1(self) -> None:
        with self.assertRaisesRegex(ValueError, "input 1 has length 3 in dimension 0, which was declared to broadcast"):
            broadcast_lengths([(3,), (3,)], [(False,), (True,)], 1)
