"""Hints about matrices, and the bound of their eigenvalues."""

from typing import TYPE_CHECKING

from theano_tensor.linalg import (
    Hint as Hint,
    HintsFeature as HintsFeature,
    HintsOptimizer as HintsOptimizer,
    det as det,
    hints as hints,
    is_hint_node as is_hint_node,
    matrix_inverse as matrix_inverse,
    psd as psd,
    spectral_radius_bound as spectral_radius_bound,
    trace as trace,
)

from ..._lazy import lazy_names

__all__ = [
    "Hint",
    "HintsFeature",
    "HintsOptimizer",
    "det",
    "hints",
    "is_hint_node",
    "matrix_inverse",
    "psd",
    "spectral_radius_bound",
    "trace",
]

if TYPE_CHECKING:
    from theano.tensor.slinalg import (
        Cholesky as Cholesky,
        Solve as Solve,
        cholesky as cholesky,
        solve as solve,
    )
else:
    LAZY = {
        "theano": "tensor theano",
        "theano_graph": "Apply Op",
        "theano_tensor": "DimShuffle Dot",
        "theano_tensor.linear": "Dot22",
        "theano.gof.opt": "Optimizer local_optimizer",
        "theano.tensor.opt": "register_canonicalize register_specialize register_stabilize",
        "theano.tensor.slinalg": "Cholesky Solve cholesky solve imported_scipy",
        "theano.tensor.nlinalg": "MatrixInverse extract_diag",
        "theano.tensor._linalg_tools": (
            "inv_as_solve is_positive is_psd is_symmetric local_det_chol local_log_pow "
            "local_log_prod_sqr no_transpose_symmetric psd_solve_with_chol remove_hint_nodes "
            "tag_solve_triangular transinv_to_invtrans"
        ),
    }
    __getattr__, __dir__ = lazy_names(__name__, __package__, LAZY)
