"""Functions that know shared variables: the one constructor of functions, by its older name, and its inputs."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import Constant as Constant, Variable as Variable, config as config
from theano_linker_c import (
    In as In, Out as Out, SharedVariable as SharedVariable, UnusedInputError as UnusedInputError,
    orig_function as orig_function, shared as shared,
)
from theano_linker_c.profiling import ProfileStats as ProfileStats
from ._pfunc import (
    Param as Param, iter_over_pairs as iter_over_pairs, pfunc as pfunc,
    rebuild_collect_shared as rebuild_collect_shared,
)
# isort: on
# fmt: on
# End of the names of names.toml.
