"""Words for kernels on numbers of limited precision."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray.kernel_base import load_w as load_w, work_dtype as work_dtype, write_w as write_w
# isort: on
# fmt: on
# End of the names of names.toml.
