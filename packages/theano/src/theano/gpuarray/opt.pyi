# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import gpu_optimizer as gpu_optimizer
from theano_tensor.device import gpu_seqopt as gpu_seqopt
from theano_tensor.device import op_lifter as op_lifter
from theano_tensor.device import register_opt as register_opt
from theano_tensor.device import register_opt2 as register_opt2
