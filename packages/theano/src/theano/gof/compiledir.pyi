# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.gof._compilers import cleanup as cleanup
from theano.gof._compilers import print_compiledir_content as print_compiledir_content
from theano_linker_c.cache_tool import main as main
