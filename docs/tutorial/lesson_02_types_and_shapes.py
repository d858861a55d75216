"""
2. Types and shapes
===================

Each variable has a type: the kind of number, how many dimensions there are, and
which lengths are known. Types are checked while you write the expression.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# The letters of constructors
# ---------------------------
#
# The first letter of a constructor is the kind of number: ``d`` for float64, ``f``
# for float32, ``l`` for int64, ``i`` for int32, ``b`` for int8, ``z`` for
# complex128. Without a letter, the flag ``floatX`` decides.

for variable in (T.dvector("v"), T.fmatrix("m"), T.lscalar("n"), T.matrix("x")):
    print(variable.name, variable.type)

# %%
# The dtype of a result follows from its operands. Python numbers are weak: they
# take the dtype of the array beside them.

m, n = T.fmatrix("m"), T.lscalar("n")
print((m * 2).dtype, (m + n).dtype, (n / 2).dtype)
print(T.cast(n, "float32").dtype)

# %%
# A value that would lose precision is refused
# --------------------------------------------

f = theano.function([m], m.sum())
try:
    f(np.ones((2, 2)) / 3)
except TypeError as error:
    print(error)

# %%
# The hint names both cures: convert the array, or compile the function with
# ``allow_input_downcast=True``.

print(f(np.ones((2, 2), dtype="float32")))

# %%
# Shapes
# ------
#
# ``x.ndim`` is a Python number and known at once. ``x.shape`` is an expression,
# since lengths are known when the function is called.

x = T.dmatrix("x")
print(x.ndim, x.shape)
print(theano.function([x], x.shape)(np.zeros((3, 5))))

# %%
# You may state lengths when you know them. Mistakes then appear in the line that
# makes them, and the message names both operands.

weights = T.tensor("float64", shape=(4, 2), name="weights")
examples = T.tensor("float64", shape=(None, 3), name="examples")
try:
    T.dot(examples, weights)
except ValueError as error:
    print(error)

# %%
# Broadcasting
# ------------
#
# An axis of length one is repeated where the other operand is longer. A vector is
# a row beside a matrix; ``dimshuffle`` (or ``v[:, None]``) makes a column of it.

v = T.dvector("v")
by_row = theano.function([x, v], x + v)
by_column = theano.function([x, v], x + v[:, None])
print(by_row(np.zeros((2, 2)), [1.0, 2.0]))
print(by_column(np.zeros((2, 2)), [1.0, 2.0]))

# %%
# Change the shape
# ----------------

pairs = x.reshape((-1, 2))
print(theano.function([x], pairs)(np.arange(6.0).reshape(2, 3)))
stacked = T.stack([v, 2 * v])
print(theano.function([v], [stacked, stacked.T])([1.0, 2.0]))

# %%
# Read and set parts
# ------------------
#
# Indexing reads as in NumPy. Variables never change, so
# :func:`theano.tensor.set_subtensor` returns a new variable in which a part
# differs. No copy is made where none is needed.

first_row_zero = T.set_subtensor(x[0], 0.0)
chosen = x[:, [0, 2]]
print(theano.function([x], [first_row_zero, chosen])(np.ones((2, 3))))

# %%
# Next: :doc:`lesson_03_gradients`.
