"""The base class of types."""

from typing import Any

from theano_graph import (
    Constant as Constant,
    Generic as Generic,
    SingletonType as SingletonType,
    Type as Type,
    Variable as Variable,
    generic as generic,
)
from theano_linker_c.cop import (
    CDataType as CDataType,
    CEnumType as CEnumType,
    CLinkerType as CLinkerType,
    EnumList as EnumList,
    EnumType as EnumType,
)


class PureType(Type):
    """A type that names the classes of its variables and constants `Variable` and `Constant`, also in subclasses."""

    Variable: type[Variable] = Variable
    Constant: type[Constant] = Constant

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.variable_class = cls.Variable
        cls.constant_class = cls.Constant
