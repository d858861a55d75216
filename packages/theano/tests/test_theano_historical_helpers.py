"""Effects of the helpers that programs for Theano 1.0 take from inner modules."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import theano
import theano.tensor as T
import theano_tensor
from theano.compat import six
from theano.gof import cmodule, compiledir, compilelock
from theano.gof.op import debug_assert, get_debug_values
from theano.gof.utils import hash_from_code, hashtype
from theano.misc.may_share_memory import may_share_memory
from theano.misc.ordered_set import OrderedSet
from theano.misc.strutil import render_string
from theano.misc.windows import call_subprocess_Popen, output_subprocess_Popen
from theano.tensor import type as tensor_type
from theano.tests import unittest_tools as utt
from theano_graph import MissingTestValueError
from theano_testing.tiers import slow


class TestTensor(unittest.TestCase):
    def test_lists_of_dtypes(self) -> None:
        self.assertEqual(T.float_dtypes, ["float16", "float32", "float64"])
        self.assertEqual(set(T.discrete_dtypes), {"bool", *T.int_dtypes, *T.uint_dtypes})
        self.assertEqual(T.all_dtypes, T.discrete_dtypes + T.continuous_dtypes)
        self.assertIn(T.vector("x", dtype="int8").dtype, T.integer_dtypes)

    def test_length_of_a_vector(self) -> None:
        self.assertEqual(T.get_vector_length(T.tensor3("x").shape), 3)
        self.assertEqual(T.get_vector_length([T.scalar(), 1]), 2)
        x = T.dvector("v")
        with self.assertRaisesRegex(ValueError, r"(?s)when the function runs.*`v`: float64.*specify_shape"):
            T.get_vector_length(x)
        with self.assertRaisesRegex(TypeError, "2 dimensions, expected 1"):
            T.get_vector_length(T.matrix())

    def test_constants_and_permutations(self) -> None:
        x = T.dscalar("x")
        self.assertIs(T.extract_constant(x), x)
        self.assertEqual(T.extract_constant(T.constant(2.5)), 2.5)
        rows = np.array([[2, 0, 1], [0, 2, 1]])
        inverse = T.inverse_permutation(rows).eval()
        np.testing.assert_array_equal(np.take_along_axis(rows, inverse, 1), [[0, 1, 2]] * 2)

    def test_parts_by_functions(self) -> None:
        x = T.dmatrix("x")
        value, rows = np.arange(6.0).reshape(3, 2), [2, 0, 2]
        results = [
            T.advanced_subtensor1(x, rows),
            T.advanced_subtensor(x, [0, 1], [1, 0]),
            T.advanced_inc_subtensor1(x, T.ones((3, 2)), rows),
            T.advanced_set_subtensor1(x, T.zeros((3, 2)), rows),
            T.advanced_inc_subtensor(x, 1.0, [0, 1], [1, 0]),
            T.advanced_set_subtensor(x, 7.0, [0, 1], [1, 0]),
        ]
        first, second, third, fourth, fifth, sixth = theano.function([x], results)(value)
        np.testing.assert_array_equal(first, value[rows])
        np.testing.assert_array_equal(second, [1.0, 2.0])
        np.testing.assert_array_equal(third, value + np.array([[1.0], [0.0], [2.0]]))
        np.testing.assert_array_equal(fourth, [[0, 0], [2, 3], [0, 0]])
        np.testing.assert_array_equal(fifth, [[0, 2], [3, 3], [4, 5]])
        np.testing.assert_array_equal(sixth, [[0, 7], [7, 3], [4, 5]])

    def test_comparisons_of_values(self) -> None:
        a, b = np.array([1.0, np.inf, np.nan]), np.array([1.0, 2.0, 3.0])
        self.assertTrue(tensor_type.values_eq_approx_remove_inf_nan(a, b))
        self.assertFalse(tensor_type.values_eq_approx_remove_inf(a, b))
        self.assertFalse(tensor_type.values_eq_approx_remove_nan(a, b))
        self.assertFalse(tensor_type.values_eq_approx_remove_inf_nan(b, b + 1))
        self.assertTrue(tensor_type.values_eq_approx_always_true(a, None))

    def test_products_with_a_logarithm(self) -> None:
        x, y = T.dvectors("x", "y")
        xs, ys = np.array([0.0, 0.5, 2.0]), np.array([0.0, 3.0, 0.25])
        for mode in ("FAST_RUN", theano.Mode("py", "fast_run")):
            f = theano.function([x, y], [T.xlogx.xlogx(x), T.xlogx.xlogy0(x, y)], mode=mode)
            first, second = f(xs, ys)
            utt.assert_allclose(first, [0.0, 0.5 * np.log(0.5), 2 * np.log(2)])
            utt.assert_allclose(second, [0.0, 0.5 * np.log(3), 2 * np.log(0.25)])
        utt.verify_grad(T.xlogx.xlogx, [xs[1:]])
        utt.verify_grad(T.xlogx.xlogy0, [xs[1:], ys[1:]])
        by_y = theano.function([x, y], T.grad(T.xlogx.xlogy0(x, y).sum(), y))(xs, ys)
        utt.assert_allclose(by_y, [0.0, 0.5 / 3, 8.0])

    def test_an_op_that_raises(self) -> None:
        x = T.dscalar("x")
        for mode in ("FAST_RUN", theano.Mode("py", None)):
            f = theano.function([x], theano.raise_op.Raise("never", KeyError)(x), mode=mode)
            with self.assertRaisesRegex(KeyError, "never"):
                f(1.0)
        with self.assertRaisesRegex(TypeError, "no class of exceptions"):
            theano.raise_op.Raise("never", ValueError("an instance"))  # type: ignore[arg-type]  # that is the point
        theano.function([], theano.raise_op.Raise("not while compiling")(T.constant(1.0)))


class TestTestValues(unittest.TestCase):
    def test_values_of_all_or_nothing(self) -> None:
        x, y = T.dscalars("x", "y")
        x.tag.test_value = 3.0
        self.assertEqual(list(get_debug_values(x)), [])
        with theano.config.change_flags(compute_test_value="ignore"):
            self.assertEqual([tuple(map(float, values)) for values in get_debug_values(x, x)], [(3.0, 3.0)])
            self.assertEqual(list(get_debug_values(x, y)), [])
        with theano.config.change_flags(compute_test_value="raise"), self.assertRaises(MissingTestValueError):
            list(get_debug_values(x, y))

    def test_assertions(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            debug_assert(True)
            debug_assert(False, "test values are off")
        with theano.config.change_flags(compute_test_value="warn"), self.assertWarnsRegex(UserWarning, "far too small"):
            debug_assert(False, "far too small")
        with theano.config.change_flags(compute_test_value="raise"), self.assertRaisesRegex(AssertionError, "tag"):
            debug_assert(False)


class TestCompiledCode(unittest.TestCase):
    def test_cache(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            cache = cmodule.get_module_cache(folder)
            self.assertEqual((cache.dirname, len(cache), cache.clear(), cache.clear_old()), (folder, 0, 0, 0))
        self.assertEqual(cmodule.get_module_cache().dirname, theano.config.compiledir)

    @slow
    def test_listing_and_cleaning(self) -> None:
        code = (
            "import theano, theano.tensor as T; from theano.gof import compiledir; x = T.dvector(); "
            "theano.function([x], T.exp(x) - 1.25); compiledir.print_compiledir_content(); compiledir.cleanup()"
        )
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "THEANO_FLAGS": f"base_compiledir={folder},gcc.cxxflags=-O0"}
            done = subprocess.run(
                [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
            )
        self.assertRegex(done.stdout, r"(?s)1 kernels.*1 compiled object: in all.*0 compiled objects: removed")
        self.assertIs(theano.gof.compiledir, compiledir)

    def test_compiler(self) -> None:
        self.assertRegex(cmodule.gcc_version(), r"^\d+")
        self.assertIn(cmodule.get_gcc_shared_library_arg(), ("-shared", "-dynamiclib"))
        for folder, header in zip(cmodule.std_include_dirs()[-1:], ("numpy/arrayobject.h",), strict=True):
            self.assertTrue(os.path.exists(os.path.join(folder, header)))

    @slow
    def test_lock(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            other = (
                "import sys, time; from theano.gof.compilelock import lock_ctx\n"
                "for _ in sys.stdin:\n"
                "    start = time.time()\n"
                f"    with lock_ctx({folder!r}, timeout=1, max_wait=1): print(time.time() - start > 0.9, flush=True)"
            )
            pipe = subprocess.PIPE
            process = subprocess.Popen([sys.executable, "-c", other], stdin=pipe, stdout=pipe, text=True)
            self.addCleanup(process.communicate, timeout=600)
            assert process.stdin is not None and process.stdout is not None
            question, answer = process.stdin, process.stdout

            def waits() -> str:
                print(file=question, flush=True)
                return answer.readline()

            compilelock.get_lock(folder)
            compilelock.get_lock(folder)
            compilelock.release_lock()
            self.assertEqual(waits(), "True\n")
            compilelock.release_lock()
            self.assertEqual(waits(), "False\n")
            with compilelock.lock_ctx(folder):
                self.assertEqual(waits(), "True\n")
                compilelock.force_unlock()
            compilelock.release_lock()

    def test_digests(self) -> None:
        self.assertEqual(hash_from_code("é"), hash_from_code("é".encode()))
        self.assertEqual(hashtype(1), hashtype(2))
        self.assertNotEqual(hashtype(1), hashtype(1.0))


class TestHelpers(unittest.TestCase):
    def test_six(self) -> None:
        class Meta(type):
            mark = 5

        @six.add_metaclass(Meta)
        class Decorated:
            value = 1

        class Derived(six.with_metaclass(Meta, dict)):  # type: ignore[misc]  # bases made at run time
            pass

        self.assertEqual((type(Decorated), Decorated.value, type(Derived)), (Meta, 1, Meta))
        self.assertEqual(list(six.iteritems({"a": 1})), [("a", 1)])
        self.assertEqual((list(six.iterkeys({"a": 1})), list(six.itervalues({"a": 1}))), (["a"], [1]))
        self.assertEqual(six.moves.reduce(lambda a, b: a + b, six.moves.xrange(4)), 6)

    def test_ordered_set(self) -> None:
        result = OrderedSet([3, 1, 3])
        result.add(2)
        result.update([1, 0])
        result.discard(1)
        self.assertEqual(list(result), [3, 2, 0])
        self.assertEqual((result, result != OrderedSet([0, 2, 3])), ({0, 2, 3}, True))
        self.assertEqual(set(result & {0, 3}), {0, 3})

    def test_memory_and_texts(self) -> None:
        x = np.zeros(4)
        self.assertTrue(may_share_memory(x, x[1:]))
        self.assertFalse(may_share_memory(x, 3, raise_other_type=False))
        with self.assertRaisesRegex(TypeError, "int"):
            may_share_memory(x, 3)
        self.assertEqual(render_string("%(a)s = 100 %% %(b)d", {"a": "x", "b": 2}), "x = 100 % 2")
        with self.assertRaisesRegex(ValueError, r"asks for 'c', given are \['a'\]"):
            render_string("%(c)s", {"a": 1})
        with self.assertRaisesRegex(ValueError, "percent"):
            render_string("100 % ", {"a": 1})

    def test_programs(self) -> None:
        command = [sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"]
        self.assertEqual(call_subprocess_Popen(command), 3)
        self.assertEqual(output_subprocess_Popen(command), (b"out\n", b"err\n", 3))
        with self.assertRaisesRegex(ValueError, "output_subprocess_Popen"):
            call_subprocess_Popen(command, stdout=None)

    def test_old_names_of_inputs(self) -> None:
        x, y = T.dscalars("x", "y")
        f = theano.function([x, theano.Param(y, default=2.0, name="factor")], x * y)
        self.assertEqual((f(3.0), f(3.0, factor=5.0)), (6.0, 15.0))
        self.assertEqual(theano.pfunc([x, theano.Param(y, default=2.0)], x + y)(3.0), 5.0)
        self.assertIs(theano.pfunc, theano.compile.pfunc)

    def test_pydot_is_told(self) -> None:
        self.assertIsInstance(theano.printing.pydot_imported, bool)
        with self.assertRaises(AttributeError):
            theano.printing.no_such_printer  # noqa: B018  # looking is the test


class TestContents(unittest.TestCase, utt.OptimizationTestMixin):
    def test_counts(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], [theano_tensor.Sort(0)(x), x.sum()], mode=theano.Mode("py", None))
        op = theano_tensor.Sort(0)
        self.assertFunctionContains1(f, op)
        self.assertFunctionContains0(f, theano_tensor.Dot())
        self.assertFunctionContainsClassN(f, type(op), 1)
        with self.assertRaisesRegex(AssertionError, r"1 nodes with .*, expected 2\n(.|\n)*x"):
            self.assertFunctionContainsN(f, op, 2)
