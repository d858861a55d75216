"""Arrays that functions read from files."""

from __future__ import annotations

import pickle
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Generic, Variable
from theano_linker_c import function, shared
from theano_tensor import ShapeError, io
from theano_tensor.gradient import grad
from theano_testing.gaps import record_absence
from theano_testing.linker_c import compare_machines

record_absence.declare_absent(io.LoadFromDisk, "it needs a file; test_io_files looks at values and errors")


class FileCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def save(self, value: Any, name: str = "stored-array.npy") -> str:
        np.save(self.folder / name, value)
        return str(self.folder / name)


class TestValues(FileCase):
    def test_a_path_is_an_argument(self) -> None:
        path = Variable(Generic())
        f = function([path], io.load(path, "int64", (False,)) * 2)
        for n in (5, 3):
            result = f(self.save(np.arange(n)))
            np.testing.assert_array_equal(result, 2 * np.arange(n))
            self.assertEqual(str(result.dtype), "int64")

    def test_a_fixed_path_is_read_at_each_call(self) -> None:
        x = io.load(self.folder / "stored-array.npy", "float32", (False, True))
        f = function([], [x, x.sum(axis=1), x.shape])
        for n in (2, 4):
            value = np.random.RandomState(n).randn(n, 1).astype("float32")
            self.save(value)
            column, sums, shape = f()
            np.testing.assert_array_equal(column, value)
            np.testing.assert_allclose(sums, value.sum(axis=1), rtol=1e-6)
            np.testing.assert_array_equal(shape, [n, 1])

    def test_both_machines_read_the_same(self) -> None:
        path = self.save(np.random.RandomState(0).randn(4, 3))
        y = tt.dmatrix("y")
        compare_machines([y], [tt.exp(io.load(path, "float64", (False, False))) + y], [np.ones((4, 3))])

    def test_mapped_files_do_not_change(self) -> None:
        path = self.save(np.arange(6.0).reshape(2, 3))
        x = io.load(path, "float64", (False, False), mmap_mode="c")
        result = function([], [tt.set_subtensor(x[0], 7.0), x[1]])()
        np.testing.assert_array_equal(result[0], [[7, 7, 7], [3, 4, 5]])
        np.testing.assert_array_equal(result[1], [3, 4, 5])
        np.testing.assert_array_equal(np.load(path), np.arange(6.0).reshape(2, 3))

    def test_what_is_read_may_be_kept_and_changed(self) -> None:
        path = self.save(np.arange(3.0))
        for mode in (None, "c"):
            with self.subTest(mmap_mode=mode):
                state = shared(np.zeros(3))
                function([], [], updates=[(state, io.load(path, "float64", (False,), mode) + state)])()
                value = function([], io.load(path, "float64", (False,), mode))()
                value += 1
                np.testing.assert_array_equal(np.load(path), np.arange(3.0))
                np.testing.assert_array_equal(state.get_value(), np.arange(3.0))

    def test_ops_are_equal_by_value(self) -> None:
        op = io.LoadFromDisk("int8", [False], mmap_mode="c")
        self.assertEqual(op, pickle.loads(pickle.dumps(op)))
        self.assertNotEqual(op, io.LoadFromDisk("int8", [False]))
        self.assertEqual(str(op), "Load{dtype: int8, broadcastable: (False,), mmap_mode: c}")

    def test_the_rest_is_differentiated(self) -> None:
        path = self.save(np.arange(3.0))
        y = tt.dvector("y")
        slope = grad((io.load(path, "float64", (False,)) * y).sum(), y)
        np.testing.assert_array_equal(function([y], slope)(np.ones(3)), [0, 1, 2])


class TestBadInput(FileCase):
    def test_other_modes(self) -> None:
        for mode in ("r", "r+", "w+", True):
            with self.subTest(mode=mode), self.assertRaisesRegex(ValueError, "mmap_mode"):
                io.load("x.npy", "int8", (False,), mmap_mode=mode)  # type: ignore[arg-type]

    def test_a_path_of_another_kind(self) -> None:
        for path in (3, tt.dvector("x"), None):
            with self.subTest(path=path), self.assertRaisesRegex(TypeError, "path"):
                io.load(path, "int8", (False,))

    def test_files_that_hold_something_else(self) -> None:
        f = function([], io.load(self.folder / "stored-array.npy", "float64", (False, True)))
        for value in (np.zeros((3, 1), "float32"), np.zeros((3, 2)), np.zeros(3)):
            self.save(value)
            with self.subTest(shape=value.shape), self.assertRaisesRegex(TypeError, "the file holds"):
                f()

    def test_files_that_are_missing(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "nowhere"):
            function([], io.load(self.folder / "nowhere.npy", "float64", (False,)))()

    def test_objects_are_not_read(self) -> None:
        path = self.save(np.array([{}], dtype=object))
        with self.assertRaisesRegex(ValueError, "allow_pickle"):
            function([], io.load(path, "float64", (False,)))()

    def test_lengths_that_do_not_fit(self) -> None:
        path = self.save(np.zeros(3))
        y = tt.dvector("y")
        with self.assertRaisesRegex((ValueError, ShapeError), "3"):
            function([y], io.load(path, "float64", (False,)) + y)(np.zeros(4))
