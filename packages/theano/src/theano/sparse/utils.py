"""Digests of sparse matrices."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def hash_from_sparse(data: Any) -> str:
    """Return a text that differs for matrices of other elements, positions, shape, dtype or format.

    Parameters
    ----------
    data : scipy.sparse matrix
        In csc or csr format.
    """
    digest = hashlib.sha256(f"{data.shape} {data.dtype} {data.format}".encode())
    for part in (data.data, data.indices, data.indptr):
        digest.update(f" {part.dtype} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
