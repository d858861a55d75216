"""The directory of compiled code, by the program that looks after it."""

from theano_linker_c.cache_tool import main as main
