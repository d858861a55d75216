# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_linker_c import SharedVariable as SharedVariable
from theano_linker_c import register_shared_constructor as _register_shared_constructor
shared_constructor = _register_shared_constructor
from theano_sparse import SparseSharedVariable as _SparseSharedVariable
SparseTensorSharedVariable = _SparseSharedVariable
from theano_sparse import SparseType as SparseType
from theano_sparse import sparse_constructor as sparse_constructor
