"""Forms of tensor operations in standalone C, besides those of the machine in C; loaded for exports only.

`_dtypes` describes nodes as kernels where the machine leaves them to Python because of the dtypes of operands.
`_derivatives` makes the Jacobians that exported functions come with. The other modules write operations that are no
kernels, by subject; `_loops` is their common part.
"""

from . import (
    _arrays as _arrays,
    _categories as _categories,
    _derivatives as _derivatives,
    _diagonals as _diagonals,
    _dtypes as _dtypes,
    _graphs as _graphs,
    _random as _random,
    _sorting as _sorting,
)
