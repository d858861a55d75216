"""Functions that know shared variables: the one constructor of functions, by its older name."""

from theano_linker_c import function

pfunc = function
