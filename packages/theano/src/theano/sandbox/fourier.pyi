# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as tensor
from theano.gof import generic as generic
from theano.sandbox._historical import FFT as FFT
from theano.sandbox._historical import GradTodo as GradTodo
from theano.sandbox._historical import dct_matrix as dct_matrix
from theano.sandbox._historical import fft as fft
from theano.sandbox._historical import grad_todo as grad_todo
from theano.sandbox._historical import half_fft as half_fft
from theano.sandbox._historical import half_ifft as half_ifft
from theano.sandbox._historical import ifft as ifft
from theano_graph import Apply as Apply
from theano_graph import Op as Op
