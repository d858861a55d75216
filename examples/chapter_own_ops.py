"""Ops of one's own: in Python, with a gradient, with C code, made of a function; and the tests that they deserve.

Run ``python examples/chapter_own_ops.py``; every statement about the results is checked.
"""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np

import theano
import theano.tensor as T
from theano import gof
from theano.compile.ops import as_op
from theano.tests import unittest_tools as utt
from theano.tests.test_rop import RopLop_checker


class Celsius(theano.Op):
    """Degrees Fahrenheit as degrees of another scale: ``(x - zero) * step``."""

    __props__ = ("zero", "step")

    def __init__(self, zero: float = 32.0, step: float = 5 / 9) -> None:
        self.zero = zero
        self.step = step

    def make_node(self, x: Any) -> gof.Apply:
        x = T.as_tensor_variable(x)
        return gof.Apply(self, [x], [x.type()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        output_storage[0][0] = (x - self.zero) * self.step

    def infer_shape(self, node: gof.Apply, shapes: Sequence[Any]) -> Sequence[Any]:
        return shapes

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        return [output_grads[0] * self.step]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> Sequence[Any]:
        if eval_points[0] is None:
            return eval_points
        return self.grad(inputs, eval_points)


class Clipped(gof.Op):
    """How much of each number lies above a limit; in Python and in C."""

    __props__ = ()

    def make_node(self, x: Any, limit: Any) -> gof.Apply:
        x, limit = T.as_tensor_variable(x), T.as_tensor_variable(limit)
        if x.type.ndim != 1:
            raise TypeError("x must be a vector")
        if limit.type.ndim != 0:
            raise TypeError("limit must be one number")
        return gof.Apply(self, [x, limit], [x.type()])

    def perform(self, node: gof.Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        x, limit = inputs
        output_storage[0][0] = np.maximum(x - limit, 0).astype(x.dtype)

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)

    def c_code(self, node: gof.Apply, name: str, inp: Sequence[str], out: Sequence[str], sub: dict[str, str]) -> str:
        (x, limit), (z,), fail = inp, out, sub["fail"]
        number, bound = (f"npy_{v.type.dtype}" for v in node.inputs)
        return f"""
        if ({z} == NULL || PyArray_DIMS({z})[0] != PyArray_DIMS({x})[0]) {{
            Py_XDECREF({z});
            {z} = (PyArrayObject*)PyArray_EMPTY(1, PyArray_DIMS({x}), PyArray_TYPE({x}), 0);
            if (!{z}) {{
                {fail}
            }}
        }}
        {{
            const {bound} limit = (({bound}*)PyArray_DATA({limit}))[0];
            for (npy_intp i = 0; i < PyArray_DIMS({x})[0]; i++) {{
                const {number} over = *({number}*)PyArray_GETPTR1({x}, i) - limit;
                *({number}*)PyArray_GETPTR1({z}, i) = over > 0 ? over : 0;
            }}
        }}
        """


@as_op(itypes=[T.dvector, T.lscalar], otypes=[T.dvector])
def rotated(x: Any, by: Any) -> Any:
    """Move the elements around in a ring."""
    return np.roll(x, int(by))


class TestCelsius(utt.InferShapeTester):
    """Checks that the author of an op runs."""

    def setUp(self) -> None:
        super().setUp()
        self.op_class = Celsius
        self.op = Celsius()

    def test_basic(self) -> None:
        x = T.dmatrix()
        values = np.array([[32.0, 212.0], [-40.0, 50.0]])
        utt.assert_allclose(np.array([[0.0, 100.0], [-40.0, 10.0]]), theano.function([x], self.op(x))(values))

    def test_infer_shape(self) -> None:
        x = T.dmatrix()
        self._compile_and_check([x], [self.op(x)], [np.ones((5, 4))], self.op_class)

    def test_grad(self) -> None:
        utt.verify_grad(self.op, [np.random.RandomState(2).rand(5, 7, 2)])


class TestCelsiusRop(RopLop_checker):
    """The products with Jacobians of the op."""

    def test_rop(self) -> None:
        self.check_rop_lop(Celsius()(self.x), self.in_shape)


def equality() -> None:
    """Ops with equal properties are equal, so that equal computations are done once."""
    assert Celsius() == Celsius(32.0)
    assert Celsius() != Celsius(0.0, 1.0)
    assert hash(Celsius(1.0)) == hash(Celsius(1.0))
    x = T.dvector("x")
    f = theano.function([x], [Celsius()(x), Celsius()(x) + 1])
    assert [type(node.op).__name__ for node in f.maker.fgraph.toposort()].count("Celsius") == 1
    np.testing.assert_allclose(f([50.0])[1], [11.0])


def c_code() -> None:
    """The C form and the Python form give the same; wrong input is refused in both."""
    x, limit = T.fvector("x"), T.dscalar("limit")
    values = np.array([1, 5, -2, 8], dtype="float32")
    for mode in ("FAST_RUN", "FAST_COMPILE", "DebugMode", theano.Mode("py", "fast_compile")):
        f = theano.function([x, limit], Clipped()(x, limit), mode=mode)
        result = f(values[::2], 0.5)
        assert result.dtype == "float32"
        np.testing.assert_array_equal(result, np.array([0.5, 0.0], dtype="float32"))
        np.testing.assert_array_equal(f(values, 4), np.array([0, 1, 0, 4], dtype="float32"))
    for wrong in ((T.dmatrix(), 1.0), (x, T.dvector())):
        try:
            Clipped()(*wrong)
        except TypeError as error:
            assert "must be" in str(error)
        else:
            raise AssertionError(wrong)


def from_a_function() -> None:
    x, by = T.dvector("x"), T.lscalar("by")
    f = theano.function([x, by], rotated(x, by) * 2)
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0], 1), [6.0, 2.0, 4.0])


def main() -> None:
    equality()
    c_code()
    from_a_function()
    loader = unittest.defaultTestLoader
    suite = unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (TestCelsius, TestCelsiusRop))
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun == 4, result
    assert result.wasSuccessful(), [*result.errors, *result.failures]
    print("own ops:", result.testsRun, "tests passed")


if __name__ == "__main__":
    main()
