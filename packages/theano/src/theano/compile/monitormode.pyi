# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano_linker_c import Mode as Mode
from theano_linker_c.watch import MonitorMode as MonitorMode
from theano_linker_c.watch import detect_nan as detect_nan
