"""Sparse matrices. `import theano` does not load this package; `import theano.sparse` does."""

from theano_sparse import sparse_constructor

from .._names import lazy_names, withdraw
from . import _historical_opt as _historical_opt, basic as basic
from .basic import *

__getattr__, __dir__ = lazy_names(__name__, __package__, {})

shared = sparse_constructor

withdraw()
