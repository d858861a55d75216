# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import GPUAChoiceFromUniform as GPUAChoiceFromUniform
from theano_tensor.device import GPUAMultinomialFromUniform as GPUAMultinomialFromUniform
from theano_tensor.device import GPUAChoiceFromUniform as _GPUAChoiceFromUniform
GPUAMultinomialWOReplacementFromUniform = _GPUAChoiceFromUniform
