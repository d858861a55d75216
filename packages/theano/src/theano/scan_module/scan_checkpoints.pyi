# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano_scan import scan_checkpoints as scan_checkpoints
from theano_tensor import Join as Join
