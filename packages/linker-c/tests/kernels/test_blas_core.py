"""Which processor OpenBLAS is told to run on."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from theano_linker_c.kernels._blas_core import best_core, core_type

FLAGS = "fpu avx2 avx512f avx512dq avx512cd avx512bw avx512vl"


def facts(vendor: str, flags: str) -> str:
    return f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n\nprocessor\t: 1\nvendor_id\t: {vendor}\n"


class TestCoreType(unittest.TestCase):
    def test_wide_vectors_of_amd(self) -> None:
        self.assertEqual(core_type(facts("AuthenticAMD", FLAGS)), "SkylakeX")

    def test_not_where_one_feature_is_missing(self) -> None:
        self.assertIsNone(core_type(facts("AuthenticAMD", FLAGS.replace(" avx512vl", ""))))

    def test_others_are_known_to_openblas(self) -> None:
        self.assertIsNone(core_type(facts("GenuineIntel", FLAGS)))
        self.assertIsNone(core_type(""))


class TestBestCore(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "cpuinfo")
        self.file.write_text(facts("AuthenticAMD", FLAGS))

    def test_told_inside_only(self) -> None:
        with mock.patch.dict(os.environ), mock.patch("sys.platform", "linux"):
            os.environ.pop("OPENBLAS_CORETYPE", None)
            with best_core(self.file):
                self.assertEqual(os.environ["OPENBLAS_CORETYPE"], "SkylakeX")
            self.assertNotIn("OPENBLAS_CORETYPE", os.environ)

    def test_the_user_decides(self) -> None:
        with mock.patch.dict(os.environ, {"OPENBLAS_CORETYPE": "Haswell"}):
            with best_core(self.file):
                self.assertEqual(os.environ["OPENBLAS_CORETYPE"], "Haswell")
            self.assertEqual(os.environ["OPENBLAS_CORETYPE"], "Haswell")

    def test_no_file(self) -> None:
        with mock.patch.dict(os.environ), mock.patch("sys.platform", "linux"):
            os.environ.pop("OPENBLAS_CORETYPE", None)
            with best_core(self.file.with_name("none")):
                self.assertNotIn("OPENBLAS_CORETYPE", os.environ)
