# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_linker_c.ops import PdbBreakpoint as PdbBreakpoint
