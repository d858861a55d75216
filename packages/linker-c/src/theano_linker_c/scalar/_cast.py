"""Conversion between element types."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ._contract._cvalue import CValue, c_cast, converted
from ._contract._derivative import differentiable
from ._contract._dtypes import check_dtype, is_complex
from ._contract._op import UnaryScalarOp, arraywise, quiet
from ._contract._preferences import specific_out
from ._contract._record import REALS, ScalarRecord
from ._contract._type import ScalarType


class Cast(UnaryScalarOp):
    """The number converted to another dtype.

    Parameters
    ----------
    dtype : str or ScalarType
        The dtype of the result.
    name : str, optional
        Name for printing.

    Raises
    ------
    TypeError
        If `dtype` is no element type, or when a complex number is converted to a real one.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("dtype",)
    exact = True

    def __init__(self, dtype: str | ScalarType, name: str | None = None) -> None:
        self.dtype = dtype.dtype if isinstance(dtype, ScalarType) else check_dtype(dtype)
        self.name = name or f"Cast{{{self.dtype}}}"

    @property
    def o_type(self) -> ScalarType:
        """The type of the result."""
        return ScalarType(self.dtype)

    @property
    def output_types_preference(self) -> specific_out:
        """Gives the type of the result, for any input."""
        return specific_out(self.o_type)

    def clone_float32(self) -> Cast:
        """Return the conversion to float32 in place of that to float16."""
        return cast("float32") if self.dtype == "float16" else self

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """The dtype that the op was made for."""
        if is_complex(dtypes[0]) and not is_complex(self.dtype):
            raise self.refuse(dtypes, "a complex number has no real value", "take the real part, or abs, first")
        return (self.dtype,)

    @arraywise
    @quiet
    def impl(self, *values: Any) -> Any:
        """Convert with NumPy."""
        return converted(np.asarray(values[0]), self.dtype)[()]

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Convert in C, to the numbers that `impl` gives."""
        return c_cast(args[0], result)


@cache
def cast(dtype: str) -> Cast:
    """Give the op that converts to `dtype`.

    Parameters
    ----------
    dtype : str
        The dtype of the result.

    Returns
    -------
    Cast

    Examples
    --------
    >>> cast("float32").impl(1).dtype.name
    'float32'
    """
    return Cast(dtype)


@differentiable(Cast)
def _cast(inputs: Sequence[Any], output: Any, seed: Any) -> list[Any]:
    return [seed]


def _converted(dtype: str) -> Any:
    return lambda x: x.astype(dtype)


RECORDS = tuple(
    ScalarRecord(cast(dtype), _converted(dtype), REALS, smooth=dtype.startswith("float"))
    for dtype in ("bool", "int8", "uint8", "int32", "int64", "float32", "float64")
)
