"""Cumulative sums and products on devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import GpuCumOp as GpuCumOp
# isort: on
# fmt: on
# End of the names of names.toml.

GpuCumsumOp = GpuCumOp
