"""Saving and loading: arrays that NumPy reads alone, names, safety, pickles without origins, old pickles."""

from __future__ import annotations

import collections
import io
import pickle
import unittest
import zipfile
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano.misc.pkl_utils import (
    CompatUnpickler,
    PersistentNdarrayID,
    PersistentSharedVariableID,
    StripPickler,
    UnsafeArchiveError,
    dump,
    load,
)


class Model:
    def __init__(self) -> None:
        self.weights = theano.shared(np.arange(6.0).reshape(2, 3), name="weights")
        self.x = T.dvector("x")
        self.output = T.dot(self.weights, self.x)
        self.predict = theano.function([self.x], self.output)


def stored(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    dump(obj, file, **options)
    file.seek(0)
    return file


class TestArchives(unittest.TestCase):
    def test_the_chapter(self) -> None:
        foo_1, foo_2 = theano.shared(0, name="foo"), theano.shared(1, name="foo")
        file = stored((foo_1, foo_2, np.array(2)))
        with np.load(file) as arrays:
            self.assertEqual(list(arrays.keys()), ["foo", "foo_2", "array_0", "pkl"])
            self.assertEqual((arrays["foo"], arrays["foo_2"]), (0, 1))
        one, two, array = load(file)
        self.assertEqual((one.get_value(), two.get_value(), array), (0, 1, 2))
        self.assertEqual((one.name, two.name), ("foo", "foo"))

    def test_a_model_with_its_function(self) -> None:
        model = load(stored(Model()))
        np.testing.assert_array_equal(model.predict([1.0, 1.0, 1.0]), [3.0, 12.0])
        model.weights.set_value(np.ones((2, 3)))
        np.testing.assert_array_equal(model.predict([1.0, 1.0, 1.0]), [3.0, 3.0])

    def test_one_array_is_stored_once_and_stays_one(self) -> None:
        array = np.arange(1000.0)
        file = stored([array, array, {"again": array}])
        self.assertEqual(zipfile.ZipFile(file).namelist(), ["array_0", "pkl"])
        first, second, third = load(file)
        self.assertIs(first, second)
        self.assertIs(first, third["again"])

    def test_names_that_are_taken(self) -> None:
        variables = [theano.shared(float(i), name=name) for i, name in enumerate(("pkl", "array_0", "array_0"))]
        file = stored([*variables, np.array(9.0)])
        self.assertEqual(zipfile.ZipFile(file).namelist(), ["pkl_2", "array_0", "array_0_2", "array_1", "pkl"])
        *loaded, array = load(file)
        self.assertEqual(([v.get_value() for v in loaded], array), ([0.0, 1.0, 2.0], 9.0))

    def test_arrays_only(self) -> None:
        file = stored(theano.shared(np.ones(2), name="kept"), persistent_id=PersistentNdarrayID)
        self.assertEqual(zipfile.ZipFile(file).namelist(), ["array_0", "pkl"])
        np.testing.assert_array_equal(load(file).get_value(), [1.0, 1.0])

    def test_arrays_of_objects_stay_in_the_pickle(self) -> None:
        array = np.array([{"a": 1}, None], dtype=object)
        self.assertEqual(list(load(stored(array))), [{"a": 1}, None])

    def test_unnamed_and_equal_names_where_they_are_not_wanted(self) -> None:
        two = [theano.shared(1.0, name="w"), theano.shared(2.0, name="w")]
        with self.assertRaisesRegex(ValueError, "two shared variables are named 'w'"):
            stored(two, persistent_id=lambda z: PersistentSharedVariableID(z, allow_duplicates=False))
        with self.assertRaisesRegex(ValueError, "without a name"):
            stored(theano.shared(1.0), persistent_id=lambda z: PersistentSharedVariableID(z, allow_unnamed=False))

    def test_wrong_files(self) -> None:
        cases: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "no writable binary file", lambda: dump(1, io.StringIO())),  # type: ignore[arg-type]
            (TypeError, "no writable binary file", lambda: dump(1, "model.zip")),  # type: ignore[arg-type]
            (TypeError, "no readable binary file", lambda: load(io.StringIO())),  # type: ignore[arg-type]
            (ValueError, "no archive", lambda: load(io.BytesIO(pickle.dumps(1)))),
            (ValueError, "has no member 'pkl'", lambda: load(self.without_pickle())),
            (ValueError, "which it does not hold", lambda: load(self.without_array())),
        ]
        for kind, text, call in cases:
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                call()

    def without_pickle(self) -> io.BytesIO:
        file = io.BytesIO()
        np.savez(file, a=np.ones(2))
        return file

    def without_array(self) -> io.BytesIO:
        file, full = io.BytesIO(), zipfile.ZipFile(stored(np.ones(2)))
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("pkl", full.read("pkl"))
        return file


