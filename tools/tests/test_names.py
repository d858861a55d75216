from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import generate_names

DATA = """
["theano.tensor"]
mirrors = ".basic"
"." = "basic"
lazy."." = "signal"

["theano.tensor.basic"]
"import" = "np=numpy"
"theano_tensor" = "Argmax=ArgMax sum"
lazy."theano_testing.tensor" = "verify_grad"
"""
MODULE = f"""'''Names.'''

{generate_names.BEGIN}
{generate_names.END}

power = pow
_hidden = 1


def by_hand() -> None: ...
"""


class TestGeneratedNames(unittest.TestCase):
    """Two modules whose names come from one table."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name)
        (folder / "tensor").mkdir()
        self.package, self.basic = folder / "tensor" / "__init__.py", folder / "tensor" / "basic.py"
        self.package.write_text(MODULE.replace("power = pow", ""))
        self.basic.write_text(MODULE)
        self.data = folder / "names.toml"
        self.data.write_text(DATA)
        for name, value in (("UMBRELLA", folder), ("DATA", self.data), ("packages", list)):
            patch = mock.patch.object(generate_names, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def generate(self, *arguments: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = generate_names.main(list(arguments))
        return status, said.getvalue()

    def test_names_are_written_and_stay(self) -> None:
        status, said = self.generate()
        self.assertEqual(status, 0)
        self.assertEqual(said.count("was brought up to date"), 2)
        text = self.basic.read_text()
        self.assertIn("import numpy as np\n", text)
        self.assertIn("from theano_tensor import ArgMax as Argmax, sum as sum\n", text)
        self.assertIn('"theano_testing.tensor": "verify_grad",', text)
        self.assertIn("power = pow", text)
        self.assertEqual(self.generate(), (0, ""))
        self.assertEqual(self.generate("--check"), (0, ""))

    def test_a_package_has_the_public_names_of_its_module(self) -> None:
        self.generate()
        text = self.package.read_text()
        self.assertIn("from . import basic as basic\n", text)
        names = "Argmax as Argmax, by_hand as by_hand, np as np, power as power, sum as sum"
        self.assertIn(f"from .basic import {names}\n", text)
        self.assertIn('".": "signal",', text)
        self.assertIn('".basic": "verify_grad",', text)
        self.assertIn("from .._names import lazy_names", text)
        self.assertNotIn("_hidden as", text)

    def test_a_change_of_the_table_is_noticed(self) -> None:
        self.generate()
        self.data.write_text(DATA.replace("sum", "sum prod"))
        status, said = self.generate("--check")
        self.assertEqual(status, 1)
        self.assertEqual(said, "theano.tensor is out of date\ntheano.tensor.basic is out of date\n")
        self.assertNotIn("prod as prod", self.basic.read_text())

    def test_a_module_without_markers_is_refused(self) -> None:
        self.basic.write_text("x = 1\n")
        with self.assertRaisesRegex(SystemExit, "has no lines"):
            self.generate()

    def test_long_lists_are_packed(self) -> None:
        names = " ".join(f"a_rather_long_name_{i}" for i in range(40))
        lines = list(generate_names.import_lines("theano_tensor", names))
        self.assertLess(len(lines), 30)
        self.assertLessEqual(max(map(len, lines)), generate_names.WIDTH)
        lines = list(generate_names.lazy_lines("theano_tensor", names))
        self.assertLessEqual(max(map(len, lines)), generate_names.WIDTH)
        self.assertIn("a_rather_long_name_39", lines[-2])
