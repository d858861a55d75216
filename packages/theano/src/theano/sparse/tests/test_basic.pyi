# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_testing.sparse import sparse_random_inputs as sparse_random_inputs
