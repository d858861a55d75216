"""From expressions to callables: inputs, outputs, updates, givens, and the compiled function."""

from ._api import eval_cache as eval_cache, function as function, orig_function as orig_function
from ._binding import Arguments as Arguments
from ._callable import Function as Function
from ._capture import function_dump as function_dump
from ._givens import OrderedUpdates as OrderedUpdates
from ._io import (
    ArgumentError as ArgumentError,
    ArgumentValueError as ArgumentValueError,
    DuplicateUpdateError as DuplicateUpdateError,
    FunctionInputError as FunctionInputError,
    GivensError as GivensError,
    In as In,
    Out as Out,
    SwapError as SwapError,
    UnusedInputError as UnusedInputError,
    UpdateError as UpdateError,
)
from ._maker import FunctionMaker as FunctionMaker
