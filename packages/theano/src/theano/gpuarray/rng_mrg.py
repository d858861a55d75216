"""Draws from streams of the generator MRG31k3p on devices: the numbers that the host draws."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import GPUA_mrg_uniform as GPUA_mrg_uniform
# isort: on
# fmt: on
# End of the names of names.toml.
