"""Tensor variables and constants."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from theano_graph import Apply, Constant, Variable

from .._protocols._operators import TensorOperators
from ._type import TensorType

#: Constants with at most this many bytes are compared by their bytes, larger ones by a digest of them.
_SMALL_BYTES = 256


class Tensor(TensorOperators, Variable):
    """A symbolic array of any kind: a :class:`TensorVariable`, a constant, or a shared variable.

    Operators, attributes and methods are those of NumPy arrays as far as they make sense for a value that is not known
    yet.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> (x + 1).type
    TensorType(float64, matrix)
    """

    __slots__ = ()
    type: TensorType
    #: The node that makes it. To checkers its inputs are tensors, as they are but for ops that take something else to a
    #: tensor.
    owner: Apply[Any, Tensor] | None

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        if self.owner is not None:
            return f"{self.owner.op}.{self.index}" if len(self.owner.outputs) > 1 else f"{self.owner.op}.0"
        return f"<{self.type!r}>"


if TYPE_CHECKING:
    # The name that programs write in annotations: there a constant or a shared variable is welcome, too.
    TensorVariable = Tensor
else:

    class TensorVariable(Tensor):
        """A symbolic array that is neither a constant nor shared: an input, or the result of an operation."""

        __slots__ = ()


class TensorConstant(Tensor, Constant):
    """An array that never changes, in an expression.

    The array is read-only. Constants with equal dtype, shape and bytes have equal signatures, so that they can be
    merged; 0.0 and -0.0 differ, and NaN equals NaN of the same bits.
    """

    __slots__ = ("_signature",)

    def __init__(self, type: TensorType, data: Any, name: str | None = None) -> None:
        array = type.filter(data)
        if array.flags.writeable:
            if array is data or array.base is not None:
                array = array.copy()
            array.flags.writeable = False
        Constant.__init__(self, type, array, name)
        self._signature: Hashable = None

    def signature(self) -> Hashable:
        """Return a key that is equal for equal constants of one type."""
        if self._signature is None:
            data = np.ascontiguousarray(self.data)
            raw = data.tobytes() if data.nbytes <= _SMALL_BYTES else hashlib.blake2b(data.data, digest_size=20).digest()
            self._signature = (self.type.dtype, self.data.shape, raw)
        return self._signature

    def equals(self, other: object) -> bool:
        """Tell whether `other` is a constant of the same dtype, shape and bytes."""
        return isinstance(other, TensorConstant) and other.signature() == self.signature()

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        data = self.data
        same = 1 < data.size <= 10_000 and bool((data == data.flat[0]).all())
        if same or (data.ndim and data.size == 1):
            text = f"{data.shape} of {data.flat[0]}"
        else:
            text = " ".join(str(data).split())
        if len(text) > 20 and data.ndim:
            text = f"{text[:10]}..{text[-10:]}"
        return f"TensorConstant{{{text}}}"

    def __repr__(self) -> str:
        return str(self)


TensorType.variable_class = TensorVariable
TensorType.constant_class = TensorConstant
