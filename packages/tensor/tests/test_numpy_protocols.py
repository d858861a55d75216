"""NumPy's functions and ufuncs applied to tensor variables, and methods with NumPy's names."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c import function
from theano_tensor import Tensor

numpy: Any = np  # annotations of NumPy know nothing of symbolic arguments
RNG = np.random.default_rng(2)
MATRIX = RNG.uniform(0.5, 2.0, (3, 4))
NUMBERS = np.array([[2, 0, 1], [1, 1, 3]])


class TestFunctions(unittest.TestCase):
    def compare(self, build: Any, *values: Any) -> None:
        """Compare the result of `build` on variables with its result on arrays."""
        inputs = [T.tensor(v.dtype.name, shape=(None,) * v.ndim) for v in values]
        result = build(*inputs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        for output in outputs:
            self.assertIsInstance(output, Tensor)
        expected = build(*values)
        reference = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        compiled: Any = function(inputs, outputs, on_unused_input="ignore")
        for item, value in zip(compiled(*values), reference, strict=True):
            np.testing.assert_allclose(item, value, atol=1e-12)

    def test_functions(self) -> None:
        builds: tuple[Any, ...] = (
            lambda x: numpy.concatenate([x, x], axis=1),
            lambda x: numpy.stack([x, x], axis=-1),
            lambda x: numpy.vstack([x, x]),
            lambda x: numpy.hstack((x, x)),
            lambda x: numpy.sum(x, axis=0),
            lambda x: numpy.prod(x, axis=1, keepdims=True),
            lambda x: numpy.mean(x),
            lambda x: numpy.std(x, axis=0, ddof=1),
            lambda x: numpy.var(x, axis=1),
            lambda x: numpy.max(x, axis=0),
            lambda x: numpy.argmin(x, axis=1),
            lambda x: numpy.cumsum(x, axis=1),
            lambda x: numpy.sort(x, axis=0),
            lambda x: numpy.argsort(x),
            lambda x: numpy.transpose(x),
            lambda x: numpy.reshape(x, (2, -1)),
            lambda x: numpy.ravel(x),
            lambda x: numpy.dot(x, x.T),
            lambda x: numpy.tensordot(x, x, 2),
            lambda x: numpy.einsum("ij,ij->i", x, x),
            lambda x: numpy.outer(x, x),
            lambda x: numpy.trace(x),
            lambda x: numpy.diagonal(x, 1),
            lambda x: numpy.tril(x, 1),
            lambda x: numpy.where(x > 1, x, 0),
            lambda x: numpy.clip(x, 0.75, 1.5),
            lambda x: numpy.roll(x, 1, 0),
            lambda x: numpy.flip(x),
            lambda x: numpy.moveaxis(x, 0, 1),
            lambda x: numpy.expand_dims(x, 1),
            lambda x: numpy.repeat(x, 2, 1),
            lambda x: numpy.tile(x, (2, 1)),
            lambda x: numpy.take(x, [0, 2], axis=1),
            lambda x: numpy.broadcast_to(x, (2, 3, 4)),
            lambda x: numpy.round(x * 2.5),
            lambda x: numpy.unique(x),
            lambda x: numpy.ptp(x, 0),
            lambda x: numpy.pad(x, 1),
            lambda x: numpy.swapaxes(x, 0, 1),
            lambda x: numpy.isclose(x, 1.0),
        )
        for i, build in enumerate(builds):
            with self.subTest(i):
                self.compare(build, MATRIX)

    def test_ufuncs(self) -> None:
        builds: tuple[Any, ...] = (
            lambda x, y: numpy.add(x, 1),
            lambda x, y: numpy.subtract(2.5, x),
            lambda x, y: numpy.divide(x, y + 1),
            lambda x, y: numpy.power(x, y),
            lambda x, y: numpy.float_power(y, 2),
            lambda x, y: numpy.logical_and(x, y),
            lambda x, y: numpy.logical_or(y, 0),
            lambda x, y: numpy.logical_xor(x, y),
            lambda x, y: numpy.logical_not(y),
            lambda x, y: numpy.isfinite(x / y),
            lambda x, y: numpy.divmod(y, 2),
            lambda x, y: numpy.rint(x * 2),
            lambda x, y: numpy.positive(x),
            lambda x, y: numpy.maximum(x, y),
            lambda x, y: numpy.less_equal(x, y),
            lambda x, y: numpy.bitwise_and(y, 3),
            lambda x, y: numpy.invert(y),
            lambda x, y: numpy.square(x) + numpy.sqrt(x) + numpy.tanh(x) + numpy.log1p(x),
            lambda x, y: numpy.matmul(x, y.T),
            lambda x, y: numpy.add.reduce(x),
            lambda x, y: numpy.multiply.reduce(x, axis=1),
            lambda x, y: numpy.maximum.reduce(x, axis=0, keepdims=True),
            lambda x, y: numpy.add.accumulate(x, axis=1),
        )
        with np.errstate(all="ignore"):
            for i, build in enumerate(builds):
                with self.subTest(i):
                    self.compare(build, MATRIX[:2, :3], NUMBERS)

    def test_what_old_programs_got_stays(self) -> None:
        x, y = T.dvectors("xy")
        for ndim, wrap in ((1, numpy.atleast_1d), (2, numpy.atleast_2d), (3, numpy.atleast_3d)):
            wrapped = wrap(x)
            self.assertEqual((wrapped.dtype, wrapped.shape), (np.dtype(object), (1,) * ndim))
            self.assertIs(wrapped.flat[0], x)
        self.assertEqual([v.flat[0] for v in numpy.atleast_1d(x, 3.0)], [x, 3.0])
        for result, value in ((numpy.ones_like(x), 1), (numpy.zeros_like(x), 0), (numpy.full_like(x, 2), 2)):
            self.assertEqual((result.dtype, result.shape, result[()]), (np.dtype(object), (), value))
        self.assertTrue(np.iterable(x))
        self.assertEqual((numpy.array_equal(x, x), numpy.array_equal(x, y)), (True, False))
        self.assertEqual(numpy.result_type(x, "float32"), np.dtype("float64"))
        self.assertEqual((numpy.iscomplexobj(x), numpy.isrealobj(x)), (False, True))
        self.assertEqual([v[()] for v in numpy.broadcast_arrays(x, y)], [x, y])

    def test_arrays_compare_identities_with_variables(self) -> None:
        x = T.dvector("x")
        array: Any = np.arange(3.0)
        self.assertIs(array == x, False)
        self.assertIs(array != x, True)
        self.assertEqual([array, x].index(x), 1)

    def test_array_changed_by_a_variable(self) -> None:
        x = T.dvector("x")
        array: Any = np.arange(3.0)
        first = array
        array -= x
        self.assertIsInstance(array, T.Tensor)
        np.testing.assert_array_equal(array.eval({x: [1.0, 1.0, 1.0]}), [-1.0, 0.0, 1.0])
        np.testing.assert_array_equal(first, [0.0, 1.0, 2.0])

    def test_what_has_no_symbolic_form_says_so(self) -> None:
        x = T.dmatrix("x")
        cases: tuple[tuple[str, Any], ...] = (
            ("numpy.nanmean", lambda: numpy.nanmean(x)),
            ("numpy.linalg.cond", lambda: numpy.linalg.cond(x)),
            ("numpy.spacing", lambda: numpy.spacing(x)),
            ("numpy.add with dtype", lambda: numpy.add(x, 1, dtype="float32")),
            ("numpy.sum with out", lambda: numpy.sum(x, out=np.zeros(()))),
            ("numpy.subtract.reduce", lambda: numpy.subtract.reduce(x)),
            ("numpy.round to 2 decimals", lambda: numpy.round(x, 2)),
        )
        for name, call in cases:
            with self.subTest(name), self.assertRaisesRegex(TypeError, f"{name}.* has no symbolic form"):
                call()

    def test_arrays_of_objects_are_no_tensors(self) -> None:
        x, s = T.dvector("x"), T.dscalar("s")
        pair, zero = np.array([s, 2.0], dtype=object), numpy.zeros_like(x)
        cases: tuple[tuple[Any, str], ...] = (
            (lambda: T.dot(pair, x), r"(?s)one of them is a variable\n  `s`: .*Hint: .*T.stack"),
            (lambda: x * pair, "one of them is a variable"),
            (lambda: T.as_tensor_variable(zero), "(?s)it is an array of an object\n  Hint: .*T.zeros_like"),
            (lambda: T.as_tensor_variable(np.array(["a"], dtype=object)), "it holds no numbers"),
        )
        for i, (ask, text) in enumerate(cases):
            with self.subTest(i), self.assertRaisesRegex(T.AsTensorError, text):
                ask()
        np.testing.assert_array_equal(T.as_tensor_variable(list(pair)).eval({s: 1.0}), [1.0, 2.0])

    def test_shape_is_a_vector(self) -> None:
        x = T.dmatrix("x")
        self.assertEqual(numpy.shape(x).eval({x: MATRIX}).tolist(), [3, 4])

    def test_number_of_dimensions_is_known(self) -> None:
        self.assertEqual(numpy.ndim(T.dmatrix("x")), 2)


class Opaque:
    """An operand that decides about operators itself, as sparse matrices do."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> Any:
        return ("radd", other)

    def __dot__(self, other: Any) -> Any:
        return ("dot", other)

    def __rdot__(self, other: Any) -> Any:
        return ("rdot", other)


