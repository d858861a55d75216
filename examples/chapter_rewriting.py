"""Rewriting graphs: an optimizer of the whole graph, one of a node, patterns, and where they are registered.

``min(max(x, y), y)`` is ``y``, and additions of a zero go away. Run ``python examples/chapter_rewriting.py``; every
statement about the results is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import theano
import theano.tensor as T
from theano import gof
from theano.compile.mode import optdb
from theano.gof import toolbox


class Named(gof.Op):
    """An op that is only a name; equal names are equal ops."""

    __props__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def make_node(self, *inputs: Any) -> gof.Apply:
        return gof.Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        functions: dict[str, Callable[[Any], Any]] = {"add": sum, "low": min, "high": max}
        output_storage[0][0] = functions[self.name](inputs)

    def __str__(self) -> str:
        return self.name


add, low, high = Named("add"), Named("low"), Named("high")


class Absorb(gof.Optimizer):
    """``low(high(x, y), y) -> y`` wherever it stands."""

    def add_requirements(self, fgraph: gof.FunctionGraph) -> None:
        fgraph.attach_feature(toolbox.ReplaceValidate())

    def apply(self, fgraph: Any) -> None:
        for node in list(fgraph.toposort()):
            if node.op == low:
                first, y = node.inputs
                if first.owner is not None and first.owner.op == high and y in first.owner.inputs:
                    fgraph.replace_validate(node.outputs[0], y, reason="absorb")


@gof.local_optimizer([low])
def local_absorb(node: gof.Apply) -> Any:
    """Return `y` for ``low(high(x, y), y)``."""
    first, y = node.inputs
    if first.owner is not None and first.owner.op == high and y in first.owner.inputs:
        return [y]
    return False


def graph() -> tuple[list[Any], gof.FunctionGraph]:
    x, y, z = (theano.scalar.float64(name) for name in "xyz")
    return [x, y, z], gof.FunctionGraph([x, y, z], [add(low(high(x, y), y), z)])


def whole_graph() -> None:
    _, fgraph = graph()
    assert str(fgraph) == "[add(low(high(x, y), y), z)]"
    Absorb().optimize(fgraph)
    assert str(fgraph) == "[add(y, z)]"


def node_by_node() -> None:
    """The same rule, carried through the graph by a navigator or by a pattern."""
    pattern = gof.PatternSub((low, (high, "x", "y"), "y"), "y")
    for rule in (local_absorb, pattern):
        _, fgraph = graph()
        gof.TopoOptimizer(rule, order="in_to_out").optimize(fgraph)
        assert str(fgraph) == "[add(y, z)]", (rule, fgraph)
    _, fgraph = graph()
    gof.EquilibriumOptimizer([local_absorb], max_use_ratio=10).optimize(fgraph)
    assert str(fgraph) == "[add(y, z)]"


def equal_computations() -> int:
    """Merging finds equal computations; the other rules apply then."""
    x, y = theano.scalar.float64("x"), theano.scalar.float64("y")
    fgraph = gof.FunctionGraph([x, y], [low(high(add(x, y), y), add(x, y)), add(x, y)])
    before = len([n for n in fgraph.apply_nodes if n.op == add])
    gof.MergeOptimizer().optimize(fgraph)
    after = len([n for n in fgraph.apply_nodes if n.op == add])
    print(f"rewriting: {before} additions, then {after}")
    Absorb().optimize(fgraph)
    assert str(fgraph) == "[*1 -> add(x, y), *1]", fgraph
    return after


def registered() -> None:
    """A rewrite registered with the tag of a mode is part of the mode; a query may leave it out."""
    x = T.dscalar("x")

    class Quiet(theano.Op):
        """An identity that ought to go away."""

        __props__ = ()

        def make_node(self, value: Any) -> gof.Apply:
            return gof.Apply(self, [value], [value.type()])

        def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
            output_storage[0][0] = inputs[0].copy()

    quiet = Quiet()
    remover = gof.TopoOptimizer(gof.OpRemove(quiet), order="out_to_in")
    optdb.register("chapter_remove_quiet", remover, 48.0, "fast_run")
    try:
        ops = {}
        for name, mode in (
            ("in", theano.compile.get_mode("FAST_RUN")),
            ("out", theano.compile.get_mode("FAST_RUN").excluding("chapter_remove_quiet")),
            ("other", theano.compile.get_mode("FAST_COMPILE")),
        ):
            f = theano.function([x], quiet(x) * 3, mode=mode)
            assert float(f(2.0)) == 6.0
            ops[name] = any(isinstance(node.op, Quiet) for node in f.maker.fgraph.toposort())
        assert ops == {"in": False, "out": True, "other": True}, ops
    finally:
        optdb.remove_tags("chapter_remove_quiet", "fast_run")


def main() -> None:
    whole_graph()
    node_by_node()
    assert equal_computations() == 1
    registered()


if __name__ == "__main__":
    main()
