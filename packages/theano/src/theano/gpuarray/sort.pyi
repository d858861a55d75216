# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import GpuTopKOp as GpuTopKOp
