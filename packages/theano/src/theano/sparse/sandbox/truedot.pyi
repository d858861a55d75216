# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sparse.basic import SparseType as SparseType
from theano.sparse.basic import as_sparse_variable as as_sparse_variable
from theano.sparse.basic import dense_from_sparse as dense_from_sparse
from theano.sparse.basic import transpose as transpose
from theano.sparse.tests.test_basic import sparse_random_inputs as sparse_random_inputs
from theano_sparse import TrueDot as TrueDot
from theano_sparse import true_dot as true_dot
