# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano import gof as gof
from theano.compile._historical import SymbolicInput as SymbolicInput
from theano.compile._historical import SymbolicOutput as SymbolicOutput
from theano_linker_c import In as In
from theano_linker_c import Out as Out
from theano_linker_c import SharedVariable as SharedVariable
