"""Shapes that are known before any number is, shapes that are promised, and dimensions that broadcast.

Run ``python examples/chapter_shapes.py``; every statement about the results is checked.
"""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T


def shapes_without_values() -> None:
    """The shape of a result is computed from the shapes of the inputs: the product itself is not."""
    days, weights = T.dmatrices("days", "weights")
    f = theano.function([days, weights], T.dot(days, weights).shape)
    np.testing.assert_array_equal(f(np.ones((31, 4)), np.ones((4, 7))), [31, 7])
    names = [type(node.op).__name__ for node in f.maker.fgraph.toposort()]
    assert "Dot" not in names, names
    np.testing.assert_array_equal(theano.function([days], (days**2).shape)(np.ones((2, 9))), [2, 9])


def shapes_that_are_trusted() -> None:
    """Only the shape is asked for, so a join that could not be carried out is not noticed; carrying it out is."""
    upper, lower = T.dmatrices("upper", "lower")
    tall = T.join(0, upper, lower)
    shape, value = theano.function([upper, lower], tall.shape), theano.function([upper, lower], tall)
    five, three = np.ones((5, 4)), np.ones((3, 3))
    np.testing.assert_array_equal(shape(five, three), [8, 4])
    try:
        value(five, three)
    except ValueError as error:
        assert "(5, 4)" in str(error)
    else:
        raise AssertionError("rows of different lengths cannot be joined")


def shapes_that_are_promised() -> None:
    """``specify_shape`` promises lengths of a shape, and a value that breaks the promise is refused."""
    x = T.dmatrix("x")
    square = T.specify_shape(x, (3, 3))
    np.testing.assert_array_equal(theano.function([x], (square**2).shape)(np.ones((3, 3))), [3, 3])
    trace = theano.function([x], T.diag(square).sum())
    assert float(trace(np.arange(9.0).reshape(3, 3))) == 12.0
    try:
        trace(np.ones((3, 4)))
    except (AssertionError, ValueError):
        pass
    else:
        raise AssertionError("the promise was broken")


def broadcasting() -> None:
    """A dimension broadcasts if its type says so: a row, a column, or a vector that is transposed."""
    row, column, table, line = T.drow("row"), T.dcol("column"), T.dmatrix("table"), T.dvector("line")
    assert row.broadcastable == (True, False)
    assert column.broadcastable == (False, True)
    assert table.broadcastable == (False, False)
    values = np.arange(6.0).reshape(2, 3)
    along = theano.function([row, table], row + table)
    down = theano.function([column, table], column * table)
    np.testing.assert_array_equal(along([[10, 20, 30]], values), [[10, 21, 32], [13, 24, 35]])
    np.testing.assert_array_equal(down([[1], [-1]], values), values * [[1], [-1]])
    transposed = theano.function([table, line], table - line.dimshuffle(0, "x"))
    np.testing.assert_array_equal(transposed(values, [0.0, 3.0]), [[0, 1, 2], [0, 1, 2]])
    both = theano.function([table, line], [table + line, T.addbroadcast(table, 0) + line])
    fitting = both(np.ones((1, 3)), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fitting[1], [[2.0, 3.0, 4.0]])
    outer = theano.function([line], line.dimshuffle(0, "x") * line.dimshuffle("x", 0))
    np.testing.assert_array_equal(outer([2.0, 5.0]), [[4.0, 10.0], [10.0, 25.0]])
    strict = theano.function([table, T.dmatrix("other")], table, on_unused_input="ignore")
    assert strict(values, values).shape == (2, 3)
    # A length of one does not broadcast if the type does not say so.
    a, b = T.dmatrices("a", "b")
    add = theano.function([a, b], a + b)
    try:
        add(np.ones((1, 3)), np.ones((2, 3)))
    except ValueError as error:
        assert "Input dimension mis-match" in str(error)
    else:
        raise AssertionError("a matrix of one row is no row")


def subsets() -> None:
    """Some rows of a table learn, the others stay: by ``inc_subtensor`` of the rows looked up."""
    table = theano.shared(np.arange(8.0).reshape(4, 2), name="table")
    rows = T.lvector("rows")
    chosen = table[rows]
    cost = (chosen**2).sum()
    step = T.inc_subtensor(chosen, -0.5 * T.grad(cost, chosen))
    learn = theano.function([rows], cost, updates=[(table, step)])
    assert float(learn([1, 3])) == 4 + 9 + 36 + 49
    np.testing.assert_array_equal(table.get_value(), [[0, 1], [0, 0], [4, 5], [0, 0]])
    put = theano.function([rows], [], updates=[(table, T.set_subtensor(chosen, chosen + 1))])
    put([0])
    np.testing.assert_array_equal(table.get_value()[0], [1, 2])
    print("subsets:", table.get_value().tolist())


def main() -> None:
    shapes_without_values()
    shapes_that_are_trusted()
    shapes_that_are_promised()
    broadcasting()
    subsets()


if __name__ == "__main__":
    main()
