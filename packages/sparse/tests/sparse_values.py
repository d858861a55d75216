"""Values that the tests of sparse matrices share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from theano_linker_c import function

FORMATS = ("csc", "csr")


def sparse_value(
    format: str, shape: tuple[int, int], dtype: str = "float64", seed: int = 0, kind: str = "plain"
) -> Any:
    """Return a sparse matrix; `kind` may be "zeros" (some are stored) or "unsorted" (indices)."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 2.0, size=shape) * (rng.random(shape) < 0.5) * rng.choice([-1, 1], size=shape)
    if dtype.startswith(("int", "uint")):
        values = np.abs(values * 4).astype(dtype)
    result = scipy.sparse.csr_matrix(values.astype(dtype)).asformat(format)
    if kind == "zeros" and result.nnz:
        result.data[::2] = 0
    if kind == "unsorted":
        for start, stop in zip(result.indptr[:-1], result.indptr[1:], strict=True):
            result.indices[start:stop] = result.indices[start:stop][::-1].copy()
            result.data[start:stop] = result.data[start:stop][::-1].copy()
        result.has_sorted_indices = False
    return result


def array(value: Any) -> Any:
    """Return a sparse or dense value as an array."""
    return value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)


def run(inputs: list[Any], output: Any, *values: Any, mode: Any = None) -> Any:
    """Compile and call, and return an array."""
    return array(function(inputs, output, mode=mode, allow_input_downcast=True)(*values))


def differences(compute: Any, values: list[Any], which: int, positions: Any = None) -> Any:
    """Return the gradient of ``compute(*arrays)`` by one of them, by central differences; 0 beyond `positions`."""
    arrays = [array(v).astype("float64") for v in values]
    result = np.zeros_like(arrays[which])
    for index in np.ndindex(*result.shape):
        if positions is not None and not positions[index]:
            continue
        ends = []
        for step in (1e-6, -1e-6):
            moved = [a.copy() for a in arrays]
            moved[which][index] += step
            ends.append(compute(*moved))
        result[index] = (ends[0] - ends[1]) / 2e-6
    return result
