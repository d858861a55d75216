"""Lengths and strides, as rules of this folder import them."""

from ..codegen.lengths import (
    ONE as ONE,
    ZERO as ZERO,
    Length as Length,
    as_length as as_length,
    product_of as product_of,
)

__all__ = ["ONE", "ZERO", "Length", "as_length", "product_of"]
