# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_linker_c.export import ExportedFunction as ExportedFunction
from theano_linker_c.export import export_c as export_c
