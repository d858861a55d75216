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
    EquilibriumOptimizer as EquilibriumOptimizer,
    FromFunctionOptimizer as FromFunctionOptimizer,
    MergeOptimizer as MergeOptimizer,
    OpRemove as OpRemove,
    OpSub as OpSub,
    Optimizer as Optimizer,
    PatternSub as PatternSub,
    SeqOptimizer as SeqOptimizer,
    TopoOptimizer as TopoOptimizer,
)
from .optdb import DB as DB, EquilibriumDB as EquilibriumDB, Query as Query, SequenceDB as SequenceDB
from .type import PureType as PureType
