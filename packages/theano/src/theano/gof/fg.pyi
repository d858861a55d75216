# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import graph as graph
from theano.gof import toolbox as toolbox
from theano.gof import utils as utils
from theano.gof._historical_utils import CachedConstantError as CachedConstantError
from theano.gof._historical_utils import get_variable_trace_string as get_variable_trace_string
from theano.misc._tools import OrderedSet as OrderedSet
from theano_graph import FunctionGraph as FunctionGraph
from theano_graph import InconsistencyError as InconsistencyError
from theano_graph import MissingInputError as MissingInputError
from theano_graph import config as config
