# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.nnet import softsign as softsign
