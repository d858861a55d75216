"""The flags that count at import, and the historical names for declaring flags."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Literal
from unittest import mock

import numpy as np

import theano
from theano import configdefaults, configparser
from theano_graph import Config, ConfigError
from theano_testing.tiers import slow

KINDS: tuple[Literal["divide", "over", "under", "invalid"], ...] = ("divide", "over", "under", "invalid")
#: Prints NumPy's reaction to errors of each kind.
NUMPY_ERRORS = f"import numpy; print(*map(numpy.geterr().get, {KINDS}))"


def run(code: str, flags: str = "", rc: str = os.devnull) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    environ = {**os.environ, "THEANO_FLAGS": flags, "THEANORC": rc}
    return subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=600, check=False
    )


class TestAtImport(unittest.TestCase):
    @slow
    def test_listing_and_numpy_errors(self) -> None:
        flags = (
            "floatX=float32,numpy.seterr_all=raise,numpy.seterr_under=print,"
            "device=cpu,force_device=True,init_gpu_device="
        )
        code = f"import theano; print(theano.config); {NUMPY_ERRORS}"
        done = run(
            f"{code}; from theano.configparser import *; print(THEANO_FLAGS, THEANO_FLAGS_DICT['floatX'])", flags
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in (
            "floatX (one of 'float64'",
            "Value:  float32\n    From:  THEANO_FLAGS",
            "%(platform)s",
            "device (",
        ):
            self.assertIn(part, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-2:], ["raise raise print raise", f"{flags} float32"])

    @slow
    def test_files_and_their_order(self) -> None:
        with TemporaryDirectory() as folder:
            first, second = Path(folder, "first"), Path(folder, "second")
            first.write_text("[global]\nfloatX = float32\nmode = FAST_COMPILE\n[gcc]\ncxxflags = -O1\n")
            second.write_text("[global]\nfloatX = float16\n[gpuarray]\nsync = True\n")
            code = "from theano import config as c; print(c.floatX, c.mode, c.gcc.cxxflags)"
            done = run(code, "gcc.cxxflags=-O2", os.pathsep.join((str(first), str(second), folder + "/none")))
        self.assertEqual(done.stdout, "float16 FAST_COMPILE -O2\n")
        # The one message is about the flag that nothing here can heed.
        self.assertEqual(done.stderr.count("Warning: "), 1)
        self.assertIn("UserWarning: the flag `gpuarray.sync` is obsolete", done.stderr)

    @slow
    def test_unknown_flags_are_told(self) -> None:
        done = run(f"import theano; {NUMPY_ERRORS}", "flotX=float32")
        self.assertEqual((done.returncode, done.stdout), (0, "ignore ignore ignore ignore\n"))
        self.assertIn("sets `flotX`, which is no flag and has no effect: did you mean `floatX`?", done.stderr)

    @slow
    def test_wrong_values_stop_the_import(self) -> None:
        for flags, message in (
            ("floatX=float31", "`floatX` cannot be 'float31' (from THEANO_FLAGS)"),
            ("floatX", "entry without a value"),
            ("device=GPU", "in lower case"),
        ):
            with self.subTest(flags):
                done = run("import theano", flags)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(message, done.stderr)

    @slow
    def test_devices(self) -> None:
        for flags, returncode, message in (
            ("device=cuda99", 0, "UserWarning: device=cuda99 cannot be used, and functions run on the CPU: "),
            ("device=opencl99:0,force_device=True", 1, "ConfigError: device=opencl99:0, force_device=True: "),
            ("init_gpu_device=cuda99", 1, "ConfigError: init_gpu_device=cuda99: "),
        ):
            with self.subTest(flags):
                done = run("import theano", flags)
                self.assertEqual(done.returncode, returncode)
                self.assertIn(message, done.stderr)

    def test_devices_cannot_be_changed(self) -> None:
        with self.assertRaisesRegex(ConfigError, "THEANO_FLAGS=device=cuda"):
            theano.config.device = "cuda"


class TestHistoricalNames(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Config({"THEANO_FLAGS": "tool.depth=4,tool.bad=x", "THEANORC": ""})

    def add(self, name: str, param: Any) -> None:
        configparser.AddConfigVar(name, "A test.", param, root=self.root, in_c_key=False)

    def test_kinds(self) -> None:
        self.add("tool.depth", configparser.IntParam(3, lambda n: n > 0))
        self.add("tool.ratio", configparser.FloatParam(0.5))
        self.add("tool.name", configparser.StrParam(lambda: "made"))
        self.add("tool.loud", configparser.BoolParam(False))
        self.add("tool.kind", configparser.EnumStr("a", "b"))
        self.add("tool.set", configparser.TypedParam(frozenset("a"), frozenset))
        tool = self.root.tool
        self.assertEqual((tool.depth, tool.ratio, tool.name, tool.loud, tool.kind), (4, 0.5, "made", False, "a"))
        tool.loud, tool.kind, tool.set = "True", "b", "xyy"
        self.assertEqual((tool.loud, tool.kind, tool.set), (True, "b", {"x", "y"}))
        for name, value in (("depth", 0), ("depth", "x"), ("kind", "c"), ("loud", "maybe"), ("set", 3)):
            with self.subTest(name), self.assertRaisesRegex(ConfigError, f"`tool.{name}` cannot be"):
                setattr(tool, name, value)
        with self.assertRaisesRegex(ConfigError, "have to be text"):
            configparser.EnumStr("a", 1)  # type: ignore[arg-type]

    def test_filters_and_fixed_flags(self) -> None:
        self.add("tool.even", configparser.ConfigParam(2, filter=lambda n: int(n) // 2 * 2))
        self.root.tool.even = "5"
        self.assertEqual(self.root.tool.even, 4)
        self.add("tool.root", configparser.StrParam("here", allow_override=False))
        with self.assertRaisesRegex(ConfigError, "cannot be changed once"):
            self.root.tool.root = "there"

    def test_wrong_settings_show_at_the_declaration(self) -> None:
        with self.assertRaisesRegex(ConfigError, "`tool.bad` cannot be 'x' .from THEANO_FLAGS"):
            self.add("tool.bad", configparser.IntParam(1))

    def test_change_flags(self) -> None:
        before = theano.config.floatX

        @configparser.change_flags({"gcc.cxxflags": "-O1"}, floatX="float16")
        def inside() -> tuple[str, str]:
            return theano.config.floatX, theano.config.gcc.cxxflags

        self.assertEqual(inside(), ("float16", "-O1"))
        with self.assertRaises(KeyError), configparser.change_flags([("floatX", "float16")]):
            self.assertEqual(theano.config.floatX, "float16")
            raise KeyError
        self.assertEqual(theano.config.floatX, before)


class TestNumpyErrors(unittest.TestCase):
    def test_flags(self) -> None:
        for flags, expected in (
            ({"all": "None"}, ["warn", "warn", "ignore", "warn"]),
            ({"all": "None", "divide": "raise"}, ["raise", "warn", "ignore", "warn"]),
            ({"all": "ignore"}, ["ignore"] * 4),
        ):
            section = SimpleNamespace(**{f"seterr_{name}": flags.get(name, "None") for name in ("all", *KINDS)})
            with (
                self.subTest(flags),
                np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
                mock.patch.object(configdefaults, "config", SimpleNamespace(numpy=section)),
            ):
                configdefaults.apply_numpy_errors()
                self.assertEqual([np.geterr()[kind] for kind in KINDS], expected)

    def test_no_warnings_from_overflows(self) -> None:
        x = theano.tensor.dvector("x")
        f = theano.function([x], theano.tensor.exp(x), mode="FAST_COMPILE")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertTrue(np.isinf(f([1000.0])[0]))
