"""Mathematical functions that compilers vectorise by themselves."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import mpmath
import numpy as np

from theano_linker_c.kernels._source import CWriter, file_text
from theano_testing.tiers import examples

#: Each function, in numbers of more digits.
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    **{name: getattr(mpmath, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos")},
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}
HELPERS = ("sigmoid", "softplus")
TYPES = {"float64": ("double", ""), "float32": ("float", "f")}
#: With and without an instruction that multiplies and adds, by each compiler.
OPTIONS = (
    "-O2",
    "-Wall",
    "-Werror",
    "-Wno-unused-variable",
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
)
COMPILERS = [
    (path, machine)
    for path in (shutil.which("gcc"), shutil.which("clang"))
    if path is not None
    for machine in ((), ("-march=native",))
]
SPECIAL = np.array(
    [
        *(
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            5e-324,
            -5e-324,
            1e-310,
            -1e-310,
            1e-40,
            -1e-40,
            1e300,
            -1e300,
            1e30,
            -1e30,
        ),
        *(-1.0, -2.0, 1.0, 709.7, 710.0, -708.0, -740.0, -745.0, -750.0, 88.7, 88.73, -87.0, -103.0, -104.0, 1.7e308),
    ]
)


def _loop(name: str, dtype: str) -> str:
    scalar, suffix = TYPES[dtype]
    call = f"theano_{name}_{dtype}" if name in HELPERS else f"{name}{suffix}"
    writer = CWriter()

    def loop(store: bool) -> None:
        with writer.block("for (int64_t i = 0; i < n; i++)"):
            writer.line(f"const {scalar} t = {call}(x[i]);")
            if store:
                writer.line("y[i] = t;")

    writer.vector_loop(loop)
    head = f"void each_{name}_{dtype}(int64_t n, const {scalar} *x, {scalar} *y) {{"
    return "\n".join([head, *writer.lines, "}"])


def _points(name: str, dtype: str, count: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(1)
    tiny = 10.0 ** rng.uniform(-20, 1.9, count)
    values = [rng.uniform(-1, 1, count), rng.uniform(-6, 6, count), rng.uniform(-80, 80, count), tiny, -tiny]
    if name == "log":
        values += [1 + rng.uniform(-1, 1, count) * tiny]
    if name in ("sin", "cos"):
        near = np.round(rng.uniform(-30000, 30000, count)) * np.pi / 2
        values += [near, rng.uniform(-1e5, 1e5, count), 10.0 ** rng.uniform(5, 30, count)]
    x: np.ndarray[Any, Any] = np.concatenate(values).astype(dtype)
    least = {"log": 0.0, "log1p": -1.0}.get(name, -np.inf)
    return x[x > least]


@unittest.skipUnless(COMPILERS, "there is no compiler")
class TestVectorForms(unittest.TestCase):
    libraries: ClassVar[list[ctypes.CDLL]] = []

    @classmethod
    def setUpClass(cls) -> None:
        text = file_text([_loop(name, dtype) for name in FUNCTIONS for dtype in TYPES], own_forms=True)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "forms.c"
            source.write_text(text)
            for number, (compiler, machine) in enumerate(COMPILERS):
                library = Path(folder) / f"forms{number}.so"
                options = (*OPTIONS, *machine, "-shared", "-fPIC", "-o", str(library))
                subprocess.run([compiler, *options, str(source), "-lm"], check=True)
                cls.libraries.append(ctypes.CDLL(str(library)))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.libraries.clear()

    def computed(self, library: ctypes.CDLL, name: str, x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y))
        getattr(library, f"each_{name}_{x.dtype}")(ctypes.c_int64(x.size), *pointers)
        return y

    def test_errors_are_at_most_two_units_in_the_last_place(self) -> None:
        for name, function in FUNCTIONS.items():
            for dtype in TYPES:
                x = _points(name, dtype, examples(3000))
                with mpmath.workprec(200):
                    exact = [function(mpmath.mpf(float(value))) for value in x]
                    units = np.spacing(np.abs(np.array([float(value) for value in exact], dtype)))
                    for library, compiler in zip(self.libraries, COMPILERS, strict=True):
                        y = self.computed(library, name, x)
                        errors = [
                            float(abs(float(a) - b) / float(unit)) for a, b, unit in zip(y, exact, units, strict=True)
                        ]
                        k = int(np.argmax(errors))
                        # A quotient and a sum add their own roundings to those of their parts.
                        self.assertLessEqual(errors[k], 3 if name in HELPERS else 2, (name, dtype, compiler, x[k]))

    def test_special_values(self) -> None:
        for name, function in FUNCTIONS.items():
            for dtype in TYPES:
                with np.errstate(over="ignore"):
                    x = SPECIAL.astype(dtype)
                exact = np.array([_value(name, function, float(value)) for value in x])
                with np.errstate(over="ignore"):
                    exact = exact.astype(dtype)
                for library, compiler in zip(self.libraries, COMPILERS, strict=True):
                    y = self.computed(library, name, x)
                    about = f"{name} {dtype} {compiler}"
                    np.testing.assert_allclose(y, exact, rtol=float(3 * np.finfo(dtype).eps), atol=0, err_msg=about)
                    numbers = ~np.isnan(exact)
                    np.testing.assert_array_equal(np.signbit(y[numbers]), np.signbit(exact[numbers]), err_msg=about)

    def test_forms_take_the_place_of_functions_without_vectors(self) -> None:
        body = ["void f(double *x) { *x = tanh(*x) + erf(*x); }"]
        text = file_text(body, ("erf",), own_forms=True)
        self.assertIn("#define tanh theano_tanh", text)
        self.assertNotIn("#define erf", text)
        for functions in ("erf", "tanh"), ("erf", "tanh", "log1p"):
            self.assertNotIn("theano_tanh", file_text(body, functions, own_forms=True))
        self.assertNotIn("theano_tanh", file_text(body))


def _value(name: str, function: Callable[[Any], Any], x: float) -> float:
    """Give the value at a special argument, infinite where it is beyond all numbers."""
    ends = {"exp": (0, np.inf), "expm1": (-1, np.inf), "log": (np.nan, np.inf), "log1p": (np.nan, np.inf)}
    ends |= {"tanh": (-1, 1), "erf": (-1, 1), "sigmoid": (0, 1), "softplus": (0, np.inf)}
    if np.isnan(x) or (np.isinf(x) and name not in ends):
        return np.nan
    if np.isinf(x):
        return ends[name][x > 0]
    if name in ("log", "log1p"):
        u = x + (name == "log1p")
        if u <= 0:
            return -np.inf if u == 0 else np.nan
    if x == 0 and name in ("expm1", "log1p", "tanh", "erf", "sin"):
        return x
    if x > 1e3 and name in ("exp", "expm1", "sigmoid", "softplus"):
        return 1.0 if name == "sigmoid" else x if name == "softplus" else np.inf
    if x < -1e3 and name in ("exp", "sigmoid", "softplus"):
        return 0.0
    with mpmath.workprec(1200):
        return float(function(mpmath.mpf(x)))
