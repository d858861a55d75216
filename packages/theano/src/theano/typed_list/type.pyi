# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano_tensor.typed_list import TypedListType as TypedListType
