"""Several parameters of an op in one object."""

from theano_linker_c.cop import Params as Params, ParamsType as ParamsType
