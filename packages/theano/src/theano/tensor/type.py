"""The type of tensors, and when their values count as equal."""

from theano_graph import Type as Type, Variable as Variable, config as config
from theano_tensor import (
    TensorType as TensorType,
)

from .._names import lazy_names
from ..gof.utils import hashtype as hashtype
from ._historical import (
    values_eq_approx_always_true as values_eq_approx_always_true,
    values_eq_approx_remove_inf as values_eq_approx_remove_inf,
    values_eq_approx_remove_inf_nan as values_eq_approx_remove_inf_nan,
    values_eq_approx_remove_nan as values_eq_approx_remove_nan,
)

values_eq_approx = TensorType.values_eq_approx

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
