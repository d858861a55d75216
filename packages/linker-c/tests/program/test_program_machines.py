"""Choice of the machine, threads after a fork, settings."""

from __future__ import annotations

import os
import unittest
import warnings
from unittest import mock

import numpy as np
from support import Elementwise, array, hooks_of, machines, program_of

from theano_linker_c import _runtime, targets
from theano_linker_c.program import PythonMachine
from theano_linker_c.runtime import _native_machine
from theano_linker_c.scalar import add, exp
from theano_linker_c.targets import PYTHON, C


class TestChoice(unittest.TestCase):
    def test_native_by_default(self) -> None:
        x = array("float64")
        program = program_of([x], [Elementwise(add)(x, x)])
        self.assertIsInstance(C.machine(program, hooks_of(program)), _runtime.Machine)
        self.assertIsInstance(PYTHON.machine(program, hooks_of(program)), PythonMachine)

    def test_without_the_extension_one_warning(self) -> None:
        x = array("float64")
        program = program_of([x], [Elementwise(add)(x, x)])
        targets._warn_once.cache_clear()
        with mock.patch.object(_native_machine, "HAS_RUNTIME", False):
            with self.assertWarnsRegex(UserWarning, "install a C compiler"):
                machine = C.present.machine(program, hooks_of(program))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                C.present.machine(program, hooks_of(program))
        self.assertIsInstance(machine, PythonMachine)
        self.assertEqual(machine(2.0), 4.0)

    def test_no_buffers_where_none_are_wanted(self) -> None:
        x = array("float64", None)
        program = program_of([x], [Elementwise(exp)(x)])
        machine = C.machine(program, hooks_of(program), buffer_limit=0)
        machine(np.ones(10))
        self.assertIsInstance(machine, _runtime.Machine)
        self.assertEqual(getattr(machine, "buffered_bytes", None), 0)


class TestFork(unittest.TestCase):
    def test_a_child_makes_threads_of_its_own(self) -> None:
        before, threshold = _runtime.get_num_threads(), _runtime.set_thread_threshold(1.0)
        _runtime.set_num_threads(3)
        try:
            x = array("float64", None)
            native, _ = machines([x], [Elementwise(exp)(x)])
            value = np.random.default_rng(0).normal(size=400_000)
            expected = native(value).copy()
            child = os.fork()
            if child == 0:
                os._exit(0 if (native(value) == expected).all() else 1)
            _, status = os.waitpid(child, 0)
            self.assertEqual(status, 0)
            np.testing.assert_array_equal(native(value), expected)
        finally:
            _runtime.set_num_threads(before)
            _runtime.set_thread_threshold(threshold)


class TestSettings(unittest.TestCase):
    def test_threads(self) -> None:
        before = _runtime.get_num_threads()
        try:
            _runtime.set_num_threads(0)
            self.assertEqual(_runtime.get_num_threads(), 1)
            with self.assertRaises(TypeError):
                _runtime.set_num_threads("two")  # type: ignore[arg-type]  # wrong on purpose
        finally:
            _runtime.set_num_threads(before)
