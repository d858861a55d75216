"""Connectionist temporal classification."""

from theano_tensor.nnet.ctc import (
    ConnectionistTemporalClassification as ConnectionistTemporalClassification,
    ctc as ctc,
    local_ctc_no_grad as local_ctc_no_grad,
)

from ..._lazy import lazy_names
from ._ctc_library import ctc_available as ctc_available, ctc_present as ctc_present

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
