"""Pooling: images made smaller by taking one number for each window."""

from theano_tensor.signal.pool import (
    AveragePoolGrad as AveragePoolGrad,
    MaxPoolGrad as MaxPoolGrad,
    Pool as Pool,
    max_pool_2d_same_size as max_pool_2d_same_size,
    pool_2d as pool_2d,
    pool_3d as pool_3d,
)
