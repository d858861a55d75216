"""The rewrites that move graphs to devices, and how programs add theirs."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    gpu_optimizer as gpu_optimizer, gpu_seqopt as gpu_seqopt, op_lifter as op_lifter, register_opt as register_opt,
    register_opt2 as register_opt2,
)
# isort: on
# fmt: on
# End of the names of names.toml.
