"""The recurrence MRG31k3p: against plain arithmetic, jumps, draws in C and in NumPy."""

from __future__ import annotations

import itertools
import pickle
import unittest
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as T
from theano_linker_c import Mode, function, shared
from theano_tensor import DTypeError, ShapeError, TensorType
from theano_tensor.random.mrg import (
    A1,
    A2,
    M1,
    M2,
    DotModulo,
    MRGUniform,
    jump,
    jump_matrices,
    mat_vec_mod,
    mult_mat_vect,
    substreams,
)
from theano_testing.tiers import examples

SEED = [12345] * 6
NUMBERS = st.tuples(*(st.integers(1, m - 1) for m in (M1, M1, M1, M2, M2, M2)))


def plain(state: Any, count: int) -> tuple[list[int], list[int]]:
    """Return `count` numbers and the state after them, by the formulas of the paper in whole numbers."""
    first, second = [int(n) for n in state[:3]], [int(n) for n in state[3:]]
    numbers = []
    for _ in range(count):
        a = (2**22 * first[1] + (2**7 + 1) * first[2]) % M1
        b = (2**15 * second[0] + (2**15 + 1) * second[2]) % M2
        first, second = [a, *first[:2]], [b, *second[:2]]
        numbers.append((a - b) % M1 or M1)
    return numbers, first + second


def drawn(states: Any, shape: tuple[int, ...], dtype: str = "float64", mode: Any = None) -> Any:
    new, draw = MRGUniform(TensorType(dtype, (None,) * len(shape)))(shared(states), np.array(shape, "int64"))
    return function([], [draw, new], mode=mode)()


class TestRecurrence(unittest.TestCase):
    def test_numbers_and_states_are_those_of_the_formulas(self) -> None:
        for mode in (None, Mode("py", "fast_compile")):
            for seed in (SEED, [1, 0, 0, 0, 0, 1], [M1 - 1] * 3 + [M2 - 1] * 3):
                result, state = drawn(np.array([seed], "int32"), (40,), mode=mode)
                numbers, after = plain(seed, 40)
                np.testing.assert_array_equal(result, np.array(numbers) * 2.0**-31)
                self.assertEqual(state.tolist(), [after])

    def test_elements_come_from_the_streams_in_turn(self) -> None:
        states = substreams(SEED, 7)
        result, after = drawn(states, (3, 6))
        for i, state in enumerate(states):
            private = result.ravel()[i::7]
            numbers, moved = plain(state, len(private))
            np.testing.assert_array_equal(private, np.array(numbers) * 2.0**-31)
            self.assertEqual(after[i].tolist(), moved)

    @settings(deadline=None, max_examples=examples(25))
    @given(NUMBERS, st.integers(1, 70), st.integers(0, 200), st.sampled_from(["float16", "float32", "float64"]))
    def test_c_and_numpy_draw_the_same(self, seed: Any, streams: int, count: int, dtype: str) -> None:
        states = substreams(seed, streams)
        op = MRGUniform(TensorType(dtype, (None,)))
        size = T.lvector("size")
        node = op.make_node(T.imatrix("states"), size)
        cells: list[list[Any]] = [[None], [None]]
        op.perform(node, [states, np.array([count])], cells)
        f = _FUNCTIONS.setdefault(dtype, function(node.inputs, node.outputs[::-1]))
        draw, after = f(states, [count])
        np.testing.assert_array_equal(draw, cells[1][0])
        np.testing.assert_array_equal(after, cells[0][0])
        self.assertEqual(draw.dtype, dtype)

    def test_bounds_are_never_drawn(self) -> None:
        op = MRGUniform(TensorType("float64", (None,)))
        # One step from here gives the largest and the smallest number that there is: the recurrences are linear.
        for expected in (M1, 1):
            state = self._state_before(expected)
            self.assertEqual(plain(state, 1)[0], [expected])
            for dtype in ("float16", "float32", "float64"):
                (value,), _ = drawn(np.array([state], "int32"), (1,), dtype)
                self.assertTrue(0 < value < 1, (expected, dtype, value))
        self.assertEqual(op.output_type.dtype, "float64")

    def _state_before(self, expected: int) -> list[int]:
        # With x1[k-2] = 0 and x2[k-1] = 0, the next numbers are 129 x1[k-3] and 32769 x2[k-3].
        second = 5
        below = 32769 * second % M2
        above = (expected + below) % M1
        return [1, 0, above * pow(129, -1, M1) % M1, 0, 1, second]

    def test_float32_rounds_and_float16_takes_the_last_bits(self) -> None:
        wide, _ = drawn(substreams(SEED, 5), (1000,))
        narrow, _ = drawn(substreams(SEED, 5), (1000,), "float32")
        half, _ = drawn(substreams(SEED, 5), (1000,), "float16")
        np.testing.assert_allclose(narrow, wide, rtol=2e-7)
        last = (wide * 2.0**31).astype("int64") % 2**15 + 1
        np.testing.assert_allclose(half, last * 3.0458e-05, rtol=2e-3)


