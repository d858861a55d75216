# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import GPUA_mrg_uniform as GPUA_mrg_uniform
