"""From expressions to callables: inputs, outputs, updates, givens, and the compiled function."""

from ._api import function as function, orig_function as orig_function
from ._calling._arguments import Arguments as Arguments
from ._calling._callable import Function as Function
from ._dump import function_dump as function_dump
from ._eval import eval_cache as eval_cache
from ._making._maker import FunctionMaker as FunctionMaker
from ._signature._errors import (
    ArgumentError as ArgumentError,
    ArgumentValueError as ArgumentValueError,
    DuplicateUpdateError as DuplicateUpdateError,
    FunctionInputError as FunctionInputError,
    GivensError as GivensError,
    SwapError as SwapError,
    UnusedInputError as UnusedInputError,
    UpdateError as UpdateError,
)
from ._signature._io import In as In, Out as Out
from ._signature._updates import OrderedUpdates as OrderedUpdates
