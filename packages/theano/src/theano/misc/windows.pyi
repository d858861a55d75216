# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.misc._tools import call_subprocess_Popen as call_subprocess_Popen
from theano.misc._tools import output_subprocess_Popen as output_subprocess_Popen
from theano.misc._tools import subprocess_Popen as subprocess_Popen
