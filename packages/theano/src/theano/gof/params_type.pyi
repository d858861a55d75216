# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof._historical_utils import c_cpp_keywords as c_cpp_keywords
from theano_graph import MissingRuleError as _MissingRuleError
MethodNotDefined = _MissingRuleError
from theano_graph import Type as Type
from theano_linker_c.cop import EnumType as EnumType
from theano_linker_c.cop import Params as Params
from theano_linker_c.cop import ParamsType as ParamsType
