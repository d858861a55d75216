# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_gpuarray.kernel_base import gemm as gemm
