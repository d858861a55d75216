# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gof.opt import in2out as in2out
from theano.gof.opt import local_optimizer as local_optimizer
from theano.tensor._linear_algebra import ScipyGer as ScipyGer
from theano.tensor._linear_algebra import have_fblas as have_fblas
from theano.tensor._linear_algebra import make_ger_destructive as make_ger_destructive
from theano.tensor._linear_algebra import make_scipy_blas_destructive as make_scipy_blas_destructive
from theano.tensor._linear_algebra import scipy_ger_inplace as scipy_ger_inplace
from theano.tensor._linear_algebra import scipy_ger_no_inplace as scipy_ger_no_inplace
from theano.tensor._linear_algebra import use_scipy_blas as use_scipy_blas
from theano.tensor._linear_algebra import use_scipy_ger as use_scipy_ger
from theano_graph import Apply as Apply
from theano_tensor.linear import Ger as Ger
from theano_tensor.linear import ger as ger
from theano_tensor.linear import ger_destructive as ger_destructive
