"""The base classes of types."""

from ..gof.type import (
    CDataType as CDataType,
    CEnumType as CEnumType,
    EnumList as EnumList,
    EnumType as EnumType,
    Generic as Generic,
    PureType as PureType,
    SingletonType as SingletonType,
    Type as Type,
    generic as generic,
)

#: A type with C code of its own is a type like others.
CType = Type

__all__ = [
    "CDataType",
    "CEnumType",
    "CType",
    "EnumList",
    "EnumType",
    "Generic",
    "PureType",
    "SingletonType",
    "Type",
    "generic",
]
