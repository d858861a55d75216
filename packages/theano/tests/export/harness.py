"""Compiles exported C strictly, and calls it with NumPy's arrays."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import theano

#: Whatever a strict compiler of C99 finds is an error.
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
_ROOM = 1 << 16
#: Sums are added in another order.
_TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "float16": 4e-3}


class Exported:
    """An exported function, compiled by the system's compiler and loaded.

    Parameters
    ----------
    fn : Function
    shapes : mapping, optional
        Shapes of inputs.
    static : bool
        Whether all lengths must be known.
    arguments : sequence of str
        More arguments for the compiler.

    Attributes
    ----------
    text : str
        The source.
    description : dict
        What the file ``.json`` says.
    """

    def __init__(
        self,
        fn: Any,
        shapes: Mapping[Any, Sequence[int]] | None = None,
        *,
        static: bool = False,
        arguments: Sequence[str] = ("-O1",),
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "exported")
            made = theano.export_c(fn, path, shapes=shapes, static=static)
            self.description: Mapping[str, Any] = made.description
            with open(path + ".c", encoding="utf-8") as file:
                self.text = file.read()
            command = ["gcc", *STRICT, *arguments, "-shared", "-fPIC", "-o", path + ".so", path + ".c", "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{done.stderr}\n{self.text}"
            self._library = ctypes.CDLL(path + ".so")
        self._function = self._library.exported
        # More than any state of these tests: C says how long it is only to C.
        self._memory = np.zeros(
            _ROOM + sum(_size(s) for s in self.description["state"]) + 8 * len(self.text), "float64"
        )
        self.state = ctypes.c_void_p(self._memory.ctypes.data)
        self._library.exported_init(self.state)

    def __call__(self, *values: Any) -> list[Any]:
        """Return the results of a call; ValueError with the message of its status if it fails."""
        given: list[Any] = [self.state]
        kept = []
        for parameter, value in zip(self.description["arguments"], values, strict=True):
            array = np.ascontiguousarray(value, parameter["dtype"]).reshape(np.shape(value))
            kept.append(array)
            given += _as_argument(parameter, array)
        results: list[tuple[Any, Any, Any]] = []
        for parameter in self.description["results"]:
            shape = parameter["shape"]
            if None in shape:
                results.append((parameter, ctypes.c_void_p(), (ctypes.c_int64 * len(shape))()))
                given += [ctypes.byref(results[-1][1]), results[-1][2]]
            else:
                array = np.full(shape, 99, parameter["dtype"])
                results.append((parameter, array, None))
                given.append(ctypes.c_void_p(array.ctypes.data))
        status = self._function(*given)
        if status:
            self._library.exported_message.restype = ctypes.c_char_p
            raise ValueError(self._library.exported_message(status).decode())
        return [_as_array(*result) for result in results]

    def free(self) -> None:
        """Give back memory."""
        self._library.exported_free(self.state)


def _size(parameter: Mapping[str, Any]) -> int:
    return int(np.prod(parameter["shape"]))


def _as_argument(parameter: Mapping[str, Any], array: Any) -> list[Any]:
    if not parameter["shape"]:
        return [np.ctypeslib.as_ctypes_type(_memory_dtype(array.dtype))(array.view(_memory_dtype(array.dtype))[()])]
    given: list[Any] = [ctypes.c_void_p(array.ctypes.data)]
    if None in parameter["shape"]:
        given.append((ctypes.c_int64 * array.ndim)(*array.shape))
    return given


def _memory_dtype(dtype: Any) -> Any:
    return {"bool": np.dtype("uint8"), "float16": np.dtype("uint16")}.get(dtype.name, dtype)


def _as_array(parameter: Mapping[str, Any], where: Any, lengths: Any) -> Any:
    if lengths is None:
        return where
    shape, dtype = tuple(lengths), np.dtype(parameter["dtype"])
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return (
        np.frombuffer(ctypes.string_at(where, count), dtype).reshape(shape).copy() if count else np.zeros(shape, dtype)
    )


def check(fn: Any, *calls: Sequence[Any], arguments: Sequence[str] = ("-O1",), tolerance: float | None = None) -> None:
    """Compare exported code with the function, with lengths known at run time only, and with known ones.

    Parameters
    ----------
    fn : Function
        Its shared variables begin with the same values in each comparison.
    calls : sequences of arguments
        One after the other, so that new values of shared variables are seen; those of the first give the known shapes.
    arguments : sequence of str
        For the compiler.
    tolerance : float, optional
        Relative and absolute; by dtype by default.
    """
    inputs = [item.variable for item in fn.maker.inputs if not item.implicit]
    known = {v: np.shape(value) for v, value in zip(inputs, calls[0], strict=True)}
    before = fn.copy(share_memory=False)
    for shapes in (None, known):
        python = before.copy(share_memory=False)
        exported = Exported(python, shapes, static=shapes is not None, arguments=arguments)
        for values in calls:
            if shapes is not None and any(np.shape(v) != known[x] for x, v in zip(inputs, values, strict=True)):
                continue
            wanted = python(*values)
            wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
            for got, want in zip(exported(*values), wanted, strict=True):
                assert got.dtype == want.dtype, (got.dtype, want.dtype)
                assert got.shape == np.shape(want), (got.shape, np.shape(want))
                bound = _TOLERANCES.get(got.dtype.name, 0) if tolerance is None else tolerance
                np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
        exported.free()
