"""DebugMode: functions that check rewrites and ops while they run."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import config as config, debugprint as debugprint
from theano_linker_c import (
    Function as Function, FunctionMaker as FunctionMaker, Mode as Mode, register_mode as register_mode,
)
from theano_linker_c.debugmode import (
    BadDestroyMap as BadDestroyMap, BadOptimization as BadOptimization, BadThunkOutput as BadThunkOutput,
    BadViewMap as BadViewMap, DebugMode as DebugMode, DebugModeError as DebugModeError,
    InvalidValueError as InvalidValueError, StochasticOrder as StochasticOrder,
)
from theano_linker_c.ops import OutputGuard as OutputGuard
from ..configparser import change_flags as change_flags
from ..gof._linkers import raise_with_op as raise_with_op
from ._historical import (
    DataDestroyed as DataDestroyed, NoDuplicateOptWarningFilter as NoDuplicateOptWarningFilter,
    char_from_number as char_from_number, check_eq as check_eq, data_destroyed as data_destroyed,
    infer_reuse_pattern as infer_reuse_pattern, ops_with_inner_function as ops_with_inner_function,
    std_fgraph as std_fgraph,
)
# isort: on
# fmt: on
# End of the names of names.toml.


from .._names import lazy_names
from ..gof.op import Op as _Op, OpenMPOp as _OpenMPOp

#: The `make_thunk` of ops that define none.
default_make_thunk = [_Op.make_thunk, _OpenMPOp.make_thunk]

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
