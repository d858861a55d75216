"""
8. Debugging
============

A graph is built in one place of a program and runs in another. Messages name the
lines of your program on both sides. This lesson shows the usual questions and the
tools that answer them.
"""

import numpy as np

import theano
import theano.tensor as T

# %%
# Read a message
# --------------
#
# The shapes of these arguments do not fit. The message names the operation, the
# line that made it, and the values it received.

x, y = T.dmatrix("x"), T.dmatrix("y")
product = T.dot(x, y)
f = theano.function([x, y], T.tanh(product))
try:
    f(np.ones((2, 3)), np.ones((4, 2)))
except ValueError as error:
    print("\n".join(str(error).splitlines()[:6]))

# %%
# Find the mistake where it is made
# ---------------------------------
#
# Give variables example values, and ask for computation with them while the graph
# is built. The error appears in the line with the mistake.

theano.config.compute_test_value = "raise"
x.tag.test_value = np.ones((2, 3))
y.tag.test_value = np.ones((4, 2))
try:
    T.dot(x, y)
except ValueError as error:
    print(str(error).splitlines()[0])
theano.config.compute_test_value = "off"

# %%
# Look at a value on its way
# --------------------------
#
# :class:`theano.printing.Print` prints the value that passes through it.

v = T.dvector("v")
shown = theano.printing.Print("v squared")(v**2)
print(theano.function([v], shown.sum())([1.0, 2.0]))

# %%
# State a condition
# -----------------
#
# :class:`theano.tensor.opt.Assert` passes its first operand on, and ends the call
# if a condition is false.

check = T.opt.Assert("v must be positive")
root = theano.function([v], T.sqrt(check(v, T.all(v > 0))))
try:
    root([4.0, -1.0])
except AssertionError as error:
    print(str(error).splitlines()[0])

# %%
# Where does the NaN come from?
# -----------------------------
#
# ``NanGuardMode`` ends a call at the first value that is not finite.

from theano.compile.nanguardmode import NanGuardMode

guard = NanGuardMode(nan_is_error=True, inf_is_error=True, big_is_error=False)
entropy = theano.function([v], (v * T.log(v)).sum(), mode=guard)
try:
    with np.errstate(all="ignore"):
        entropy([0.5, 0.0])
except AssertionError as error:
    print("\n".join(str(error).splitlines()[:2]))

# %%
# Is it the library?
# ------------------
#
# ``DebugMode`` computes each node in several ways and compares the results. It is
# slow, and made for finding mistakes of operations and rewrites.

careful = theano.function([v], T.exp(v).sum(), mode="DebugMode")
print(careful([0.0, 1.0]))

# %%
# Without rewriting, a function runs the operations that you wrote, one by one.

plain = theano.function([v], T.exp(v).sum(), mode=theano.Mode(optimizer=None))
print([str(node.op) for node in plain.maker.fgraph.toposort()])

# %%
# Draw it
# -------
#
# ``theano.d3viz.d3viz(f, "f.html")`` writes a page with the graph, which opens in a
# browser. :doc:`/howto/seeing` shows it.
#
# Next: :doc:`lesson_09_saving`.
