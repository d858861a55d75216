# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano._config_variables import PathParser as PathParser
