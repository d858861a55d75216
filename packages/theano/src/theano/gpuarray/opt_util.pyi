# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import alpha_merge as alpha_merge
from theano_tensor.device import find_node as find_node
from theano_tensor.device import grab_cpu_scalar as grab_cpu_scalar
from theano_tensor.device import inplace_allocempty as inplace_allocempty
from theano_tensor.device import is_equal as is_equal
from theano_tensor.device import output_merge as output_merge
from theano_tensor.device import pad_dims as pad_dims
from theano_tensor.device import unpad_dims as unpad_dims