_FUNCTIONS: dict[str, Any] = {}


class TestJumps(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(20))
    @given(NUMBERS, st.integers(0, 10))
    def test_a_jump_is_many_steps(self, seed: Any, exponent: int) -> None:
        self.assertEqual(jump(seed, exponent).tolist(), plain(seed, 2**exponent)[1])

    def test_published_matrices(self) -> None:
        first, second = jump_matrices(72)
        self.assertEqual(first[0].tolist(), [1516919229, 758510237, 499121365])
        self.assertEqual(second[0].tolist(), [1228857673, 1496414766, 954677935])
        first, second = jump_matrices(134)
        self.assertEqual(first[0].tolist(), [1702500920, 1849582496, 1656874625])
        self.assertEqual(second[0].tolist(), [796789021, 1464208080, 607337906])

    def test_two_jumps_of_half_the_way_are_one(self) -> None:
        half = jump(jump(SEED, 133), 133)
        np.testing.assert_array_equal(half, jump(SEED, 134))

    def test_substreams_are_a_jump_apart(self) -> None:
        rows = substreams(SEED, 11)
        self.assertEqual((rows.shape, rows.dtype), ((11, 6), np.dtype("int32")))
        np.testing.assert_array_equal(rows[0], SEED)
        for before, after in itertools.pairwise(rows):
            np.testing.assert_array_equal(jump(before, 72), after)

    def test_products_do_not_overflow(self) -> None:
        matrix, vector = np.full((3, 3), M1 - 1), np.full(3, M1 - 2)
        expected = sum((M1 - 1) * (M1 - 2) for _ in range(3)) % M1
        self.assertEqual(mat_vec_mod(matrix, vector, M1).tolist(), [expected] * 3)
        self.assertEqual(mult_mat_vect(SEED, A1, M1, A2, M2).tolist(), plain(SEED, 1)[1])

    def test_the_operation(self) -> None:
        s, t, a, b = T.lvector("s"), T.lvector("t"), T.lmatrix("a"), T.lmatrix("b")
        product = DotModulo()(a, s, M1, b, t, M2)
        f = function([a, s, b, t], [product, product.shape])
        moved, shape = f(*(np.array(v) for v in (A1, SEED[:3], A2, SEED[3:])))
        self.assertEqual((moved.tolist(), shape.tolist(), moved.dtype), (plain(SEED, 1)[1], [6], np.dtype("int32")))
        with self.assertRaises(ShapeError) as caught:
            DotModulo()(a, s, 0.5, b, t, M2)
        self.assertIn("DotModulo", str(caught.exception))


class TestOp(unittest.TestCase):
    def test_wrong_operands(self) -> None:
        op, states = MRGUniform(T.dvector), T.imatrix("states")
        with self.assertRaises(DTypeError):
            MRGUniform(T.lvector)
        for wrong in (T.lmatrix("x"), T.ivector("x"), T.constant(np.zeros((2, 5), "int32"))):
            with self.assertRaises(DTypeError) as caught:
                op(wrong, [3])
            self.assertIn("six columns", str(caught.exception))
        for size in (3, [1.5], [1, 2]):
            with self.assertRaises(ShapeError):
                op(states, size)

    def test_wrong_values(self) -> None:
        states, size = T.imatrix("states"), T.lvector("size")
        for mode in (None, Mode("py", "fast_compile")):
            f = function([states, size], MRGUniform(T.dvector)(states, size)[1], mode=mode)
            for rows, length in ((2, -1), (0, 3)):
                with self.assertRaises(ValueError):
                    f(substreams(SEED, 2)[:rows], [length])
            self.assertEqual(f(substreams(SEED, 2)[:0], [0]).shape, (0,))
            for rows, lengths in ((substreams(SEED, 2), [2, 3]), (substreams(SEED, 2)[:, :5], [3])):
                with self.assertRaises(ValueError) as caught:
                    f(rows, lengths)
                self.assertIn("not 1 and 6", str(caught.exception))

    def test_equality_text_and_pickles(self) -> None:
        op = MRGUniform(T.dvector)
        self.assertEqual(
            (op, str(op)), (pickle.loads(pickle.dumps(op)), "mrg_uniform{TensorType(float64, vector),no_inplace}")
        )
        self.assertNotEqual(op, MRGUniform(T.fvector))

    def test_the_caller_keeps_his_states(self) -> None:
        rows = substreams(SEED, 3)
        before = rows.copy()
        drawn(rows, (10,))
        np.testing.assert_array_equal(rows, before)
