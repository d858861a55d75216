"""
1. A first function
===================

Theano compiles array expressions. You describe a computation with symbolic
variables, compile it once, and call the compiled function as often as you like.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# Variables and expressions
# -------------------------
#
# ``T.dscalar("x")`` is a variable: a placeholder for one number of double
# precision. It has a name and a type, but no value. Operators on variables build
# an expression, and compute nothing yet.

x = T.dscalar("x")
y = T.dscalar("y")
z = x**2 + y
print(type(z).__name__, z.type)

# %%
# An expression is data. :func:`theano.printing.pp` prints it as a formula, and
# :func:`theano.printing.debugprint` as a tree, with an operation in each line and
# its operands below it.

print(theano.printing.pp(z))
theano.printing.debugprint(z)

# %%
# Compile it
# ----------
#
# :func:`theano.function` takes the inputs as a list, and the output. It simplifies
# the expression, generates machine code for it, and returns a callable.

f = theano.function([x, y], z)
print(f(3.0, 4.0))

# %%
# Inputs are converted to the type of their variable, as long as no precision is
# lost. The result is a NumPy array or number.

print(f(3, 4), type(f(3, 4)).__name__)

# %%
# A function may return several results: give a list of outputs. An output in a
# dictionary is returned in a dictionary.

several = theano.function([x, y], [x + y, x * y])
print(several(3.0, 4.0))
named = theano.function([x, y], {"sum": x + y, "product": x * y})
print(named(3.0, 4.0))

# %%
# Arrays
# ------
#
# Vectors and matrices work in the same way. Arithmetic, broadcasting, indexing and
# most functions follow NumPy.

table = T.dmatrix("table")
centred = table - table.mean(axis=0)
centre = theano.function([table], centred)
print(centre(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])))

# %%
# The differences from NumPy
# --------------------------
#
# A variable has no value while the program is written, so Python cannot decide
# anything by it. ``==`` compares the variable objects; use ``T.eq`` to compare
# values. Use ``T.switch`` in the place of ``if``, and :func:`theano.scan` in the
# place of a loop over rows.

largest_or_zero = T.switch(T.gt(x, y), x, 0.0)
print(theano.function([x, y], largest_or_zero)(3.0, 4.0))

# %%
# To try an expression without a function of its own, ask it for its value.

print(z.eval({x: 3.0, y: 4.0}))

# %%
# A safer function than you wrote
# -------------------------------
#
# The expression is rewritten before it is compiled. ``log(1 + exp(x))`` overflows
# for large ``x`` when it is computed step by step. The compiled function is right.

softplus = theano.function([x], T.log(1 + T.exp(x)))
print(softplus(1000.0))
with np.errstate(over="ignore"):
    print(np.log(1 + np.exp(np.float64(1000.0))))

# %%
# Try it
# ------
#
# Change ``z`` to ``T.sqrt(x**2 + y**2)`` and print the compiled function with
# ``theano.printing.debugprint(f)``. How many operations are left?
#
# Next: :doc:`lesson_02_types_and_shapes`.
