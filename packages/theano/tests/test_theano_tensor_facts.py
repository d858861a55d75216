"""Facts of tensors in Theano 1.0 that programs rely on: identities, types, names, errors."""

from __future__ import annotations

import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import theano
import theano.tensor as T
from theano import sparse
from theano.tensor.basic import Join, _convert_to_int32
from theano.tests import unittest_tools as utt

EMPTY: list[Any] = [[], (), [[]]]


class TestVariables(unittest.TestCase):
    def test_what_is_empty_has_floatx(self) -> None:
        for floatx in ("float32", "float64"):
            with theano.change_flags(floatX=floatx):
                self.assertEqual([T.as_tensor_variable(x).dtype for x in EMPTY], [floatx] * 3)
                self.assertEqual(T.as_tensor_variable(np.array([], dtype="int8")).dtype, "int8")

    def test_transposes_are_other_variables(self) -> None:
        x, m = T.dvector("x"), T.dmatrix("m")
        for result in (x.T, T.transpose(x), m.dimshuffle(0, 1), T.transpose(m, [0, 1])):
            self.assertNotIn(result, (x, m))
        self.assertEqual([x.T.name, m.T.name, T.transpose(m, [0, 1]).name], ["x.T", "m.T", None])
        f = theano.function([x], x.T + 1, mode="FAST_RUN")
        self.assertEqual(len(f.maker.fgraph.apply_nodes), 1)

    def test_rebroadcasts_are_joined(self) -> None:
        x: Any = T.dmatrix("x")
        both: Any = T.TensorType("float64", (True, True))("both")
        self.assertIs(T.unbroadcast(T.addbroadcast(x, 0), 0), x)
        self.assertIs(T.addbroadcast(T.unbroadcast(both, 0), 0), both)
        joined: Any = T.unbroadcast(T.unbroadcast(both, 1), 0)
        claimed: Any = T.addbroadcast(x, 1)
        self.assertIs(joined.owner.inputs[0], both)
        self.assertEqual([str(joined.owner.op), str(claimed.owner.op)], ["Rebroadcast{0,0}", "Rebroadcast{?,1}"])

    def test_patterns(self) -> None:
        flags: Any = [1, 0]
        self.assertEqual(T.TensorType("float64", broadcastable=flags).shape, (1, None))
        x = T.TensorType("float64", (True, False, True, True))("x")
        self.assertEqual(T.flatten(x, 3).broadcastable, (True, False, True))
        a, b = T.TensorType("float64", (False, False))("a"), T.drow("b")
        axis = T.cast(T.constant(1), "int32")
        self.assertEqual(T.join(axis, a, b).broadcastable, (True, False))
        col, v = T.dcol("col"), T.dvector("v")
        self.assertEqual(T.grad(T.dot(col, v).sum(), v).broadcastable, (False,))

    def test_apply_without_a_default(self) -> None:
        x = T.dvector("x")
        node = Join().make_node(0, x, x)
        node.op.default_output = [0, 1]  # type: ignore[assignment]  # as programs do
        with self.assertRaises(AttributeError):
            T.as_tensor_variable(node)


class TestOps(unittest.TestCase):
    def test_join_gives_a_view(self) -> None:
        join, x, s = Join(view=0), T.dvector("x"), T.lscalar("s")
        self.assertEqual((str(join), join.view_map, join == Join()), ("Join{view=0}", {0: [1]}, False))
        empty = T.zeros((s,))
        f = theano.function([theano.In(x, borrow=True), s], theano.Out(join(0, x, empty, empty), borrow=True))
        data = np.array([3.0, 4.0, 5.0])
        np.testing.assert_array_equal(f(data, 0), data)
        np.testing.assert_array_equal(f(data, 1), [3.0, 4.0, 5.0, 0.0, 0.0])

    def test_older_form_of_stack(self) -> None:
        a, b = T.dvectors("a", "b")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            T.stack(a, b)
            T.stack([a, b])
        self.assertEqual([w.category for w in seen], [DeprecationWarning])

    def test_integers_are_never_nan(self) -> None:
        i = T.imatrix("i")
        for test in (T.isnan, T.isinf):
            result: Any = test(i)
            self.assertNotIsInstance(result.owner.op, T.Elemwise)
            np.testing.assert_array_equal(theano.function([i], test(i))([[1, 2]]), [[False, False]])

    def test_repetitions(self) -> None:
        x, reps = T.dvector("x"), T.ivector("reps")
        for wrong in (2.5, (2.5,), T.dscalar()):
            with self.assertRaises(ValueError):
                T.tile(x, wrong)
        f = theano.function([x, reps], T.tile(x, reps, ndim=2))
        np.testing.assert_array_equal(f([1.0, 2.0], [2]), [[1.0, 2.0, 1.0, 2.0]])
        with self.assertRaises(AssertionError):
            f([1.0], [1, 2, 3])

    def test_specified_shapes_are_counted(self) -> None:
        x, shape = T.dmatrix("x"), T.ivector("shape")
        for wrong in ((), (1,), (2, 3, 4)):
            with self.assertRaises(AssertionError):
                T.specify_shape(x, wrong)
            f = theano.function([x, shape], T.specify_shape(x, shape))
            with self.assertRaises(AssertionError):
                f([[1.0, 2.0]], np.array(wrong, dtype="int32"))

    def test_order_of_complex_numbers(self) -> None:
        x, y = np.array([1 + 2j, 0 + 5j, 3j]), np.array([1 + 1j, 1 + 0j, 4j])
        a, b = T.zvectors("a", "b")
        f = theano.function([a, b], [T.maximum(a, b), T.minimum(a, b), a < b, a >= b])
        for item, expected in zip(f(x, y), (np.maximum(x, y), np.minimum(x, y), x < y, x >= y), strict=True):
            np.testing.assert_array_equal(item, expected)

    def test_order_of_complex_numbers_in_sparse_matrices(self) -> None:
        x = sparse.csr_matrix("x", dtype="complex128")
        f = theano.function([x], sparse.structured_minimum(x, 1 + 1j))
        value = scipy.sparse.csr_matrix(np.array([[1, 2, 0], [0, 1 + 2j, 3]]))
        np.testing.assert_array_equal(f(value).toarray(), [[1, 1 + 1j, 0], [0, 1 + 1j, 1 + 1j]])

    def test_clip_where_bounds_cross(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], [T.clip(x, 1, -1), T.grad(T.clip(x, 0, x).sum(), x)])
        values, slopes = f([-2.0, 0.5, 3.0])
        np.testing.assert_array_equal(values, [1.0, 1.0, -1.0])
        np.testing.assert_array_equal(slopes, [0.0, 1.0, 1.0])

    def test_shapes_along_a_variable_axis(self) -> None:
        x, y, axis, parts = T.dmatrix("x"), T.dmatrix("y"), T.iscalar("axis"), T.ivector("parts")
        shapes = [T.join(axis, x, y).shape, T.Split(2)(x, axis, parts)[1].shape]
        f = theano.function([x, y, axis, parts], shapes)
        self.assertFalse(any(isinstance(n.op, (Join, T.Split)) for n in f.maker.fgraph.apply_nodes))
        result = f(np.ones((2, 4)), np.ones((2, 3)), 1, [1, 3])
        self.assertEqual([shape.tolist() for shape in result], [[2, 7], [2, 3]])

    def test_dimensions_of_dot(self) -> None:
        with self.assertRaises(TypeError):
            T.Dot()(T.dscalar(), T.dvector())

    def test_preference_of_a_conversion(self) -> None:
        self.assertEqual(_convert_to_int32.scalar_op.output_types_preference.spec[0].dtype, "int32")


