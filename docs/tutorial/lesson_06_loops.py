"""
6. Loops
========

:func:`theano.scan` is the loop of an expression: its step is compiled, and
gradients flow through it.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# One step at a time
# ------------------
#
# The step is a Python function. It is called once, with symbolic variables, while
# the graph is built. It receives an element of each sequence first, and then the
# results of the step before. ``outputs_info`` is the value before the first step.

increments = T.dvector("increments")
totals, updates = theano.scan(
    lambda increment, total: 0.5 * total + increment,
    sequences=increments,
    outputs_info=np.float64(0.0),
)
smooth = theano.function([increments], totals, updates=updates)
print(smooth([1.0, 1.0, 1.0, 1.0]))

# %%
# The results of all steps are stacked. If you use ``totals[-1]`` alone, the loop
# keeps only the last one in memory.
#
# A map
# -----
#
# With ``outputs_info`` left out, steps are independent. ``non_sequences`` are the
# same in each step.

scale = T.dscalar("scale")
rows = T.dmatrix("rows")
norms, _ = theano.scan(
    lambda row, scale: scale * T.sqrt((row**2).sum()),
    sequences=rows,
    non_sequences=scale,
)
print(theano.function([rows, scale], norms)([[3.0, 4.0], [6.0, 8.0]], 10.0))

# %%
# An expression over the whole array is shorter and faster, where there is one:
# ``T.sqrt((rows**2).sum(axis=1))``. Use a loop if a step needs the result of
# another.
#
# A number of steps
# -----------------
#
# ``n_steps`` may be symbolic, too.

n = T.iscalar("n")
base = T.dscalar("base")
powers, _ = theano.scan(
    lambda previous, base: previous * base,
    outputs_info=np.float64(1.0),
    non_sequences=base,
    n_steps=n,
)
power = theano.function([base, n], powers[-1])
print(power(2.0, 10))

# %%
# The gradient of a loop
# ----------------------

print(theano.function([base, n], theano.grad(powers[-1], base))(2.0, 10))

# %%
# Stop early
# ----------
#
# A step that returns :func:`theano.scan_module.until` ends the loop when its
# condition is true. This is Newton's method for a square root.

target = T.dscalar("target")


def newton(guess, target):
    better = (guess + target / guess) / 2
    return better, theano.scan_module.until(abs(better - guess) < 1e-9)


guesses, _ = theano.scan(
    newton, outputs_info=np.float64(1.0), non_sequences=target, n_steps=50
)
print(theano.function([target], guesses)(2.0))

# %%
# Several states, and a look further back
# ---------------------------------------
#
# A step may return several results. ``taps`` say which earlier steps a state is
# read from.

first = T.lvector("first")
fibonacci, _ = theano.scan(
    lambda before, last: before + last,
    outputs_info={"initial": first, "taps": [-2, -1]},
    n_steps=8,
)
print(theano.function([first], fibonacci)([0, 1]))

# %%
# A recurrent network
# -------------------
#
# The state of each step is a vector. The weights are shared variables, which the
# step may use without naming them as arguments.

rng = np.random.default_rng(0)
w_in = theano.shared(0.5 * rng.normal(size=(2, 3)), name="w_in")
w_state = theano.shared(0.5 * rng.normal(size=(3, 3)), name="w_state")
inputs = T.dmatrix("inputs")
states, _ = theano.scan(
    lambda x, state: T.tanh(T.dot(x, w_in) + T.dot(state, w_state)),
    sequences=inputs,
    outputs_info=T.zeros(3),
)
run = theano.function([inputs], states)
print(run(rng.normal(size=(4, 2))).round(3))

# %%
# A choice that computes one branch
# ---------------------------------
#
# ``T.switch`` computes both operands, and chooses for each element.
# :func:`theano.ifelse.ifelse` computes only the branch that a number chooses.

x = T.dvector("x")
chosen = theano.ifelse.ifelse(T.gt(x.sum(), 0), x * 2, -x)
print(theano.function([x], chosen)([-1.0, -2.0]))

# %%
# The page :doc:`/howto/scan` has more forms of loops.
#
# Next: :doc:`lesson_07_random_numbers`.
