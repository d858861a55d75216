"""How long ``import theano`` takes in a fresh process."""

from __future__ import annotations

import tempfile
from dataclasses import replace

from harness import OURS, Command, Options, Row, compare_processes, installed

PROGRAM = """\
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
MODULES = {OURS: "theano", "jax": "jax", "pytensor": "pytensor", "numpy": "numpy"}


def run(options: Options) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="bench-bytecode-") as folder:
        # Every contender finds its bytecode, which one run before the measured ones has written.
        environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        commands = {
            name: Command(["-c", PROGRAM.format(module=module)], environment) if installed(module) else None
            for name, module in MODULES.items()
        }
        compare_processes(commands, replace(options, processes=1))
        return [Row("import in a fresh process", compare_processes(commands, options), limit=0.25)]
