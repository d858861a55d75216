# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof import ParamsType as ParamsType
from theano.gof.opt import in2out as in2out
from theano.gof.opt import local_optimizer as local_optimizer
from theano.tensor import basic as _basic
T = _basic
from theano.tensor._linear_algebra import BaseBLAS as BaseBLAS
from theano.tensor._linear_algebra import CGemv as CGemv
from theano.tensor._linear_algebra import CGer as CGer
from theano.tensor._linear_algebra import GemmRelated as GemmRelated
from theano.tensor._linear_algebra import blas_header_version as blas_header_version
from theano.tensor._linear_algebra import cgemv_inplace as cgemv_inplace
from theano.tensor._linear_algebra import cgemv_no_inplace as cgemv_no_inplace
from theano.tensor._linear_algebra import cger_inplace as cger_inplace
from theano.tensor._linear_algebra import cger_no_inplace as cger_no_inplace
from theano.tensor._linear_algebra import check_force_gemv_init as check_force_gemv_init
from theano.tensor._linear_algebra import make_c_gemv_destructive as make_c_gemv_destructive
from theano.tensor._linear_algebra import make_c_ger_destructive as make_c_ger_destructive
from theano.tensor._linear_algebra import use_c_gemv as use_c_gemv
from theano.tensor._linear_algebra import use_c_ger as use_c_ger
from theano_graph import Apply as Apply
from theano_linker_c.cop import blas_declarations as _blas_declarations
blas_header_text = _blas_declarations
from theano_linker_c.cop import blas_arguments as _blas_arguments
ldflags = _blas_arguments
from theano_tensor.linear import Gemv as Gemv
from theano_tensor.linear import Ger as Ger
from theano_tensor.linear import gemv_inplace as gemv_inplace
from theano_tensor.linear import gemv_no_inplace as gemv_no_inplace
from theano_tensor.linear import ger as ger
from theano_tensor.linear import ger_destructive as ger_destructive
