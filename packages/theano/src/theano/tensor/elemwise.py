"""The ops behind elementwise functions and reductions."""

from theano_tensor import (
    All as All,
    Any as Any,
    DimShuffle as DimShuffle,
    Elemwise as Elemwise,
    Prod as Prod,
    Sum as Sum,
)
