"""The type of a gradient that has no value."""

from typing import TYPE_CHECKING

from theano_tensor.gradient import NullType as NullType

from .._lazy import lazy_names
from ._historical_utils import null_type as null_type

if TYPE_CHECKING:
    from theano_graph import Type as Type
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        __package__,
        {
            "theano_graph": "Type",
        },
    )
