# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof.utils import hash_from_code as hash_from_code
from theano_tensor.utils import hash_from_ndarray as hash_from_ndarray
from theano_tensor.utils import shape_of_variables as shape_of_variables
