"""What the graph layer costs on a chain of 10^5 nodes: to build, sort, clone, wrap and pickle it."""

from __future__ import annotations

import gc
import pickle
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from harness import NOT_INSTALLED, OURS, Options, Row, peer

import theano
import theano.tensor as T

LENGTH = 10**5
CASES = ("build", "sort", "clone", "FunctionGraph", "pickle and load")


def run(options: Options) -> list[Row]:
    rows = {case: Row(f"chain of 10^5 nodes: {case}") for case in CASES}
    _measure(rows, OURS, T.dscalar, T.exp, theano.gof, options)
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        for row in rows.values():
            row.results["pytensor"] = NOT_INSTALLED
    else:
        pt: Any = peer("pytensor.tensor")
        _measure(rows, "pytensor", pt.dscalar, pt.exp, _PyTensor, options)
    return list(rows.values())


class _PyTensor:
    """PyTensor's functions under the names that ours have in `theano.gof`."""

    @staticmethod
    def toposort(inputs: list[Any], outputs: list[Any]) -> object:
        del inputs
        return _traversal().toposort(outputs)

    @staticmethod
    def clone_graph(inputs: list[Any], outputs: list[Any]) -> object:
        return peer("pytensor.graph.basic").clone(inputs, outputs)  # type: ignore[union-attr]  # it is there

    @staticmethod
    def FunctionGraph(inputs: list[Any], outputs: list[Any], clone: bool) -> object:
        return peer("pytensor.graph.fg").FunctionGraph(inputs, outputs, clone=clone)  # type: ignore[union-attr]


def _traversal() -> Any:
    return peer("pytensor.graph.traversal")


def _measure(rows: dict[str, Row], name: str, scalar: Any, step: Any, graph: Any, options: Options) -> None:
    x = scalar("x")

    def build() -> Any:
        y = x
        for _ in range(LENGTH):
            y = step(y)
        return y

    y = build()
    work: dict[str, Callable[[], object]] = {
        "build": build,
        "sort": lambda: list(graph.toposort([x], [y])),
        "clone": lambda: graph.clone_graph([x], [y]),
        "FunctionGraph": lambda: graph.FunctionGraph([x], [y], clone=False),
        "pickle and load": lambda: pickle.loads(pickle.dumps(y)),
    }
    for case, call in work.items():
        rows[case].results[name] = _median(call, max(2, options.rounds // 8))


def _median(call: Callable[[], object], rounds: int) -> float | str:
    times = []
    try:
        with _no_collection():
            for _ in range(rounds):
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
    except RecursionError:
        return "fails: RecursionError"
    return statistics.median(times)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the cyclic collector from charging one contender for another's garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
