# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import function as function
from theano import gof as gof
from theano import tensor as tensor
from theano.sandbox._historical import Minimal as Minimal
from theano.sandbox._historical import T_minimal as T_minimal
from theano.sandbox._historical import minimal as minimal
from theano.tests import unittest_tools as _unittest_tools
utt = _unittest_tools
