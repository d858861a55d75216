"""Pooling: images made smaller by taking one number for each window."""

from typing import TYPE_CHECKING

from theano_tensor.signal.pool import (
    AveragePoolGrad as AveragePoolGrad,
    MaxPoolGrad as MaxPoolGrad,
    Pool as Pool,
    max_pool_2d_same_size as max_pool_2d_same_size,
    pool_2d as pool_2d,
    pool_3d as pool_3d,
)

from ..._names import from_module

if TYPE_CHECKING:
    from ._pool_ops import (
        DownsampleFactorMaxGradGrad as DownsampleFactorMaxGradGrad,
        MaxPoolRop as MaxPoolRop,
        PoolGrad as PoolGrad,
        PoolingMode_t as PoolingMode_t,
    )
else:
    _OPS = ("DownsampleFactorMaxGradGrad", "MaxPoolRop", "PoolGrad", "PoolingMode_t")
    _SOURCES = dict.fromkeys(_OPS, "theano.tensor.signal._pool_ops")

    def __getattr__(name: str) -> object:
        """Find a name whose module has not been imported yet; a star import asks for all that is public."""
        if name == "__all__":
            return sorted({key for key in [*globals(), *_SOURCES] if not key.startswith("_")})
        return from_module(__name__, _SOURCES, name)
