"""Systems of equations; the place is `theano.tensor.slinalg`."""

import warnings

from theano.tensor.slinalg import solve as solve

message = "theano.sandbox.solve is an old place of theano.tensor.slinalg.solve"
warnings.warn(message, stacklevel=2)
