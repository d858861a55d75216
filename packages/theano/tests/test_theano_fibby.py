"""The example of writing an op and a rewrite for it, as a reader of it would write them."""

from __future__ import annotations

import unittest
from typing import Any

import numpy

import theano
import theano.tensor as T
from theano import function, tensor
from theano.tensor.opt import NotScalarConstantError, get_scalar_constant_value


class Fibby(theano.Op):
    """A generalised Fibonacci sequence."""

    __props__ = ()

    def make_node(self, x: Any) -> Any:
        x_ = tensor.as_tensor_variable(x)
        assert x_.ndim == 1
        return theano.Apply(self, inputs=[x_], outputs=[x_.type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (x,) = inputs
        y = output_storage[0][0] = x.copy()
        for i in range(2, len(x)):
            y[i] = y[i - 1] * y[i - 2] + x[i]

    def c_code(self, node: Any, name: str, inames: Any, onames: Any, sub: Any) -> str:
        (x,) = inames
        (y,) = onames
        fail = sub["fail"]
        return f"""
            Py_XDECREF({y});
            {y} = (PyArrayObject*)PyArray_FromArray({x}, 0, NPY_ARRAY_ENSURECOPY);
            if (!{y})
                {fail};
            {{  // New scope needed to make compilation work
                dtype_{y} *y = (dtype_{y}*)PyArray_DATA({y});
                dtype_{x} *x = (dtype_{x}*)PyArray_DATA({x});
                for (int i = 2; i < PyArray_DIMS({x})[0]; ++i)
                    y[i] = y[i-1] * y[i-2] + x[i];
            }}
        """

    def c_code_cache_version(self) -> tuple[int, ...]:
        return (1,)


fibby = Fibby()


@theano.tensor.opt.register_specialize
@theano.gof.local_optimizer([fibby])
def fibby_of_zero(node: Any) -> Any:
    if node.op == fibby:
        x = node.inputs[0]
        try:
            if numpy.all(get_scalar_constant_value(x) == 0):
                return [x]
        except NotScalarConstantError:
            pass
    return None


class TestFibby(unittest.TestCase):
    @classmethod
    def tearDownClass(cls) -> None:
        theano.compile.optdb["specialize"].remove("fibby_of_zero")

    def test_it_does_not_apply_when_not_needed(self) -> None:
        x = T.dvector()
        f = function([x], fibby(x), mode="FAST_RUN")
        numpy.testing.assert_allclose(f([1, 2, 3, 4]), [1, 2, 5, 14])
        plain = function([x], fibby(x), mode=theano.Mode("py", "fast_run"))
        values = numpy.random.default_rng(0).random(5)
        numpy.testing.assert_allclose(f(values), plain(values))
        topo = f.maker.fgraph.toposort()
        self.assertEqual(len(topo), 1)
        self.assertIsInstance(topo[0].op, Fibby)

    def test_it_applies(self) -> None:
        f_zero = function([], fibby(T.zeros([5])), mode="FAST_RUN")
        numpy.testing.assert_array_equal(f_zero(), numpy.zeros(5))
        topo = f_zero.maker.fgraph.toposort()
        self.assertEqual(len(topo), 1)
        self.assertIsInstance(topo[0].op, theano.compile.ops.DeepCopyOp)

    def test_it_is_part_of_the_right_modes(self) -> None:
        # Zeros of a length that is not known: folding constants alone does not remove the op.
        n = T.lscalar()
        without = theano.compile.get_mode("FAST_RUN").excluding("fibby_of_zero")
        for mode, applied in (("FAST_RUN", True), ("FAST_COMPILE", False), (without, False)):
            f = function([n], fibby(T.zeros([n])), mode=mode)
            ops = [type(node.op) for node in f.maker.fgraph.toposort()]
            self.assertEqual(Fibby not in ops, applied, mode)
            numpy.testing.assert_array_equal(f(4), numpy.zeros(4))

    def test_registering_with_tags_and_names(self) -> None:
        @theano.tensor.opt.register_canonicalize("fast_compile", name="fibby_demo")  # type: ignore[untyped-decorator]
        @theano.gof.local_optimizer([fibby])
        def drop_fibby(node: Any) -> Any:
            return [node.inputs[0]]

        try:
            x = T.dvector()
            f = function([x], fibby(x), mode="FAST_COMPILE")
            numpy.testing.assert_array_equal(f([1, 2, 3, 4]), [1, 2, 3, 4])
        finally:
            theano.compile.optdb["canonicalize"].remove("fibby_demo")


if __name__ == "__main__":
    unittest.main()
