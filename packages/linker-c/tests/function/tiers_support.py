"""Shared parts of tests of tiered functions: compilers that wait for a file, or refuse, and functions of one kernel."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any

from small_arrays import add, log, mul, vector

from theano_graph import config
from theano_linker_c import FAST_RUN, Function, function

#: Without libraries that are loaded into each process: shells end at once beside that of the sanitizer of threads.
SHELL = "#!/usr/bin/env -S -u LD_PRELOAD sh\n"
#: Runs the compiler as soon as a file is there.
HELD = 'until [ -e "{gate}" ]; do sleep 0.01; done\nexec {real} "$@"\n'
#: Compiles the trials of the compiler, and refuses kernels.
REFUSING = (
    'text=$(mktemp)\ncat > "$text"\nif grep -q "k[0-9a-f]\\{{40\\}}" "$text"; then\n'
    '  rm "$text"; echo "error: no kernels today" >&2; exit 1\nfi\n'
    '{real} "$@" < "$text"\nstatus=$?\nrm "$text"\nexit $status\n'
)
BROKEN = "exit 1\n"
TIERED = FAST_RUN.including("tiered")


class TieredTestCase(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="tiers-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.gate = self.folder / "gate"
        # The linker knows nothing of a compiler with these arguments, even with a full cache.
        self.arguments = f"-DTIERS_{uuid.uuid4().hex}"
        self.x, self.y = vector("x"), vector("y")
        self.compiler(HELD)
        self.addCleanup(self.gate.touch)

    def compiler(self, script: str, name: str = "compiler") -> None:
        """Use a script as the compiler of this test."""
        real = shutil.which("gcc")
        assert real is not None, "the tests of compiled code need gcc"
        path = self.folder / name
        path.write_text(SHELL + script.format(gate=self.gate, real=real))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        flags = config.change_flags(**{"cxx": str(path), "gcc.cxxflags": self.arguments, "mode": "FAST_RUN"})
        flags.__enter__()
        self.addCleanup(flags.__exit__, None, None, None)

    def build(self, outputs: Any = None, inputs: Any = None, **others: Any) -> Function:
        """Build a function of two vectors that starts in tiers."""
        others.setdefault("mode", TIERED)
        outputs = mul(add(self.x, self.y), log(self.x)) if outputs is None else outputs
        return function([self.x, self.y] if inputs is None else inputs, outputs, **others)

    def open(self) -> None:
        """Let the compiler run."""
        self.gate.touch()


def native_forms(f: Function) -> set[bool]:
    """Say whether the instructions of a function have native forms."""
    return {instruction.native for instruction in f.machine.program.instructions}


def is_native(f: Function) -> bool:
    """Tell whether calls of a function go to the machine in C itself, with native code."""
    return type(f.machine).__name__ == "Machine" and native_forms(f) == {True}


def job_of(f: Function) -> Any:
    """Return the task that compiles the code of a function that is not native yet."""
    machine: Any = f.machine
    return machine._job


def path_of_modules() -> str:
    """Return the import path for another process."""
    return os.pathsep.join(p for p in sys.path if p)
