"""Further operations: cumulative, counting, diagonals, repetition, searching, numbers of elements."""

from ._counting import (
    Bartlett as Bartlett,
    BinCount as BinCount,
    bartlett as bartlett,
    bincount as bincount,
    to_one_hot as to_one_hot,
)
from ._cumulative import (
    Cumulative as Cumulative,
    Recurrence as Recurrence,
    cumprod as cumprod,
    cumsum as cumsum,
    diff as diff,
)
from ._diagonal import (
    AllocDiag as AllocDiag,
    ExtractDiag as ExtractDiag,
    FillDiagonal as FillDiagonal,
    FillDiagonalOffset as FillDiagonalOffset,
    diag as diag,
    diagonal as diagonal,
    extract_diag as extract_diag,
    fill_diagonal as fill_diagonal,
    fill_diagonal_offset as fill_diagonal_offset,
    trace as trace,
)
from ._flat_index import (
    CpuContiguous as CpuContiguous,
    RavelMultiIndex as RavelMultiIndex,
    UnravelIndex as UnravelIndex,
    cpu_contiguous as cpu_contiguous,
    ravel_multi_index as ravel_multi_index,
    unravel_index as unravel_index,
)
from ._pad import pad as pad
from ._repeat import RepeatedNumbers as RepeatedNumbers, repeat as repeat, tile as tile
from ._searching import (
    SearchsortedOp as SearchsortedOp,
    Unique as Unique,
    searchsorted as searchsorted,
    unique as unique,
)

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
    "Recurrence",
    "RepeatedNumbers",
    "SearchsortedOp",
    "Unique",
    "UnravelIndex",
    "bartlett",
    "bincount",
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
    "tile",
    "to_one_hot",
    "trace",
    "unique",
    "unravel_index",
]
