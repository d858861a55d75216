"""Sparse matrices. `import theano` does not load this package; `import theano.sparse` does."""

from .._announced import withdraw
from . import basic as basic, opt as opt, sandbox as sandbox, type as type
from .basic import *

withdraw()
