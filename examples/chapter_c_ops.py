"""Ops in C: code as text, code in a file of its own with sections and macros, parameters, constants from headers.

Run ``python examples/chapter_c_ops.py``; every statement about the results is checked. It needs a C++ compiler.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof

# A file of C code: sections, and macros that know the types and the node.
SOURCE = """\
#section support_code
static int same_length(PyArrayObject *a, PyArrayObject *b) {
  return PyArray_DIMS(a)[0] == PyArray_DIMS(b)[0];
}

#section support_code_apply
static void APPLY_SPECIFIC(multiply)(PyArrayObject *x, PyArrayObject *y, PyArrayObject *z) {
  npy_intp i, n = PyArray_DIMS(x)[0];
  for (i = 0; i < n; i++)
    *(DTYPE_OUTPUT_0 *)PyArray_GETPTR1(z, i) =
        *(DTYPE_INPUT_0 *)PyArray_GETPTR1(x, i) * *(DTYPE_INPUT_1 *)PyArray_GETPTR1(y, i);
}

int APPLY_SPECIFIC(times)(PyArrayObject *x, PyArrayObject *y, PyArrayObject **z) {
  if (!same_length(x, y)) {
    PyErr_Format(PyExc_ValueError, "times: lengths %d and %d", (int)PyArray_DIMS(x)[0], (int)PyArray_DIMS(y)[0]);
    return 1;
  }
  if (*z == NULL || !same_length(x, *z)) {
    Py_XDECREF(*z);
    *z = (PyArrayObject *)PyArray_EMPTY(1, PyArray_DIMS(x), TYPENUM_OUTPUT_0, 0);
    if (*z == NULL)
      return 1;
  }
  APPLY_SPECIFIC(multiply)(x, y, *z);
  return 0;
}
"""


def times_op(folder: Path) -> gof.COp:
    """Make an op whose code is in a file."""
    path = folder / "times.c"
    path.write_text(SOURCE, encoding="ascii")

    class Times(gof.COp):
        """The product of two vectors, element by element."""

        __props__ = ()

        def __init__(self) -> None:
            super().__init__(str(path), "APPLY_SPECIFIC(times)")

        def make_node(self, *inputs: Any) -> gof.Apply:
            x, y = (T.as_tensor_variable(v) for v in inputs)
            return gof.Apply(self, [x, y], [T.vector(dtype=theano.scalar.upcast(x.dtype, y.dtype))])

    return Times()


def code_in_a_file(folder: Path) -> None:
    """One file serves all types: the macros tell which they are."""
    times = times_op(folder)
    for first, second in (("float64", "float64"), ("float32", "float64"), ("int8", "int16")):
        x, y = T.vector("x", first), T.vector("y", second)
        f = theano.function([x, y], times(x, y))
        result = f(np.array([1, 2, 3], first), np.array([4, 5, 6], second))
        assert (result.tolist(), result.dtype) == ([4, 10, 18], np.result_type(first, second))
    x = T.dvector("x")
    f = theano.function([x], times(x[::2], x[1::2]))
    assert f(np.arange(6.0)).tolist() == [0.0, 6.0, 20.0]
    try:
        f(np.arange(5.0))
    except ValueError as error:
        assert "times: lengths 3 and 2" in str(error)
    else:
        raise AssertionError("the lengths differ")


class Polynomial(gof.Op):
    """``a x^2 + b x + c`` of a number; the coefficients are parameters, so that all such ops share their code."""

    __props__ = ("a", "b", "c")
    params_type = gof.ParamsType(a=theano.scalar.float64, b=theano.scalar.float64, c=theano.scalar.float64)

    def __init__(self, a: float, b: float, c: float) -> None:
        self.a, self.b, self.c = a, b, c

    def make_node(self, *inputs: Any) -> gof.Apply:
        return gof.Apply(self, [T.as_tensor_variable(x) for x in inputs], [T.dscalar()])

    def perform(
        self, node: gof.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: Any = None
    ) -> None:
        (x,) = inputs
        output_storage[0][0] = np.asarray(params.a * x**2 + params.b * x + params.c)

    def c_code(self, node: gof.Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        (x,), (z,), fail, p = inputs, outputs, sub["fail"], sub["params"]
        return f"""
        double value = *(double *)PyArray_DATA({x});
        Py_XDECREF({z});
        {z} = (PyArrayObject *)PyArray_EMPTY(0, NULL, NPY_DOUBLE, 0);
        if ({z} == NULL) {fail}
        *(double *)PyArray_DATA({z}) = {p}->a * value * value + {p}->b * value + {p}->c;
        """

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


def parameters() -> None:
    """The same results in C and in Python."""
    x = T.dscalar("x")
    for linker in ("cvm", "py"):
        f = theano.function([x], [Polynomial(1, 2, 3)(x), Polynomial(0, -1, 0.5)(x)], mode=theano.Mode(linker))
        assert [float(value) for value in f(2.0)] == [11.0, -1.5]
    assert Polynomial(1, 2, 3) == Polynomial(1, 2, 3) != Polynomial(1, 2, 4)


def constants_of_a_header() -> None:
    """Names of C constants stand for values that only the compiler knows, or for numbers that are given."""
    colours = gof.EnumList("RED", "GREEN", ("BLUE", "b"), ctype="int")
    assert (colours.RED, colours.GREEN, colours.fromalias("b")) == (0, 1, 2)
    scales = gof.EnumType(KILO=1000, MEGA=1000000)
    assert scales.MEGA == scales.KILO**2


def functions_in_python() -> None:
    """A function becomes an op in one line, where speed does not matter."""

    @theano.compile.ops.as_op(itypes=[T.dmatrix], otypes=[T.dvector])
    def diagonal(x: Any) -> Any:
        return np.diagonal(x).copy()

    m = T.dmatrix("m")
    assert theano.function([m], diagonal(m) + 1)(np.eye(2)).tolist() == [2.0, 2.0]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        code_in_a_file(Path(name))
    parameters()
    constants_of_a_header()
    functions_in_python()
    print("C ops: 3 pairs of types from one file")


if __name__ == "__main__":
    main()
