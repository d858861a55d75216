"""Helpers and local optimizers of `theano.tensor.nlinalg`, `theano.tensor.slinalg` and `theano.sandbox.linalg.ops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import theano.tensor as T
from theano.gof._local_optimizers import Wrapped
from theano.gof.opt import local_optimizer
from theano_graph import Apply, Variable
from theano_tensor.gradient import DisconnectedType
from theano_tensor.linalg import hints, rewrites as linalg_rules

#: The structures of a matrix that `Solve` accepts.
MATRIX_STRUCTURES = (
    "general",
    "symmetric",
    "lower_triangular",
    "upper_triangular",
    "hermitian",
    "banded",
    "diagonal",
    "toeplitz",
)
#: Whether SciPy is there: always, it is a requirement.
imported_scipy = True

remove_hint_nodes = Wrapped(linalg_rules.remove_hint_nodes)
transinv_to_invtrans = Wrapped(linalg_rules.transinv_to_invtrans)
inv_as_solve = Wrapped(linalg_rules.inv_as_solve)
tag_solve_triangular = Wrapped(linalg_rules.tag_solve_triangular)
psd_solve_with_chol = Wrapped(linalg_rules.psd_solve_with_chol)
local_det_chol = Wrapped(linalg_rules.determinant_by_factor)


def _zero_disconnected(outputs: Sequence[Variable], grads: Sequence[Variable]) -> list[Any]:
    """Return gradients, with zeros for missing ones."""
    return [T.zeros_like(o) if isinstance(g.type, DisconnectedType) else g for o, g in zip(outputs, grads, strict=True)]


def is_psd(v: Variable) -> bool:
    """Tell whether a hint says that a matrix is positive semi-definite."""
    return bool(hints(v).get("psd", False))


def is_symmetric(v: Variable) -> bool:
    """Tell whether a hint says that a matrix is symmetric."""
    return bool(hints(v).get("symmetric", False))


def is_positive(v: Variable) -> bool:
    """Tell whether the elements of a variable are known to be positive: by a hint, or as squares of real numbers."""
    if hints(v).get("positive", False):
        return True
    node = v.owner
    if node is None or node.op != T.pow:
        return False
    try:
        exponent = T.get_scalar_constant_value(node.inputs[1])
    except T.NotScalarConstantError:
        return False
    return bool(exponent == 2)


@local_optimizer([T.DimShuffle])
def no_transpose_symmetric(node: Apply) -> Any:
    """The transpose of a matrix that is hinted to be symmetric is the matrix."""
    x = node.inputs[0]
    if x.type.ndim == 2 and is_symmetric(x) and tuple(node.op.new_order) == (1, 0):
        return [x]
    return None


@local_optimizer([T.log])
def local_log_prod_sqr(node: Apply) -> Any:
    """The logarithm of a product of positive numbers is the sum of their logarithms."""
    inner = node.inputs[0].owner
    if inner is not None and isinstance(inner.op, T.elemwise.Prod) and is_positive(inner.inputs[0]):
        return [T.log(inner.inputs[0]).sum(axis=inner.op.axis)]
    return None


@local_optimizer([T.log])
def local_log_pow(node: Apply) -> Any:
    """The logarithm of a power is the exponent times the logarithm of the base."""
    inner = node.inputs[0].owner
    if inner is None or inner.op != T.pow:
        return None
    base, exponent = inner.inputs
    return [exponent * T.log(base)]
