"""Graphs and their rewriting, under the names that programs for Theano 1.1 know; `theano.gof` has the same things."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from typing import TYPE_CHECKING

from . import basic as basic, op as op
from theano_graph import FunctionGraph as FunctionGraph, Type as Type, generic as generic
from ..gof.graph import Apply as Apply, Constant as Constant, Node as Node, Variable as Variable
from ..gof.op import Op as Op

if TYPE_CHECKING:
    from . import (
        destroyhandler as destroyhandler, fg as fg, null_type as null_type, opt as opt, optdb as optdb,
        params_type as params_type, sched as sched, toolbox as toolbox, type as type, unify as unify, utils as utils,
    )
# isort: on
# fmt: on
# End of the names of names.toml.

from .._names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
