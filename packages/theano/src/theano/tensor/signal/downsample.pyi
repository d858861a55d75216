# Written by tools/generate_names.py from names.tsv.
# fmt: off
from theano_tensor.signal.pool import Pool as _Pool
DownsampleFactorMax = _Pool
from theano_tensor.signal.pool import pool_2d as _pool_2d
max_pool_2d = _pool_2d
from theano_tensor.signal.pool import max_pool_2d_same_size as max_pool_2d_same_size
