# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano import tensor as tensor
import theano as theano
from theano.gof._historical_utils import string_types as string_types
from theano.tensor import opt as opt
from theano.tensor._historical import _infer_ndim_bcast as _infer_ndim_bcast
from theano_linker_c import optdb as optdb
from theano_tensor.random import RandomFunction as RandomFunction
from theano_tensor.random import RandomStateType as RandomStateType
from theano_tensor.random import RandomStreamsBase as RandomStreamsBase
from theano_tensor.random import binomial as binomial
from theano_tensor.random import choice as choice
from theano_tensor.random import choice_helper as choice_helper
from theano_tensor.random import multinomial as multinomial
from theano_tensor.random import multinomial_helper as multinomial_helper
from theano_tensor.random import normal as normal
from theano_tensor.random import permutation as permutation
from theano_tensor.random import permutation_helper as permutation_helper
from theano_tensor.random import permute_row_elements as permute_row_elements
from theano_tensor.random import poisson as poisson
from theano_tensor.random import random_integers as random_integers
from theano_tensor.random import random_integers_helper as random_integers_helper
from theano_tensor.random import random_make_inplace as random_make_inplace
from theano_tensor.random import random_state_type as random_state_type
from theano_tensor.random import uniform as uniform
