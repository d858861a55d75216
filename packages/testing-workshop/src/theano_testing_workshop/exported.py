"""Functions as exported C, compiled strictly and called with NumPy's arrays.

Examples
--------
>>> import numpy as np
>>> import theano_tensor as tt
>>> from theano_linker_c import function
>>> x = tt.dvector("x")
>>> from theano_testing_workshop.exported import Exported
>>> Exported(function([x], x * 2))(np.arange(3.0))
[array([0., 2., 4.])]
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theano_linker_c.codegen import verify_exports
from theano_linker_c.export import export_c

__all__ = ["STRICT", "Exported"]

#: Any warning of a strict compiler of C99 is an error.
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
#: Tells how long a state is, which only C knows.
_SIZE = """\
#include "exported.c"
size_t exported_size_of_state(void);
size_t exported_size_of_state(void) { return sizeof(exported_state); }
"""


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
        The content of the file ``.json``.
    """

    def __init__(
        self,
        fn: Any,
        shapes: Mapping[Any, Sequence[int]] | None = None,
        *,
        static: bool = False,
        arguments: Sequence[str] = ("-O1",),
    ) -> None:
        verify_exports()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "exported")
            result = export_c(fn, path, shapes=shapes, static=static)
            self.description: Mapping[str, Any] = result.description
            with open(path + ".c", encoding="utf-8") as file:
                self.text = file.read()
            with open(os.path.join(folder, "sized.c"), "w", encoding="utf-8") as file:
                file.write(_SIZE)
            command = ["gcc", *STRICT, *arguments, "-shared", "-fPIC", "-o", path + ".so", file.name, "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{done.stderr}\n{self.text}"
            self._library = ctypes.CDLL(path + ".so")
        self._function = self._library.exported
        size = self._library.exported_size_of_state
        size.restype = ctypes.c_size_t
        self._memory = np.zeros(size() // 8 + 1, "float64")
        self.state = ctypes.c_void_p(self._memory.ctypes.data)
        self._library.exported_init(self.state)

    def __call__(self, *values: Any) -> list[Any]:
        """Return the results of a call; ValueError with the message of its status if it fails."""
        operands: list[Any] = [self.state]
        saved = []
        for parameter, value in zip(self.description["arguments"], values, strict=True):
            array = np.ascontiguousarray(value, parameter["dtype"]).reshape(np.shape(value))
            saved.append(array)
            operands += _as_argument(parameter, array)
        results: list[tuple[Any, Any, Any]] = []
        for parameter in self.description["results"]:
            shape = parameter["shape"]
            if None in shape:
                results.append((parameter, ctypes.c_void_p(), (ctypes.c_int64 * len(shape))()))
                operands += [ctypes.byref(results[-1][1]), results[-1][2]]
            else:
                array = np.full(shape, 99, parameter["dtype"])
                results.append((parameter, array, None))
                operands.append(ctypes.c_void_p(array.ctypes.data))
        status = self._function(*operands)
        if status:
            raise ValueError(self.message(status))
        return [_as_array(*result) for result in results]

    def message(self, status: int) -> str:
        """Return the text for the result of a call."""
        tell = self._library.exported_message
        tell.restype = ctypes.c_char_p
        return str(tell(status).decode())

    def states(self) -> list[Any]:
        """Return the variables of the state, as they are saved."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            self.save(path)
            with open(path, "rb") as file:
                data = file.read()
        at, match = 16, []
        for parameter in self.description["state"]:
            dtype, shape = np.dtype(parameter["dtype"]), tuple(parameter["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            match.append(np.frombuffer(data, dtype, count, at).reshape(shape))
            at += max(count, 1) * dtype.itemsize
        assert at == len(data), "the file of a state has another length"
        return match

    def save(self, path: str) -> None:
        """Write the variables of the state to a file."""
        assert self._with_file("save", path, "wb") == 0, "the state was not saved"

    def load(self, path: str) -> int:
        """Read the variables of the state from a file; returns 0, or -1 if that failed."""
        return self._with_file("load", path, "rb")

    def _with_file(self, task: str, path: str, mode: str) -> int:
        libc = ctypes.CDLL(None)
        libc.fopen.restype = ctypes.c_void_p
        file = ctypes.c_void_p(libc.fopen(os.fsencode(path), mode.encode()))
        try:
            return int(getattr(self._library, f"exported_{task}")(self.state, file))
        finally:
            libc.fclose(file)

    def free(self) -> None:
        """Give back memory."""
        self._library.exported_free(self.state)


def _as_argument(parameter: Mapping[str, Any], array: Any) -> list[Any]:
    if not parameter["shape"]:
        return [np.ctypeslib.as_ctypes_type(_memory_dtype(array.dtype))(array.view(_memory_dtype(array.dtype))[()])]
    operands: list[Any] = [ctypes.c_void_p(array.ctypes.data)]
    if None in parameter["shape"]:
        operands.append((ctypes.c_int64 * array.ndim)(*array.shape))
    return operands


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
