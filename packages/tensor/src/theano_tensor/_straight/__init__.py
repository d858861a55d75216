"""Forms of tensor operations in C that stands alone, besides those that the machine in C has; loaded for exports only.

`_dtypes` describes nodes as kernels where the machine leaves them to Python because of the dtypes of operands. The
other modules write operations that are no kernels.
"""

from . import _arrays as _arrays, _diagonals as _diagonals, _dtypes as _dtypes, _sorting as _sorting
