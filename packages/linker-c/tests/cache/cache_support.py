"""Shared parts of the tests of the cache: a directory of their own, kernels, and processes that build them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from theano_linker_c import scalar as sc
from theano_linker_c._cache import KernelCache
from theano_linker_c.compiler import CompileDirectory, CompilerOptions
from theano_linker_c.kernels import ElementwiseKernel, KernelLibrary

WORKER = """
import sys, warnings
import numpy as np
from theano_linker_c import scalar as sc
from theano_linker_c.compiler import CompilerOptions
from theano_linker_c.kernels import ElementwiseKernel, KernelLibrary
warnings.simplefilter("error")
ops = [sc.exp, sc.neg, sc.sqr, sc.tanh]
kernels = [ElementwiseKernel(op, ("float64",), ("float64",), ((False,),), 1) for op in ops]
library = KernelLibrary()
loaded = library.build(kernels, CompilerOptions(command="gcc", directory=sys.argv[1]))
assert all(k is not None and k.address for k in loaded)
print("built with", library.compiler_runs)
"""


def kernel(op: sc.ScalarOp) -> ElementwiseKernel:
    return ElementwiseKernel(op, ("float64",), ("float64",), ((False,),), 1)


def start(script: str, *arguments: str, flags: str = "") -> subprocess.Popen[bytes]:
    """Start Python on a script; it has the import path of this process, however that was set."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "THEANO_FLAGS": flags}
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class CacheTestCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="cache-tests-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "compiled")
        self.options = CompilerOptions(command="gcc", directory=self.path)

    def build(self, *ops: sc.ScalarOp, options: CompilerOptions | None = None) -> KernelLibrary:
        library = KernelLibrary()
        loaded = library.build([kernel(op) for op in ops], options or self.options)
        self.assertNotIn(None, loaded)
        return library

    def cache(self, max_age: int = 1000, max_bytes: int = 1 << 30) -> KernelCache:
        return KernelCache(CompileDirectory(self.path), max_age, max_bytes)

    def names(self, folder: str) -> list[str]:
        result = Path(self.path, folder)
        return sorted(entry.name for entry in result.iterdir()) if result.is_dir() else []

    def object_paths(self) -> list[Path]:
        return [Path(self.path, "objects", name) for name in self.names("objects")]