class TestSafety(unittest.TestCase):
    def test_values_are_loaded(self) -> None:
        shared = theano.shared(np.ones(3), name="w")
        data = collections.OrderedDict(w=shared, x=T.dvector("x"), n=[1, 2.5, "text", None, {1, 2}, np.float32(3)])
        for protocol in (2, 4, 5):
            loaded = load(stored(data, protocol=protocol), safe=True)
            np.testing.assert_array_equal(loaded["w"].get_value(), np.ones(3))
            self.assertEqual((loaded["x"].type, loaded["n"]), (T.dvector, data["n"]))

    def test_what_could_run_code_is_refused(self) -> None:
        x = T.dvector("x")
        for unsafe in (Model(), theano.function([x], x * 2), print, Exploit()):
            with self.subTest(unsafe=type(unsafe).__name__), self.assertRaisesRegex(UnsafeArchiveError, "safe=True"):
                load(stored(unsafe), safe=True)
        self.assertTrue(issubclass(UnsafeArchiveError, pickle.UnpicklingError))


class Exploit:
    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


class TestPicklers(unittest.TestCase):
    def test_origins_and_tags_are_stripped(self) -> None:
        x = T.dvector("x")
        y = x * 2
        y.tag.test_value, y.tag.kept = np.ones(3), "note"
        file = io.BytesIO()
        StripPickler(file, protocol=-1, extra_tag_to_remove=["test_value"]).dump({"inputs": [x], "outputs": [y]})
        loaded = pickle.loads(file.getvalue())
        (operands,), (result,) = loaded["inputs"], loaded["outputs"]
        self.assertIsNone(result.origin)
        self.assertFalse(hasattr(result.tag, "test_value"))
        self.assertEqual(result.tag.kept, "note")
        self.assertIsNotNone(y.origin)
        self.assertTrue(hasattr(y.tag, "test_value"))
        np.testing.assert_array_equal(theano.function([operands], result)([1.0, 2.0]), [2.0, 4.0])
        self.assertLess(len(file.getvalue()), len(pickle.dumps({"inputs": [x], "outputs": [y]})))

    def test_the_historical_default_protocol_is_accepted(self) -> None:
        file = io.BytesIO()
        StripPickler(file).dump(T.dvector("x"))
        self.assertEqual(pickle.loads(file.getvalue()).name, "x")

    def test_arrays_that_python_2_pickled(self) -> None:
        # Written by Python 2.7 with NumPy 1.16 for `numpy.array([1.0, 200.0])`, with the data as an 8-bit string.
        data = (
            b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I2\ntcnumpy\ndtype\n(S'f8'\nI0\nI1\ntR"
            b"(I3\nS'<'\nNNNI-1\nI-1\nI0\ntbI00\nS'\\x00\\x00\\x00\\x00\\x00\\x00\\xf0?\\x00\\x00\\x00\\x00\\x00\\x00i@'\ntb."
        )
        np.testing.assert_array_equal(CompatUnpickler(io.BytesIO(data), encoding="latin1").load(), [1.0, 200.0])
        np.testing.assert_array_equal(CompatUnpickler(io.BytesIO(data)).load(), [1.0, 200.0])
