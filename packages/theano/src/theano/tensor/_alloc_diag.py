"""The op `nlinalg.alloc_diag`: a matrix with a vector on its diagonal, and nothing else."""

from __future__ import annotations

from typing import Any

from theano_graph import Apply, describe, format_error
from theano_tensor import AllocDiag, as_tensor_variable


class _DiagonalOfMatrix(AllocDiag):
    """Makes the nodes of `AllocDiag`, which takes stacks of vectors, too, for one vector only."""

    def make_node(self, x: Any) -> Apply:
        """Apply to a vector; TypeError for other dimensions."""
        variable = as_tensor_variable(x)
        if variable.type.ndim != 1:
            what = f"alloc_diag: a vector is wanted, not a tensor of {variable.type.ndim} dimensions"
            raise TypeError(
                format_error(what, context=[describe(variable)], hint="apply theano.tensor.AllocDiag() to it")
            )
        return AllocDiag().make_node(variable)


alloc_diag = _DiagonalOfMatrix()
