"""Products of matrices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray.kernel_base import gemm as gemm
# isort: on
# fmt: on
# End of the names of names.toml.
