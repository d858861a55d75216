# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.sandbox.linalg import ops as ops
from theano.sandbox.linalg.ops import psd as psd
from theano.sandbox.linalg.ops import spectral_radius_bound as spectral_radius_bound
from theano.tensor.nlinalg import alloc_diag as alloc_diag
from theano.tensor.nlinalg import det as det
from theano.tensor.nlinalg import diag as diag
from theano.tensor.nlinalg import eig as eig
from theano.tensor.nlinalg import eigh as eigh
from theano.tensor.nlinalg import extract_diag as extract_diag
from theano.tensor.nlinalg import matrix_inverse as matrix_inverse
from theano.tensor.nlinalg import trace as trace
from theano.tensor.slinalg import cholesky as cholesky
from theano.tensor.slinalg import eigvalsh as eigvalsh
from theano.tensor.slinalg import solve as solve
