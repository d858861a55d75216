# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano._doctor import cpuCount as cpuCount
