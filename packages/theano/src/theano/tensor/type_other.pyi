# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof.utils import hashtype as hashtype
from theano.tensor._index_tools import INDEX_FORMS as INDEX_FORMS
from theano.tensor._index_tools import MakeSlice as MakeSlice
from theano.tensor._index_tools import NoneConst as NoneConst
from theano.tensor._index_tools import NoneTypeT as NoneTypeT
from theano.tensor._index_tools import SliceBounds as SliceBounds
from theano.tensor._index_tools import SliceConstant as SliceConstant
from theano.tensor._index_tools import SliceType as SliceType
from theano.tensor._index_tools import _index_of_slice as _index_of_slice
from theano.tensor._index_tools import as_int_none_variable as as_int_none_variable
from theano.tensor._index_tools import make_slice as make_slice
from theano.tensor._index_tools import none_type_t as none_type_t
from theano.tensor._index_tools import slicetype as slicetype
