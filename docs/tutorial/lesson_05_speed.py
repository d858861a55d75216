"""
5. Speed: look, then change
===========================

A compiled function differs from the expression that you wrote. This lesson shows
how to see the difference, and where the time goes.
"""

import timeit

import numpy as np

import theano
import theano.tensor as T

# %%
# The function after rewriting
# ----------------------------
#
# Elementwise operations that follow each other are fused into one loop. Products
# become routines of BLAS.

x = T.dmatrix("x")
y = T.tanh(2 * x + 1) ** 2
f = theano.function([x], y)
theano.printing.debugprint(f)

# %%
# Modes
# -----
#
# ``FAST_RUN`` is the default. ``FAST_COMPILE`` rewrites less, so that a function is
# ready sooner and runs slower: use it while you try things.

quick = theano.function([x], y, mode="FAST_COMPILE")
print(len(f.maker.fgraph.apply_nodes), len(quick.maker.fgraph.apply_nodes))

# %%
# Measure a call
# --------------
#
# Call the function once before you measure: machine code may still be compiled
# when it starts.

value = np.random.default_rng(0).normal(size=(500, 500))
f(value)


def milliseconds(function):
    return min(timeit.repeat(lambda: function(value), number=3, repeat=3)) / 3 * 1e3


compiled = milliseconds(f)
in_numpy = milliseconds(lambda v: np.tanh(2 * v + 1) ** 2)
print(f"compiled {compiled:.1f} ms, NumPy {in_numpy:.1f} ms")

# %%
# Profile
# -------
#
# ``profile=True`` counts and times each node of one function.

w = theano.shared(np.random.default_rng(1).normal(size=(500, 500)), name="w")
profiled = theano.function([x], T.tanh(T.dot(x, w)).sum(), profile=True)
for _ in range(5):
    profiled(value)
profiled.profile.summary()

# %%
# The section ``Ops`` says which operations take the time; ``Apply`` has one line for
# each node, with the line of your program that made it.
#
# Usual causes of slow functions
# ------------------------------
#
# A float64 constant makes a float32 computation twice as wide. Results tell by
# their dtype.

weights = theano.shared(np.ones((500, 500), dtype="float32"))
print((weights * np.float64(0.1)).dtype, (weights * 0.1).dtype)

# %%
# A result that is not an array of its own is copied before you get it. Ask for the
# memory itself where you do not keep it: ``borrow=True``.

copied = theano.function([], w)
borrowed = theano.function([], theano.Out(w, borrow=True))
print(np.shares_memory(copied(), w.get_value(borrow=True)))
print(np.shares_memory(borrowed(), w.get_value(borrow=True)))

# %%
# Functions of few elements spend their time on the call. Do more work in a call: put
# several steps into one function, or into a loop (:doc:`lesson_06_loops`).
#
# The page :doc:`/howto/profiling` has more causes and their cures.
#
# Next: :doc:`lesson_06_loops`.
