"""Sparse matrices. `import theano` does not load this package; `import theano.sparse` does."""

from .._announced import withdraw
from . import basic as basic, opt as opt, sandbox as sandbox, sharedvar as sharedvar, type as type, utils as utils
from .basic import *
from .sharedvar import sparse_constructor

shared = sparse_constructor

withdraw()
