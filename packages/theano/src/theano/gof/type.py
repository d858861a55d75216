"""The base class of types."""

from typing import TYPE_CHECKING

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

from .._names import lazy_names
from ._historical_utils import PureType as PureType

if TYPE_CHECKING:
    from theano import theano as theano
    from theano_graph import Op as Op

    from ..configparser import change_flags as change_flags
    from . import graph as graph, utils as utils
    from ._c_contract import CLinkerObject as CLinkerObject
    from ._historical_utils import object2 as object2, string_types as string_types
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "MethodNotDefined=MissingRuleError Op",
            "..configparser": "change_flags",
            "._c_contract": "CLinkerObject",
            "._historical_utils": "object2 string_types",
            "theano": "theano",
            ".": "graph utils",
        },
    )
