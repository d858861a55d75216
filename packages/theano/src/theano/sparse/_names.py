"""Names of `theano.sparse.basic` in Theano 1.0 besides ops: lists of dtypes and formats, types, and questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from theano_graph import Variable, format_error
from theano_sparse import GetItem2d, GetItemScalar, SparseType, all_dtypes
from theano_tensor import TensorType

#: Whether there are sparse matrices: SciPy is always there.
enable_sparse = True
imported_scipy = True
scipy_ver = [int(part) for part in scipy.__version__.split(".")[:2]]
sparse_formats = ["csc", "csr"]

_mtypes = [scipy.sparse.csc_matrix, scipy.sparse.csr_matrix]
_mtype_to_str = dict(zip(_mtypes, sparse_formats, strict=True))


def _of(kind: str) -> list[str]:
    return sorted(dtype for dtype in all_dtypes if dtype.startswith(kind))


complex_dtypes, float_dtypes, int_dtypes, uint_dtypes = (_of(kind) for kind in ("complex", "float", "int", "uint"))
integer_dtypes = discrete_dtypes = int_dtypes + uint_dtypes
continuous_dtypes = complex_dtypes + float_dtypes

csc_dmatrix, csr_dmatrix = (SparseType(format, "float64") for format in sparse_formats)
csc_fmatrix, csr_fmatrix = (SparseType(format, "float32") for format in sparse_formats)

get_item_2d, get_item_scalar = GetItem2d, GetItemScalar()


def _variable(x: Any) -> Variable:
    if not isinstance(x, Variable):
        raise NotImplementedError(
            format_error(f"this is asked of variables, not of {type(x).__name__}", hint="pass one")
        )
    return x


def _is_sparse_variable(x: Any) -> bool:
    """Tell whether a variable is sparse."""
    return isinstance(_variable(x).type, SparseType)


def _is_dense_variable(x: Any) -> bool:
    """Tell whether a variable is a tensor."""
    return isinstance(_variable(x).type, TensorType)


def _value(x: Any, *kinds: type) -> Any:
    if not (isinstance(x, kinds) or scipy.sparse.issparse(x)):
        raise NotImplementedError(
            format_error(f"this is asked of matrices, not of {type(x).__name__}", hint="pass one")
        )
    return x


def _is_sparse(x: Any) -> bool:
    """Tell whether a value is a sparse matrix of SciPy, and no array."""
    return bool(scipy.sparse.issparse(_value(x, np.ndarray, tuple, list)))


def _is_dense(x: Any) -> bool:
    """Tell whether a value is an array, and no sparse matrix of SciPy."""
    return isinstance(_value(x, np.ndarray), np.ndarray)
