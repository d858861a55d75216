"""Ops that rewrites put in where sparse matrices are multiplied and added."""

# Names of names.toml, written by tools/generate_names.py.
# fmt: off
# isort: off
from theano_sparse import (
    CSC as CSC, CSR as CSR, CompressedDot as CompressedDot, UsmmCscDense as UsmmCscDense,
    CompressedUsmm as CompressedUsmm, csm_data as csm_data, csm_indices as csm_indices, csm_indptr as csm_indptr,
    csm_properties as csm_properties, usmm as usmm,
)
from ._historical import csm_grad as csm_grad
from ._historical_opt import (
    AddSD_ccode as AddSD_ccode, CSMGradC as CSMGradC, MulSDCSC as MulSDCSC, MulSDCSR as MulSDCSR, MulSVCSR as MulSVCSR,
    SamplingDotCSR as SamplingDotCSR, StructuredAddSVCSR as StructuredAddSVCSR, StructuredDotCSC as StructuredDotCSC,
    StructuredDotCSR as StructuredDotCSR, csm_grad_c as csm_grad_c, local_mul_s_v as local_mul_s_v,
    local_structured_add_s_v as local_structured_add_s_v, mul_s_d_csc as mul_s_d_csc, mul_s_d_csr as mul_s_d_csr,
    mul_s_v_csr as mul_s_v_csr, sampling_dot_csr as sampling_dot_csr, sd_csc as sd_csc, sd_csr as sd_csr,
    structured_add_s_v_csr as structured_add_s_v_csr, usmm_csc_dense as usmm_csc_dense,
    usmm_csc_dense_inplace as usmm_csc_dense_inplace,
)
from ._names import _is_dense as _is_dense, _is_sparse_variable as _is_sparse_variable
# isort: on
# fmt: on
# End of the names of names.toml.

from .._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __package__, {})
