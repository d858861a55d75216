"""Expressions on which each rewrite fires, in one table, from which tests are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import theano_tensor as T
from theano_linker_c.scalar import Composite, ScalarType
from theano_tensor.control import ifelse
from theano_tensor.creation import AllocEmpty
from theano_tensor.elemwise import Elemwise
from theano_tensor.gradient import disconnected_grad
from theano_tensor.joining import Join, Split
from theano_tensor.nnet.ctc import ctc
from theano_tensor.rewrites.movements import unfolded
from theano_tensor.shape import MakeVector, Rebroadcast, Reshape

from .rule_cases_parts import PARTS
from .rule_inputs import APPROXIMATE, LANGUAGE, ROUNDED, STABLE, Case, case


def _softmax(x: Any, use: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """Return a softmax, and expressions of exponentials, their sum and the softmax."""
    e = T.exp(x)
    s = e.sum().dimshuffle("x")
    p = e / s
    return [p, use(e, s, p)]


def _two_results(x: Any) -> Any:
    """Return the results of one elementwise node: x + 1 and x - 1."""
    number = ScalarType(x.dtype)()
    return Elemwise(Composite([number], [number + 1, number - 1]))(x)


def _rows_set_to_sum(v: Any) -> Any:
    rows = v.A[[2, 0]]
    return T.set_subtensor(rows, rows + v.B[:2])


CASES: dict[str, Case] = {
    # algebra
    "zero_in_sum": case(lambda v: v.x + 0, lambda v: 0.0 + v.A),
    "zero_in_difference": case(lambda v: v.x - 0, lambda v: 0 - v.n),
    "one_in_product": case(lambda v: v.x * 1, lambda v: 1.0 * v.x),
    "zero_in_product": case(lambda v: v.x * 0, reason=LANGUAGE),
    "one_as_divisor": case(lambda v: v.x / 1, lambda v: v.n // 1),
    "zero_as_dividend": case(lambda v: 0 / v.x, reason=LANGUAGE),
    "sign_of_sign": case(lambda v: T.neg(-v.x), lambda v: -(v.x - v.y)),
    "signs_in_sum": case(lambda v: v.x + (-v.y), lambda v: -v.x + v.y, lambda v: -v.x + (-v.y)),
    "signs_in_difference": case(lambda v: v.x - (-v.y), lambda v: -v.x - v.y, lambda v: -v.x - (-v.y)),
    "sign_in_product": case(lambda v: (-v.x) * v.y, lambda v: v.x / (-v.y), lambda v: (-v.x) / (-v.y)),
    "factors_gathered": case(
        lambda v: v.x * v.y / v.x,
        lambda v: 2 * (3 * v.x),
        lambda v: -(2 * v.x),
        lambda v: (v.x / v.y) * (v.y / v.x),
        lambda v: v.x**3 / v.x**2,
        reason=LANGUAGE,
    ),
    "constants_in_sum": case(lambda v: (v.x + 1) + 2, lambda v: 3 - (v.x - 2), lambda v: 2.5 - (0.5 - v.x)),
    "terms_cancelled": case(
        lambda v: v.x + v.y - v.x,
        lambda v: (v.x + 1) + (2 + v.y),
        lambda v: v.n + 3 - v.n,
        lambda v: (v.A + v.x) - v.A,
        reason=LANGUAGE,
    ),
    "quotient_by_own_size": case(
        lambda v: v.x / abs(v.x), lambda v: 4 * v.x / abs(v.x), lambda v: (v.s * v.x) / abs(v.x), reason=LANGUAGE
    ),
    "power_with_constant_exponent": case(
        *((lambda v, n=n: abs(v.x) ** n) for n in (0, 1, 2, 0.5, -0.5, -1, -2)), reason=ROUNDED
    ),
    "power_as_products": case(
        *((lambda v, n=n: v.x**n) for n in (3, 10.0, -3)),
        *((lambda v, n=n: v.A**n) for n in (16, -15.0)),
        *((lambda v, n=n: abs(v.x) ** n) for n in (1.5, -1.5)),
        rtol=1e-12,
    ),
    "square_of_equal_factors": case(lambda v: v.x * v.x),
    "sign_under_even_function": case(lambda v: T.sqr(-v.x), lambda v: abs(-v.x), lambda v: abs(abs(v.x))),
    "square_root_of_square": case(lambda v: T.sqrt(T.sqr(v.x))),
    "root_of_power": case(
        lambda v: T.sqrt(v.x**6),
        lambda v: T.sqrt(v.x**4),
        lambda v: (3 * v.x**4) ** 0.25,
        lambda v: (v.x**3) ** 0.5,
        reason=STABLE,
    ),
    "powers_of_size_gathered": case(lambda v: abs(v.x) ** -3 * v.x**4, reason=STABLE),
    "log_of_reduction": case(
        lambda v: T.log(T.prod(v.x)), lambda v: T.log(T.prod(v.A, axis=1, keepdims=True)), reason=STABLE
    ),
    "log_of_exp": case(lambda v: T.log(T.exp(v.x))),
    "size_of_product": case(lambda v: abs(v.x * -3.0), lambda v: abs(-2.0 / v.x)),
    "product_of_sizes": case(
        lambda v: abs(v.x) * abs(v.y), lambda v: abs(v.x) / abs(v.y), lambda v: 2 * abs(v.x * v.y)
    ),
    "quotient_of_one": case(lambda v: 1 / v.x),
    "sum_multiplied_out": case(lambda v: (v.s / v.x + T.exp(v.s) / v.y) * v.x * v.y, reason=LANGUAGE),
    # useless
    "sum_of_one_term": case(lambda v: T.add(v.x), lambda v: T.mul(v.x)),
    "comparison_with_itself": case(lambda v: T.eq(v.n, v.n), lambda v: T.lt(v.x, v.x), lambda v: T.neq(v.p, v.p)),
    "comparison_of_length": case(lambda v: T.lt(v.x.shape[0], 0), lambda v: T.le(0, v.x.shape[0])),
    "minus_one_in_product": case(lambda v: v.x * -1, lambda v: v.x / -1.0, lambda v: v.A * v.x * -1),
    "truth_of_fill": case(
        *(
            lambda v, take=take, truth=truth: take(T.fill(v.x > 0, truth))
            for take in (T.all, T.any)
            for truth in (True, False)
        )
    ),
    "extremum_known": case(
        lambda v: T.maximum(T.maximum(v.x, v.y), v.x),
        lambda v: T.minimum(v.y, T.minimum(v.x, v.y)),
        lambda v: T.maximum(v.x, v.x),
        lambda v: T.maximum(v.x.shape[0], 0),
    ),
    "logic_known": case(
        lambda v: T.and_(v.n, v.n),
        lambda v: T.or_(v.n, 0),
        lambda v: T.xor(v.n, v.n),
        lambda v: T.and_(T.lt(v.x, 1), True),
    ),
    "constants_in_dtype_of_result": case(
        lambda v: v.x + T.constant([3], dtype="int8"), lambda v: v.x * T.constant([1, 2, 3, 4, 5, 6], dtype="int16")
    ),
    "function_of_its_inverse": case(
        lambda v: T.rad2deg(T.deg2rad(v.x)), lambda v: T.sinh(T.arcsinh(v.x)), lambda v: T.log1p(T.expm1(v.x))
    ),
    "useless_cast": case(lambda v: T.cast(T.cast(v.x, "float32"), "float64").astype("float32")),
    "useless_identity": case(lambda v: T.tensor_copy(v.x)),
    "switch_on_constant": case(lambda v: T.switch(1, v.x, v.y), lambda v: T.switch(v.p, v.x, v.x)),
    # switches
    "switch_outside_product": case(lambda v: T.switch(v.p, v.x, 0) * v.y, reason=LANGUAGE),
    "switch_outside_quotient": case(lambda v: T.switch(v.p, 0.0, v.x) / v.y, reason=LANGUAGE),
    "switches_on_one_condition": case(lambda v: T.switch(v.p, v.x, 0) + T.switch(v.p, v.y, 0)),
    # fills and allocs
    "fill_of_equal_shape": case(lambda v: T.fill(v.x, v.y)),
    "fill_like_fill": case(lambda v: T.fill(T.fill(v.A, 1.0), 2.0)),
    "fill_inside_elementwise": case(lambda v: T.fill(v.x, 3.0) * v.y),
    "fill_outside_elementwise": case(lambda v: T.exp(T.fill(v.A, v.s)), lambda v: T.fill(v.A, v.s) * v.x),
    "fill_with_itself": case(lambda v: T.fill(v.x, v.x), preempted="fill_of_equal_shape"),
    "alloc_of_own_shape": case(lambda v: T.alloc(v.x, v.x.shape[0])),
    "alloc_inside_elementwise": case(lambda v: T.alloc(v.s, v.x.shape[0]) + T.exp(v.x)),
    "elementwise_of_alloc": case(lambda v: T.exp(T.alloc(v.s, v.n[0] ** 2 + 1))),
    "reduction_of_alloc": case(
        lambda v: T.alloc(v.s, v.x.shape[0]).sum(),
        lambda v: T.alloc(v.s, v.x.shape[0], 3).sum(axis=1),
        lambda v: T.alloc(v.s, v.x.shape[0]).prod(),
    ),
    "fill_as_alloc": case(lambda v: T.fill(T.dot(v.A, v.B), v.s)),
    "view_of_alloc": case(lambda v: T.alloc(v.s, v.x.shape[0], 3).T),
    "zeros_for_empty": case(lambda v: AllocEmpty("float64")(v.x.shape[0]) * 0, tags=("alloc_empty_to_zeros",)),
    "difference_with_itself": case(lambda v: v.x - v.x, reason=LANGUAGE, preempted="terms_cancelled"),
    # reductions
    "sum_of_negative": case(lambda v: (-v.A).sum(axis=0)),
    "sum_of_multiple": case(lambda v: (3 * v.A).sum(axis=1), lambda v: (v.x / v.s).sum()),
    "sum_of_sum": case(lambda v: v.A.sum(axis=1).sum(), lambda v: v.A.max(axis=0).max(), lambda v: v.A.min(1).min()),
    "reduction_over_single_elements": case(lambda v: v.A.dimshuffle(0, "x", 1).sum(axis=1)),
    "sum_of_fill": case(lambda v: T.fill(v.A, v.s).sum()),
    "reduction_of_permuted": case(lambda v: v.A.T.sum(), lambda v: v.A.T.max()),
    "reduction_over_nothing": case(lambda v: T.sum(v.A, axis=[])),
    "extremum_of_negative": case(lambda v: (-v.A).max(axis=0), lambda v: -((-v.x).min())),
    "sum_of_quotients": case(lambda v: (v.A / v.x.dimshuffle("x", 0)).sum(axis=0), reason=ROUNDED),
    # joins
    "join_of_one": case(lambda v: Join()(0, v.x)),
    "empty_parts_left_out": case(lambda v: T.join(0, v.x, T.constant(np.zeros(0)))),
    "vectors_of_scalars_joined": case(
        lambda v: T.join(0, MakeVector("float64")(v.s, v.x[0]), MakeVector("float64")(v.y[1]), v.x)
    ),
    "split_in_one": case(lambda v: Split(1)(v.x, 0, T.stack([v.x.shape[0]]))),
    "reduction_of_join": case(lambda v: T.stack([v.x, v.y]).max(axis=0), lambda v: T.stack([v.x[0], v.s]).sum()),
    # views
    "views_joined": case(lambda v: v.A.T.T, lambda v: v.x.dimshuffle("x", 0).dimshuffle(1, 0)),
    "view_before_elementwise": case(
        lambda v: T.exp(v.x + v.y).dimshuffle(0, "x"),
        lambda v: (v.A.T + v.B.T).T,
        lambda v: (v.s * 2).dimshuffle("x"),
    ),
    "reshapes_joined": case(lambda v: T.reshape(T.reshape(v.A, (4, -1)), (3, 12))),
    "reshape_before_elementwise": case(lambda v: T.exp(v.A * 2).flatten()),
    "reshape_to_own_shape": case(
        lambda v: Reshape(2)(v.A, T.stack([v.A.shape[0], v.A.shape[1]])),
        lambda v: v.x.reshape((-1,)),
    ),
    "useless_rebroadcast": case(lambda v: Rebroadcast((0, False))(v.x)),
    "rebroadcast_before_elementwise": case(lambda v: Rebroadcast((0, True))(T.exp(v.x[:1]))),
    # shapes
    "shape_as_lengths": case(lambda v: T.shape(v.A)),
    "length_from_inputs": case(lambda v: (v.x + v.y).shape[0], lambda v: T.dot(v.A, v.B).shape[1]),
    "gradient_gate_removed": case(lambda v: disconnected_grad(v.x)),
    # products of matrices
    "product_with_zeros": case(
        lambda v: T.dot(T.alloc(0.0, v.n[0] ** 2, v.x.shape[0]), v.B),
        lambda v: T.dot(v.x, T.zeros_like(v.B)),
        reason=LANGUAGE,
    ),
    "transposed_product": case(lambda v: T.dot(v.A, v.B).T),
    # asserts
    "assert_of_truth": case(lambda v: T.Assert()(v.x, T.constant(True))),
    "assert_left_out": case(lambda v: T.Assert()(v.x, T.ge(v.s, 0)), tags=("local_remove_all_assert",)),
    # stability
    "log_of_sigmoid": case(lambda v: T.log(T.sigmoid(v.x)), lambda v: T.log(1 - T.sigmoid(v.x)), reason=STABLE),
    "log1p_of_exp": case(lambda v: T.log1p(T.exp(v.x)), reason=STABLE),
    "log_of_one_plus": case(lambda v: T.log(1 + abs(v.x)), lambda v: T.log(1 - abs(v.A) / 4)),
    "log_of_one_minus_exp": case(
        lambda v: T.log(1 - T.exp(-abs(v.x) - 1)), lambda v: T.log1p(-T.exp(-abs(v.x) - 1)), reason=STABLE
    ),
    "exp_minus_one": case(lambda v: T.exp(v.x) - 1, lambda v: 1 - T.exp(v.x)),
    "one_minus_sigmoid": case(lambda v: 1 - T.sigmoid(v.x)),
    "logistic_factors": case(lambda v: 1 / (1 + T.exp(-v.x)), lambda v: T.exp(v.x) / (1 + T.exp(v.x)), reason=STABLE),
    "logistic_terms_joined": case(
        lambda v: v.y * T.sigmoid(v.x) - v.y * T.sigmoid(v.x) * T.sigmoid(v.x), reason=STABLE
    ),
    "log_of_sum_of_exp": case(
        lambda v: T.log(T.exp(v.A).sum(axis=1)),
        lambda v: _softmax(v.x, lambda e, s, p: e + T.log(s)),
    ),
    "exp_over_sum_of_exp": case(
        lambda v: T.exp(v.A) / T.exp(v.A).sum(axis=1, keepdims=True),
        lambda v: _softmax(v.x, lambda e, s, p: e + 1),
    ),
    "exponentials_shifted": case(
        lambda v: _softmax(v.x, lambda e, s, p: T.log(s) + v.y / s * e),
        lambda v: _softmax(v.x, lambda e, s, p: (v.y / s - (v.y * e).sum() / T.sqr(s)) * e),
        reason=STABLE,
    ),
    "log_of_added_exps": case(
        lambda v: T.log(T.exp(v.x) + T.exp(v.y)), lambda v: T.log(T.exp(v.x) + 2 + T.exp(v.y)), reason=STABLE
    ),
    "exp_over_added_exps": case(
        lambda v: T.exp(v.x) / (T.exp(v.x) + T.exp(v.y)),
        lambda v: T.exp(v.x) / (T.exp(v.x) + T.exp(v.y) + T.exp(v.x * v.y)),
        reason=STABLE,
    ),
    "log_of_difference_of_exps": case(lambda v: T.log(T.exp(v.x) - T.exp(v.y)), reason=STABLE),
    "size_of_positive": case(lambda v: abs(T.exp(v.x) + T.sigmoid(v.y)), lambda v: abs(T.exp(v.x))),
    "quotient_by_difference_of_exps": case(
        lambda v: v.y / (T.exp(v.x) - T.exp(v.y)), lambda v: 1 / (T.exp(v.x) - T.exp(v.y)), reason=STABLE
    ),
    "log_of_power": case(lambda v: T.log(3 * v.x**4), lambda v: T.log(v.x * v.x * v.x), reason=STABLE),
    "movement_before_steep": case(
        lambda v: T.log(T.sigmoid(v.A)[0]), lambda v: [T.log(1 + T.exp(v.A)[1:]), T.exp(v.A)], reason=STABLE
    ),
    "steep_before_movement": case(
        lambda v: T.log(T.exp(v.A).sum(axis=1)[1:]),
        lambda v: T.log(T.join(0, T.sigmoid(v.x), T.sigmoid(v.y))),
        reason=STABLE,
    ),
    "product_of_placed_part": case(
        lambda v: T.inc_subtensor(T.zeros_like(v.x)[1:], v.y[1:] / T.sigmoid(v.x[1:])) * T.sigmoid(v.x), reason=STABLE
    ),
    "constants_unfolded": case(lambda v: T.log(T.exp(T.constant(3.0)) + v.x)),
    "constants_folded": case(lambda v: unfolded(T.constant(2.0)) * v.x),
    "log_of_product": case(
        lambda v: T.log(T.exp(v.A) / T.exp(v.A).sum(axis=1, keepdims=True)),
        lambda v: T.log(v.y * T.exp(v.x) * 3),
        lambda v: T.log(0.5 * T.erfc(v.x)),
        reason=STABLE,
    ),
    "log_of_part": case(lambda v: T.log((T.exp(v.x) / T.exp(v.x).sum())[1:3]), reason=STABLE),
    "steep_factors_cancelled": case(lambda v: _softmax(v.x, lambda e, s, p: v.y / p * e / s), reason=STABLE),
    "exponential_multiplied_out": case(
        lambda v: _softmax(v.x, lambda e, s, p: (v.y / p / s + T.tanh(v.y) / s) * e), reason=STABLE
    ),
    "divisor_out_of_sum": case(lambda v: (v.B / T.exp(v.A).sum(axis=1, keepdims=True)).sum(axis=1), reason=ROUNDED),
    "complement_of_error_function": case(
        lambda v: 1 - T.erf(v.x),
        lambda v: T.erf(v.x) + 1,
        lambda v: 1 - T.erfc(v.x),
        lambda v: T.erf(v.x) - 1,
        lambda v: 1 + (-T.erf(v.x)),
    ),
    "log_of_complement": case(lambda v: T.log(T.erfc(v.x))),
    "bell_over_complement": case(lambda v: v.y * T.exp(-T.sqr(v.x)) / T.erfc(v.x) * 3, reason=STABLE),
    # losses
    "log_of_chosen_share": case(
        lambda v: T.log(T.nnet.softmax(v.A)[T.arange(6), v.n]), lambda v: T.log(T.nnet.softmax(v.x)[0]), reason=STABLE
    ),
    "chosen_logarithm_of_share": case(
        lambda v: T.log(T.nnet.softmax(v.A))[T.arange(v.n.shape[0]), v.n],
        lambda v: T.nnet.logsoftmax(v.A)[v.n, v.n],
        lambda v: T.nnet.crossentropy_softmax_argmax_1hot_with_bias(v.A, v.x, v.n)[0],
        reason=STABLE,
    ),
    "softmax_as_exponentials": case(
        lambda v: T.nnet.softmax(v.A), lambda v: T.nnet.logsoftmax(v.A, axis=0), reason=STABLE
    ),
    "sum_of_placed_elements": case(
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[T.arange(6), v.n], v.x).sum(axis=1),
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[v.n, v.n], v.x).sum(axis=1),
    ),
    "placed_elements_added": case(
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[v.n, v.n], v.x) - T.exp(v.A),
        lambda v: T.exp(v.A) - T.inc_subtensor(T.zeros_like(v.A)[1], v.x),
        lambda v: T.exp(v.A) + T.inc_subtensor(T.zeros_like(v.A)[v.n], v.B) + v.A,
    ),
    "local_ctc_no_grad": case(lambda v: ctc(v.A.dimshuffle(0, "x", 1), [[1, 2]], [6])),
    # Where both are one half.
    "local_hard_sigmoid": case(
        lambda v: T.nnet.sigmoid(v.x * 1e-300), reason=APPROXIMATE, tags=("local_hard_sigmoid",)
    ),
    "local_ultra_fast_sigmoid": case(
        lambda v: T.nnet.sigmoid(v.x * 1e-300), reason=APPROXIMATE, tags=("local_ultra_fast_sigmoid",)
    ),
}
CASES |= {
    # control
    "cond_make_inplace": case(lambda v: ifelse(v.x[0] > 0, v.x + 1, v.x * 2)),
    # round trips
    "number_there_and_back": case(lambda v: T.tensor_from_scalar(T.scalar_from_tensor(v.x[0])) + 1),
    "only_element_of_dimension": case(lambda v: v.A.dimshuffle(0, "x", 1)[:, 0] + 1),
    "elements_of_vector": case(lambda v: MakeVector(v.x.dtype)(v.x[0], v.x[1], v.x[2])[[0, 2]]),
    "alloc_of_alloc": case(lambda v: T.alloc(T.alloc(v.x[0], 1, 6), 3, 6)),
    "reshape_of_view": case(lambda v: v.A.dimshuffle("x", 0, 1).reshape((36,))),
    "reshape_around_single_elements": case(lambda v: v.x.reshape((1, 6)), tags=("local_reshape_to_dimshuffle",)),
    "reshape_to_known_lengths": case(
        lambda v: v.A.reshape((1, v.A.shape[0], v.A.shape[1])),
        lambda v: v.x.dimshuffle("x", 0, "x").reshape((v.x.shape[0], 1)),
    ),
    "rows_set_to_sum": case(_rows_set_to_sum),
    "increment_by_zeros": case(
        lambda v: T.inc_subtensor(v.x[:3], T.zeros_like(v.x[:3])), tags=("local_incsubtensor_of_zeros",)
    ),
    "part_set_to_what_it_is": case(
        lambda v: T.set_subtensor(T.zeros_like(v.x)[:3], T.zeros_like(v.x[:3])),
        tags=("local_setsubtensor_of_constants",),
    ),
    "results_nobody_uses": case(lambda v: _two_results(v.x)[0]),
    "sum_of_squared_outer_product": case(
        lambda v: T.sqr(v.A.dimshuffle("x", 0, 1) * v.B.dimshuffle(0, "x", 1)).sum(axis=(1, 2)), reason=ROUNDED
    ),
}

CASES.update(PARTS)
