"""Cost of rewriting: its growth with the graph, the whole of FAST_RUN, and putting in-place forms in.

    python benchmarks/optimize_layer.py [--rounds N]

"Growth" is the slope of time over nodes in a plot with logarithmic axes: 1 is linear. The small language of this file
knows the two lowest layers only; the tensor cases run all rewrites of FAST_RUN and nothing of the later compilation,
beside PyTensor's `fast_run` without in-place rewrites. Times are processor times without the cyclic collector.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness import NOT_INSTALLED, OURS, Options, Row, peer

import theano.tensor as T
from theano import grad
from theano_graph import Apply, FunctionGraph, Generic, Op, Variable
from theano_linker_c import FAST_RUN
from theano_optimize import (
    AddDestroyHandler,
    EquilibriumRewriter,
    InplaceRewriter,
    MergeRewriter,
    PatternRewriter,
    SequenceRewriter,
    Supervisor,
    constant_folding,
)

SLOPE = 1.15
TYPE = Generic()
Graph = tuple[list[Any], list[Any]]


class _Step(Op):
    """An op of the small language; in place if asked to be."""

    __props__ = ("name", "inplace")

    def __init__(self, name: str, inplace: bool = False) -> None:
        self.name, self.inplace = name, inplace
        self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]} if inplace else {}

    def make_node(self, *inputs: Variable) -> Apply:
        return Apply(self, list(inputs), [TYPE()])

    def do_constant_folding(self, node: Apply) -> bool:
        return False


neg, exp, log, add, pure = (_Step(name) for name in ("neg", "exp", "log", "add", "pure"))
CANONICALIZE = SequenceRewriter(
    [
        MergeRewriter(),
        EquilibriumRewriter(
            [
                PatternRewriter((neg, (neg, "x")), "x", name="neg_of_neg"),
                PatternRewriter((exp, (log, "x")), "x", name="exp_of_log"),
                PatternRewriter((log, (exp, "x")), "x", name="log_of_exp"),
                PatternRewriter((neg, (add, "x", "y")), (add, (neg, "x"), (neg, "y")), name="neg_inwards"),
                PatternRewriter((add, "x", (neg, "x")), TYPE.make_constant(0), name="add_of_neg"),
                constant_folding,
            ]
        ),
        MergeRewriter(),
    ]
)


def language_chain(nodes: int) -> Graph:
    """Return a chain of elementwise steps of which some cancel."""
    x = TYPE("x")
    y: Any = x
    for i in range(nodes // 5):
        y = pure(neg(exp(log(y)))) if i % 2 else pure(neg(neg(exp(y))))
        y = pure(y)
    return [x], [y]


def language_tree(nodes: int) -> Graph:
    """Return a balanced tree under a negation that moves down to the leaves and cancels there."""
    leaves = [TYPE() for _ in range(nodes // 2)]
    level: list[Any] = [neg(leaf) for leaf in leaves]
    while len(level) > 1:
        level = [add(*level[i : i + 2]) if i + 1 < len(level) else level[i] for i in range(0, len(level), 2)]
    return leaves, [neg(level[0])]


def overwriting_candidates(nodes: int) -> Graph:
    """Return a chain forth and back in which the way back reads the results of the way forth."""
    x = TYPE("x")
    values: list[Any] = [x]
    for _ in range(nodes // 3):
        values.append(pure(values[-1]))
    y = values[-1]
    for value in reversed(values[1:]):
        y = pure(y, pure(value))
    return [x], [y]


def tensor_chain(tensor: Any, nodes: int) -> Graph:
    """Return an elementwise chain of a program."""
    x = tensor.dvector("x")
    y = x
    for _ in range(nodes // 4):
        y = tensor.exp(-(y * 1.5)) + 0.5
    return [x], [y]


def tanh_gradient(tensor: Any, gradient: Callable[..., Any], links: int) -> Graph:
    """Return the gradient of a chain of tanh."""
    x = tensor.dvector("x")
    y = x
    for _ in range(links):
        y = tensor.tanh(y)
    return [x], [gradient(y.sum(), x)]


def _seconds(make: Callable[[], Graph], rewrite: Callable[[Any], object], rounds: int, graph_of: Any) -> float:
    times = []
    for _ in range(rounds):
        inputs, outputs = make()
        fgraph = graph_of(inputs, outputs)
        gc.collect()
        gc.disable()
        try:
            start = time.process_time()
            rewrite(fgraph)
            times.append(time.process_time() - start)
        finally:
            gc.enable()
    return statistics.median(times)


def _ours(make: Callable[[], Graph], rewrite: Callable[[Any], object], rounds: int) -> float:
    return _seconds(make, rewrite, rounds, FunctionGraph)


def _growth(times: Mapping[int, float]) -> float:
    """Return the slope of the straight line that fits the logarithms best."""
    points = [(math.log(size), math.log(seconds)) for size, seconds in times.items()]
    mean_x, mean_y = (statistics.mean(values) for values in zip(*points, strict=True))
    rise: float = sum((x - mean_x) * (y - mean_y) for x, y in points)
    run: float = sum((x - mean_x) ** 2 for x, _ in points)
    return rise / run


def _sizes_rows(
    case: str,
    sizes: Sequence[int],
    make: Callable[[int], Graph],
    rewrite: Callable[[Any], object],
    rounds: int,
    what: str = "nodes",
) -> list[Row]:
    """Return the time at the largest size, and the growth over all."""
    times = {size: _ours(lambda size=size: make(size), rewrite, rounds) for size in sizes}  # type: ignore[misc]
    last = sizes[-1]
    span = f"{case}, {sizes[0]:,} to {last:,} {what}: growth"
    return [
        Row(f"{case}, {last:,} {what}", {OURS: times[last]}),
        Row(span, {OURS: _growth(times)}, limit=SLOPE, unit="(1 is linear)"),
    ]


def _pytensor_seconds(make: Callable[[Any, Any], Graph], rounds: int) -> float | str:
    pytensor: Any = peer("pytensor")
    if pytensor is None:
        return NOT_INSTALLED
    tensor: Any = peer("pytensor.tensor")
    graphs: Any = peer("pytensor.graph.fg")
    modes: Any = peer("pytensor.compile.mode")
    rewriter = modes.Mode("py", "fast_run").excluding("inplace").optimizer
    return _seconds(lambda: make(tensor, pytensor.grad), rewriter.rewrite, rounds, graphs.FunctionGraph)


def run(options: Options) -> list[Row]:
    """Measure all cases."""
    rounds = max(1, options.rounds // 10)
    rewrite: Callable[[Any], object] = CANONICALIZE.rewrite
    rows = _sizes_rows("small language: canonicalise a chain", (10**3, 10**4, 10**5), language_chain, rewrite, rounds)
    rows += _sizes_rows(
        "small language: canonicalise a balanced tree", (10**3, 3 * 10**3, 10**4), language_tree, rewrite, rounds
    )
    rows.append(_inplace_row(rounds))
    rewrite = FAST_RUN.rewrite
    chain = _sizes_rows("FAST_RUN on a chain", (10**3, 10**4, 10**5), lambda n: tensor_chain(T, n), rewrite, rounds)
    rows += [Row("FAST_RUN on a chain, 10,000 nodes", limit=4.0), *chain]
    rows[-3].results[OURS] = _ours(lambda: tensor_chain(T, 10**4), rewrite, rounds)
    rows += _sizes_rows("FAST_RUN on tanh and its gradient", (500, 1000, 2000), _our_gradient, rewrite, rounds, "links")
    compared: dict[str, Callable[[Any, Any], Graph]] = {
        "FAST_RUN on a chain, 2,000 nodes": lambda tensor, _: tensor_chain(tensor, 2000),
        "FAST_RUN on 200 links of tanh and their gradient": lambda tensor, gradient: tanh_gradient(
            tensor, gradient, 200
        ),
    }
    for case, make in compared.items():
        mine = _ours(lambda make=make: make(T, grad), rewrite, rounds)  # type: ignore[misc]
        rows.append(Row(case, {OURS: mine, "pytensor": _pytensor_seconds(make, 1)}, beat=("pytensor",)))
    return rows


def _our_gradient(links: int) -> Graph:
    return tanh_gradient(T, grad, links)


def _inplace_row(rounds: int) -> Row:
    rewriter = SequenceRewriter(
        [AddDestroyHandler(), InplaceRewriter(lambda node: [_Step("pure", inplace=True)], [pure], "in_place")]
    )

    def supervised(inputs: list[Any], outputs: list[Any]) -> FunctionGraph:
        fgraph = FunctionGraph(inputs, outputs)
        fgraph.attach_feature(Supervisor(fgraph.inputs))
        return fgraph

    seconds = _seconds(lambda: overwriting_candidates(10**4), rewriter.rewrite, rounds, supervised)
    return Row("in-place forms for 10,000 candidates, a third of them refused", {OURS: seconds}, limit=2.0)


def main() -> int:
    """Run this benchmark alone."""
    from run import table  # that program imports this module

    parser = argparse.ArgumentParser(description="Measure rewriting.")
    parser.add_argument("--rounds", type=int, default=Options().rounds)
    arguments = parser.parse_args()
    print(table(run(Options(rounds=arguments.rounds))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
