"""Former names of pooling; new programs use `theano.tensor.signal.pool`."""

from theano_tensor.signal.pool import (
    Pool as DownsampleFactorMax,
    max_pool_2d_same_size as max_pool_2d_same_size,
    pool_2d as max_pool_2d,
)

__all__ = ["DownsampleFactorMax", "max_pool_2d", "max_pool_2d_same_size"]
