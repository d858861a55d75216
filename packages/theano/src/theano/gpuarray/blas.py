"""Products and convolutions on devices."""

from __future__ import annotations

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_tensor.device import (
    BaseGpuCorr3dMM as BaseGpuCorr3dMM, BaseGpuCorrMM as BaseGpuCorrMM, GpuCorr3dMM as GpuCorr3dMM,
    GpuCorr3dMM_gradInputs as GpuCorr3dMM_gradInputs, GpuCorr3dMM_gradWeights as GpuCorr3dMM_gradWeights,
    GpuCorrMM as GpuCorrMM, GpuCorrMM_gradInputs as GpuCorrMM_gradInputs,
    GpuCorrMM_gradWeights as GpuCorrMM_gradWeights, GpuDot22 as GpuDot22, GpuGemm as GpuGemm, GpuGemv as GpuGemv,
    GpuGer as GpuGer, gpu_dot22 as gpu_dot22, gpugemm_inplace as gpugemm_inplace,
    gpugemm_no_inplace as gpugemm_no_inplace, gpugemv_inplace as gpugemv_inplace,
    gpugemv_no_inplace as gpugemv_no_inplace, gpuger_inplace as gpuger_inplace, gpuger_no_inplace as gpuger_no_inplace,
)
# isort: on
# fmt: on
# End of the names of names.toml.
