"""The warm-up of all contenders, before the building of a function is timed in a process of its own.

Each package is imported and one trivial function, ``x + 1`` on three numbers, is made with it and called. So JAX has
started its backend and its code generator, and Theano has read its rewriting rules. No cache is filled by that: JAX
keeps nothing on disk here, and Theano runs this function without a compiler. The figure then is the building of
one more function up to its first result; with an empty cache Theano's time includes trying the compiler.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy

#: The note of such rows in tables.
COUNTED = " (first result included, start-up not)"


def start(package: str, mode: str | None) -> None:
    """Import a contender and let it make its first function.

    Parameters
    ----------
    package : {"theano", "jax", "pytensor"}
    mode : str or None
        A mode of PyTensor; None for its default.
    """
    main: Any = importlib.import_module(package)
    values = numpy.zeros(3)
    if package == "jax":
        importlib.import_module("jax.numpy")
        main.jit(_add_one)(values).block_until_ready()
        return
    tensor: Any = importlib.import_module(f"{package}.tensor")
    x = tensor.dvector("x")
    kind: dict[str, Any] = {"mode": mode} if mode else {}
    if package == "theano":
        kind = {"mode": main.Mode(linker="py", optimizer="fast_run")}
    main.function([x], _add_one(x), **kind)(values)


def _add_one(x: Any) -> Any:
    return x + 1
