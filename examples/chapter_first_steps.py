"""First steps: arrays, numbers with a type, expressions and functions, and the ready-made modes.

Run ``python examples/chapter_first_steps.py``; every statement about the results is checked.
"""

from __future__ import annotations

import numpy as np

import theano
import theano.tensor as T


def arrays() -> None:
    """Rows are examples; the shorter operand is broadcast."""
    table = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert table.shape == (3, 2)
    assert table[2, 0] == 5.0
    np.testing.assert_array_equal(np.array([1.0, 2.0, 3.0]) * 2.0, [2.0, 4.0, 6.0])
    x = T.dmatrix("x")
    f = theano.function([x], [x * 2.0, x - x.mean(axis=0), x[2, 0]])
    doubled, centred, corner = f(table)
    np.testing.assert_array_equal(doubled, table * 2)
    np.testing.assert_array_equal(centred, [[-2.0, -2.0], [0.0, 0.0], [2.0, 2.0]])
    assert corner == 5.0


def types() -> None:
    """The constructor's first letter is the type of the numbers; without one it is `floatX`."""
    dtypes = {T.bscalar().dtype, T.iscalar().dtype, T.lscalar().dtype, T.fscalar().dtype, T.zscalar().dtype}
    assert dtypes == {"int8", "int32", "int64", "float32", "complex128"}
    with theano.config.change_flags(floatX="float32"):
        assert T.matrix().dtype == "float32"
    assert T.dtensor3().ndim == 3
    assert (T.row().broadcastable, T.col().broadcastable) == ((True, False), (False, True))
    a, b = T.dmatrix("a"), T.ivector("b")
    assert (a + b).type == T.dmatrix
    assert (T.iscalar() / T.iscalar()).dtype == "float64"


def expressions() -> None:
    """An expression is data until it is compiled, or asked for its value."""
    x, y = T.dscalars("x", "y")
    z = x + y
    assert theano.pp(z) == "(x + y)"
    add = theano.function([x, y], z)
    assert add(2, 3) == 5.0
    assert add(16.3, 12.1).dtype == np.float64
    assert np.allclose(z.eval({x: 16.3, y: 12.1}), 28.4)
    a, b = T.vectors("a", "b")
    square = theano.function([a, b], a**2 + b**2 + 2 * a * b)
    np.testing.assert_allclose(square([1.0, 2.0], [4.0, 5.0]), [25.0, 49.0])


def modes() -> None:
    """All modes give the same results; they differ in their work before and while a function runs."""
    x = T.dmatrix("x")
    out = 1 / (1 + T.exp(-x))
    values = np.array([[0.0, 1.0], [-1.0, -2.0]])
    expected = (1 + np.tanh(values / 2)) / 2
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", theano.Mode("py", None), theano.Mode("c|py", "fast_run")):
        np.testing.assert_allclose(theano.function([x], out, mode=mode)(values), expected)
    sizes = [len(theano.function([x], out, mode=m).maker.fgraph.apply_nodes) for m in (theano.Mode("py", None), None)]
    assert sizes[1] < sizes[0], sizes
    without = theano.compile.get_default_mode().excluding("fusion")
    assert without.linker is not None
    np.testing.assert_allclose(theano.function([x], out, mode=without)(values), expected)


def main() -> None:
    arrays()
    types()
    expressions()
    modes()
    print("first steps: 5 modes, one result")


if __name__ == "__main__":
    main()
