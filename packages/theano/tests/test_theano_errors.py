"""The items of an error of a running function, on native and Python machines."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano_testing.tiers import slow

#: It raises the error on a machine of each kind, one after the other.
PROGRAM = """\
import sys, traceback, numpy as np
import theano
import theano.tensor as T

def scaled(values, factor):
    return values * factor

x = T.dvector("x")
y = T.dvector("y")
w = theano.shared(np.ones(7), "w")
total = scaled(x, 2) + y
for linker in "cvm", "py":
    with theano.config.change_flags(linker=linker):
        f = theano.function([x, y], [total, w.sum()])
    try:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    except ValueError:
        if linker == "py":
            raise
        traceback.print_exc()
    print("END OF MACHINE", file=sys.stderr)
"""


class Failing(theano.Op):
    """An op of a user that does not work."""

    __props__ = ()

    def make_node(self, *inputs: Any) -> theano.Apply:
        return theano.Apply(self, list(inputs), [T.dmatrix()])

    def perform(self, node: theano.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        raise ArithmeticError("it cannot be done")


@slow
class TestAnatomy(unittest.TestCase):
    def run_program(self, flags: str, program: str = PROGRAM) -> dict[str, str]:
        """Return the message, by kind of machine."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "program.py")
            path.write_text(program)
            done = subprocess.run(
                [sys.executable, str(path)],
                env={**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull},
                capture_output=True, text=True, timeout=600, check=False,
            )  # fmt: skip
            self.assertEqual(done.returncode, 1)
            texts = done.stderr.replace(str(path), "program.py").split("END OF MACHINE\n")
            return dict(zip(("cvm", "py"), texts, strict=True))

    def test_each_item(self) -> None:
        for linker, text in self.run_program("").items():
            for item in (
                "ValueError: Input dimension mis-match. (input[0].shape[0] = 2, input[1].shape[0] = 3)",
                "called at program.py:11",
                "`x`: float64[None] made at program.py:8; got float64 of shape (2,), strides (8,), values [1.0, 2.0]",
                "`y`: float64[None] made at program.py:9; got float64 of shape (3,), strides (8,), values [1.0, 2.0, ",
                'created:\n    File "program.py", line 11, in <module>\n      total = scaled(x, 2) + y\n',
                "Apply node that caused the error: Elemwise{Composite{",
                "Toposort index: ",
                "HINT: with the flag optimizer=fast_compile, or optimizer=None",
                "HINT: the flag exception_verbosity=high",
                "Hint: ",
            ):
                with self.subTest(linker=linker, item=item):
                    self.assertIn(item, text)

    def test_without_rewriting_the_very_line(self) -> None:
        for linker, text in self.run_program("optimizer=None,exception_verbosity=high").items():
            for item in (
                "in `Elemwise{add,no_inplace}`, called at program.py:11",
                "`Elemwise{mul,no_inplace}.0`: float64[None] made at program.py:6; got float64 of shape (2,)",
                "Debugprint of the apply node:\n    Elemwise{add,no_inplace} [id A] <TensorType(float64, vector)> ''",
                "Storage map (",
                "`w` (shared): float64 of shape (7,), 56 bytes",
                "`y` (operand): float64 of shape (3,), 24 bytes",
            ):
                with self.subTest(linker=linker, item=item):
                    self.assertIn(item, text)
            self.assertNotIn("HINT", text)
            self.assertNotIn("in scaled", text)  # the line that failed is another

    def test_functions_that_made_the_node(self) -> None:
        for text in self.run_program("", PROGRAM.replace("scaled(x, 2) + y", "scaled(x, y)")).values():
            self.assertRegex(
                text, r"line 11, in <module>\n +total = scaled\(x, y\)\n +File .*line 6, in scaled\n +return values"
            )


class TestOwnOps(unittest.TestCase):
    def test_python_code(self) -> None:
        m = T.dmatrix("m")
        for linker in ("cvm", "py"):
            f = theano.function([m], Failing()(m.T) * 2, mode=theano.Mode(linker, "fast_run"))
            with self.assertRaises(ArithmeticError) as caught:
                f(np.arange(6.0).reshape(2, 3))
            text = str(caught.exception)
            self.assertTrue(text.startswith("it cannot be done\n  in `Failing`, called at test_theano_errors.py:"))
            self.assertIn("got float64 of shape (3, 2), strides (8, 24)", text)
            self.assertIn("Failing()(m.T) * 2", text)
            self.assertIn("Apply node that caused the error: Failing(m.T)", text)

    def test_indices_products_and_choices(self) -> None:
        x, i = T.dmatrix("x"), T.lscalar("i")
        cases = (
            ([x, i], x[i], (np.ones((2, 2)), 5), IndexError, "Subtensor"),
            ([x], T.dot(x, T.ones((3, 3))), (np.ones((2, 2)),), ValueError, "Dot22|Dot|dot"),
            ([x], x.reshape((5, 5)), (np.ones((2, 2)),), ValueError, "Reshape"),
            ([x, i], T.join(i, x, x), (np.ones((2, 2)), 4), ValueError, "Join"),
        )
        for inputs, out, values, kind, op in cases:
            for linker in ("cvm", "py"):
                f = theano.function(inputs, out, mode=theano.Mode(linker, "fast_run"))
                with self.subTest(op, linker=linker), self.assertRaisesRegex(kind, f"Apply node .*({op})") as caught:
                    f(*values)
                text = str(caught.exception)
                for part in ("called at test_theano_errors.py", "Toposort index", "Backtrace when", "HINT: "):
                    self.assertIn(part, text)

    def test_arguments_are_told_before_anything_runs(self) -> None:
        x = T.dmatrix("x")
        f = theano.function([x], x + 1, name="shifted")
        with self.assertRaisesRegex(TypeError, r"(?s)`x`.*shifted|shifted.*`x`"):
            f(np.ones(3))
