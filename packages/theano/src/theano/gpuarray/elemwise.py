"""Elementwise ops, reductions and permuted dimensions on devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    GpuCAReduce as GpuCAReduce, GpuCAReduceCPY as GpuCAReduceCPY, GpuCAReduceCuda as GpuCAReduceCuda,
    GpuDimShuffle as GpuDimShuffle, GpuElemwise as GpuElemwise, GpuErfcinv as GpuErfcinv, GpuErfinv as GpuErfinv,
    SupportCodeError as SupportCodeError, gpu_ca_reduce_cuda as gpu_ca_reduce_cuda, gpu_erfcinv as gpu_erfcinv,
    gpu_erfinv as gpu_erfinv, max_inputs_to_GpuElemwise as max_inputs_to_GpuElemwise,
)
# isort: on
# fmt: on
# End of the names of names.toml.
