"""Helpers for rewrites of ops on devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    alpha_merge as alpha_merge, find_node as find_node, grab_cpu_scalar as grab_cpu_scalar,
    inplace_allocempty as inplace_allocempty, is_equal as is_equal, output_merge as output_merge, pad_dims as pad_dims,
    unpad_dims as unpad_dims,
)
# isort: on
# fmt: on
# End of the names of names.toml.
