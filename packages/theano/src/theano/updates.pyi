# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_linker_c import OrderedUpdates as OrderedUpdates
from theano_linker_c import SharedVariable as SharedVariable
