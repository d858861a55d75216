"""Types, variables and contexts of devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_gpuarray.contexts import (
    ContextNotDefined as ContextNotDefined, get_context as get_context, list_contexts as list_contexts,
    reg_context as reg_context,
)
from theano_gpuarray.types import (
    GpuArrayType as GpuArrayType, GpuContextType as GpuContextType, gpu_context_type as gpu_context_type,
)
from theano_tensor.device import (
    GpuArrayConstant as GpuArrayConstant, GpuArraySharedVariable as GpuArraySharedVariable,
    GpuArrayVariable as GpuArrayVariable, gpu_supported as gpu_supported,
    gpuarray_shared_constructor as gpuarray_shared_constructor, move_to_gpu as move_to_gpu,
)
# isort: on
# fmt: on
# End of the names of names.toml.
