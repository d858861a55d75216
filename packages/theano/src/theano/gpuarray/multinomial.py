"""From uniform random numbers to categories on devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    GPUAChoiceFromUniform as GPUAChoiceFromUniform, GPUAMultinomialFromUniform as GPUAMultinomialFromUniform,
)
# isort: on
# fmt: on
# End of the names of names.toml.

GPUAMultinomialWOReplacementFromUniform = GPUAChoiceFromUniform
