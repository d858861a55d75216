"""Further operations: cumulative, counting, diagonals, repetition, searching, numbers of elements."""

from typing import TYPE_CHECKING

from theano_tensor import (
    AllocDiag as AllocDiag,
    Bartlett as Bartlett,
    BinCount as BinCount,
    CpuContiguous as CpuContiguous,
    Cumulative as Cumulative,
    ExtractDiag as ExtractDiag,
    FillDiagonal as FillDiagonal,
    FillDiagonalOffset as FillDiagonalOffset,
    RavelMultiIndex as RavelMultiIndex,
    RepeatedNumbers as RepeatedNumbers,
    SearchsortedOp as SearchsortedOp,
    Unique as Unique,
    UnravelIndex as UnravelIndex,
    bartlett as bartlett,
    bincount as bincount,
    compress as compress,
    cpu_contiguous as cpu_contiguous,
    cumprod as cumprod,
    cumsum as cumsum,
    diag as diag,
    diagonal as diagonal,
    diff as diff,
    extract_diag as extract_diag,
    fill_diagonal as fill_diagonal,
    fill_diagonal_offset as fill_diagonal_offset,
    pad as pad,
    ravel_multi_index as ravel_multi_index,
    repeat as repeat,
    searchsorted as searchsorted,
    squeeze as squeeze,
    tile as tile,
    to_one_hot as to_one_hot,
    trace as trace,
    unique as unique,
    unravel_index as unravel_index,
)

from .._names import lazy_names

__all__ = [
    "AllocDiag",
    "Bartlett",
    "BinCount",
    "CpuContiguous",
    "Cumulative",
    "ExtractDiag",
    "FillDiagonal",
    "FillDiagonalOffset",
    "RavelMultiIndex",
    "RepeatedNumbers",
    "SearchsortedOp",
    "Unique",
    "UnravelIndex",
    "bartlett",
    "bincount",
    "compress",
    "cpu_contiguous",
    "cumprod",
    "cumsum",
    "diag",
    "diagonal",
    "diff",
    "extract_diag",
    "fill_diagonal",
    "fill_diagonal_offset",
    "pad",
    "ravel_multi_index",
    "repeat",
    "searchsorted",
    "squeeze",
    "tile",
    "to_one_hot",
    "trace",
    "unique",
    "unravel_index",
]

if TYPE_CHECKING:
    from ._old_ops import (
        CumOp as CumOp,
        CumprodOp as CumprodOp,
        CumsumOp as CumsumOp,
        DiffOp as DiffOp,
        RepeatOp as RepeatOp,
    )
else:
    LAZY = {
        "._old_ops": (
            "CumOp CumprodOp CumsumOp DiffOp RepeatOp bartlett_ fill_diagonal_ fill_diagonal_offset_ disconnected_type"
        ),
        "theano": "config gof gradient scalar tensor theano",
        ".": "basic nlinalg",
        "theano_tensor": "DisconnectedType",
        "..gof.params_type": "ParamsType",
        "..scalar": "int_t=int64",
        "..gof.type": "Generic",
        "theano_linker_c.cop": "EnumList",
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
