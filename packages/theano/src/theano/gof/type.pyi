# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.configparser import change_flags as change_flags
from theano.gof import graph as graph
from theano.gof import utils as utils
from theano.gof._historical_utils import PureType as PureType
from theano.gof._historical_utils import object2 as object2
from theano.gof._historical_utils import string_types as string_types
from theano.gof._linkers import CLinkerObject as CLinkerObject
from theano_graph import Constant as Constant
from theano_graph import Generic as Generic
from theano_graph import MissingRuleError as _MissingRuleError
MethodNotDefined = _MissingRuleError
from theano_graph import Op as Op
from theano_graph import SingletonType as SingletonType
from theano_graph import Type as Type
from theano_graph import Variable as Variable
from theano_graph import generic as generic
from theano_linker_c.cop import CDataType as CDataType
from theano_linker_c.cop import CEnumType as CEnumType
from theano_linker_c.cop import CLinkerType as CLinkerType
from theano_linker_c.cop import EnumList as EnumList
from theano_linker_c.cop import EnumType as EnumType
