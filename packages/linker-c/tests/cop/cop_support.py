"""Types, ops and measures for tests of C code that ops bring along; no layer above is needed."""

# ruff: noqa: UP031  (C code is written with the templates that the contract speaks of)

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Constant, Op, Type, Variable
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.cop import ArrayInterface
from theano_linker_c.program import ArraySpec

#: Linkers of both machines.
LINKERS = ("cvm", "vm")


class ArrayType(ArrayInterface, Type):
    """Arrays of one dtype and number of dimensions."""

    def __init__(self, dtype: str = "float64", ndim: int = 1) -> None:
        self.dtype = dtype
        self.shape: tuple[int | None, ...] = (None,) * ndim

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayType) and (self.dtype, self.ndim) == (other.dtype, other.ndim)

    def __hash__(self) -> int:
        return hash((self.dtype, self.ndim))

    def array_spec(self) -> ArraySpec:
        return ArraySpec(self.dtype, self.shape)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        if strict and not (isinstance(value, np.ndarray) and value.dtype == self.dtype):
            raise TypeError(f"{type(value).__name__} is no array of {self.dtype}")
        array = np.asarray(value, self.dtype)
        if array.ndim != self.ndim:
            raise TypeError(f"{self.ndim} dimensions are wanted, got {array.ndim}")
        return array

    def values_eq(self, a: Any, b: Any) -> bool:
        return bool(np.array_equal(a, b, equal_nan=True))


def vector(name: str, dtype: str = "float64") -> Any:
    return ArrayType(dtype, 1)(name)


class Double(Type):
    """Python floats; the C side in the form that the manual prints, without `check_input`."""

    def filter(self, x: Any, strict: bool = False, allow_downcast: bool | None = None) -> float:
        if strict and not isinstance(x, float):
            raise TypeError("Expected a float!")
        return float(x)

    def values_eq_approx(self, x: float, y: float, tolerance: float = 1e-4) -> bool:
        return abs(x - y) / (x + y) < tolerance

    def __str__(self) -> str:
        return "double"

    def c_declare(self, name: str, sub: dict[str, str]) -> str:
        return """
        double %(name)s;
        """ % {"name": name}

    def c_init(self, name: str, sub: dict[str, str]) -> str:
        return """
        %(name)s = 0.0;
        """ % {"name": name}

    def c_extract(self, name: str, sub: dict[str, str]) -> str:
        return """
        if (!PyFloat_Check(py_%(name)s)) {
            PyErr_SetString(PyExc_TypeError, "expected a float");
            %(fail)s
        }
        %(name)s = PyFloat_AsDouble(py_%(name)s);
        """ % dict(sub, name=name)

    def c_sync(self, name: str, sub: dict[str, str]) -> str:
        return """
        Py_XDECREF(py_%(name)s);
        py_%(name)s = PyFloat_FromDouble(%(name)s);
        if (!py_%(name)s) {
            printf("PyFloat_FromDouble failed on: %%f\\n", %(name)s);
            Py_XINCREF(Py_None);
            py_%(name)s = Py_None;
        }
        """ % {"name": name}

    def c_cleanup(self, name: str, sub: dict[str, str]) -> str:
        return ""


double = Double()


class BinaryDoubleOp(Op):
    """Arithmetic on doubles, in Python and in C."""

    __props__ = ("name", "ccode")

    def __init__(self, name: str, fn: Callable[[float, float], float], ccode: str) -> None:
        self.name = name
        self.fn = fn
        self.ccode = ccode

    def make_node(self, *inputs: Any) -> Apply:
        x, y = (Constant(double, v) if isinstance(v, (int, float)) else v for v in inputs)
        if x.type != double or y.type != double:
            raise TypeError(f"{self.name} only works on doubles")
        return Apply(self, [x, y], [double()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        x, y = inputs
        output_storage[0][0] = self.fn(x, y)

    def c_code(self, node: Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, str]) -> str:
        (x, y), (z,) = inp, out
        return self.ccode % {"x": x, "y": y, "z": z, **sub}


add = BinaryDoubleOp("add", lambda x, y: x + y, "%(z)s = %(x)s + %(y)s;")
sub = BinaryDoubleOp("sub", lambda x, y: x - y, "%(z)s = %(x)s - %(y)s;")
mul = BinaryDoubleOp("mul", lambda x, y: x * y, "%(z)s = %(x)s * %(y)s;")
div = BinaryDoubleOp("div", lambda x, y: x / y, "%(z)s = %(x)s / %(y)s;")


class COnly(Op):
    """An op of one input and one output of the same type with C code only; all parts are attributes.

    ``%(x)s``, ``%(z)s``, ``%(name)s``, ``%(fail)s`` and ``%(params)s`` are filled in.
    """

    def __init__(self, code: str, **parts: Any) -> None:
        self.code = code
        self.output: Type | None = parts.pop("output", None)
        for method in [m for m in parts if m.startswith("c_")]:
            value = parts.pop(method)
            setattr(self, method, value if callable(value) else self._constant(value))
        for attribute, value in parts.items():
            setattr(self, attribute, value)

    @staticmethod
    def _constant(value: Any) -> Callable[..., Any]:
        def method(*args: Any) -> Any:
            if not isinstance(value, str):
                return value
            node_name = args[1] if len(args) > 1 else ""
            extra = args[2] if len(args) == 3 else {}
            return value.replace("@", node_name).replace("FAIL;", extra.get("fail", ""))

        return method

    def c_code_cache_version(self) -> tuple[Any, ...]:
        return (1,)

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [(self.output or inputs[0].type)()])

    def c_code(self, node: Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, str]) -> str:
        names = {"x": inp[0], "y": inp[-1], "z": out[0], "name": name, **sub}
        return self.code % names


#: C code that makes the output a copy of the input.
COPY = """
Py_XDECREF(%(z)s);
%(z)s = (PyArrayObject *)PyArray_NewCopy(%(x)s, NPY_CORDER);
if (%(z)s == NULL)
    %(fail)s
"""


class BuildTestCase(unittest.TestCase):
    """A test with a compile directory of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cop-tests-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "compiled")
        # Arguments from outside are kept, so that the code can be tested under sanitizers.
        extra = CompilerOptions.from_config().extra
        self.options = CompilerOptions(command="gcc", directory=self.path, extra=extra)

    def kept_objects(self) -> int:
        """Return how many compiled files lie in the directory."""
        folder = os.path.join(self.path, "objects")
        return len(os.listdir(folder)) if os.path.isdir(folder) else 0


def references(*values: Any) -> list[int]:
    return [sys.getrefcount(value) for value in values]


def node_of(variable: Variable) -> Apply:
    node = variable.owner
    assert node is not None, "the variable is computed"
    return node
