"""Findings of DebugMode in C code of ops."""

from __future__ import annotations

import sys
import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
from cop.cop_support import ArrayType, mul as mul_doubles, vector

from theano_graph import Apply, Op
from theano_linker_c import DebugMode, Function, Mode, function
from theano_linker_c.debugmode import BadDestroyMap, BadThunkOutput, BadViewMap

V = np.array([1.0, 2.0, 3.0])

ALLOCATE = """
    if (%(z)s == NULL || PyArray_DIM(%(z)s, 0) != PyArray_DIM(%(x)s, 0)) {
        Py_XDECREF(%(z)s);
        %(z)s = (PyArrayObject *)PyArray_ZEROS(1, PyArray_DIMS(%(x)s), NPY_DOUBLE, 0);
        if (%(z)s == NULL) { %(fail)s }
    }
"""
LOOP = """
    for (npy_intp i = 0; i < PyArray_DIM(%(x)s, 0); i++)
        *(double *)PyArray_GETPTR1(%(z)s, i) OPERATION FACTOR * *(double *)PyArray_GETPTR1(%(x)s, i);
"""
GOOD = ALLOCATE + LOOP.replace("OPERATION", "=").replace("FACTOR", "2")
WRONG = ALLOCATE + LOOP.replace("OPERATION", "=").replace("FACTOR", "3")
ADDS = ALLOCATE + LOOP.replace("OPERATION", "+=").replace("FACTOR", "2")
CONTIGUOUS = (
    ALLOCATE
    + "for (npy_intp i = 0; i < PyArray_DIM(%(x)s, 0); i++) "
    + ("((double *)PyArray_DATA(%(z)s))[i] = 2 * *(double *)PyArray_GETPTR1(%(x)s, i);")
)
ANY_SIZE = (
    "if (%(z)s == NULL) {"
    + ALLOCATE
    + "}"
    + (
        "for (npy_intp i = 0; i < PyArray_DIM(%(x)s, 0) && i < PyArray_DIM(%(z)s, 0); i++)"
        " *(double *)PyArray_GETPTR1(%(z)s, i) = 2 * *(double *)PyArray_GETPTR1(%(x)s, i);"
    )
)
SPOILS = GOOD + "*(double *)PyArray_GETPTR1(%(x)s, 0) = -5;"
VIEW = "Py_XDECREF(%(z)s); Py_INCREF(%(x)s); %(z)s = %(x)s;"
FAILS = 'PyErr_SetString(PyExc_LookupError, "not to be found"); %(fail)s'


class Doubling(Op):
    """Doubles a vector in Python, and runs the text of the test in C."""

    __props__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [ArrayType("float64", 1)()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = 2 * inputs[0]

    def c_code(self, node: Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, str]) -> str:
        return self.code % {"x": inp[0], "z": out[0], **sub}

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


def debugged(code: str, *layouts: str) -> Function:
    """Return a function of the op under DebugMode."""
    x = vector("x")
    mode = DebugMode(optimizer=None, stability_patience=1, check_preallocated_output=list(layouts))
    return function([x], Doubling(code)(x), mode=mode)


class TestCCode(unittest.TestCase):
    def test_good_code(self) -> None:
        f = debugged(GOOD, "ALL")
        for _ in range(2):
            self.assertEqual(f(V).tolist(), (2 * V).tolist())

    def test_other_values_than_python(self) -> None:
        with self.assertRaisesRegex(
            BadThunkOutput, "(?s)Doubling.*perform: .*c_code: .*largest difference 3"
        ) as caught:
            debugged(WRONG)(V)
        self.assertEqual((caught.exception.thunk1, caught.exception.thunk2), ("perform", "c_code"))

    def test_memory(self) -> None:
        self.assertEqual(debugged(ADDS)(V).tolist(), (2 * V).tolist())
        for code, bad, good in (
            (ADDS, ("c_contiguous", "previous"), ("wrong_size",)),
            (ANY_SIZE, ("wrong_size",), ("c_contiguous", "previous", "strided")),
        ):
            for layout in bad:
                with self.assertRaisesRegex(BadThunkOutput, f"c_code into {layout}.*memory"):
                    debugged(code, layout)(V)
            self.assertEqual(debugged(code, *good)(V).tolist(), (2 * V).tolist())
        # With a step of two elements, contiguous writing stays inside the memory, in the wrong places.
        with self.assertRaisesRegex(BadThunkOutput, "strided"):
            debugged(CONTIGUOUS.replace("[i]", "[PyArray_STRIDE(%(z)s, 0) > 0 ? i : 0]"), "strided")(V)

    def test_maps(self) -> None:
        value = V.copy()
        with self.assertRaises(BadDestroyMap) as caught:
            debugged(SPOILS)(value)
        self.assertEqual((caught.exception.idx, caught.exception.perform), (0, "c_code"))
        self.assertEqual(value.tolist(), V.tolist())
        with self.assertRaises(BadViewMap) as view:
            debugged(VIEW)(V)
        self.assertEqual(view.exception.perform, "c_code")

    def test_errors_and_references(self) -> None:
        with self.assertRaisesRegex(LookupError, "(?s)not to be found.*Doubling.*`x`"):
            debugged(FAILS, "ALL")(V)
        f = debugged(GOOD, "ALL")
        value = V.copy()
        f(value)
        before = sys.getrefcount(value)
        for _ in range(20):
            f(value)
        self.assertEqual(sys.getrefcount(value), before)

    def test_numbers_instead_of_arrays(self) -> None:
        x = mul_doubles.make_node(2.0, 3.0).inputs[0].type()
        f = function([x], mul_doubles(x, 4.0), mode=DebugMode(check_preallocated_output=["ALL"]))
        self.assertEqual(f(2.5), 10)


class Prepared(Doubling):
    """Makes its own thunk of the inherited one."""

    prepared = 0

    def make_thunk(
        self, node: Apply, storage_map: Any, compute_map: Any, no_recycling: Any, impl: str | None = None
    ) -> Any:
        self.prepared += 1
        return super().make_thunk(node, storage_map, compute_map, no_recycling, impl)


class TestInheritedThunks(unittest.TestCase):
    def test_c_code_or_python(self) -> None:
        x = vector("x")
        for linker, factor in (("cvm", 3), ("c|py", 3), ("vm", 2), ("py", 2)):
            op = Prepared(WRONG)  # three times in C, twice in Python
            f = function([x], op(x), mode=Mode(linker, None))
            for _ in range(2):
                self.assertEqual(f(V).tolist(), (factor * V).tolist(), linker)
            self.assertEqual(op.prepared, 1)
        self.assertEqual(function([x], Prepared(GOOD)(x), mode="DebugMode")(V).tolist(), (2 * V).tolist())
