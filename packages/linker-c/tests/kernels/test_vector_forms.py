"""Mathematical functions that compilers vectorise by themselves."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import unittest
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import erf

from theano_linker_c.kernels._source import file_text

NAMES = ("expm1", "log1p", "tanh", "erf")
LOOP = "void each_{0}(long n, const {1} *x, {1} *y) {{ for (long i = 0; i < n; i++) y[i] = theano_{0}(x[i]); }}"
COMPILER = shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e300, -1.0, -2.0, 709.7, 710.0, -1e300, 1e-310]
)


@unittest.skipIf(COMPILER is None, "there is no compiler")
class TestVectorForms(unittest.TestCase):
    library: ClassVar[ctypes.CDLL]

    @classmethod
    def setUpClass(cls) -> None:
        header = resources.files("theano_linker_c").joinpath("c/elementwise/vector_math.h").read_text(encoding="utf-8")
        loops = [LOOP.format(name, "double") for name in NAMES] + [LOOP.format(f"{name}f", "float") for name in NAMES]
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "forms.c", Path(folder) / "forms.so"
            source.write_text("\n".join([header, *loops]))
            options = ("-O2", "-Wall", "-Werror", "-fno-math-errno", "-ffp-contract=off", "-shared", "-fPIC")
            subprocess.run([str(COMPILER), *options, "-o", str(library), str(source)], check=True)
            cls.library = ctypes.CDLL(str(library))

    def computed(self, name: str, x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        suffix = "f" if x.dtype == np.float32 else ""
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y))
        getattr(self.library, f"each_{name}{suffix}")(ctypes.c_long(x.size), *pointers)
        return y

    def test_errors_are_at_most_two_units_in_the_last_place(self) -> None:
        rng = np.random.default_rng(1)
        sizes = 10.0 ** rng.uniform(-20, 2, 20000)
        values = np.concatenate([rng.uniform(-1, 1, 50000), rng.uniform(-6, 6, 50000), sizes, -sizes])
        for name in NAMES:
            for dtype in (np.float64, np.float32):
                x: np.ndarray[Any, Any] = values.astype(dtype)
                x = x[(x > -1) & (x < 80)] if name == "log1p" else x[np.abs(x) < 80]
                y = self.computed(name, x)
                # The reference has more digits than the result where there are any, and else an error of its own.
                wide = x.astype(np.longdouble if name != "erf" else np.float64)
                exact = erf(wide) if name == "erf" else getattr(np, name)(wide)
                own = 1 if name == "erf" and dtype == np.float64 else 0
                errors = np.abs(y - exact) / np.spacing(np.abs(exact).astype(dtype))
                self.assertLessEqual(float(errors.max()), 2 + own, (name, dtype, x[errors.argmax()]))

    def test_special_values(self) -> None:
        for name in NAMES:
            with np.errstate(all="ignore"):
                wanted = erf(SPECIAL) if name == "erf" else getattr(np, name)(SPECIAL)
            found = self.computed(name, SPECIAL)
            np.testing.assert_allclose(found, wanted, rtol=5e-16, atol=0, err_msg=name)
            numbers = ~np.isnan(wanted)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]), err_msg=name)

    def test_forms_take_the_place_of_functions_without_vectors(self) -> None:
        body = ["void f(double *x) { *x = tanh(*x) + erf(*x); }"]
        text = file_text(body, ("erf",), own_forms=True)
        self.assertIn("#define tanh theano_tanh", text)
        self.assertNotIn("#define erf", text)
        for functions in ("erf", "tanh"), ("erf", "tanh", "log1p"):
            self.assertNotIn("theano_tanh", file_text(body, functions, own_forms=True))
        self.assertNotIn("theano_tanh", file_text(body))
