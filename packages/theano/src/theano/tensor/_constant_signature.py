"""Keys that distinguish constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from theano_tensor import TensorType


class TensorConstantSignature(tuple[TensorType, Any]):
    """A type and an array, compared by value; NaN equals NaN.

    Examples
    --------
    >>> import theano.tensor as T
    >>> import numpy as np
    >>> kind = T.TensorType("float64", (False,))
    >>> one, other = (T.TensorConstantSignature((kind, np.array([1.0, np.nan]))) for _ in range(2))
    >>> one == other, hash(one) == hash(other), bool(one.has_nan)
    (True, True, True)
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, TensorConstantSignature):
            return False
        (kind, data), (other_kind, other_data) = self, other
        return kind == other_kind and data.shape == other_data.shape and bool(kind.values_eq(data, other_data))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        kind, data = self
        return hash((type(self), kind, data.shape, self.sum))

    def theano_hash(self) -> int:
        """Return the hash."""
        return hash(self)

    @property
    def sum(self) -> Any:
        """The sum of the elements that are numbers."""
        return self.no_nan.sum()

    @property
    def no_nan(self) -> Any:
        """The elements, with NaN masked."""
        data = self[1]
        return np.ma.masked_array(data, np.isnan(data)) if self.has_nan else data

    @property
    def has_nan(self) -> bool:
        """Whether there is a NaN."""
        data = self[1]
        return bool(data.dtype.kind in "fc" and np.isnan(data).any())


def equal_slices(s1: slice, s2: slice) -> bool:
    """Tell whether two slices have the same bounds and steps."""
    return (s1.start, s1.stop, s1.step) == (s2.start, s2.stop, s2.step)
