"""`function`, with the classes for its inputs and outputs."""

from theano_linker_c import (
    In as In,
    Out as Out,
    function as function,
    function_dump as function_dump,
    orig_function as orig_function,
)

from .._lazy import lazy_names
from ._pfunc import pfunc as pfunc

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
