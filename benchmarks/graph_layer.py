"""Cost of the graph layer on chains of nodes: to build, sort, copy, compare, pickle and collect them.

    python benchmarks/graph_layer.py [--lengths 10000 100000 1000000] [--rounds N]

Beside the layer run PyTensor's graph classes, each with a type and an op of its own that do nothing else, at the
default recursion limit. The limits are the layer's own for 10^5 nodes, and 12 times the time of a
tenth of the nodes. Times are processor times: all of this is one thread, which neighbours on the machine would only
slow down. Each case runs once before it is measured, so that the memory is there: the first use of a page is
the system's business. The cyclic collector rests meanwhile, but for the case that measures it.
"""

from __future__ import annotations

import argparse
import copy
import gc
import pickle
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness import NOT_INSTALLED, OURS, Options, Row, peer

import theano_graph

LENGTHS = (10**4, 10**5)
#: Seconds for 10^5 nodes, where the layer sets itself a limit.
LIMITS = {
    "build": 1.0,
    "toposort": 0.3,
    "clone": 1.5,
    "sort_apply_nodes": None,
    "FunctionGraph": 1.5,
    "FunctionGraph.clone": None,
    "check_integrity": None,
    "equal_computations": None,
    "replace each node": None,
    "pickle": 3.0,
    "unpickle": 3.0,
    "copy": None,
    "deepcopy": None,
    "free": None,
}
SLOPE = 12


class _Step(theano_graph.Op):
    __props__ = ()

    def make_node(self, x: theano_graph.Variable) -> theano_graph.Apply:
        return theano_graph.Apply(self, [x], [x.type()])


@dataclass(frozen=True)
class _Layer:
    """One contender: how it makes a chain's start and step, and its functions."""

    start: Callable[[], Any]
    step: Callable[[Any], Any]
    toposort: Callable[[list[Any], list[Any]], list[Any]]
    clone: Callable[[list[Any], list[Any]], tuple[Any, Any]]
    function_graph: Callable[[list[Any], list[Any]], Any]
    equal: Callable[[list[Any], list[Any], list[Any], list[Any]], bool]
    sort: Callable[[list[Any], list[Any]], object] | None = None
    most_replacements: float = float("inf")


def _ours() -> _Layer:
    return _Layer(
        start=lambda: theano_graph.generic("x"),
        step=_Step(),
        toposort=theano_graph.toposort,
        clone=theano_graph.clone_graph,
        function_graph=lambda i, o: theano_graph.FunctionGraph(i, o, clone=False),
        equal=theano_graph.equal_computations,
        sort=theano_graph.sort_apply_nodes,
    )


def _pytensor() -> _Layer | None:
    if peer("pytensor") is None:
        return None
    basic: Any = peer("pytensor.graph.basic")
    op: Any = peer("pytensor.graph.op")
    generic: Any = peer("pytensor.graph.type")
    fg: Any = peer("pytensor.graph.fg")
    traversal: Any = peer("pytensor.graph.traversal")

    class PeerType(generic.Type):  # type: ignore[misc]  # its base is known at run time only
        def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
            return data

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other)

        def __hash__(self) -> int:
            return hash(type(self))

    class PeerStep(op.Op):  # type: ignore[misc]  # its base is known at run time only
        __props__ = ()

        def make_node(self, x: Any) -> Any:
            return basic.Apply(self, [x], [x.type()])

        def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
            output_storage[0][0] = inputs[0]

    # Pickles look classes up by name.
    for local in (PeerType, PeerStep):
        local.__qualname__ = local.__name__
        setattr(sys.modules[__name__], local.__name__, local)
    return _Layer(
        start=lambda: PeerType()("x"),
        step=PeerStep(),
        toposort=lambda i, o: list(traversal.toposort(o, blockers=i)),
        clone=basic.clone,
        function_graph=lambda i, o: fg.FunctionGraph(i, o, clone=False),
        equal=basic.equal_computations,
        most_replacements=10**4,
    )


