# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.compat import PY3 as PY3
from theano.gof import cmodule as cmodule
from theano.gof import graph as graph
from theano.gof import link as link
from theano.gof import utils as utils
from theano.gof._compilers import get_lock as get_lock
from theano.gof._compilers import get_module_cache as get_module_cache
from theano.gof._compilers import release_lock as release_lock
from theano.gof._historical_utils import string_types as string_types
from theano.gof._linkers import CallCache as CallCache
from theano.gof._linkers import HideC as HideC
from theano_graph import config as config
from theano_linker_c.cop import CLinkerType as CLinkerType
from theano_linker_c.linkers import CLinker as CLinker
from theano_linker_c.linkers import DualLinker as DualLinker
from theano_linker_c.linkers import OpWiseCLinker as OpWiseCLinker
