"""Several parameters of an op in one object."""

from typing import TYPE_CHECKING

from theano_linker_c.cop import Params as Params, ParamsType as ParamsType

from .._lazy import lazy_names

if TYPE_CHECKING:
    from theano_graph import Type as Type
    from theano_linker_c.cop import EnumType as EnumType

    from ._historical_utils import c_cpp_keywords as c_cpp_keywords
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "MethodNotDefined=MissingRuleError Type",
            "theano_linker_c.cop": "EnumType",
            "._historical_utils": "c_cpp_keywords",
        },
    )