def run(options: Options, lengths: Sequence[int] = LENGTHS) -> list[Row]:
    """Measure all cases at all lengths."""
    rows: list[Row] = []
    contenders = {OURS: _ours(), "pytensor": _pytensor()}
    before: dict[str, float] = {}
    for length in lengths:
        rounds = max(1, options.rounds // 8)
        times = {name: None if layer is None else _measure(layer, length, rounds) for name, layer in contenders.items()}
        for case, limit in LIMITS.items():
            row = Row(f"chain of {length:,} nodes: {case}")
            for name, seconds in times.items():
                row.results[name] = NOT_INSTALLED if seconds is None else seconds[case]
            limits = [limit] if limit is not None and length == 10**5 else []
            ours = row.results[OURS]
            if case in before and isinstance(ours, float):
                row.case += f" ({ours / before[case]:.1f} x a tenth of it)"
                limits.append(SLOPE * before[case])
            row.limit = min(limits, default=None)
            rows.append(row)
        before = {case: ours for case, ours in (times[OURS] or {}).items() if isinstance(ours, float)}
        if length * 10 not in lengths:
            before = {}
    return rows


def _chain(layer: _Layer, x: Any, length: int) -> Any:
    step = layer.step
    y = x
    for _ in range(length):
        y = step(y)
    return y


def _measure(layer: _Layer, length: int, rounds: int) -> dict[str, float | str]:
    """Return the median seconds of each case, or why there is no figure."""
    x = layer.start()
    y = _chain(layer, x, length)
    times: dict[str, float | str] = {}

    def measure(case: str, call: Callable[[], object]) -> None:
        times[case] = _median(call, rounds)

    measure("build", lambda: _chain(layer, x, length))
    measure("toposort", lambda: layer.toposort([x], [y]))
    measure("clone", lambda: layer.clone([x], [y]))
    twin: Any = layer.clone([x], [y])
    measure("equal_computations", partial(_equal, layer, x, y, twin))
    del twin
    if layer.sort is None:
        times["sort_apply_nodes"] = "not there"
    else:
        measure("sort_apply_nodes", partial(layer.sort, [x], [y]))
    measure("FunctionGraph", lambda: layer.function_graph([x], [y]))
    graph = layer.function_graph(*layer.clone([x], [y]))
    measure("FunctionGraph.clone", partial(graph.clone, check_integrity=False))
    measure("check_integrity", graph.check_integrity)
    del graph
    if length <= layer.most_replacements:
        measure("replace each node", lambda: _replace_all(layer, x, length))
    else:
        times["replace each node"] = "not run"
    measure("pickle", lambda: pickle.dumps(y))
    if isinstance(times["pickle"], float):
        data = pickle.dumps(y)
        measure("unpickle", lambda: pickle.loads(data))
    else:
        times["unpickle"] = times["pickle"]
    measure("copy", lambda: list(map(copy.copy, layer.toposort([x], [y]))))
    measure("deepcopy", lambda: copy.deepcopy(y))
    times["free"] = statistics.median(_free(layer, length) for _ in range(rounds))
    return times


def _equal(layer: _Layer, x: Any, y: Any, twin: Any) -> bool:
    inputs, outputs = twin
    return layer.equal([y], outputs, [x], inputs)


def _replace_all(layer: _Layer, x: Any, length: int) -> object:
    """Build a chain and replace each of its nodes by two."""
    graph = layer.function_graph([x], [_chain(layer, x, length)])
    for node in list(graph.toposort()):
        graph.replace(node.outputs[0], layer.step(layer.step(node.inputs[0])))
    return graph


def _free(layer: _Layer, length: int) -> float:
    """Return the seconds that it takes to drop and collect a chain."""
    x = layer.start()
    y = _chain(layer, x, length)
    gc.collect()
    start = time.process_time()
    del x, y
    gc.collect()
    return time.process_time() - start


def _median(call: Callable[[], object], rounds: int) -> float | str:
    times = []
    try:
        with _no_collection():
            call()
            for _ in range(rounds):
                start = time.process_time()
                result = call()
                times.append(time.process_time() - start)
                del result
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


def main() -> int:
    """Run this benchmark alone, also at lengths that take long."""
    from run import table  # that program imports this module

    parser = argparse.ArgumentParser(description="Measure the graph layer.")
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--rounds", type=int, default=Options().rounds)
    arguments = parser.parse_args()
    print(table(run(Options(rounds=arguments.rounds), sorted(arguments.lengths))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
