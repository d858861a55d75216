# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import EnumList as EnumList
from theano.gof import ParamsType as ParamsType
from theano.tensor import TensorType as TensorType
from theano.tensor import as_tensor_variable as as_tensor_variable
from theano.tensor import blas_headers as blas_headers
from theano.tensor.blas import blas_header_version as blas_header_version
from theano.tensor.blas import ldflags as ldflags
from theano.tensor.nnet._corr import BaseCorr3dMM as BaseCorr3dMM
from theano.tensor.nnet._corr import Corr3dMM as Corr3dMM
from theano.tensor.nnet._corr import Corr3dMM_gradInputs as Corr3dMM_gradInputs
from theano.tensor.nnet._corr import Corr3dMM_gradWeights as Corr3dMM_gradWeights
from theano.tensor.nnet.abstract_conv import get_conv_output_shape as get_conv_output_shape
