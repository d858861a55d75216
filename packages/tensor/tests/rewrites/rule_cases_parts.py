"""Expressions for rules about parts of tensors, choices, linear algebra and products through BLAS."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano_tensor as T
from theano_tensor import linalg
from theano_tensor.builders import OpFromGraph
from theano_tensor.control import ifelse
from theano_tensor.gradient import grad

from .rule_inputs import LANGUAGE, ROUNDED, Case, Given, case


def _positive(v: Given) -> Any:
    """Return a positive definite matrix, and say so."""
    return linalg.psd(T.dot(v.A, v.A.T) + T.eye(6))


def _lower(v: Given) -> Any:
    return linalg.cholesky(T.dot(v.A, v.A.T) + T.eye(6))


def _choice_inside_a_choice(v: Given) -> Any:
    large = v.s > 1
    return ifelse(large, ifelse(large, v.x, v.y), v.y * 2)


def _held(x: Any) -> Any:
    inner = x.type()
    return OpFromGraph([inner], [T.exp(inner) + 1], inline=True)(x)


def _incremented(v: Given) -> Any:
    index = (slice(1, 3), v.n[0])
    return T.inc_subtensor(v.A[index], v.x[:2])[index]


def _written_and_read(v: Given) -> Any:
    i = v.n[0]
    return T.set_subtensor(v.A[i], v.x)[i]


def _rows_written_and_read(v: Given) -> Any:
    rows = T.arange(2) + v.p[0]
    return T.set_subtensor(v.A[rows], v.B[:2])[rows]


PARTS: dict[str, Case] = {
    "whole_part": case(lambda v: v.x[:], lambda v: v.A[0 : v.A.shape[0]]),
    "part_of_part": case(
        lambda v: v.x[1:][2:],
        lambda v: v.A[1:][2],
        lambda v: v.x[::-1][::-1],
        lambda v: v.A[::-1][1],
        lambda v: v.A[::-1][-2],
        lambda v: v.x[::-1][1:4:2],
        lambda v: v.x[::-1][2:],
        lambda v: v.x[::-1][3:9],
        lambda v: v.x[2:][::-1],
        lambda v: v.x[9:][::-1],
        lambda v: v.x[::-1][9:],
    ),
    "part_before_elementwise": case(
        lambda v: T.exp(v.x)[1],
        lambda v: (v.A * v.s)[1:3],
        lambda v: (v.A + v.A[0].dimshuffle("x", 0))[1:3],
    ),
    "part_of_alloc": case(lambda v: T.alloc(v.s, v.x.shape[0], 3)[2:], lambda v: T.alloc(v.s, 6, 3)[1]),
    "element_of_vector": case(lambda v: T.stack([v.s, v.s * 2])[1], lambda v: T.stack([v.s, v.s * 2, v.s + 1])[:2]),
    "part_of_product": case(lambda v: T.dot(v.A, v.B)[1], lambda v: T.dot(v.A, v.B)[1:3, 2]),
    "part_that_was_written": case(
        lambda v: T.set_subtensor(v.x[1:4], v.y[:3])[1:4],
        lambda v: T.inc_subtensor(v.x[2], v.s)[2],
        lambda v: T.set_subtensor(v.A[2:], v.s)[2:],
        _incremented,
    ),
    "set_of_sum": case(lambda v: T.set_subtensor(v.x[1:3], v.x[1:3] + v.y[:2])),
    "whole_written": case(
        lambda v: T.set_subtensor(v.x[:], T.exp(v.x)),
        lambda v: T.set_subtensor(v.x[::-1], T.specify_shape(v.y, v.x.shape)),
        lambda v: T.set_subtensor(v.A[:, ::-1], v.x),
        lambda v: T.inc_subtensor(v.x[:], v.y),
    ),
    "part_as_it_was_written": case(_written_and_read, tags=("local_subtensor_inc_subtensor",)),
    "rows_as_they_were_written": case(_rows_written_and_read, tags=("local_adv_sub1_adv_inc_sub1",)),
    "filled_rows": case(lambda v: T.inc_subtensor(v.x[v.n], T.alloc(v.s, v.n.shape[0]))),
    "value_for_filled_part": case(
        lambda v: T.inc_subtensor(v.x[v.n], T.alloc(v.s, v.n.shape[0])),
        lambda v: T.inc_subtensor(v.x[: v.n.size - 2], T.alloc(v.s, 4)),
        tags=("local_useless_inc_subtensor_alloc",),
    ),
    "function_of_its_inverse_somewhere": case(
        lambda v: T.tanh(T.arctanh(v.x / 9)), reason=LANGUAGE, tags=("local_func_inv",)
    ),
    "filled_part": case(lambda v: T.inc_subtensor(T.alloc(v.s * 2, 6)[1:4], T.alloc(v.s, 3))),
    "sum_of_increments": case(
        lambda v: T.inc_subtensor(T.zeros_like(v.x)[1], v.s) + T.inc_subtensor(T.zeros_like(v.x)[1:4], v.y[:3]),
        lambda v: T.inc_subtensor(v.x[0], v.s) + T.inc_subtensor(v.y[2:], v.x[:4]),
        reason=ROUNDED,
    ),
    "difference_with_increments": case(lambda v: v.x - T.inc_subtensor(T.zeros_like(v.x)[1:3], v.y[:2])),
    "scaled_increments": case(
        lambda v: -T.inc_subtensor(T.zeros_like(v.x)[1:3], v.y[:2]),
        lambda v: T.inc_subtensor(T.zeros_like(v.x)[v.n], v.y) * np.array([2.0], dtype=v.x.dtype),
    ),
    "all_rows_in_order": case(lambda v: T.alloc(v.s * 1, 6, 2)[np.arange(6)]),
    # choices
    "choice_by_a_constant": case(lambda v: ifelse(T.constant(1), v.x, v.y)),
    "choice_between_equals": case(lambda v: ifelse(v.s > 1, v.x, v.x)),
    "choice_inside_a_choice": case(_choice_inside_a_choice),
    "selection_without_unused_output": case(
        lambda v: T.topk_and_argtopk(v.x, 2)[0], lambda v: T.topk_and_argtopk(v.A, 3, axis=0)[1]
    ),
    "choice_without_unused_outputs": case(lambda v: ifelse(v.s > 1, [v.x, T.exp(v.x)], [v.y, T.sin(v.y)])[0]),
    "inline_ofg_expansion": case(lambda v: _held(v.x) * 2),
    "work_inside_a_choice": case(lambda v: T.exp(v.y) * ifelse(v.s > 1, v.x * 2, T.zeros_like(v.x)), reason=LANGUAGE),
    # linear algebra
    "remove_hint_nodes": case(lambda v: linalg.psd(v.A) * 2),
    "transinv_to_invtrans": case(lambda v: linalg.matrix_inverse(v.A.T)),
    "inverse_of_inverse": case(lambda v: linalg.matrix_inverse(linalg.matrix_inverse(v.A)), rtol=1e-7),
    "inv_as_solve": case(
        lambda v: T.dot(linalg.matrix_inverse(v.A), v.B),
        lambda v: T.dot(v.B, linalg.matrix_inverse(v.A)),
        lambda v: T.dot(v.x, linalg.matrix_inverse(v.A)),
        lambda v: T.dot(linalg.matrix_inverse(v.A).T, v.x),
        reason="equations are solved in another order",
        rtol=1e-7,
    ),
    "tag_solve_triangular": case(
        lambda v: linalg.solve(_lower(v), v.B), lambda v: linalg.solve(_lower(v).T, v.x), reason=ROUNDED
    ),
    "psd_solve_with_chol": case(lambda v: linalg.solve(_positive(v), v.B), reason=ROUNDED),
    "symmetric_solve": case(
        lambda v: linalg.solve(linalg.Hint(symmetric=True)(T.dot(v.A, v.A.T) + T.eye(6)), v.B), reason=ROUNDED
    ),
    "determinant_by_factor": case(lambda v: linalg.det(_lower(v)), lambda v: linalg.det(_positive(v)), reason=ROUNDED),
    "log_of_determinant": case(
        lambda v: T.log(linalg.det(_positive(v))), lambda v: T.log(abs(linalg.det(v.A))), reason=ROUNDED
    ),
    "cofactors_of_invertible": case(lambda v: grad(T.log(abs(linalg.det(_positive(v)))), v.A), reason=ROUNDED),
    "trace_of_product": case(lambda v: linalg.trace(T.dot(v.A, v.B))),
    "product_with_diagonal": case(
        lambda v: T.dot(T.eye(v.A.shape[0]) * v.x, v.A),
        lambda v: T.dot(v.A, T.mul(v.s, T.eye(v.A.shape[1]), v.x.dimshuffle(0, "x"), v.y)),
        lambda v: T.dot(T.eye(v.A.shape[0]), v.B),
        reason=LANGUAGE,
    ),
    # products through BLAS, and fusion: walks with one rule
    "local_dot_to_dot22": case(lambda v: T.dot(v.A, v.B)),
    "local_dot22_to_dot22scalar": case(
        lambda v: v.s * T.dot(v.A, v.B), step="local_dot_to_dot22", preempted="gemm_optimizer"
    ),
    "local_gemm_to_ger": case(
        lambda v: v.A + v.s * T.dot(v.x.dimshuffle(0, "x"), v.y.dimshuffle("x", 0)), step="gemm_optimizer"
    ),
    "local_gemm_to_gemv": case(
        lambda v: v.x.dimshuffle(0, "x") + T.dot(v.A, v.y.dimshuffle(0, "x")), step="gemm_optimizer"
    ),
    "local_dot22_to_ger_or_gemv": case(
        lambda v: T.dot(v.x.dimshuffle(0, "x"), v.y.dimshuffle("x", 0)),
        lambda v: T.dot(v.A, v.x.dimshuffle(0, "x")),
        step="local_dot_to_dot22",
    ),
    "long_sums_and_products_cut": case(lambda v: T.add(*([v.x, v.y] * 20)), step="long_sums_and_products_cut"),
    "sums_and_products_joined": case(lambda v: (v.x + v.y) + T.exp(v.x), tags=("fusion",)),
}
