"""Derivatives."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_graph import Variable as Variable
from theano_linker_c import DebugMode as DebugMode, FAST_RUN as FAST_RUN, ViewOp as ViewOp, get_mode as get_mode
from theano_tensor.gradient import (
    DisconnectedGrad as DisconnectedGrad, DisconnectedInputError as DisconnectedInputError,
    DisconnectedType as DisconnectedType, GradClip as GradClip, GradNotImplementedError as GradNotImplementedError,
    GradScale as GradScale, GradUndefinedError as GradUndefinedError, Lop as Lop, NullType as NullType,
    NullTypeGradError as NullTypeGradError, Rop as Rop, UndefinedGrad as UndefinedGrad, ZeroGrad as ZeroGrad,
    consider_constant as consider_constant, disconnected_grad as disconnected_grad, format_as as format_as,
    grad as grad, grad_clip as grad_clip, grad_not_implemented as grad_not_implemented, grad_scale as grad_scale,
    grad_sources_inputs as grad_sources_inputs, grad_undefined as grad_undefined, hessian as hessian,
    jacobian as jacobian, subgraph_grad as subgraph_grad, undefined_grad as undefined_grad, zero_grad as zero_grad,
)
from .gof.op import get_debug_values as get_debug_values
# isort: on
# fmt: on
# End of the names of names.toml.

from typing import TYPE_CHECKING

from ._names import from_testing

ConsiderConstant = ZeroGrad
consider_constant_ = ConsiderConstant()
disconnected_grad_ = DisconnectedGrad()
undefined_grad_ = UndefinedGrad()
zero_grad_ = ZeroGrad()
disconnected_type = DisconnectedType()
null_type = NullType()

if TYPE_CHECKING:
    from theano_testing.tensor import (
        GradientError as GradientError,
        numeric_grad as numeric_grad,
        verify_grad as verify_grad,
    )
else:

    def __getattr__(name: str) -> object:
        """Find a helper for tests, whose package is imported only when it is asked for."""
        return from_testing(__name__, name)
