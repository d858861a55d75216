"""Checks for ops, rewrites and graphs, for the project's own tests and for authors of ops.

Each sub-module imports nothing above the layer that it is named after: :mod:`theano_testing.graph`,
:mod:`theano_testing.optimize`, :mod:`theano_testing.linker_c` and :mod:`theano_testing.tensor`. This module imports
none of them.
"""

from ._seeds import DEFAULT_SEED, fetch_seed
from ._version import __version__

__all__ = ["DEFAULT_SEED", "__version__", "fetch_seed"]
