# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.utils import MetaObject as MetaObject
from theano.gof.utils import MethodNotDefined as MethodNotDefined
from theano.gof.utils import add_tag_trace as add_tag_trace
from theano.gof.utils import difference as difference
from theano.gof.utils import flatten as flatten
from theano.gof.utils import get_variable_trace_string as get_variable_trace_string
from theano.gof.utils import hash_from_code as hash_from_code
from theano.gof.utils import hash_from_file as hash_from_file
from theano.gof.utils import memoize as memoize
from theano.gof.utils import object2 as object2
from theano.gof.utils import remove as remove
from theano.gof.utils import scratchpad as scratchpad
from theano.gof.utils import simple_extract_stack as simple_extract_stack
from theano.gof.utils import toposort as toposort
from theano.gof.utils import uniq as uniq
from theano_graph import MissingTestValueError as _MissingTestValueError
TestValueError = _MissingTestValueError