class TestIndices(unittest.TestCase):
    def test_variables_that_stand_for_slices(self) -> None:
        x, s = T.dmatrix("x"), T.slicetype("s")
        value = np.arange(12.0).reshape(4, 3)
        f = theano.function([x, s], [x[s], x[:, s], T.grad(x[s].sum(), x)])
        for part in (slice(1, 3), slice(None, None, -1), slice(-2, None), slice(3, 0, -2), slice(5, 9)):
            rows, columns, slope = f(value, part)
            np.testing.assert_array_equal(rows, value[part])
            np.testing.assert_array_equal(columns, value[:, part])
            expected = np.zeros((4, 3))
            expected[part] = 1
            np.testing.assert_array_equal(slope, expected)
        i = T.iscalar("i")
        g = theano.function([x, i], x[T.make_slice(i, None)])
        np.testing.assert_array_equal(g(value, 2), value[2:])
        self.assertEqual(x[T.NoneConst].broadcastable, (True, False, False))

    def test_what_is_no_index(self) -> None:
        x = T.dmatrix("x")
        for wrong in (True, [True, False], ([0, 1], [0, False]), ([0, 1], [0, theano.shared(True)])):
            with self.assertRaises(TypeError):
                x[wrong]
        with self.assertRaises(TypeError):
            x[: 2**63]

    def test_masks_that_select_one_element_broadcast(self) -> None:
        x = T.dmatrix("x")
        y = x[x[:, 0] > 2, x[0] > 0]
        f = theano.function([x], [y, y.shape, T.grad(y.sum(), x)])
        value = np.arange(6.0).reshape(2, 3)
        part, shape, slope = f(value)
        np.testing.assert_array_equal(part, value[value[:, 0] > 2, value[0] > 0])
        self.assertEqual(shape.tolist(), [2])
        np.testing.assert_array_equal(slope, [[0, 0, 0], [0, 1, 1]])

    def test_increments_of_rows_by_one_number(self) -> None:
        x, rows = T.dmatrix("x"), T.lvector("rows")
        f = theano.function([x, rows], theano.grad(x[rows].sum(), x), mode="FAST_RUN")
        self.assertEqual(sum(isinstance(n.op, T.Alloc) for n in f.maker.fgraph.apply_nodes), 1)
        np.testing.assert_array_equal(f(np.ones((3, 2)), [2, 0, 2]), [[1, 1], [0, 0], [2, 2]])


class TestAround(unittest.TestCase):
    def test_arrays_in_files_stay_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "values.npy")
            np.save(path, np.arange(3))
            name: Any = theano.Variable(theano.Generic())
            f = theano.function([name], T.load(name, "int64", (False,), mmap_mode="c"))
            result = f(path)
            self.assertIsInstance(result, np.memmap)
            self.assertEqual(result.tolist(), [0, 1, 2])
            del result

    def test_gradients_of_ops_in_place(self) -> None:
        utt.verify_grad(op=T.inplace.exp_inplace, pt=[np.array([[1.5, -0.5]])])

    def test_values_beside_nan(self) -> None:
        equal = T.dvector.values_eq
        self.assertTrue(equal(np.array([np.nan, 1.0]), np.array([np.nan, 1.0 + 1e-12])))
        self.assertFalse(equal(np.array([0.0, 1.0]), np.array([0.0, 1.0 + 1e-12])))

    def test_shapes_with_the_linker_c(self) -> None:
        x = T.dvector("x")
        f = theano.function(
            [x], [x.shape, T.elemwise.CAReduce(theano.scalar.add, axis=())(x)], mode=theano.Mode("c", None)
        )
        shape, same = f([1.0, 2.0])
        self.assertEqual((shape.tolist(), same.tolist()), ([2], [1.0, 2.0]))
