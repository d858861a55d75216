"""A package that programs of Theano 1.0 import; it holds no tests here."""
