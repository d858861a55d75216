# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano_tensor import arange as arange
from theano_tensor import grad_undefined as grad_undefined
from theano_tensor import mul as mul
from theano_tensor import set_subtensor as set_subtensor
from theano_tensor.sorting import ArgSort as ArgSort
from theano_tensor.sorting import ArgSort as _ArgSort
ArgSortOp = _ArgSort
from theano_tensor.sorting import Sort as Sort
from theano_tensor.sorting import Sort as _Sort
SortOp = _Sort
from theano_tensor.sorting import TopK as TopK
from theano_tensor.sorting import TopK as _TopK
TopKOp = _TopK
from theano_tensor.sorting import argsort as argsort
from theano_tensor.sorting import argtopk as argtopk
from theano_tensor.sorting import sort as sort
from theano_tensor.sorting import topk as topk
from theano_tensor.sorting import topk_and_argtopk as topk_and_argtopk
