# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano import scalar as _scalar
scal = _scalar
from theano.tensor import basic as _basic
T = _basic
from theano.tensor._old_rewrites import local_alloc_dimshuffle as local_alloc_dimshuffle
from theano.tensor._old_rewrites import local_dimshuffle_alloc as local_dimshuffle_alloc
from theano.tensor._old_rewrites import local_dimshuffle_subtensor as local_dimshuffle_subtensor
from theano.tensor._old_rewrites import local_max_to_min as local_max_to_min
from theano.tensor._old_rewrites import local_reshape_dimshuffle as local_reshape_dimshuffle
from theano.tensor.elemwise import CAReduce as CAReduce
from theano.tensor.opt import copy_stack_trace as copy_stack_trace
from theano.tensor.opt import register_uncanonicalize as register_uncanonicalize
from theano_tensor import DimShuffle as DimShuffle
from theano_tensor import Subtensor as Subtensor
