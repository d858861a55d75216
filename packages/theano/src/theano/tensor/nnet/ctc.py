"""Connectionist temporal classification."""

from theano_tensor.nnet.ctc import (
    ConnectionistTemporalClassification as ConnectionistTemporalClassification,
    ctc as ctc,
)
