# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sparse._historical import _is_sparse as _is_sparse
from theano.sparse._historical import imported_scipy as imported_scipy
from theano_sparse import SparseType as SparseType
