"""Loops."""

from .._names import lazy_names
from . import _optimizers as _optimizers

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from . import scan_op as scan_op, scan_utils as scan_utils
from theano_scan import (
    scan as scan, scan_checkpoints as scan_checkpoints, foldl as foldl, foldr as foldr, map as map, reduce as reduce,
)
from .scan_utils import clone as clone, until as until

if TYPE_CHECKING:
    from . import scan_opt as scan_opt, scan_views as scan_views
# isort: on
# fmt: on
# End of the names of names.toml.

import sys

# In Theano 1.1 this package is called `theano.scan`, as the function is, and its modules go without the prefix.
op, utils = scan_op, scan_utils
sys.modules["theano.scan"] = sys.modules[__name__]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
