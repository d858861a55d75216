# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof import link as link
from theano_graph import config as config
from theano_linker_c.linkers import VM_Linker as VM_Linker
