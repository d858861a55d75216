# Written by tools/generate_names.py from names.tsv.
# fmt: off
import theano as theano
from theano.compile._historical import ScanProfileStats as ScanProfileStats
from theano.compile._historical import print_global_stats as print_global_stats
from theano.compile._historical import register_profiler_printer as register_profiler_printer
from theano.gof import graph as graph
from theano_graph import config as config
from theano_linker_c.profiling import ProfileStats as ProfileStats
