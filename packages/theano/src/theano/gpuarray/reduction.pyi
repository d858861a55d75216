# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano.gpuarray._ops import GpuMaxAndArgmax as GpuMaxAndArgmax
from theano.gpuarray._ops import _LargestAndPosition as _LargestAndPosition