class TestOptingOut(unittest.TestCase):
    def test_the_other_operand_decides(self) -> None:
        x = T.dvector("x")
        other: Any = Opaque()
        for item, name in ((x + other, "radd"), (T.dot(other, x), "dot"), (T.dot(x, other), "rdot")):
            self.assertEqual(item[0], name)
            self.assertIs(item[1], x)
        untyped: Any = x
        with self.assertRaises(TypeError):
            untyped * other


class TestMethods(unittest.TestCase):
    def test_methods_of_arrays(self) -> None:
        x = T.dmatrix("x")
        names: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ("diagonal", (1,)),
            ("trace", ()),
            ("repeat", (2, 0)),
            ("argsort", (0,)),
            ("cumsum", (1,)),
            ("cumprod", ()),
            ("ravel", ()),
            ("squeeze", ()),
            ("swapaxes", (0, 1)),
            ("conj", ()),
        )
        for name, args in names:
            with self.subTest(name):
                result = getattr(x, name)(*args).eval({x: MATRIX})
                np.testing.assert_allclose(result, getattr(MATRIX, name)(*args))
        np.testing.assert_array_equal(x.sort(0).eval({x: MATRIX}), np.sort(MATRIX, 0))
        v = T.dvector("v")
        self.assertEqual(int(v.searchsorted(3).eval({v: np.arange(1.0, 6.0)})), 2)
        self.assertEqual(float(T.constant(2.5).get_scalar_constant_value()), 2.5)

    def test_a_copy_carries_no_tags(self) -> None:
        x = T.dmatrix("x")
        x.tag.note = "kept"
        y = x.copy("y")
        self.assertEqual(y.name, "y")
        self.assertFalse(hasattr(y.tag, "note"))


class TestTransfer(unittest.TestCase):
    def test_targets(self) -> None:
        x = T.dmatrix("x")
        self.assertIs(x.transfer("cpu"), x)
        with self.assertRaisesRegex(ValueError, "no target 'moon'(.|\n)*`x`: float64"):
            x.transfer("moon")

    def test_registered_targets_are_asked(self) -> None:
        def doubled(variable: Any, target: Any) -> Any:
            return variable * 2 if target == "test_twice" else None

        T.register_transfer(doubled)
        x = T.dscalar("x")
        self.assertEqual(float(x.transfer("test_twice").eval({x: 3.0})), 6.0)
        with self.assertRaises(ValueError):
            x.transfer("elsewhere")
        wrong: Any = 3
        with self.assertRaisesRegex(TypeError, "cannot be called"):
            T.register_transfer(wrong)
