"""Indexing by hand: types, errors, gradients, tangents, and the functions around it."""

from __future__ import annotations

import unittest
import warnings
from typing import Any
from unittest import mock

import numpy as np

import theano_tensor as T
from theano_graph import Variable, pullback
from theano_linker_c import function
from theano_tensor import DTypeError, IndexingError, ShapeError
from theano_tensor.gradient import Rop, grad
from theano_testing.tensor import verify_grad
from theano_testing.tiers import slow

from .index_cases import MODES

RNG = np.random.default_rng(4)


def run(inputs: list[Any], outputs: Any, *values: Any) -> Any:
    """Return the result of both modes, which must agree."""
    first, second = (function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values) for mode in MODES)
    for a, b in zip(*([v if isinstance(v, list) else [v] for v in (first, second)]), strict=True):
        np.testing.assert_allclose(a, b)
    return first


class TestTypes(unittest.TestCase):
    def test_static_shapes(self) -> None:
        x = T.tensor("float64", shape=(3, None, 5), name="x")
        i, m = T.lvector("i"), T.tensor("bool", shape=(3, None), name="m")
        table: list[tuple[Any, tuple[int | None, ...]]] = [
            (i, (None, None, 5)),
            ([0, 1], (2, None, 5)),
            ((slice(None), [0]), (3, 1, 5)),
            ((slice(1, None), slice(None), slice(None, None, 2)), (2, None, 3)),
            ((0, slice(None), [1, 2]), (2, None)),
            (([[0], [1]], slice(None), [0, 1, 2]), (2, 3, None)),
            ((slice(None), i, [1]), (3, None)),
            (m, (None, 5)),
            ((np.array([True, False, True]), Ellipsis), (2, None, 5)),
            ((None, i, None), (1, None, 1, None, 5)),
        ]
        for index, shape in table:
            with self.subTest(index=str(index)):
                self.assertEqual(x[index].type.shape, shape)

    def test_an_ellipsis_without_dimensions_keeps_arrays_apart(self) -> None:
        x = T.dtensor3("x")
        value = np.arange(24.0).reshape(2, 3, 4)
        for index in (
            (slice(None), [0, 1], Ellipsis, 0),
            (slice(None), [0, 1], Ellipsis, [0, 1]),
            (0, Ellipsis, 1, [0]),
        ):
            np.testing.assert_array_equal(run([x], x[index], value), value[index])
            expected = value.copy()
            expected[index] += np.arange(2.0).reshape(2, 1) if value[index].ndim == 2 else 1
            part = np.arange(2.0).reshape(2, 1) if value[index].ndim == 2 else 1.0
            np.testing.assert_array_equal(run([x], T.inc_subtensor(x[index], part), value), expected)

    def test_unnamed_dimensions_beside_new_axes(self) -> None:
        column, three = T.tensor("float64", shape=(None, 1), name="c"), T.tensor("float64", shape=(None, 1, None))
        table: list[tuple[Any, Any, Any]] = [
            (column, (slice(None), None), (None, 1)),
            (column, (0, None), (1,)),
            (column, (slice(1, None), None), (None, 1)),
            (column, (Ellipsis, None), (None, 1, 1)),
            (column, (slice(None), None, slice(None)), (None, 1, 1)),
            (column, None, (1, None, 1)),
            (column, (None, [0, 1]), (1, 2, 1)),
            (three, (slice(None), None), (None, 1, 1, None)),
        ]
        for x, index, shape in table:
            with self.subTest(x=x.type, index=index), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.assertEqual(x[index].type.shape, shape)
                dropped = x is column and isinstance(index, tuple) and len(index) == 2 and index[1] is None
                self.assertEqual([w.filename for w in caught], [__file__] * (dropped and index[0] is not Ellipsis))

    def test_parts_without_unnamed_dimensions(self) -> None:
        c, value = T.col("c"), np.arange(3.0)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            part, replaced = c[1:, None], T.set_subtensor(c[1:, None], np.full((2, 1), 7.0))
        slope = grad((part**2).sum(), c)
        got = run([c], [part, replaced, slope], value)
        for item, expected in zip(got, ([[1], [2]], [[0], [7], [7]], [[0], [2], [4]]), strict=True):
            np.testing.assert_array_equal(item, expected)

    def test_ops(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        table: list[tuple[Variable, type]] = [
            (x[i], T.AdvancedSubtensor1),
            (x[:, i], T.AdvancedSubtensor),
            (x[i, i], T.AdvancedSubtensor),
            (x[T.gt(x, 0)], T.AdvancedBooleanSubtensor),
            (x[1:], T.Subtensor),
            (T.set_subtensor(x[1:], 0.0), T.IncSubtensor),
            (T.set_subtensor(x[i], 0.0), T.AdvancedIncSubtensor1),
            (T.inc_subtensor(x[i, 0], 0.0), T.AdvancedIncSubtensor),
            (T.inc_subtensor(x[T.gt(x, 0)], 0.0), T.AdvancedBooleanIncSubtensor),
        ]
        for variable, op in table:
            assert variable.owner is not None
            self.assertIs(type(variable.owner.op), op)


class TestErrors(unittest.TestCase):
    def test_while_building(self) -> None:
        x = T.tensor("float64", shape=(3, None), name="x")
        i = T.lvector("i")
        table: list[tuple[Any, type[Exception], str]] = [
            ([0.5], IndexingError, "integers or truth values, not float(.|\n)*T.cast"),
            ((i, i, i), IndexingError, "too many indices for array: 3 for 2"),
            (slice(i, None), IndexingError, "a bound of a slice must be an integer(.|\n)*`i`"),
            (slice(0.5, None), IndexingError, "0.5 .float. is no index"),
            ("name", IndexingError, "'name' .str. is no index"),
        ]
        for index, kind, text in table:
            with self.subTest(index=str(index)), self.assertRaisesRegex(kind, text):
                _ = x[index]

    def test_known_indices_that_cannot_fit(self) -> None:
        """They are built, as the branch of a choice may hold them, and refused where each call needs them."""
        x = T.tensor("float64", shape=(3, None), name="x")
        table: list[tuple[Any, str]] = [
            (3, "index 3 is out of bounds for axis 0 with size 3(.|\n)*`x`"),
            ([0, 3], "index 3 is out of bounds for axis 0 with size 3(.|\n)*`x`"),
            ([0, -4], "index -4 is out of bounds"),
            (([0, 1], [0, 1, 2]), "could not be broadcast together with shapes"),
            (np.zeros(4, dtype="bool"), "size of axis is 3 but size of corresponding boolean axis is 4"),
        ]
        for index, text in table:
            parts = [x[index], T.inc_subtensor(x[index], 1.0), T.set_subtensor(x[index], 1.0)]
            for part in parts:
                self.assertEqual(part.type.ndim, parts[0].type.ndim if part is parts[0] else 2)
                with self.subTest(index=str(index)), self.assertRaisesRegex(IndexError, text):
                    function([x], part)

    def test_list_with_slices_counts_as_a_tuple(self) -> None:
        x, value = T.dmatrix("x"), np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(run([x], x[[slice(None), 1]], value), value[:, 1])

    def test_while_running(self) -> None:
        x, i, m = T.dmatrix("x"), T.lvector("i"), T.tensor("bool", shape=(None,), name="m")
        value = np.zeros((2, 3))
        here = "(.|\n)*called at test_index_ops.py"
        table: list[tuple[Any, list[Any], list[Any], type[Exception], str]] = [
            (x[i], [i], [[0, 2]], IndexError, "index 2 is out of bounds for axis 0 with size 2" + here),
            (x[:, i], [i], [[-4]], IndexError, "index -4 is out of bounds for axis 1 with size 3" + here),
            (x[i[0]], [i], [[7]], IndexError, "index 7 is out of bounds for axis 0 with size 2" + here),
            (x[m], [m], [[True] * 3], IndexError, "did not match" + here),
            (x[i, i * 0], [i], [[5]], IndexError, "index 5 is out of bounds" + here),
            (x[:: i[0]], [i], [[0]], ValueError, "step" + here),
            (T.inc_subtensor(x[i], 1.0), [i], [[2]], IndexError, "index 2 is out of bounds for axis 0" + here),
            (T.set_subtensor(x[i[0]], 1.0), [i], [[2]], IndexError, "index 2 is out of bounds for axis 0" + here),
        ]
        for output, extra, values, kind, text in table:
            for mode in MODES:
                with self.subTest(output=str(output), mode=mode), self.assertRaisesRegex(kind, text):
                    function([x, *extra], output, mode=mode)(value, *values)

    def test_lengths_of_one_do_not_broadcast_unless_declared(self) -> None:
        x, y, i, j = T.dmatrix("x"), T.dmatrix("y"), T.lvector("i"), T.lvector("j")
        col = T.col("col", dtype="float64")
        for mode in MODES:
            with self.assertRaisesRegex(IndexError, "could not be broadcast(.|\n)*broadcastable"):
                function([x, i, j], x[i, j], mode=mode)(np.zeros((3, 3)), [0, 1], [0])
            for new in (T.set_subtensor(x[:2], y), T.inc_subtensor(x[[0, 1]], y)):
                with self.assertRaisesRegex(ValueError, "does not fit into the indexed part(.|\n)*addbroadcast"):
                    function([x, y], new, mode=mode)(np.zeros((3, 3)), np.zeros((2, 1)))
        result = run([x, col], T.inc_subtensor(x[[0, 1]], col), np.zeros((3, 2)), np.ones((2, 1)))
        np.testing.assert_array_equal(result, [[1, 1], [1, 1], [0, 0]])

    def test_numbers_out_of_range_where_nothing_is_selected(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        for output in (x[:, i], T.inc_subtensor(x[:, i], 1.0), T.set_subtensor(x[i - i, i], 1.0)):
            for mode in MODES:
                with self.assertRaisesRegex(IndexError, "index 0 is out of bounds for axis . with size 0"):
                    function([x, i], output, mode=mode)(np.zeros((0, 0)), [0])

    def test_assignment(self) -> None:
        x: Any = T.dvector("x")
        with self.assertRaisesRegex(TypeError, "does not support item assignment(.|\n)*`x`(.|\n)*set_subtensor"):
            x[0] = 1.0

    def test_parts_of_more_digits_are_rounded(self) -> None:
        x, v, n = T.fmatrix("x"), T.dvector("v"), T.lvector("n")
        value, part = np.zeros((2, 2), "float32"), np.array([0.1, 1.0])
        for out in (T.set_subtensor(x[0], v), T.inc_subtensor(x[0], v), T.inc_subtensor(x[[0]], v)):
            self.assertEqual(out.type.dtype, "float32")
            result = function([x, v], out)(value, part)
            np.testing.assert_array_equal(result, [part.astype("float32"), [0, 0]])
            slope = function([x, v], T.grad((out * 2).sum(), v))(value, part)
            self.assertEqual((slope.tolist(), slope.dtype), ([2.0, 2.0], "float64"))
        small = T.set_subtensor(T.bvector("b")[1:], n)
        self.assertEqual(small.type.dtype, "int8")

    def test_parts_that_do_not_fit(self) -> None:
        x, i = T.tensor("float32", shape=(4, 3), name="x"), T.lvector("i")
        with self.assertRaisesRegex(TypeError, "complex128 cannot be put into a tensor of float32(.|\n)*T.cast"):
            T.set_subtensor(x[i], T.zvector("v"))
        with self.assertRaisesRegex(ShapeError, "a part of shape .2, 2. does not fit into .None, 3."):
            part = T.tensor("float32", shape=(2, 2))
            function([x, i, part], T.set_subtensor(x[i], part))
        with self.assertRaisesRegex(ShapeError, "3 dimensions does not fit where 2"):
            T.set_subtensor(x[i], T.ftensor3())
        for wrong in (x, x + 1, x[i] * 2):
            with self.assertRaisesRegex(TypeError, "not the result of indexing"):
                T.inc_subtensor(wrong, 1)

    def test_the_result_can_be_typed_by_any_integer_dtype(self) -> None:
        x = T.dvector("x")
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
            i = T.tensor(dtype, shape=(None,), name="i")
            np.testing.assert_array_equal(run([x, i], x[i], np.arange(4.0), np.array([3, 0], dtype=dtype)), [3, 0])


def _index(kind: str) -> Any:
    return {
        "vector": np.array([2, 0, 2]),
        "column": (slice(None), np.array([1, 1])),
        "pair": (np.array([0, 2, 0]), np.array([1, 1, 1])),
        "apart": (np.array([0, 2]), slice(None, None, -1), np.array([1, 1])),
        "mask": np.array([[True, False], [False, True], [True, True]]),
        "partial": (slice(1, None), np.array([True, False])),
        "slices": (slice(None, None, -1), slice(1, None)),
        "number": (1, Ellipsis, None),
    }[kind]


KINDS = ("vector", "column", "pair", "apart", "mask", "partial", "slices", "number")


class TestDerivatives(unittest.TestCase):
    @slow
    def test_gradients(self) -> None:
        value = RNG.normal(size=(3, 2, 2))
        for kind in KINDS:
            index = _index(kind)
            part = value[index] * 2
            with self.subTest(kind=kind):
                verify_grad(lambda x, i=index: T.sqr(x[i]), [value])
                verify_grad(lambda x, y, i=index: T.sqr(T.inc_subtensor(x[i], y)), [value, part])
                verify_grad(lambda x, y, i=index: T.sqr(T.set_subtensor(x[i], y)), [value, part])
                verify_grad(lambda x, y, i=index: T.sqr(T.set_subtensor(x[i], y)), [value, np.array(0.3)])

    def test_symbolic_duplicates(self) -> None:
        x, y, i = T.dmatrix("x"), T.dmatrix("y"), T.lvector("i")
        value, part = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2))
        numbers = [1, 2, 1, 1]
        gx, gy = T.grad(T.sqr(T.set_subtensor(x[i], y)).sum(), [x, y])
        found_x, found_y = run([x, y, i], [gx, gy], value, part, numbers)
        np.testing.assert_allclose(found_x, [2 * value[0], [0, 0], [0, 0]])
        np.testing.assert_allclose(found_y, [[0, 0], 2 * part[1], [0, 0], 2 * part[3]])
        once = T.inc_subtensor(x[i], y, ignore_duplicates=True)
        np.testing.assert_allclose(
            run([x, y, i], once, value, part, numbers), [value[0], value[1] + part[3], value[2] + part[1]]
        )
        np.testing.assert_allclose(
            run([x, y, i], T.grad(once.sum(), y), value, part, numbers), [[0, 0], [1, 1], [0, 0], [1, 1]]
        )

    def test_tangents(self) -> None:
        x, y, dx, dy = (
            T.tensor("float64", shape=(None,) * n, name=s)
            for s, n in zip(("x", "y", "dx", "dy"), (3, 3, 3, 3), strict=True)
        )
        value, dvalue = RNG.normal(size=(2, 3, 2, 2))
        for kind in KINDS:
            index = _index(kind)
            part, dpart = 2 * value[index], 3 * dvalue[index]
            y, dy = (T.tensor("float64", shape=(None,) * part.ndim, name=s) for s in ("y", "dy"))
            with self.subTest(kind=kind):
                np.testing.assert_allclose(run([x, dx], Rop(x[index], x, dx), value, dvalue), dvalue[index])
                for replace in (False, True):
                    new = T.inc_subtensor(x[index], y, set_instead_of_inc=replace)
                    expected = dvalue.copy()
                    if replace:
                        expected[index] = dpart
                    else:
                        np.add.at(expected, index, dpart)
                    result = run([x, y, dx, dy], Rop(new, [x, y], [dx, dy]), value, part, dvalue, dpart)
                    np.testing.assert_allclose(result, expected)

    def test_second_derivatives(self) -> None:
        x, i = T.dvector("x"), T.lvector("i")
        first = T.grad((x[i] ** 3).sum(), x)
        second = T.grad(T.sqr(first).sum(), x)
        value = np.array([1.0, 2.0, 3.0])
        # The first is 3 n x^2, where n says how often an element is taken.
        count = np.array([2, 0, 1])
        np.testing.assert_allclose(
            run([x, i], second, value, [0, 0, 2]), 2 * (3 * count * value**2) * 6 * count * value
        )

    def test_lookup_table_of_the_manual(self) -> None:
        table, rows = T.dmatrix("table"), T.lvector("rows")
        subset = table[rows]
        g = T.grad(T.sqr(subset).sum(), subset)
        new = T.inc_subtensor(subset, -0.5 * g)
        value = RNG.normal(size=(4, 2))
        np.testing.assert_allclose(run([table, rows], new, value, [1, 3]), value * [[1], [0], [1], [0]])

    def test_sparse_gradients_are_a_hook(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        part = T.sparse_grad(x[i])
        assert part.owner is not None
        self.assertTrue(part.owner.op.sparse_grad)
        rule = pullback.lookup(part.owner.op)
        (result, nothing) = rule(part.owner, [part.ones_like()])
        self.assertIsNone(nothing)
        np.testing.assert_allclose(run([x, i], result, np.zeros((3, 1)), [1, 1]), [[0], [2], [0]])
        with self.assertRaisesRegex(TypeError, "sparse_grad needs rows(.|\n)*one vector"):
            T.sparse_grad(x[1:])

    def test_who_registers_makes_the_sparse_gradient(self) -> None:
        x, i = T.dmatrix("x"), T.lvector("i")
        with mock.patch("theano_tensor.indexing._advanced._SPARSE", []):

            def dense_sum(table: Any, rows: Any, numbers: Any) -> Variable:
                total: Variable = T.zeros_like(table) + rows.sum() + numbers.sum()
                return total

            T.register_sparse_gradient(dense_sum)
            result = T.grad((2 * T.sparse_grad(x[i])).sum(), x)
            dense = T.grad((2 * x[i]).sum(), x)
        np.testing.assert_allclose(run([x, i], [result, dense], np.zeros((3, 1)), [1, 2])[0], [[7], [7], [7]])


class TestFunctions(unittest.TestCase):
    def test_take(self) -> None:
        x, i = T.dtensor3("x"), T.lmatrix("i")
        value, numbers = RNG.normal(size=(2, 3, 4)), np.array([[0, -1], [1, 1]])
        for axis in (None, 0, 1, -1):
            np.testing.assert_array_equal(
                run([x, i], T.take(x, i, axis), value, numbers), np.take(value, numbers, axis)
            )
            for mode in ("clip", "wrap"):
                far = numbers * 7 - 3
                expected = np.take(value, far, axis, mode=mode)
                np.testing.assert_array_equal(run([x, i], x.take(i, axis, mode=mode), value, far), expected)
        self.assertEqual(run([x], x.take(1), value), value.ravel()[1])
        with self.assertRaisesRegex(IndexError, "index 2 is out of bounds for axis 0 with size 2"):
            run([x, i], T.take(x, i, 0), value, numbers + 1)
        with self.assertRaisesRegex(ValueError, "'round' is no mode"):
            T.take(x, i, mode="round")
        with self.assertRaisesRegex(ShapeError, "axis 3 is out of range(.|\n)*from -3 to 2"):
            T.take(x, i, 3)
        with self.assertRaisesRegex(IndexingError, "integers"):
            T.take(x, x)

    def test_nonzero(self) -> None:
        x = T.dmatrix("x")
        value = np.array([[0.0, 1.0, 2.0], [np.nan, 0.0, 0.0]])
        result = run([x], [*x.nonzero(), T.flatnonzero(x), x.nonzero_values(), x.nonzero(return_matrix=True)], value)
        expected = [*value.nonzero(), np.flatnonzero(value), value[value.nonzero()], np.array(value.nonzero())]
        for a, b in zip(result, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(run([x], x[x.nonzero()], value), value[value.nonzero()])
        self.assertEqual(run([x], x.nonzero()[0].shape[0], value), 3)
        with self.assertRaisesRegex(ShapeError, "a scalar has no elements(.|\n)*shape_padleft"):
            T.dscalar().nonzero()
        verify_grad(lambda v: v.nonzero_values(), [np.array([[1.0, 2.0], [3.0, 4.0]])])

    def test_compress(self) -> None:
        x, c = T.dmatrix("x"), T.lvector("c")
        value = np.arange(6.0).reshape(2, 3)
        for axis, condition in ((None, [0, 1, 1]), (0, [0, 1]), (1, [1, 0]), (-1, [1, 0, 2])):
            expected = np.compress(np.array(condition, dtype="bool"), value, axis=axis)
            np.testing.assert_array_equal(run([x, c], T.compress(c, x, axis), value, condition), expected)
            np.testing.assert_array_equal(run([x, c], c.compress(x, axis), value, condition), expected)
        with self.assertRaisesRegex(ShapeError, "condition must be a vector"):
            T.compress(x, x)

    @slow
    def test_choose_from_as_many_as_there_are(self) -> None:
        rng = np.random.default_rng(5)
        for shape, reference in (
            ((4,), (4, 4)),
            ((), (4, 3)),
            ((), (4, 1)),
            ((5, 4), (7, 4)),
            ((1, 4), (7, 4)),
            ((5, 1), (7, 4)),
            ((5, 4), (7, 1)),
            ((5, 4), (3,)),
            ((4,), (3, 5, 4)),
            ((1, 4), (3, 5, 4)),
        ):
            a = T.tensor("int32", shape=tuple(1 if n == 1 else None for n in shape))
            c = T.tensor("float64", shape=(None, *(1 if n == 1 else None for n in reference[1:])))
            operands, choices = rng.integers(0, reference[0], shape, "int32"), rng.random(reference)
            for mode, shift in (("raise", 0), ("wrap", -2), ("clip", 2), ("clip", -2)):
                expected: Any = np.choose(operands + shift, choices, mode=mode)  # type: ignore[call-overload]  # a plain str
                result = T.choose(a, c, mode=mode)
                np.testing.assert_array_equal(run([a, c], result, operands + shift, choices), expected)
                np.testing.assert_array_equal(run([a, c], result.shape, operands + shift, choices), expected.shape)
            slope = T.grad((T.choose(a, c) * 3).sum(), c)
            self.assertEqual(run([a, c], slope, operands, choices).sum(), 3 * expected.size)
        for number in (-1, reference[0]):
            with self.assertRaisesRegex(ValueError, "out of range"):
                run([a, c], T.choose(a, c), np.full(shape, number, "int32"), choices)
        with self.assertRaisesRegex(DTypeError, "must be integers"):
            T.choose(T.fscalar(), c)

    def test_choose(self) -> None:
        a, b, c = T.lvector("a"), T.dmatrix("b"), T.drow("c")
        choices = np.arange(6.0).reshape(2, 3), np.array([[10.0, 20.0, 30.0]])
        for mode, numbers in (("raise", [0, 1, 0]), ("wrap", [-1, 2, 5]), ("clip", [-7, 1, 9])):
            out = a.choose([b, c], mode=mode)
            expected = np.choose(numbers, choices, mode=mode)  # type: ignore[call-overload]  # mode is a plain str
            np.testing.assert_array_equal(run([a, b, c], out, numbers, *choices), expected)
            gradients = run([a, b, c], T.grad(out.sum(), [b, c]), numbers, *choices)
            first = np.mod(numbers, 2) if mode == "wrap" else np.clip(numbers, 0, 1)
            np.testing.assert_array_equal(gradients[0], np.tile(first == 0, (2, 1)))
            np.testing.assert_array_equal(gradients[1], [2 * (first == 1)])
        with self.assertRaisesRegex(ValueError, "number 2 is out of range for 2 choices"):
            run([a, b, c], T.choose(a, [b, c]), [0, 1, 2], *choices)
        with self.assertRaisesRegex(ShapeError, "a scalar has no choices"):
            T.choose(a, b[0, 0])
        with self.assertRaisesRegex(ValueError, "leave it out"):
            T.choose(a, [b, c], out=b)  # type: ignore[arg-type]  # the fault here is the point
        full = T.tensor("float64", shape=(2, None), name="whole")
        np.testing.assert_array_equal(
            run([a, full], T.choose(a, full), [1, 0, 1], np.arange(6.0).reshape(2, 3)), [3, 1, 5]
        )
