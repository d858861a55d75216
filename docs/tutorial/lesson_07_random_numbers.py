"""
7. Random numbers
=================

A random variable of a stream gives new numbers in each call of a function. The
state of its generator is a shared variable, which the call updates.
"""

import numpy as np

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStreams

# %%
# A stream
# --------

stream = RandomStreams(seed=7)
noise = stream.normal(size=(2, 2))
draw = theano.function([], noise)
print(draw())
print(draw())

# %%
# Within one call, a random variable has one value, however often it is used.

print(theano.function([], noise - noise)())

# %%
# Repeat the numbers
# ------------------
#
# ``seed`` restarts all generators of a stream.

stream.seed(7)
first = draw()
stream.seed(7)
print(np.array_equal(first, draw()))

# %%
# Hold the numbers still
# ----------------------
#
# ``no_default_updates`` leaves the state as it is: each call gives the same
# numbers. This is useful in tests.

fixed = theano.function([], noise, no_default_updates=True)
print(np.array_equal(fixed(), fixed()))

# %%
# Distributions
# -------------
#
# Parameters may be expressions. Shapes may be, too.

n = T.lscalar("n")
rate = T.dscalar("rate")
counts = theano.function([n], stream.binomial(size=(n,), n=10, p=0.3))
print(counts(5))
shuffled = theano.function([], stream.permutation(n=5))
print(shuffled())

# %%
# Dropout
# -------
#
# A mask of zeros and ones switches off units at random. The mask is drawn anew in
# each call of the training function.

x = T.dmatrix("x")
mask = stream.binomial(size=x.shape, n=1, p=0.5, dtype="float64")
dropped = x * mask / 0.5
dropout = theano.function([x], dropped)
stream.seed(1)
print(dropout(np.ones((2, 6))))

# %%
# Gradients
# ---------
#
# The numbers count as constants. To differentiate through a random variable, write
# it as a function of its parameters and of noise that does not depend on them.

mean, spread = T.dscalar("mean"), T.dscalar("spread")
sample = mean + spread * stream.normal(size=(1000,))
cost = (sample**2).mean()
slopes = theano.function([mean, spread], theano.grad(cost, [mean, spread]))
stream.seed(2)
print([round(float(slope), 1) for slope in slopes(1.0, 2.0)])

# %%
# Many numbers
# ------------
#
# :class:`theano.sandbox.rng_mrg.MRG_RandomStream` is a second family of generators
# with streams that are independent of each other, and runs on devices. It has the
# same methods.

from theano.sandbox.rng_mrg import MRG_RandomStream

fast = MRG_RandomStream(seed=7)
uniform = theano.function([], fast.uniform(size=(100_000,)))
print(uniform().mean().round(2))

# %%
# Next: :doc:`lesson_08_debugging`.
