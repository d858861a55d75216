"""Compiled functions."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import config as config
from theano_linker_c import (
    Function as Function, FunctionMaker as FunctionMaker, In as In, Out as Out, UnusedInputError as UnusedInputError,
    deep_copy_op as deep_copy_op, orig_function as orig_function, view_op as view_op,
)
from theano_optimize import Supervisor as Supervisor
from ..gof.graph import is_same_graph as is_same_graph
from ._historical import (
    AliasedMemoryError as AliasedMemoryError, DUPLICATE as DUPLICATE, _pickle_Function as _pickle_Function,
    _pickle_FunctionMaker as _pickle_FunctionMaker, alias_root as alias_root, check_equal as check_equal,
    convert_function_input as convert_function_input, fgraph_updated_vars as fgraph_updated_vars,
    infer_reuse_pattern as infer_reuse_pattern, ops_with_inner_function as ops_with_inner_function,
    register_checker as register_checker, std_fgraph as std_fgraph,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from .._lazy import lazy_names

SymbolicInput = In
SymbolicOutput = Out

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
