# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sparse.sandbox import sp as sp
from theano.sparse.sandbox import sp2 as sp2
from theano.sparse.sandbox import truedot as truedot
