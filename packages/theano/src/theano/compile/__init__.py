"""Compiling graphs into functions."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from . import debugmode as debugmode, mode as mode, nanguardmode as nanguardmode
from theano_graph import Variable as Variable, config as config, io_connection_pattern as io_connection_pattern
from theano_tensor.gradient import DisconnectedType as DisconnectedType, NullType as NullType
from theano_tensor.builders import OpFromGraph as OpFromGraph, inline_ofg_expansion as inline_ofg_expansion
from .debugmode import DebugMode as DebugMode
from theano_linker_c import (
    function as function, function_dump as function_dump, Function as Function, FunctionMaker as FunctionMaker,
    UnusedInputError as UnusedInputError, orig_function as orig_function, In as In, Out as Out,
    SharedVariable as SharedVariable, shared as shared, shared_constructor as shared_constructor,
    DeepCopyOp as DeepCopyOp, ViewOp as ViewOp, deep_copy_op as deep_copy_op, view_op as view_op,
)
from ._historical import (
    AliasedMemoryError as AliasedMemoryError, DUPLICATE as DUPLICATE, alias_root as alias_root,
    check_equal as check_equal, convert_function_input as convert_function_input,
    fgraph_updated_vars as fgraph_updated_vars, infer_reuse_pattern as infer_reuse_pattern,
    ops_with_inner_function as ops_with_inner_function, register_checker as register_checker, std_fgraph as std_fgraph,
    ScanProfileStats as ScanProfileStats, Shape as Shape, Shape_i as Shape_i, SymbolicInput as SymbolicInput,
    SymbolicOutput as SymbolicOutput, shape_i as shape_i,
)
from theano_optimize import Supervisor as Supervisor
from ..gof.graph import is_same_graph as is_same_graph
from .mode import (
    AddDestroyHandler as AddDestroyHandler, AddFeatureOptimizer as AddFeatureOptimizer, FAST_COMPILE as FAST_COMPILE,
    FAST_RUN as FAST_RUN, Mode as Mode, OPT_FAST_COMPILE as OPT_FAST_COMPILE, OPT_FAST_RUN as OPT_FAST_RUN,
    OPT_FAST_RUN_STABLE as OPT_FAST_RUN_STABLE, OPT_MERGE as OPT_MERGE, OPT_NONE as OPT_NONE, OPT_O2 as OPT_O2,
    OPT_O3 as OPT_O3, OPT_STABILIZE as OPT_STABILIZE, OPT_UNSAFE as OPT_UNSAFE,
    PrintCurrentFunctionGraph as PrintCurrentFunctionGraph, exclude as exclude, get_default_mode as get_default_mode,
    get_mode as get_mode, instantiated_default_mode as instantiated_default_mode, optdb as optdb,
    predefined_linkers as predefined_linkers, predefined_modes as predefined_modes,
    predefined_optimizers as predefined_optimizers, register_linker as register_linker, register_mode as register_mode,
    register_optimizer as register_optimizer,
)
from theano_linker_c.watch import MonitorMode as MonitorMode
from .nanguardmode import NanGuardMode as NanGuardMode
from theano_linker_c.ops import (
    FromFunctionOp as FromFunctionOp, as_op as as_op, register_deep_copy_op_c_code as register_deep_copy_op_c_code,
    register_view_op_c_code as register_view_op_c_code,
)
from theano_tensor import (
    Rebroadcast as Rebroadcast, SpecifyShape as SpecifyShape,
    register_rebroadcast_c_code as register_rebroadcast_c_code, register_shape_c_code as register_shape_c_code,
    register_shape_i_c_code as register_shape_i_c_code, register_specify_shape_c_code as register_specify_shape_c_code,
    shape as shape, specify_shape as specify_shape,
)
from ._pfunc import Param as Param, pfunc as pfunc, rebuild_collect_shared as rebuild_collect_shared
from theano_linker_c.profiling import ProfileStats as ProfileStats

if TYPE_CHECKING:
    from . import (
        builders as builders, function_module as function_module, io as io, monitormode as monitormode, ops as ops,
        profiling as profiling, sharedvalue as sharedvalue,
    )
# isort: on
# fmt: on
# End of the names of names.toml.


from .._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
