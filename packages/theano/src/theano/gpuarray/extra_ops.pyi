# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.device import GpuCumOp as GpuCumOp
from theano_tensor.device import GpuCumOp as _GpuCumOp
GpuCumsumOp = _GpuCumOp
