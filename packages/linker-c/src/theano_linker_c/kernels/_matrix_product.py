"""Products of vectors and matrices by BLAS."""

from __future__ import annotations

from typing import ClassVar, Literal

from theano_graph import record

from ._description._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    first_may_be_taken,
    overwrites,
    type_number,
    wait_number,
)
from ._libraries._blas import blas_address

__all__ = ["MatrixProductKernel"]

#: The kinds of products of one pair; the numbers are those of the runtime.
_KINDS = ("dot", "gemv", "vecmat", "gemm", "ger")


@record
class MatrixProductKernel(Kernel):
    """A product that BLAS computes.

    The inputs of the node define the use of the product: ``(a, b)`` gives the product, ``(a, b, alpha)`` its multiple,
    ``(z, alpha, a, b)`` and ``(z, alpha, a, b, beta)`` add that to z or to a multiple of z. Factors are 0-d, z has the
    shape of the result and is not read where beta is 0.

    Parameters
    ----------
    kind : {"dot", "gemv", "vecmat", "gemm", "ger", "batched"}
        Vector with vector, matrix with vector, vector with matrix, matrix with matrix, outer product, each matrix of a
        stack with one of another (two inputs only).
    dtype : str
        float32, float64, complex64 or complex128.
    """

    needs_code: ClassVar[bool] = True
    overwriting: ClassVar[Overwriting | None] = Overwriting.PRODUCT
    kind: Literal["dot", "gemv", "vecmat", "gemm", "ger", "batched"]
    dtype: str

    @staticmethod
    def accumulates(n_inputs: int) -> bool:
        """Tell whether a node with so many inputs adds the product to its first input."""
        return n_inputs >= 4

    def routine(self) -> LoadedKernel | None:
        """Return the routine of BLAS; None if SciPy has none for the dtype."""
        name, address = blas_address(self.kind, self.dtype)
        return LoadedKernel(name, address) if address else None

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload; None for complex numbers, which the runtime does not multiply."""
        if code is None or self.dtype not in ("float32", "float64"):
            return None
        number = type_number(self.dtype)
        if self.kind == "batched":
            return "batched_product", (number, code.address)
        memory = first_may_be_taken(site), overwrites(site), wait_number(site)
        return "product", (_KINDS.index(self.kind), number, code.address, *memory)

    def donors(self, site: Site) -> Donors:
        """Return the first input where it is added to."""
        if not self.accumulates(len(site.inputs)):
            return ()
        first = site.inputs[0]
        return ((0,),) if first in site.release and first not in site.inputs[1:] else ()

    def changes_first(self, n_inputs: int) -> bool:
        """Tell whether the product is added to the first input."""
        return self.accumulates(n_inputs)
