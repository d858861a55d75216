"""Exported functions compiled for CasADi, and called as CasADi calls them."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano

from .harness import STRICT

_REALS = ctypes.POINTER(ctypes.c_double)


def built(fn: Any, folder: str, name: str, **options: Any) -> str:
    """Export a function, compile its files strictly into one shared object, and return its path."""
    result = theano.export_c(fn, os.path.join(folder, name), abi="casadi", **options)
    sources = [file for file in result.files if file.endswith(".c")]
    path = os.path.join(folder, f"{name}.so")
    subprocess.run(["gcc", *STRICT, "-O1", "-shared", "-fPIC", "-o", path, *sources, "-lm"], check=True)
    return path


class External:
    """A function in a shared object, asked and called by the functions that CasADi wants.

    Parameters
    ----------
    path : str
    name : str

    Attributes
    ----------
    arguments, results : list of (str, tuple)
        Name of each, and its sparsity pattern.
    """

    def __init__(self, path: str, name: str) -> None:
        self._library = ctypes.CDLL(path)
        self._name = name
        self.arguments = self._matrices("in")
        self.results = self._matrices("out")
        sizes = [ctypes.c_longlong(-1) for _ in range(4)]
        assert self._get("work")(*map(ctypes.byref, sizes)) == 0
        self.work = [size.value for size in sizes]

    def _get(self, ending: str, result: Any = ctypes.c_int) -> Any:
        function = getattr(self._library, f"{self._name}_{ending}")
        function.restype = result
        return function

    def _matrices(self, kind: str) -> list[tuple[str, tuple[int, ...]]]:
        names = self._get(f"name_{kind}", ctypes.c_char_p)
        patterns = self._get(f"sparsity_{kind}", ctypes.POINTER(ctypes.c_longlong))
        results = []
        for i in range(self._get(f"n_{kind}", ctypes.c_longlong)()):
            pattern = patterns(ctypes.c_longlong(i))
            count = 3 if pattern[2] == 1 else 3 + pattern[1]
            results.append((names(ctypes.c_longlong(i)).decode(), tuple(pattern[:count])))
        assert names(ctypes.c_longlong(len(results))) is None
        return results

    def __call__(self, *values: Any, expected: Sequence[int] | None = None) -> list[Any]:
        """Return matrices for matrices; None stands for zeros, and for results not asked for or without elements."""
        operands = [None if v is None else np.asarray(v, "float64").ravel(order="F") for v in values]
        pointers = (_REALS * len(self.arguments))(*(_REALS() if v is None else _pointer(v) for v in operands))
        results: list[Any] = []
        for k, (_, pattern) in enumerate(self.results):
            left_out = pattern[2] != 1 or (expected is not None and k not in expected)
            results.append(None if left_out else np.full(pattern[0] * pattern[1], 99.0))
        targets = (_REALS * len(results))(*(_REALS() if r is None else _pointer(r) for r in results))
        memory = np.full(self.work[3], np.nan)
        call = getattr(self._library, self._name)
        if call(pointers, targets, None, _pointer(memory), 0):
            raise ValueError("the call failed")
        shaped = zip(results, self.results, strict=True)
        return [None if r is None else r.reshape(pattern[:2], order="F") for r, (_, pattern) in shaped]


def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(_REALS)
