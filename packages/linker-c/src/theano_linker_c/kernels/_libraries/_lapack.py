"""Linear algebra that the runtime computes with LAPACK's routines, which are taken from SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal, TypeAlias

from theano_graph import record

from ..._lazy import scipy_blas, scipy_lapack
from ..._perform import perform_runner
from .._description._kernel import Encoded, Kernel, LoadedKernel, Site, type_number
from ._blas import routine_address
from ._capsules import capsule_pointer

MatrixTask: TypeAlias = Literal[
    "cholesky",
    "triangular",
    "solve",
    "symmetric",
    "inverse",
    "det",
    "slogdet",
    "eigh",
    "svd",
    "factor_back",
    "qr",
    "cofactors",
    "eigh_back",
]
#: The routines of each task, in the order of their numbers in c/linear_algebra/lapack.c.
ROUTINES: Mapping[MatrixTask, tuple[str, ...]] = MappingProxyType(
    {
        "cholesky": ("potrf",),
        "triangular": ("trsv", "trsm"),
        "solve": ("getrf", "getrs"),
        "symmetric": ("sysv",),
        "inverse": ("getrf", "getri"),
        "det": ("getrf",),
        "slogdet": ("getrf",),
        "eigh": ("syevd",),
        "svd": ("gesdd",),
        "factor_back": ("trsm", "gemm"),
        "qr": ("geqrf", "orgqr"),
        "cofactors": ("getrf", "getri"),
        "eigh_back": ("gemm",),
    }
)
_PREFIX = MappingProxyType({"float32": "s", "float64": "d"})


@record
class LapackKernel(Kernel):
    """Linear algebra on matrices and stacks of them; matrices that fail are left to the op's `perform`.

    Parameters
    ----------
    task : str
        See `ROUTINES`.
    dtype : {"float32", "float64"}
        Of all operands and results.
    flag : int
        Whether the lower triangle matters; for "svd" and "qr" 0 (singular values or r only), 1 (reduced) or 2 (full).
    """

    task: MatrixTask
    dtype: str
    flag: int = 0

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload; None where SciPy lacks a routine."""
        addresses = lapack_addresses(self.task, self.dtype)
        if not addresses:
            return None
        number = list(ROUTINES).index(self.task)
        return "lapack", (number, type_number(self.dtype), self.flag, addresses, perform_runner(site.node))


def lapack_addresses(task: MatrixTask, dtype: str) -> tuple[int, ...]:
    """Give the addresses of the routines of a task; an empty tuple if SciPy does not have them.

    Examples
    --------
    >>> len(lapack_addresses("cholesky", "float64"))
    1
    """
    # BLAS first: it chooses the routines for this processor when it is loaded.
    scipy_blas()
    find = routine_address if task in ("triangular", "factor_back", "eigh_back") else _address_in_scipy
    addresses = tuple(find(_PREFIX[dtype] + name) for name in ROUTINES[task]) if dtype in _PREFIX else (0,)
    return addresses if all(addresses) else ()


@cache
def _address_in_scipy(name: str) -> int:
    capsule = scipy_lapack().__pyx_capi__.get(name)
    return 0 if capsule is None else capsule_pointer(capsule)
