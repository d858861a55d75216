"""Peak memory of a chain of twenty elementwise ops on 10^7 float64, in arrays of that length."""

from __future__ import annotations

import importlib
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from harness import OURS, Command, Options, Row, installed, run_process

LENGTH = 10**7
CONTENDERS = {OURS: "theano", "jax": "jax", "pytensor": "pytensor"}


def run(options: Options) -> list[Row]:
    row = Row("peak memory of 20 elementwise ops on 10^7 float64, in arrays", limit=2.2, unit="arrays")
    for name, target in CONTENDERS.items():
        command = Command([str(Path(__file__)), target])
        row.results[name] = run_process(command, options.patience) if installed(target) else "not installed"
    return [row]


def _chain(module: Any, x: Any) -> Any:
    for i in range(10):
        x = module.tanh(x) * (1.0 + 0.1 * i)
    return x


def _peak() -> int:
    """Return the most bytes of main memory that the process has held at once."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM:")))


def _call(package: str) -> Any:
    """Build and compile the function for small arrays, so that only the memory of the large call is counted."""
    main: Any = importlib.import_module(package)
    if package == "jax":
        main.config.update("jax_enable_x64", True)
        compute = main.jit(partial(_chain, main.numpy))
        return lambda x: compute(x).block_until_ready()
    module: Any = importlib.import_module(f"{package}.tensor")
    x = module.dvector("x")
    f: Any = main.function([x], _chain(module, x))
    f(numpy.zeros(1000))
    return f


def main() -> None:
    """Print the peak, input and result included, as multiples of one array."""
    compute = _call(sys.argv[1])
    before = _peak()
    compute(numpy.full(LENGTH, 0.5))
    print(json.dumps((_peak() - before) / (8 * LENGTH)))


if __name__ == "__main__":
    main()
