"""The ops behind elementwise functions and reductions."""

from typing import TYPE_CHECKING

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

from .._names import lazy_names

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

if TYPE_CHECKING:
    from theano_graph import (
        Apply as Apply,
        Op as Op,
    )

    from ._index_tools import DimShufflePrinter as DimShufflePrinter
else:
    LAZY = {
        "theano": "config gof scalar theano",
        "theano_graph": "Apply Op",
        "..gof.op": "COp OpenMPOp",
        "theano_tensor": "DisconnectedType NullType TensorConstant TensorType TensorVariable as_tensor_variable",
        "..gof.params_type": "ParamsType",
        "..scalar": "get_scalar_type mul_without_zeros",
        "..printing": "pprint",
        "..configparser": "change_flags",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
