"""Graphs and their rewriting, under the names that programs for Theano 1.1 know; `theano.gof` has the same things."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from . import basic as basic, fg as fg, null_type as null_type, op as op, opt as opt, type as type, utils as utils
from ..gof import (
    destroyhandler as destroyhandler, optdb as optdb, params_type as params_type, sched as sched, toolbox as toolbox,
    unify as unify,
)
from ..gof.fg import FunctionGraph as FunctionGraph
from ..gof.graph import Apply as Apply, Constant as Constant, Node as Node, Variable as Variable
from ..gof.op import Op as Op
from ..gof.type import Type as Type, generic as generic
# isort: on
# fmt: on
# End of the names of names.toml.

import sys

# These are the modules of `theano.gof` themselves, importable by both names.
for _module in (destroyhandler, optdb, params_type, sched, toolbox, unify):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
