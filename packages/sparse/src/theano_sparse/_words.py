"""Contents of sparse matrices that archives may have; see `theano_graph.safe_loading`."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse

from theano_graph.safe_loading import LEAVES, ClassWord, Form, Pending, Reader, Word, class_words, refused

from ._core._structure import covers

#: Classes by modules.
_CLASSES = MappingProxyType(
    {
        "theano_sparse._operations._arithmetic": "AddSD AddSS CheckLength Comparison MulSD MulSS Neg",
        "theano_sparse._core._op": "SparseSharedVariable",
        "theano_sparse._core._conversion": (
            "Cast DenseFromSparse EnsureSortedIndices Remove0 SparseFromDense SumDuplicates ToFormat"
        ),
        "theano_sparse._operations._lists": "GetItem2Lists GetItem2ListsGrad GetItemList GetItemListGrad",
        "theano_sparse._compressed": (
            "CompressedDot UsmmCscDense CompressedUsmm UsmmRows "
            "CompressedToDense CompressedSum ChangeCompression GatherByIndex"
        ),
        "theano_sparse._operations._products": "Dot SampledProduct StructuredDot TrueDot Usmm",
        "theano_sparse._operations._random": "Binomial Multinomial Poisson",
        "theano_sparse._operations._shape": (
            "ConstructSparseFromList Diag GetItem2d GetItemScalar HStack ScatterPart SquareDiagonal Stack "
            "Transpose VStack"
        ),
        "theano_sparse._core._structure": "CSM CSMProperties GatherElements ScatterElements CooIndices TrustedCSM",
        "theano_sparse._operations._structured": "SpSum",
        "theano_sparse._core._type": "SparseConstant SparseType SparseVariable",
    }
)
_FORMATS = ("csc", "csr")
LEAVES += [scipy.sparse.csc_matrix, scipy.sparse.csr_matrix]


class _MatrixForm(Form):
    """Matrices of SciPy: their indices are looked at before anything else uses them."""

    def new(self, reader: Reader, word: ClassWord, arguments: tuple[Any, ...]) -> Any:
        """Return an object that waits for the arrays."""
        if arguments:
            raise refused(f"the archive makes an instance of {word} with arguments")
        return Pending(word, ())

    def build(self, reader: Reader, word: ClassWord, instance: Any, state: Any) -> Any:
        """Return the matrix."""
        if type(state) is not dict:
            raise refused("the archive has a sparse matrix of a form that is not known")
        shape = state.get("_shape")
        parts: list[Any] = [state.get(name) for name in ("data", "indices", "indptr")]
        if not all(type(part) is np.ndarray and part.ndim == 1 for part in parts):
            raise refused("the archive has a sparse matrix without its arrays")
        if type(shape) is not tuple or len(shape) != 2 or not all(_is_length(n) for n in shape):
            raise refused("the archive has a sparse matrix without a shape")
        data, indices, indptr = parts
        n_major = shape[word.name.startswith("csc")]
        if indices.dtype not in ("int32", "int64") or indptr.dtype != indices.dtype or len(indptr) != n_major + 1:
            raise refused("the archive has a sparse matrix with indices that are none")
        if len(data) != len(indices):
            raise refused("the archive has a sparse matrix with indices that are none")
        if not covers(indptr, len(indices)):
            raise refused("the archive has a sparse matrix with indices that are none")
        width = shape[not word.name.startswith("csc")]
        if len(indices) and (indices.min() < 0 or indices.max() >= width):
            raise refused("the archive has a sparse matrix with indices beyond its shape")
        kind: Any = word.target
        result = kind(shape, dtype=data.dtype)
        result.data, result.indices, result.indptr = data, indices, indptr
        return result


def _is_length(value: Any) -> bool:
    return (type(value) is int or isinstance(value, np.integer)) and bool(0 <= value < 1 << 62)


def words() -> Iterator[Word]:
    """Yield all words of this layer."""
    yield from class_words(_CLASSES)
    for name in _FORMATS:
        for module in (f"scipy.sparse._{name}", f"scipy.sparse.{name}"):
            yield ClassWord(module, f"{name}_matrix", _MatrixForm(), source="scipy.sparse")
