"""Symbolic differentiation: gradients, products with Jacobians, and the types of gradients that have no value."""

from .._errors import (
    DisconnectedInputError as DisconnectedInputError,
    GradNotImplementedError as GradNotImplementedError,
    GradUndefinedError as GradUndefinedError,
    NullTypeGradError as NullTypeGradError,
    PullbackError as PullbackError,
)
from .._graph_op import MapRows as MapRows
from ._blocks import (
    DisconnectedGrad as DisconnectedGrad,
    GradClip as GradClip,
    GradientGate as GradientGate,
    GradScale as GradScale,
    UndefinedGrad as UndefinedGrad,
    ZeroGrad as ZeroGrad,
    consider_constant as consider_constant,
    disconnected_grad as disconnected_grad,
    grad_clip as grad_clip,
    grad_scale as grad_scale,
    undefined_grad as undefined_grad,
    zero_grad as zero_grad,
)
from ._grad import differentiate_functions_by as differentiate_functions_by, format_as as format_as, grad as grad
from ._jacobian import hessian as hessian, jacobian as jacobian, map_rows as map_rows
from ._products import (
    EvaluationPoint as EvaluationPoint,
    Lop as Lop,
    Rop as Rop,
    derived_pushforward as derived_pushforward,
    grad_sources_inputs as grad_sources_inputs,
    subgraph_grad as subgraph_grad,
)
from ._supports import (
    Choice as Choice,
    Part as Part,
    Rest as Rest,
    Support as Support,
    is_zero as is_zero,
    moves_elements as moves_elements,
    support_rule as support_rule,
)
from ._types import (
    DisconnectedType as DisconnectedType,
    NullType as NullType,
    grad_not_implemented as grad_not_implemented,
    grad_undefined as grad_undefined,
)

__all__ = [
    "support_rule",
    "moves_elements",
    "is_zero",
    "Support",
    "Rest",
    "Part",
    "Choice",
    "DisconnectedGrad",
    "DisconnectedInputError",
    "DisconnectedType",
    "EvaluationPoint",
    "GradClip",
    "GradNotImplementedError",
    "GradScale",
    "GradUndefinedError",
    "GradientGate",
    "Lop",
    "MapRows",
    "NullType",
    "NullTypeGradError",
    "PullbackError",
    "Rop",
    "UndefinedGrad",
    "ZeroGrad",
    "consider_constant",
    "derived_pushforward",
    "differentiate_functions_by",
    "disconnected_grad",
    "format_as",
    "grad",
    "grad_clip",
    "grad_not_implemented",
    "grad_scale",
    "grad_sources_inputs",
    "grad_undefined",
    "hessian",
    "jacobian",
    "map_rows",
    "subgraph_grad",
    "undefined_grad",
    "zero_grad",
]
