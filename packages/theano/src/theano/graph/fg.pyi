# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.fg import CachedConstantError as CachedConstantError
from theano.gof.fg import FunctionGraph as FunctionGraph
from theano.gof.fg import InconsistencyError as InconsistencyError
from theano.gof.fg import MissingInputError as MissingInputError
