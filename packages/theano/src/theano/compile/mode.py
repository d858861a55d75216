"""Modes: how a function is rewritten and run."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import config as config
from theano_linker_c import (
    FAST_COMPILE as FAST_COMPILE, FAST_RUN as FAST_RUN, Mode as Mode, get_default_mode as get_default_mode,
    get_mode as get_mode, optdb as optdb, predefined_linkers as predefined_linkers,
    predefined_modes as predefined_modes, predefined_optimizers as predefined_optimizers,
    register_mode as register_mode,
)
from theano_linker_c.modes import register_linker as register_linker, register_optimizer as register_optimizer
from theano_optimize import AddDestroyHandler as AddDestroyHandler, Supervisor as Supervisor
# isort: on
# fmt: on
# End of the names of names.toml.

from typing import Any

from theano_graph import Feature, FunctionGraph, debugprint

from .._names import lazy_names
from ..gof.opt import Optimizer
from ..gof.optdb import EquilibriumDB, LocalGroupDB, TopoDB

OPT_NONE = predefined_optimizers[None]
OPT_MERGE = predefined_optimizers["merge"]
OPT_FAST_RUN = predefined_optimizers["fast_run"]
OPT_FAST_RUN_STABLE = predefined_optimizers["fast_run_stable"]
OPT_FAST_COMPILE = predefined_optimizers["fast_compile"]
OPT_STABILIZE = predefined_optimizers["stabilize"]
OPT_O1 = predefined_optimizers["o1"]
OPT_O2 = predefined_optimizers["o2"]
OPT_O3 = predefined_optimizers["o3"]
OPT_O4 = predefined_optimizers["o4"]
OPT_UNSAFE = predefined_optimizers["unsafe"]
#: Tags of in-place rewrites, which graphs with a destroy handler of their own leave out.
exclude = ["inplace"]
#: Kept for programs that set it: modes are looked up by the flags each time.
instantiated_default_mode = None

#: Local optimizers of programs that drop useless nodes: those of the library are in `optdb["canonicalize"]`.
local_useless = LocalGroupDB(apply_all_opts=True, profile=True, name="useless")
optdb.register("useless", TopoDB(local_useless), "fast_run", "fast_compile", position=0.6)
optdb.register("specialize_device", EquilibriumDB(name="specialize_device"), "fast_run", "fast_compile", position=48.6)


class AddFeatureOptimizer(Optimizer):
    """Attaches a feature to the graph, for the optimizers that follow.

    Parameters
    ----------
    feature : Feature
    """

    __module__ = "theano.compile.mode"

    def __init__(self, feature: Feature) -> None:
        super().__init__()
        self.feature = feature

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature."""
        fgraph.attach_feature(self.feature)

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Do nothing more."""


class PrintCurrentFunctionGraph(Optimizer):
    """Prints the graph as it is where this stands among the optimizers, under a header.

    Parameters
    ----------
    header : str
    """

    __module__ = "theano.compile.mode"

    def __init__(self, header: str) -> None:
        super().__init__()
        self.header = header

    def apply(self, fgraph: FunctionGraph) -> Any:
        """Print."""
        print("PrintCurrentFunctionGraph:", self.header)
        debugprint(fgraph.outputs)


__getattr__, __dir__ = lazy_names(__name__, __package__, {})
