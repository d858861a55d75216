# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano.tensor._old_ops import Raise as Raise
from theano_graph import Apply as Apply
from theano_graph import Op as Op
from theano_graph import batch_rule as batch_rule
from theano_graph import describe as describe
from theano_graph import format_error as format_error
from theano_tensor import as_tensor_variable as as_tensor_variable
from theano_tensor.batching import run_in_a_loop as run_in_a_loop
