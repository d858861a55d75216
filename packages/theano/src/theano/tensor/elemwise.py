"""The ops behind elementwise functions and reductions."""

from theano_linker_c.scalar import MulWithoutZeros as MulWithoutZeros
from theano_tensor import (
    All as All,
    Any as Any,
    CAReduce as CAReduce,
    CAReduceDtype as CAReduceDtype,
    DimShuffle as DimShuffle,
    Elemwise as Elemwise,
    Prod as Prod,
    ProdWithoutZeros as ProdWithoutZeros,
    Sum as Sum,
)

__all__ = [
    "All",
    "Any",
    "CAReduce",
    "CAReduceDtype",
    "DimShuffle",
    "Elemwise",
    "MulWithoutZeros",
    "Prod",
    "ProdWithoutZeros",
    "Sum",
]
