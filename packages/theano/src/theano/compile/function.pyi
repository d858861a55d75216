# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import compat as compat
from theano.compile._pfunc import pfunc as pfunc
from theano_linker_c import In as In
from theano_linker_c import Out as Out
from theano_linker_c import function as function
from theano_linker_c import function_dump as function_dump
from theano_linker_c import orig_function as orig_function
