"""
10. Your own operations
=======================

Most new operations are functions that combine existing ones. If that is not
enough, you write a class: types, values, gradient and shapes.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# A function is usually enough
# ----------------------------
#
# A Python function that returns an expression has a gradient and compiled code
# without any work of yours.


def swish(x):
    return x * T.nnet.sigmoid(x)


x = T.dvector("x")
y = swish(x).sum()
print(theano.function([x], [y, theano.grad(y, x)])([0.0, 1.0]))

# %%
# A Python function as an operation
# ---------------------------------
#
# :func:`theano.compile.as_op` calls a function of arrays. It has no gradient.


@theano.compile.as_op(itypes=[T.dvector], otypes=[T.dvector])
def ranks(values):
    return np.argsort(np.argsort(values)).astype("float64")


print(theano.function([x], ranks(x) + 1)([0.3, 0.1, 0.2]))

# %%
# A class
# -------
#
# ``make_node`` checks the operands and says which types result. ``perform``
# computes with arrays. ``grad`` returns expressions, and ``infer_shape`` the shapes
# of the results.


class CumulativeMax(theano.Op):
    """The largest element so far."""

    __props__ = ()

    def make_node(self, x):
        x = T.as_tensor_variable(x)
        if x.ndim != 1:
            raise TypeError("cumulative maximum: x must be a vector")
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.maximum.accumulate(inputs[0])

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def grad(self, inputs, output_gradients):
        return [CumulativeMaxGrad()(inputs[0], output_gradients[0])]


class CumulativeMaxGrad(theano.Op):
    """Add each gradient to the element that was the maximum."""

    __props__ = ()

    def make_node(self, x, g):
        x, g = T.as_tensor_variable(x), T.as_tensor_variable(g)
        return theano.Apply(self, [x, g], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, g = inputs
        result = np.zeros_like(x)
        new = np.append(True, x[1:] > np.maximum.accumulate(x)[:-1])
        source = np.maximum.accumulate(np.where(new, np.arange(len(x)), 0))
        np.add.at(result, source, g)
        output_storage[0][0] = result

    def infer_shape(self, node, input_shapes):
        return input_shapes[:1]


z = CumulativeMax()(x)
weighted = (z * np.array([1.0, 10.0, 100.0])).sum()
f = theano.function([x], [z, theano.grad(weighted, x)])
print(f([1.0, 3.0, 2.0]))

# %%
# Test it
# -------
#
# ``verify_grad`` compares the gradient with finite differences. ``DebugMode`` checks
# that ``perform`` keeps its promises.

T.verify_grad(CumulativeMax(), [np.array([0.1, 0.7, 0.3])], rng=np.random)
checked = theano.function([x], z, mode="DebugMode")
print(checked([1.0, 3.0, 2.0]))

# %%
# Rewrite an expression
# ---------------------
#
# A rewrite replaces a pattern by something better. This one knows that a cumulative
# maximum does not change a cumulative maximum.

from theano.gof import PatternSub

once = PatternSub(
    (CumulativeMax(), (CumulativeMax(), "x")),
    (CumulativeMax(), "x"),
    name="cumulative_max_once",
)
theano.compile.optdb["canonicalize"].register("cumulative_max_once", once, "fast_run")
twice = theano.function([x], CumulativeMax()(CumulativeMax()(x)))
theano.printing.debugprint(twice)

# %%
# For speed, write the operation in C (:doc:`/howto/c_ops`) or describe it as a kernel
# (:doc:`/recipes/native_kernel`). :doc:`/howto/testing_ops` tests it as the library
# tests its own.
#
# This was the last lesson. The :doc:`gallery </generated/gallery>` has longer programs.
