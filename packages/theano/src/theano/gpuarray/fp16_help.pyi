# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_gpuarray.kernel_base import load_w as load_w
from theano_gpuarray.kernel_base import work_dtype as work_dtype
from theano_gpuarray.kernel_base import write_w as write_w
