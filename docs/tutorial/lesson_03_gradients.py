"""
3. Gradients
============

:func:`theano.grad` returns the derivative of a scalar expression as another
expression. You compile it, print it, or differentiate it again.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# The derivative of a number
# --------------------------

x = T.dscalar("x")
y = x**3
slope = theano.grad(y, x)
theano.printing.debugprint(theano.function([x], slope))
print(slope.eval({x: 2.0}))

# %%
# A derivative is an ordinary expression, so the second derivative is the
# derivative of the first.

print(theano.grad(slope, x).eval({x: 2.0}))

# %%
# The gradient of a cost
# ----------------------
#
# Ask for several gradients at once: they share their intermediate results. Each
# has the type of its variable.

data = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = np.array([1.0, 2.0, 3.0])
w, b = T.dvector("w"), T.dscalar("b")
error = T.dot(data, w) + b - targets
cost = (error**2).mean()
gradient_w, gradient_b = theano.grad(cost, [w, b])
f = theano.function([w, b], [cost, gradient_w, gradient_b])
print(f([0.0, 0.0], 0.0))

# %%
# Check a gradient
# ----------------
#
# :func:`theano.tensor.verify_grad` compares the gradient with finite differences,
# and raises an error if they differ.

T.verify_grad(lambda v: T.tanh(v).sum(), [np.array([0.1, 0.5])], rng=np.random)

# %%
# Jacobians and Hessians
# ----------------------
#
# The cost of :func:`theano.grad` is a scalar. For a vector, use
# :func:`theano.gradient.jacobian`; for second derivatives,
# :func:`theano.gradient.hessian`.

v = T.dvector("v")
outputs = T.stack([v[0] * v[1], v[0] ** 2])
jacobian = theano.gradient.jacobian(outputs, v)
hessian = theano.gradient.hessian(v[0] ** 2 * v[1], v)
print(theano.function([v], [jacobian, hessian])([2.0, 3.0]))

# %%
# Often only a product with such a matrix is needed. :func:`theano.Rop` multiplies
# the Jacobian by a vector from the right, :func:`theano.Lop` from the left, without
# building the matrix.

direction = T.dvector("direction")
right = theano.Rop(outputs, v, direction)
left = theano.Lop(outputs, v, direction)
print(theano.function([v, direction], [right, left])([2.0, 3.0], [1.0, 0.0]))

# %%
# Stop or change a gradient
# -------------------------
#
# ``disconnected_grad`` treats an expression as a constant.
# :func:`theano.gradient.grad_clip` bounds the gradient that passes through it.

held = theano.gradient.disconnected_grad(x)
print(theano.grad(x * held, x).eval({x: 5.0}))
bounded = theano.gradient.grad_clip(x, -1.0, 1.0)
print(theano.grad(bounded**2, x).eval({x: 5.0}))

# %%
# A variable without a way to the cost
# ------------------------------------
#
# By default this is an error, since it usually is a mistake in the program.

try:
    theano.grad(x**2, [b])
except ValueError as error:
    print(str(error).splitlines()[0])
zero = theano.grad(x**2, b, disconnected_inputs="ignore")
print(zero.eval({b: 1.0}))

# %%
# Next: :doc:`lesson_04_training`.
