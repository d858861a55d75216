"""Graphs and their rewriting, under the names that programs for Theano 1.0 know."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from . import graph as graph, op as op, opt as opt, optdb as optdb, toolbox as toolbox, utils as utils
from theano_graph import (
    Apply as Apply, Constant as Constant, Feature as Feature, FunctionGraph as FunctionGraph, Generic as Generic,
    InconsistencyError as InconsistencyError, MissingInputError as MissingInputError, SingletonType as SingletonType,
    Type as Type, Variable as Variable, clone_graph as clone_graph, generic as generic, toposort as toposort,
)
from theano_linker_c import Container as Container
from theano_linker_c.cop import (
    CDataType as CDataType, CEnumType as CEnumType, COp as COp, EnumList as EnumList, EnumType as EnumType,
    OpenMPOp as OpenMPOp, Params as Params, ParamsType as ParamsType, CLinkerType as CLinkerType,
)
from theano_linker_c.linkers import (
    CLinker as CLinker, DualLinker as DualLinker, OpWiseCLinker as OpWiseCLinker, VM_Linker as VM_Linker,
    Linker as Linker, PerformLinker as PerformLinker, WrapLinker as WrapLinker, WrapLinkerMany as WrapLinkerMany,
)
from theano_optimize import DestroyHandler as DestroyHandler, Supervisor as Supervisor
from .graph import view_roots as view_roots
from ._linkers import LocalLinker as LocalLinker
from theano_tensor.gradient import NullType as NullType
from ._historical_utils import null_type as null_type, PureType as PureType
from .op import CLinkerOp as CLinkerOp, Op as Op, PureOp as PureOp
from .opt import (
    CheckStackTraceOptimization as CheckStackTraceOptimization, EquilibriumOptimizer as EquilibriumOptimizer,
    FromFunctionLocalOptimizer as FromFunctionLocalOptimizer, FromFunctionOptimizer as FromFunctionOptimizer,
    GlobalOptimizer as GlobalOptimizer, LocalOptGroup as LocalOptGroup, LocalOptimizer as LocalOptimizer,
    LocalSeqOptGroup as LocalSeqOptGroup, MergeOptimizer as MergeOptimizer, NavigatorOptimizer as NavigatorOptimizer,
    OpKeyOptimizer as OpKeyOptimizer, OpRemove as OpRemove, OpSub as OpSub, Optimizer as Optimizer,
    PatternSub as PatternSub, PureThenInplaceOptimizer as PureThenInplaceOptimizer, SeqOptimizer as SeqOptimizer,
    TopoOptimizer as TopoOptimizer, copy_stack_trace as copy_stack_trace, in2out as in2out,
    inplace_optimizer as inplace_optimizer, local_optimizer as local_optimizer, optimizer as optimizer,
    out2in as out2in,
)
from .optdb import (
    DB as DB, EquilibriumDB as EquilibriumDB, LocalGroupDB as LocalGroupDB, ProxyDB as ProxyDB, Query as Query,
    SequenceDB as SequenceDB, TopoDB as TopoDB,
)
from .toolbox import (
    History as History, NoOutputFromInplace as NoOutputFromInplace, NodeFinder as NodeFinder,
    PrintListener as PrintListener, ReplaceValidate as ReplaceValidate,
    ReplacementDidntRemovedError as ReplacementDidntRemovedError, Validator as Validator,
)
from .utils import MethodNotDefined as MethodNotDefined, hashtype as hashtype

if TYPE_CHECKING:
    from . import (
        callcache as callcache, cc as cc, cmodule as cmodule, compiledir as compiledir, compilelock as compilelock,
        destroyhandler as destroyhandler, fg as fg, link as link, params_type as params_type, sched as sched,
        type as type, var as var, vm as vm,
    )
# isort: on
# fmt: on
# End of the names of names.toml.

from typing import TYPE_CHECKING

from .._names import lazy_names

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import Bookkeeper as Bookkeeper

    from . import unify as unify
    from ._historical_utils import CachedConstantError as CachedConstantError, object2 as object2
    from ._linkers import HideC as HideC
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "Bookkeeper",
            "._historical_utils": "object2",
            "theano": "theano",
            ".": "callcache=callcache sched unify",
            "._linkers": "HideC",
            ".fg": "CachedConstantError",
        },
    )
