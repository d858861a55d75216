"""Graphs: variables, nodes and ops, walks over them, their compiled form, and ops made of graphs.

Run ``python examples/chapter_graphs.py``; every statement about the results is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof


def structure() -> None:
    """A variable has a type, and an owner where it was computed; a node has an op, inputs and outputs."""
    x, y = T.dmatrix("x"), T.dmatrix("y")
    z: Any = x + y
    assert z.owner.op.name == "Elemwise{add,no_inplace}"
    assert z.owner.inputs == [x, y]
    assert z.owner.outputs[0] is z
    assert (x.owner, z.index, z.type) == (None, 0, T.dmatrix)
    doubled: Any = x * 2
    factor = doubled.owner.inputs[1].owner.inputs[0]
    assert isinstance(factor, gof.Constant)
    assert factor.data == 2
    assert isinstance(doubled.owner.inputs[1].owner.op, T.DimShuffle)


def walks() -> None:
    """Inputs, nodes in order, copies with replacements, and equality of computations."""
    a, b = T.dvectors("a", "b")
    out = T.exp(a) * b + T.exp(a)
    assert gof.graph.inputs([out]) == [a, b]
    names = [str(node.op) for node in gof.graph.io_toposort([a, b], [out])]
    assert names[-1] == "Elemwise{add,no_inplace}"
    assert len(names) == 4
    other: Any = theano.clone(out, replace={b: a * 0})
    assert [v for v in gof.graph.inputs([other]) if not isinstance(v, gof.Constant)] == [a]
    np.testing.assert_allclose(other.eval({a: [0.0, 1.0]}), [1.0, np.exp(1.0)])
    assert gof.graph.is_same_graph(T.exp(a), T.exp(a))
    assert not gof.graph.is_same_graph(T.exp(a), T.exp(b))


def compilation() -> list[int]:
    """A function holds the graph after rewriting, the thunks of its nodes, and where values are stored."""
    a = T.dvector("a")
    b = a + a**10
    plain: Any = theano.function([a], b, mode=theano.Mode("py", None))
    fast: Any = theano.function([a], b)
    counts = [len(f.maker.fgraph.apply_nodes) for f in (plain, fast)]
    assert counts[1] < counts[0]
    for f in (plain, fast):
        np.testing.assert_array_equal(f([0.0, 1.0, 2.0]), [0.0, 2.0, 1026.0])
        assert f.maker.fgraph.inputs[0].name == "a"
        assert len(f.fn.thunks) == len(f.maker.fgraph.apply_nodes)
    graph = gof.FunctionGraph([a], [b], clone=True)
    gof.MergeOptimizer().optimize(graph)
    assert len(graph.apply_nodes) <= counts[0]
    return counts


def ops_of_graphs() -> None:
    """An op made of a graph is used like any other; its gradient may be told."""
    x, y = T.dscalars("x", "y")
    norm = theano.OpFromGraph([x, y], [T.sqrt(x**2 + y**2)])
    u, v = T.dscalars("u", "v")
    f = theano.function([u, v], [norm(u, v * 2), theano.grad(norm(u, v), u)])
    length, slope = f(3.0, 2.0)
    assert length == 5.0
    np.testing.assert_allclose(slope, 3 / np.sqrt(13))

    def halved(inputs: Any, output_gradients: Any) -> list[Any]:
        return [g * 0.5 for g in output_gradients for _ in inputs]

    op = theano.OpFromGraph([x, y], [x * y], grad_overrides=halved)
    assert theano.function([u, v], theano.grad(op(u, v), v))(7.0, 8.0) == 0.5
    inline = theano.OpFromGraph([x, y], [x * y], inline=True)
    nodes: Any = theano.function([u, v], inline(u, v) + 1)
    assert all("OpFromGraph" not in str(node.op) for node in nodes.maker.fgraph.apply_nodes)


def givens() -> None:
    """A function may put other expressions, or data that it holds, in place of variables."""
    x = T.dvector("x")
    data = theano.shared(np.arange(10.0), "data")
    index = T.lscalar("index")
    batch = theano.function([index], (x**2).sum(), givens={x: data[index * 5 : (index + 1) * 5]})
    assert batch(0) == 30.0 and batch(1) == 255.0


def main() -> None:
    structure()
    walks()
    counts = compilation()
    ops_of_graphs()
    givens()
    print(f"graphs: {counts[0]} nodes became {counts[1]}")


if __name__ == "__main__":
    main()
