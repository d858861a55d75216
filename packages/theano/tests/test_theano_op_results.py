"""Checked results of users' ops: nothing, the wrong dtype, rank or kind, a cell that was replaced."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import theano
from theano import tensor as T
from theano.compile.nanguardmode import NanGuardMode

#: A spoilt result, and the words of the error.
FAULTS = {
    "none": "stored nothing for output 0",
    "list": "stored a Python list for output 0",
    "float": "stored a Python float for output 0",
    "text": "stored an object of type str for output 0",
    "dtype": "stored an array of float32 for output 0",
    "rank": "stored an array of 2 dimensions for output 0",
    "length": r"stored an array of shape \(3,\) for output 0",
    "cell": "replaced the storage cell of output 0",
    "listed": "replaced the storage cell of output 0",
    "emptied": "replaced the storage cell of output 0",
    "longer": "replaced the storage cell of output 0",
    "deleted": "replaced the storage cell of output 0",
}
MODES: dict[str, Callable[[], Any]] = {
    "FAST_RUN": lambda: "FAST_RUN",
    "FAST_COMPILE": lambda: "FAST_COMPILE",
    "py": lambda: theano.Mode("py", None),
    "vm": lambda: theano.Mode("vm", "fast_run"),
    "cvm": lambda: theano.Mode("cvm", None),
    "c|py": lambda: theano.Mode("c|py", "fast_compile"),
    "cvm_nogc": lambda: theano.Mode("cvm_nogc", "fast_run"),
    "NanGuardMode": lambda: NanGuardMode(nan_is_error=True),
}
VALUES = np.arange(3.0)


def spoil(how: str, x: Any, storage: list[Any]) -> None:
    """Leave a wrong result."""
    match how:
        case "cell":
            storage[0] = x * 2
        case "listed":
            storage[0] = [x * 2]
        case "emptied":
            storage[0].clear()
        case "longer":
            storage[0].append(x)
        case "deleted":
            del storage[0]
        case "none":
            pass
        case _:
            result = {"list": [1.0, 2.0], "float": 2.0, "text": "2", "dtype": x.astype("float32"), "rank": x[None]}
            storage[0][0] = result.get(how, x)


class Careless(theano.Op):
    __props__ = ("how",)

    def __init__(self, how: str) -> None:
        self.how = how

    def make_node(self, x: Any) -> Any:
        of_one = T.TensorType("float64", (True,))
        return theano.Apply(self, [T.as_tensor_variable(x)], [of_one() if self.how == "length" else T.dvector()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        spoil(self.how, inputs[0], output_storage)


class CarelessThunk(Careless):
    def make_thunk(self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any, impl: Any = None) -> Any:
        def thunk() -> None:
            spoil(self.how, storage_map[node.inputs[0]][0], [storage_map[node.outputs[0]]])

        return thunk


class CarelessC(Careless):
    def c_code(self, node: Any, name: str, inputs: Any, outputs: Any, sub: Any) -> str:
        make = {
            "none": "",
            "dtype": f"{outputs[0]} = (PyArrayObject *)PyArray_ZEROS(1, PyArray_DIMS({inputs[0]}), NPY_FLOAT, 0);",
            "rank": f"{outputs[0]} = (PyArrayObject *)PyArray_ZEROS(0, NULL, NPY_DOUBLE, 0);",
        }[self.how]
        return f"Py_CLEAR({outputs[0]}); {make}"

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


class Two(theano.Op):
    __props__ = ()

    def make_node(self, x: Any) -> Any:
        return theano.Apply(self, [x], [T.dvector(), T.dscalar()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0] * 2


class Plain(theano.Op):
    """Right results in unusual forms."""

    __props__ = ("how",)

    def __init__(self, how: str) -> None:
        self.how = how

    def make_node(self, x: Any) -> Any:
        return theano.Apply(self, [x], [T.dscalar() if self.how in ("scalar", "swapped scalar") else T.dvector()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        unaligned = np.zeros(x.nbytes + 1, "int8")[1:].view("float64")
        unaligned[:] = x
        forms = {
            "scalar": x.sum(),
            "swapped": x.astype(">f8"),
            "swapped scalar": np.array(x.sum(), ">f8"),
            "unaligned": unaligned,
            "longlong": x,
        }
        output_storage[0][0] = forms[self.how]


class TestResults(unittest.TestCase):
    def check(self, call: Any, op: str, text: str) -> None:
        with self.assertRaises(Exception) as caught:
            call()
        message = str(caught.exception)
        self.assertRegex(message, text)
        for part in (op, "test_theano_op_results.py", "Hint: "):
            self.assertIn(part, message)

    def test_perform_in_every_mode(self) -> None:
        x = T.dvector("x")
        for name, mode in MODES.items():
            for how, text in FAULTS.items():
                f = theano.function([x], Careless(how)(x) * 2, mode=mode())
                for _ in range(2):
                    with self.subTest(mode=name, how=how):
                        self.check(partial(f, VALUES), "Careless", text)

    def test_perform_in_debug_mode(self) -> None:
        x = T.dvector("x")
        for how in FAULTS:
            f = theano.function([x], Careless(how)(x) * 2, mode="DebugMode")
            with self.subTest(how=how):
                self.check(partial(f, VALUES), "Careless", "replaced the storage cell|does not fit its variable")

    def test_what_is_returned_at_once(self) -> None:
        x = T.dvector("x")
        for how, text in FAULTS.items():
            f = theano.function([x], Careless(how)(x), mode="FAST_RUN")
            with self.subTest(how=how):
                self.check(partial(f, VALUES), "Careless", text)

    def test_thunks_of_ops(self) -> None:
        x = T.dvector("x")
        for name in ("FAST_RUN", "FAST_COMPILE", "py"):
            for how in ("none", "list", "dtype", "rank"):
                f = theano.function([x], CarelessThunk(how)(x) * 2, mode=MODES[name]())
                with self.subTest(mode=name, how=how):
                    self.check(partial(f, VALUES), "CarelessThunk", f"its thunk {FAULTS[how]}")

    def test_c_code(self) -> None:
        x = T.dvector("x")
        for how, text in (("none", "nothing"), ("dtype", "float32"), ("rank", "0 dimensions")):
            f = theano.function([x], CarelessC(how)(x) * 2, mode="FAST_RUN")
            with self.subTest(how=how):
                for _ in range(2):
                    self.check(partial(f, VALUES), "CarelessC", rf"its C code stored .*{text}.* for output 0")

    def test_thunks_of_functions(self) -> None:
        x = T.dvector("x")
        f = theano.function([x], Careless("dtype")(x), mode=theano.Mode("cvm", None))
        (thunk,) = f.fn.thunks
        thunk.inputs[0][0] = VALUES
        with self.assertRaisesRegex(TypeError, "stored an array of float32"):
            thunk()

    def test_constants_are_not_folded_into_wrong_ones(self) -> None:
        for how, text in FAULTS.items():
            f = theano.function([], Careless(how)(T.constant(VALUES)) * 2, mode="FAST_RUN")
            with self.subTest(how=how):
                self.check(f, "Careless", text)

    def test_in_a_loop(self) -> None:
        x = T.dmatrix("x")
        y, _ = theano.scan(lambda row: Careless("dtype")(row) * 2, sequences=x)
        f = theano.function([x], y)
        self.check(lambda: f(np.ones((2, 3))), "Careless", FAULTS["dtype"])

    def test_what_nothing_reads_may_be_missing(self) -> None:
        x = T.dvector("x")
        for name, mode in MODES.items():
            first, second = Two()(x)
            f = theano.function([x], first, mode=mode())
            with self.subTest(mode=name):
                np.testing.assert_array_equal(f(VALUES), VALUES * 2)
                g = theano.function([x], [first, second], mode=mode())
                self.check(partial(g, VALUES), "Two", "stored nothing for output 1")

    def test_unusual_forms_of_right_results(self) -> None:
        x = T.dvector("x")
        for name, mode in MODES.items():
            for how in ("scalar", "swapped", "swapped scalar", "unaligned"):
                y = Plain(how)(x)
                outputs = [y, y * 2, T.diag(y) if y.ndim else y + x[0], y[1] if y.ndim else y * x[1]]
                result = theano.function([x], outputs, mode=mode())(VALUES)
                exact = VALUES.sum() if y.ndim == 0 else VALUES
                others = [exact + 0, exact * 1] if y.ndim == 0 else [np.diag(exact), exact[1]]
                with self.subTest(mode=name, how=how):
                    for value, expected in zip(result, [exact, exact * 2, *others], strict=True):
                        np.testing.assert_array_equal(value, expected)
                        self.assertTrue(value.dtype.isnative)

    def test_storage_that_an_op_keeps_is_not_used_again(self) -> None:
        references: list[Any] = []

        class Keeper(theano.Op):
            __props__ = ()

            def make_node(self, x: Any) -> Any:
                return theano.Apply(self, [x], [x.type()])

            def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
                references.append(output_storage[0])
                output_storage[0][0] = inputs[0] + len(references)

        x = T.dvector("x")
        f = theano.function([x], Keeper()(x), mode=theano.Mode("cvm", None))
        first, second = f(VALUES), f(VALUES)
        self.assertIs(references[0][0], first)
        self.assertIsNot(references[0], references[1])
        np.testing.assert_array_equal(second, VALUES + 2)
