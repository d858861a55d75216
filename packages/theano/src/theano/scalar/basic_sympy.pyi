# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.utils import remove as remove
from theano.scalar._historical import SymPyCCode as SymPyCCode
from theano.scalar._historical import imported_sympy as imported_sympy
from theano.scalar._historical import include_line as include_line
from theano.scalar._historical import sympy_dtype as sympy_dtype
from theano.scalar._historical import theano_dtype as theano_dtype
from theano.scalar.basic import Apply as Apply
from theano.scalar.basic import ScalarOp as ScalarOp
from theano.scalar.basic import as_scalar as as_scalar
from theano.scalar.basic import float32 as float32
from theano.scalar.basic import float64 as float64
from theano.scalar.basic import int64 as int64
