# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.compile import SharedVariable as SharedVariable
from theano.scalar._historical import ScalarSharedVariable as ScalarSharedVariable
from theano.scalar._historical import shared as shared
from theano.scalar.basic import Scalar as Scalar
from theano.scalar.basic import _scalar_py_operators as _scalar_py_operators
from theano.scalar.basic import integer_types as integer_types
