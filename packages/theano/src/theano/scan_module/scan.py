"""The function `scan`."""

from theano_graph import config as config
from theano_linker_c import OrderedUpdates as OrderedUpdates, SharedVariable as SharedVariable, function as function
from theano_scan import scan as scan, until as until

from .._lazy import lazy_names
from ._helpers import safe_new as safe_new, traverse as traverse

__all__ = ["OrderedUpdates", "SharedVariable", "config", "function", "safe_new", "scan", "traverse", "until"]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
