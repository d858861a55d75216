"""Functions cached on disk where many processes, killed ones, and damaged files have to do with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from theano_linker_c.cache_tool import open_cache

PROCESSES = 5

#: Builds one function that all processes ask for and one of four, and says how many were rewritten.
BUILD = """
import sys
import numpy as np, theano, theano.tensor as T
real, count = theano.compile.Mode.rewrite, []
theano.compile.Mode.rewrite = lambda self, fgraph: (count.append(1), real(self, fgraph))[1]
n = int(sys.argv[1]) % 4 + 2
x = T.dvector("x")
same, own = (theano.function([x], T.tanh(x * k).sum() + k, name="f") for k in (1, n))
value = np.arange(3.0)
np.testing.assert_allclose(same(value), np.tanh(value).sum() + 1)
np.testing.assert_allclose(own(value), np.tanh(value * n).sum() + n)
print(len(count))
"""

#: Is killed when it has written the file of a function and not yet given it its name.
KILLED = (
    """
import os, signal
move = os.replace
def replace(source, target, **kwargs):
    if os.path.basename(os.path.dirname(target)) == "functions":
        os.kill(os.getpid(), signal.SIGKILL)
    move(source, target, **kwargs)
os.replace = replace
"""
    + BUILD
)

#: Stores in the background need the library of kernels, while the thread that waits for the compiler holds it.
LOCKED = """
import sys, threading
import theano, theano.tensor as T
from theano_linker_c import finish_storing
from theano_linker_c._function._disk_lookup import stores
from theano_linker_c.compiler import CompilerOptions, while_compiling
from theano_linker_c.kernels import library
began, compiling = threading.Event(), threading.Event()
def store():
    began.set()
    compiling.wait()
    library.load({}, CompilerOptions.from_config())
stores.add("locked", store)
began.wait()
x = T.dvector("x")
with while_compiling(compiling.set):
    theano.function([x], [op(x) for op in (T.tanh, T.erf, T.sinh, T.log1p, T.arctan)])
print(int(finish_storing()))
"""

#: Builds its functions in an action at its end, that of a program of which another function was put on disk before.
AT_EXIT = f"""
import atexit
atexit.register(lambda: exec({BUILD!r}, {{}}))
import theano, theano.tensor as T
theano.function([], T.constant(1.0) + T.exp(T.constant([2.0])))
"""

#: The command `theano-cache`.
TOOL = "import sys; from theano_linker_c.cache_tool import main; main(sys.argv[1:])"


def start(program: str, folder: str, argument: str) -> subprocess.Popen[str]:
    """Start a program whose functions are kept below `folder`."""
    flags = f"compiledir={folder},function_cache=True,compile.wait=1,gcc.cxxflags=-O0"
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path, "THEANO_FLAGS": flags}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program, argument], env=environment, **pipes)


class StressedTestCase(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = os.path.join(holder.name, "compiled")

    def rewritten(self, number: int = 0) -> int:
        """Return how many of its functions a process has rewritten; it checks their results."""
        return self.told(start(BUILD, self.folder, str(number)))

    def told(self, process: subprocess.Popen[str]) -> int:
        output, errors = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 0, errors)
        return int(output)

    def cache(self) -> Any:
        return open_cache(self.folder)


class ProcessTests(StressedTestCase):
    def test_the_background_needs_what_is_held_while_the_compiler_runs(self) -> None:
        process = start(LOCKED, self.folder, "")
        self.addCleanup(process.kill)
        self.assertEqual(self.told(process), 1)

    def test_functions_that_are_built_while_the_program_ends(self) -> None:
        self.assertEqual(self.told(start(AT_EXIT, self.folder, "0")), 2)
        self.assertEqual(len(self.cache().functions()), 3)
        self.assertEqual(self.rewritten(), 0)

    def test_many_processes_on_an_empty_cache(self) -> None:
        processes = [start(BUILD, self.folder, str(number)) for number in range(PROCESSES)]
        for process in processes:
            self.told(process)
        cache = self.cache()
        names = [item.name for item in cache.functions()]
        self.assertEqual(len(names), 5)
        for name in names:
            self.assertIsNotNone(cache.find_function(name))
        self.assertEqual(cache.folder.entries("tmp"), [])
        self.assertEqual([self.rewritten(number) for number in (0, 3)], [0, 0])

    def test_a_killed_writer(self) -> None:
        process = start(KILLED, self.folder, "0")
        process.communicate(timeout=600)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        cache = self.cache()
        self.assertTrue(cache.folder.entries("tmp"))  # that file, and perhaps one of a kernel that was being compiled
        self.assertEqual(cache.functions(), [])
        self.assertEqual(self.rewritten(), 2)
        cache.clean()
        self.assertEqual((cache.folder.entries("tmp"), len(cache.functions())), ([], 2))
        self.assertEqual(self.rewritten(), 0)

    def test_objects_that_are_gone_or_damaged_are_made_again(self) -> None:
        self.rewritten()
        objects = self.cache().objects()
        for item in objects:
            os.remove(item.path)
        self.assertEqual(self.rewritten(), 2)
        self.assertEqual(self.rewritten(), 0)
        for item in self.cache().objects():
            with open(item.path, "r+b") as file:
                file.truncate(item.bytes // 2)
        self.assertEqual(self.rewritten(), 2)
        self.assertEqual(self.rewritten(), 0)

    def test_the_commands(self) -> None:
        self.rewritten()
        self.assertEqual(self.command("list").count("  function  "), 2)
        cache = self.cache()
        with open(cache.functions()[0].path, "r+b") as file:
            file.truncate(100)
        self.command("cleanup")
        self.assertEqual(len(cache.functions()), 1)
        self.command("clear")
        self.assertEqual(cache.functions(), [])
        self.assertEqual(self.rewritten(), 2)

    def command(self, name: str) -> str:
        output, errors = start(TOOL, self.folder, name).communicate(timeout=600)
        self.assertEqual(errors, "")
        return output


if __name__ == "__main__":
    unittest.main()
