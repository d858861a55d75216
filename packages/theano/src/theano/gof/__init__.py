"""Graphs and their rewriting, under the names that programs for Theano 1.0 know."""

from theano_graph import (
    Apply as Apply,
    Constant as Constant,
    Feature as Feature,
    FunctionGraph as FunctionGraph,
    Generic as Generic,
    InconsistencyError as InconsistencyError,
    MissingInputError as MissingInputError,
    Op as Op,
    SingletonType as SingletonType,
    Type as Type,
    Variable as Variable,
    clone_graph as clone_graph,
    generic as generic,
    toposort as toposort,
)
from theano_linker_c import Container as Container

from . import (
    compilelock as compilelock,
    destroyhandler as destroyhandler,
    fg as fg,
    graph as graph,
    link as link,
    op as op,
    opt as opt,
    optdb as optdb,
    toolbox as toolbox,
    type as type,
    utils as utils,
)
from .opt import (
    CheckStackTraceOptimization as CheckStackTraceOptimization,
    EquilibriumOptimizer as EquilibriumOptimizer,
    FromFunctionLocalOptimizer as FromFunctionLocalOptimizer,
    FromFunctionOptimizer as FromFunctionOptimizer,
    GlobalOptimizer as GlobalOptimizer,
    LocalOptGroup as LocalOptGroup,
    LocalOptimizer as LocalOptimizer,
    LocalSeqOptGroup as LocalSeqOptGroup,
    MergeOptimizer as MergeOptimizer,
    NavigatorOptimizer as NavigatorOptimizer,
    OpKeyOptimizer as OpKeyOptimizer,
    OpRemove as OpRemove,
    OpSub as OpSub,
    Optimizer as Optimizer,
    PatternSub as PatternSub,
    PureThenInplaceOptimizer as PureThenInplaceOptimizer,
    SeqOptimizer as SeqOptimizer,
    TopoOptimizer as TopoOptimizer,
    copy_stack_trace as copy_stack_trace,
    in2out as in2out,
    inplace_optimizer as inplace_optimizer,
    local_optimizer as local_optimizer,
    optimizer as optimizer,
    out2in as out2in,
)
from .optdb import (
    DB as DB,
    EquilibriumDB as EquilibriumDB,
    LocalGroupDB as LocalGroupDB,
    ProxyDB as ProxyDB,
    Query as Query,
    SequenceDB as SequenceDB,
    TopoDB as TopoDB,
)
from .type import PureType as PureType
