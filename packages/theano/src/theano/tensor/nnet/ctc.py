"""Connectionist temporal classification."""

from theano_tensor.nnet.ctc import (
    ConnectionistTemporalClassification as ConnectionistTemporalClassification,
    ctc as ctc,
)

from ._ctc_library import ctc_available as ctc_available, ctc_present as ctc_present
