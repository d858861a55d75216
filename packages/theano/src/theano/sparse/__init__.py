"""Sparse matrices. `import theano` does not load this package; `import theano.sparse` does."""

from .._announced import withdraw
from .._lazy import lazy_names
from . import basic as basic, opt as opt, sandbox as sandbox, sharedvar as sharedvar, type as type, utils as utils
from .basic import *
from .sharedvar import sparse_constructor

__getattr__, __dir__ = lazy_names(__name__, __package__, {})

shared = sparse_constructor

withdraw()
