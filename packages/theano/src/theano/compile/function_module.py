"""Compiled functions."""

from theano_linker_c import (
    Function as Function,
    FunctionMaker as FunctionMaker,
    UnusedInputError as UnusedInputError,
    orig_function as orig_function,
)
from theano_optimize import Supervisor as Supervisor
