# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import tensor as _tensor
T = _tensor
import theano as theano
from theano.gof import Apply as Apply
from theano.gof import Op as Op
from theano.scalar import as_scalar as as_scalar
from theano_tensor.random.mrg import ChoiceFromUniform as ChoiceFromUniform
from theano_tensor.random.mrg import MultinomialFromUniform as MultinomialFromUniform
from theano_tensor.random.mrg import ChoiceFromUniform as _ChoiceFromUniform
MultinomialWOReplacementFromUniform = _ChoiceFromUniform
