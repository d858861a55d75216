"""Helpers for the text of kernels."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray.kernel_base import (
    code_version as code_version, inline_reduce as inline_reduce,
    inline_reduce_fixed_shared as inline_reduce_fixed_shared,
    inline_reduce_fixed_shared_max as inline_reduce_fixed_shared_max, inline_reduce_max as inline_reduce_max,
    inline_reduce_min as inline_reduce_min, inline_reduce_prod as inline_reduce_prod,
    inline_reduce_sum as inline_reduce_sum, inline_softmax as inline_softmax,
    inline_softmax_fixed_shared as inline_softmax_fixed_shared, nvcc_kernel as nvcc_kernel,
)
# isort: on
# fmt: on
# End of the names of names.toml.
