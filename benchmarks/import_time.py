"""How long ``import theano`` takes in a fresh process."""

from __future__ import annotations

from harness import OURS, Command, Options, Row, compare_processes, installed

PROGRAM = """\
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""
MODULES = {OURS: "theano", "jax": "jax", "pytensor": "pytensor", "numpy": "numpy"}


def run(options: Options) -> list[Row]:
    commands = {
        name: Command(["-c", PROGRAM.format(module=module)]) if installed(module) else None
        for name, module in MODULES.items()
    }
    return [Row("import in a fresh process", compare_processes(commands, options), limit=0.25)]
