"""Forms of tensor operations in standalone C, besides those of the machine in C; loaded for exports only.

Most write operations that are no kernels; `_arrays` also describes nodes as kernels where the machine leaves them to
Python because of the dtypes of operands. `_graphs` makes the Jacobians that exported functions come with, too.
"""

from . import _arrays as _arrays, _graphs as _graphs, _random as _random
