"""Running graphs: `function`, shared variables, modes; scalars, kernels, the compiler and the machines.

Importing this package makes :meth:`Variable.eval` work. See the package's README for how to build on it.
"""

from theano_graph import (
    Generic as Generic,
    announce_words,
    generic as generic,
    register_library,
    set_eval_hook,
    set_perform_hook,
    set_thunk_hook,
)

from ._function import (
    ArgumentError as ArgumentError,
    ArgumentValueError as ArgumentValueError,
    DuplicateUpdateError as DuplicateUpdateError,
    Function as Function,
    FunctionInputError as FunctionInputError,
    FunctionMaker as FunctionMaker,
    GivensError as GivensError,
    In as In,
    OrderedUpdates as OrderedUpdates,
    Out as Out,
    SwapError as SwapError,
    UnusedInputError as UnusedInputError,
    UpdateError as UpdateError,
    eval_cache as eval_cache,
    function as function,
    function_dump as function_dump,
    orig_function as orig_function,
)
from ._function._disk_lookup import (
    finish_storing as finish_storing,
    function_cache_depends_on as function_cache_depends_on,
    note_library as note_library,
)
from ._lazy import announce_straight_rules as announce_straight_rules
from ._perform import as_host as as_host
from ._version import __version__ as __version__
from .cop import run_c_code, storage_thunk
from .debugmode import DebugMode as DebugMode, DebugModeError as DebugModeError
from .modes import (
    FAST_COMPILE as FAST_COMPILE,
    FAST_RUN as FAST_RUN,
    Linker as Linker,
    Mode as Mode,
    ModeError as ModeError,
    get_default_mode as get_default_mode,
    get_mode as get_mode,
    optdb as optdb,
    predefined_linkers as predefined_linkers,
    predefined_modes as predefined_modes,
    predefined_optimizers as predefined_optimizers,
    register_mode as register_mode,
)
from .ops import (
    DeepCopyOp as DeepCopyOp,
    Print as Print,
    ViewOp as ViewOp,
    deep_copy_op as deep_copy_op,
    view_op as view_op,
)
from .profiling import ProfileStats as ProfileStats
from .runtime._instructions import ArraySpec as ArraySpec, HasArraySpec as HasArraySpec
from .runtime._native_machine import capture_after as capture_after
from .runtime._storage import (
    Container as Container,
    SharedVariable as SharedVariable,
    constructors as constructors,
    generic_shared_constructor as generic_shared_constructor,
    note_advance as note_advance,
    register_shared_constructor as register_shared_constructor,
    shared as shared,
    shared_constructor as shared_constructor,
)
from .watch import MonitorMode as MonitorMode, NanGuardMode as NanGuardMode

register_library(__file__)
announce_words("theano_linker_c.archive._words")
note_library()
set_eval_hook(eval_cache.evaluate, eval_cache.table_of)
set_perform_hook(run_c_code)
set_thunk_hook(storage_thunk)

__all__ = [
    "FAST_COMPILE",
    "FAST_RUN",
    "ArraySpec",
    "HasArraySpec",
    "ArgumentError",
    "ArgumentValueError",
    "Container",
    "DebugMode",
    "DebugModeError",
    "DeepCopyOp",
    "DuplicateUpdateError",
    "Function",
    "FunctionInputError",
    "FunctionMaker",
    "Generic",
    "GivensError",
    "In",
    "Linker",
    "Mode",
    "ModeError",
    "MonitorMode",
    "NanGuardMode",
    "OrderedUpdates",
    "Out",
    "Print",
    "ProfileStats",
    "SharedVariable",
    "SwapError",
    "UnusedInputError",
    "UpdateError",
    "ViewOp",
    "__version__",
    "announce_straight_rules",
    "as_host",
    "capture_after",
    "constructors",
    "deep_copy_op",
    "eval_cache",
    "function",
    "finish_storing",
    "function_cache_depends_on",
    "function_dump",
    "generic",
    "generic_shared_constructor",
    "get_default_mode",
    "get_mode",
    "note_advance",
    "note_library",
    "optdb",
    "orig_function",
    "predefined_linkers",
    "predefined_modes",
    "predefined_optimizers",
    "register_mode",
    "register_shared_constructor",
    "shared",
    "shared_constructor",
    "view_op",
]
