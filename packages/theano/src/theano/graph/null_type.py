"""The type of variables that stand for no gradient at all."""

from ..gof.null_type import NullType as NullType, null_type as null_type
