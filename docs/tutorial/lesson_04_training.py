"""
4. Shared variables and training
================================

A shared variable keeps a value between calls. Updates change it each time a
function is called, and that is all a training step needs.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# State
# -----
#
# :func:`theano.shared` creates a variable with a value. ``get_value`` and
# ``set_value`` read and replace it. An update is a pair: the variable, and the
# expression of its next value.

count = theano.shared(0, name="count")
step = T.lscalar("step")
add = theano.function([step], count, updates=[(count, count + step)])
print(add(1), add(10), count.get_value())

# %%
# A function returns its outputs as they were before the update. All updates of a
# call are computed from the old values.
#
# Data
# ----
#
# Two clouds of points, with labels 0 and 1.

rng = np.random.default_rng(0)
labels = rng.integers(0, 2, size=400).astype("float64")
points = rng.normal(size=(400, 2)) + 2.0 * labels[:, None]

# %%
# A model
# -------
#
# Logistic regression: the probability of label 1 is the sigmoid of a linear
# function. The cost is the mean cross-entropy.

x, y = T.dmatrix("x"), T.dvector("y")
w = theano.shared(np.zeros(2), name="w")
b = theano.shared(0.0, name="b")
probability = T.nnet.sigmoid(T.dot(x, w) + b)
cost = T.nnet.binary_crossentropy(probability, y).mean()

# %%
# A training step
# ---------------
#
# Gradient descent moves each parameter against its gradient. One call computes the
# cost, the gradients and the new values.

parameters = [w, b]
gradients = theano.grad(cost, parameters)
updates = [(p, p - 0.5 * g) for p, g in zip(parameters, gradients, strict=True)]
train = theano.function([x, y], cost, updates=updates)

for epoch in range(201):
    loss = train(points, labels)
    if epoch % 50 == 0:
        print(f"{epoch:3d}  {loss:.4f}")
print(w.get_value().round(2), b.get_value().round(2))

# %%
# Use the model
# -------------
#
# Shared variables need not be inputs: the new function sees their current values.

predict = theano.function([x], probability > 0.5)
print("accuracy:", (predict(points) == labels).mean())

# %%
# Minibatches without copies
# --------------------------
#
# Keep the data in shared variables and pass the number of the batch. ``givens``
# puts a part of the data in the place of the inputs.

all_points = theano.shared(points, name="all_points")
all_labels = theano.shared(labels, name="all_labels")
index = T.lscalar("index")
batch = slice(index * 100, (index + 1) * 100)
train_batch = theano.function(
    [index],
    cost,
    updates=updates,
    givens={x: all_points[batch], y: all_labels[batch]},
)
print([round(float(train_batch(i)), 3) for i in range(4)])

# %%
# Momentum
# --------
#
# An optimizer with memory has a shared variable for each parameter.

w.set_value(np.zeros(2))
b.set_value(0.0)
updates = []
for parameter, gradient in zip(parameters, gradients, strict=True):
    velocity = theano.shared(np.zeros_like(parameter.get_value()))
    change = 0.9 * velocity - 0.05 * gradient
    updates += [(velocity, change), (parameter, parameter + change)]
train = theano.function([x, y], cost, updates=updates)
print([round(float(train(points, labels)), 3) for _ in range(5)])

# %%
# Next: :doc:`lesson_05_speed`.
