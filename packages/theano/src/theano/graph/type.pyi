# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.type import CDataType as CDataType
from theano.gof.type import CEnumType as CEnumType
from theano.gof.type import Type as _Type
CType = _Type
from theano.gof.type import EnumList as EnumList
from theano.gof.type import EnumType as EnumType
from theano.gof.type import Generic as Generic
from theano.gof.type import PureType as PureType
from theano.gof.type import SingletonType as SingletonType
from theano.gof.type import Type as Type
from theano.gof.type import generic as generic
