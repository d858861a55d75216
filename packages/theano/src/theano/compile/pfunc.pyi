# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.compile._pfunc import Param as Param
from theano.compile._pfunc import iter_over_pairs as iter_over_pairs
from theano.compile._pfunc import pfunc as pfunc
from theano.compile._pfunc import rebuild_collect_shared as rebuild_collect_shared
from theano_graph import Constant as Constant
from theano_graph import Variable as Variable
from theano_graph import config as config
from theano_linker_c import In as In
from theano_linker_c import Out as Out
from theano_linker_c import SharedVariable as SharedVariable
from theano_linker_c import UnusedInputError as UnusedInputError
from theano_linker_c import orig_function as orig_function
from theano_linker_c import shared as shared
from theano_linker_c.profiling import ProfileStats as ProfileStats
