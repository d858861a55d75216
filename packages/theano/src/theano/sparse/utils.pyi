# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.utils import hash_from_code as hash_from_code
from theano.sparse._historical import hash_from_sparse as hash_from_sparse
