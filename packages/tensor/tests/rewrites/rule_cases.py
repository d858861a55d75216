"""Expressions on which each rewrite fires, in one table, from which tests are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import theano_tensor as T
from theano_tensor.creation import AllocEmpty
from theano_tensor.gradient import disconnected_grad
from theano_tensor.joining import Join, Split
from theano_tensor.rewrites._registry import RULES
from theano_tensor.shape import MakeVector, Rebroadcast, Reshape


@dataclass(frozen=True)
class Given:
    """Inputs that expressions are made of: vectors x, y and matrices A, B of float64, a number s, integers, truths."""

    x: Any
    y: Any
    A: Any
    B: Any
    s: Any
    n: Any
    p: Any

    def variables(self) -> list[Any]:
        """Return them in order."""
        return [self.x, self.y, self.A, self.B, self.s, self.n, self.p]


def given() -> Given:
    """Return fresh inputs."""
    return Given(
        T.dvector("x"), T.dvector("y"), T.dmatrix("A"), T.dmatrix("B"), T.dscalar("s"), T.lvector("n"), T.bvector("p")
    )


def values(rng: np.random.RandomState, special: bool) -> list[Any]:
    """Return random values for the inputs; with zeros, infinities and NaN among them if `special`."""
    x, y = rng.randn(6), rng.randn(6)
    if special:
        x[:4], y[:5] = [0.0, np.inf, -np.inf, np.nan], [np.inf, 0.0, -np.inf, 1.0, np.nan]
    A, B = rng.randn(6, 6) * 0.5, rng.randn(6, 6)
    return [x, y, A, B, np.asarray(rng.rand() + 0.5), rng.randint(-3, 4, 6), rng.randint(0, 2, 6).astype("int8")]


Build = Callable[[Given], Any]


@dataclass(frozen=True)
class Case:
    """Where a rule fires, and what may be expected of it.

    Attributes
    ----------
    builds : expressions on which it fires.
    special : whether values stay also for zeros, infinities and NaN.
    alone : whether other rules are asked first, so that it need not fire in the pipeline.
    tags : what a mode has to include besides FAST_RUN's rules.
    """

    builds: tuple[Build, ...]
    special: bool = True
    alone: bool = False
    tags: tuple[str, ...] = ()


def _case(*builds: Build, special: bool = True, alone: bool = False, tags: tuple[str, ...] = ()) -> Case:
    return Case(builds, special, alone, tags)


def _softmax(x: Any, use: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """Return a softmax, and what is made of exponentials, their sum and the softmax."""
    e = T.exp(x)
    s = e.sum().dimshuffle("x")
    p = e / s
    return [p, use(e, s, p)]


#: What is of the language: a product with 0 is 0, ``x / x`` is 1, ``x - x`` is 0.
LANGUAGE = False

CASES: dict[str, Case] = {
    # algebra
    "zero_in_sum": _case(lambda v: v.x + 0, lambda v: 0.0 + v.A),
    "zero_in_difference": _case(lambda v: v.x - 0, lambda v: 0 - v.n),
    "one_in_product": _case(lambda v: v.x * 1, lambda v: 1.0 * v.x),
    "zero_in_product": _case(lambda v: v.x * 0, special=LANGUAGE),
    "one_as_divisor": _case(lambda v: v.x / 1, lambda v: v.n // 1),
    "zero_as_dividend": _case(lambda v: 0 / v.x, special=LANGUAGE),
    "sign_of_sign": _case(lambda v: T.neg(-v.x), lambda v: -(v.x - v.y)),
    "signs_in_sum": _case(lambda v: v.x + (-v.y), lambda v: -v.x + v.y, lambda v: -v.x + (-v.y)),
    "signs_in_difference": _case(lambda v: v.x - (-v.y), lambda v: -v.x - v.y, lambda v: -v.x - (-v.y)),
    "sign_in_product": _case(lambda v: (-v.x) * v.y, lambda v: v.x / (-v.y), lambda v: (-v.x) / (-v.y)),
    "factors_gathered": _case(
        lambda v: v.x * v.y / v.x,
        lambda v: 2 * (3 * v.x),
        lambda v: -(2 * v.x),
        lambda v: (v.x / v.y) * (v.y / v.x),
        special=LANGUAGE,
    ),
    "constants_in_sum": _case(
        lambda v: (v.x + 1) + 2, lambda v: 3 - (v.x - 2), lambda v: 2.5 - (0.5 - v.x), alone=True
    ),
    "terms_cancelled": _case(
        lambda v: v.x + v.y - v.x,
        lambda v: (v.x + 1) + (2 + v.y),
        lambda v: v.n + 3 - v.n,
        lambda v: (v.A + v.x) - v.A,
        special=LANGUAGE,
    ),
    "quotient_by_own_size": _case(lambda v: v.x / abs(v.x), special=LANGUAGE),
    "power_with_constant_exponent": _case(
        *((lambda v, n=n: abs(v.x) ** n) for n in (0, 1, 2, 0.5, -0.5, -1, -2)), special=False
    ),
    "power_as_products": _case(lambda v: v.x**3, lambda v: v.x**10.0, lambda v: v.A**16),
    "square_of_equal_factors": _case(lambda v: v.x * v.x),
    "sign_under_even_function": _case(lambda v: T.sqr(-v.x), lambda v: abs(-v.x), lambda v: abs(abs(v.x))),
    "square_root_of_square": _case(lambda v: T.sqrt(T.sqr(v.x))),
    "log_of_exp": _case(lambda v: T.log(T.exp(v.x))),
    "size_of_product": _case(lambda v: abs(v.x * -3.0), lambda v: abs(-2.0 / v.x)),
    "product_of_sizes": _case(lambda v: abs(v.x) * abs(v.y), lambda v: abs(v.x) / abs(v.y)),
    "quotient_of_one": _case(lambda v: 1 / v.x),
    "sum_multiplied_out": _case(lambda v: (v.s / v.x + T.exp(v.s) / v.y) * v.x * v.y, special=LANGUAGE),
    # useless
    "sum_of_one_term": _case(lambda v: T.add(v.x), lambda v: T.mul(v.x)),
    "comparison_with_itself": _case(lambda v: T.eq(v.n, v.n), lambda v: T.lt(v.x, v.x), lambda v: T.neq(v.p, v.p)),
    "comparison_of_length": _case(lambda v: T.lt(v.x.shape[0], 0), lambda v: T.le(0, v.x.shape[0])),
    "extremum_known": _case(lambda v: T.maximum(v.x, v.x), lambda v: T.maximum(v.x.shape[0], 0)),
    "logic_known": _case(
        lambda v: T.and_(v.n, v.n),
        lambda v: T.or_(v.n, 0),
        lambda v: T.xor(v.n, v.n),
        lambda v: T.and_(T.lt(v.x, 1), True),
    ),
    "constants_in_dtype_of_result": _case(
        lambda v: v.x + T.constant([3], dtype="int8"), lambda v: v.x * T.constant([1, 2, 3, 4, 5, 6], dtype="int16")
    ),
    "function_of_its_inverse": _case(
        lambda v: T.rad2deg(T.deg2rad(v.x)), lambda v: T.sinh(T.arcsinh(v.x)), lambda v: T.log1p(T.expm1(v.x))
    ),
    "useless_cast": _case(lambda v: T.cast(T.cast(v.x, "float32"), "float64").astype("float32")),
    "useless_identity": _case(lambda v: T.tensor_copy(v.x)),
    "switch_on_constant": _case(lambda v: T.switch(1, v.x, v.y), lambda v: T.switch(v.p, v.x, v.x)),
    # switches
    "switch_outside_product": _case(lambda v: T.switch(v.p, v.x, 0) * v.y, special=False),
    "switch_outside_quotient": _case(lambda v: T.switch(v.p, 0.0, v.x) / v.y, special=False),
    "switches_on_one_condition": _case(lambda v: T.switch(v.p, v.x, 0) + T.switch(v.p, v.y, 0)),
    # fills and allocs
    "fill_of_equal_shape": _case(lambda v: T.fill(v.x, v.y)),
    "fill_like_fill": _case(lambda v: T.fill(T.fill(v.A, 1.0), 2.0)),
    "fill_inside_elementwise": _case(lambda v: T.fill(v.x, 3.0) * v.y),
    "fill_outside_elementwise": _case(lambda v: T.exp(T.fill(v.A, v.s)), lambda v: T.fill(v.A, v.s) * v.x),
    "fill_with_itself": _case(lambda v: T.fill(v.x, v.x), alone=True),
    "alloc_of_own_shape": _case(lambda v: T.alloc(v.x, v.x.shape[0])),
    "alloc_inside_elementwise": _case(lambda v: T.alloc(v.s, v.x.shape[0]) + T.exp(v.x)),
    "elementwise_of_alloc": _case(lambda v: T.exp(T.alloc(v.s, v.n[0] ** 2 + 1))),
    "reduction_of_alloc": _case(
        lambda v: T.alloc(v.s, v.x.shape[0]).sum(),
        lambda v: T.alloc(v.s, v.x.shape[0], 3).sum(axis=1),
        lambda v: T.alloc(v.s, v.x.shape[0]).prod(),
    ),
    "fill_as_alloc": _case(lambda v: T.fill(T.dot(v.A, v.B), v.s)),
    "view_of_alloc": _case(lambda v: T.alloc(v.s, v.x.shape[0], 3).T),
    "zeros_for_empty": _case(lambda v: AllocEmpty("float64")(v.x.shape[0]) * 0, tags=("alloc_empty_to_zeros",)),
    "difference_with_itself": _case(lambda v: v.x - v.x, special=LANGUAGE, alone=True),
    # reductions
    "sum_of_negative": _case(lambda v: (-v.A).sum(axis=0)),
    "sum_of_multiple": _case(lambda v: (3 * v.A).sum(axis=1), lambda v: (v.x / v.s).sum()),
    "sum_of_sum": _case(lambda v: v.A.sum(axis=1).sum()),
    "reduction_over_single_elements": _case(lambda v: v.A.dimshuffle(0, "x", 1).sum(axis=1)),
    "sum_of_fill": _case(lambda v: T.fill(v.A, v.s).sum()),
    "reduction_of_permuted": _case(lambda v: v.A.T.sum(), lambda v: v.A.T.max()),
    "reduction_over_nothing": _case(lambda v: T.sum(v.A, axis=[])),
    "extremum_of_negative": _case(lambda v: (-v.A).max(axis=0), lambda v: -((-v.x).min())),
    "sum_of_quotients": _case(lambda v: (v.A / v.x.dimshuffle("x", 0)).sum(axis=0), special=False),
    # joins
    "join_of_one": _case(lambda v: Join()(0, v.x)),
    "empty_parts_left_out": _case(lambda v: T.join(0, v.x, T.constant(np.zeros(0)))),
    "vectors_of_scalars_joined": _case(
        lambda v: T.join(0, MakeVector("float64")(v.s, v.x[0]), MakeVector("float64")(v.y[1]), v.x)
    ),
    "split_in_one": _case(lambda v: Split(1)(v.x, 0, T.stack([v.x.shape[0]]))),
    "reduction_of_join": _case(lambda v: T.stack([v.x, v.y]).max(axis=0), lambda v: T.stack([v.x[0], v.s]).sum()),
    # views
    "views_joined": _case(lambda v: v.A.T.T, lambda v: v.x.dimshuffle("x", 0).dimshuffle(1, 0)),
    "view_before_elementwise": _case(
        lambda v: T.exp(v.x + v.y).dimshuffle(0, "x"),
        lambda v: (v.A.T + v.B.T).T,
        lambda v: (v.s * 2).dimshuffle("x"),
    ),
    "reshapes_joined": _case(lambda v: T.reshape(T.reshape(v.A, (4, -1)), (3, 12))),
    "reshape_before_elementwise": _case(lambda v: T.exp(v.A * 2).flatten()),
    "reshape_to_own_shape": _case(
        lambda v: Reshape(2)(v.A, T.stack([v.A.shape[0], v.A.shape[1]])),
        lambda v: v.x.reshape((-1,)),
    ),
    "useless_rebroadcast": _case(lambda v: Rebroadcast((0, False))(v.x)),
    "rebroadcast_before_elementwise": _case(lambda v: Rebroadcast((0, True))(T.exp(v.x[:1]))),
    # shapes
    "shape_as_lengths": _case(lambda v: T.shape(v.A)),
    "length_from_inputs": _case(lambda v: (v.x + v.y).shape[0], lambda v: T.dot(v.A, v.B).shape[1]),
    "gradient_gate_removed": _case(lambda v: disconnected_grad(v.x)),
    # products of matrices
    "product_with_zeros": _case(
        lambda v: T.dot(T.alloc(0.0, v.n[0] ** 2, v.x.shape[0]), v.B),
        lambda v: T.dot(v.x, T.zeros_like(v.B)),
        special=LANGUAGE,
    ),
    "transposed_product": _case(lambda v: T.dot(v.A, v.B).T),
    # asserts
    "assert_of_truth": _case(lambda v: T.Assert()(v.x, T.constant(True))),
    "assert_left_out": _case(lambda v: T.Assert()(v.x, T.ge(v.s, 0)), tags=("local_remove_all_assert",)),
    # stability
    "log_of_sigmoid": _case(lambda v: T.log(T.sigmoid(v.x)), lambda v: T.log(1 - T.sigmoid(v.x)), special=False),
    "log1p_of_exp": _case(lambda v: T.log1p(T.exp(v.x)), special=False),
    "log_of_one_plus": _case(lambda v: T.log(1 + abs(v.x)), lambda v: T.log(1 - abs(v.A) / 4)),
    "exp_minus_one": _case(lambda v: T.exp(v.x) - 1, lambda v: 1 - T.exp(v.x)),
    "one_minus_sigmoid": _case(lambda v: 1 - T.sigmoid(v.x)),
    "logistic_factors": _case(lambda v: 1 / (1 + T.exp(-v.x)), lambda v: T.exp(v.x) / (1 + T.exp(v.x)), special=False),
    "logistic_terms_joined": _case(
        lambda v: v.y * T.sigmoid(v.x) - v.y * T.sigmoid(v.x) * T.sigmoid(v.x), special=False
    ),
    "log_of_sum_of_exp": _case(
        lambda v: T.log(T.exp(v.A).sum(axis=1)),
        lambda v: _softmax(v.x, lambda e, s, p: e + T.log(s)),
    ),
    "exp_over_sum_of_exp": _case(
        lambda v: T.exp(v.A) / T.exp(v.A).sum(axis=1, keepdims=True),
        lambda v: _softmax(v.x, lambda e, s, p: e + 1),
    ),
    "exponentials_shifted": _case(
        lambda v: _softmax(v.x, lambda e, s, p: T.log(s) + v.y / s * e),
        lambda v: _softmax(v.x, lambda e, s, p: (v.y / s - (v.y * e).sum() / T.sqr(s)) * e),
        special=False,
    ),
    "log_of_added_exps": _case(
        lambda v: T.log(T.exp(v.x) + T.exp(v.y)), lambda v: T.log(T.exp(v.x) + 2 + T.exp(v.y)), special=False
    ),
    "exp_over_added_exps": _case(
        lambda v: T.exp(v.x) / (T.exp(v.x) + T.exp(v.y)),
        lambda v: T.exp(v.x) / (T.exp(v.x) + T.exp(v.y) + T.exp(v.x * v.y)),
        special=False,
    ),
    "log_of_product": _case(
        lambda v: T.log(T.exp(v.A) / T.exp(v.A).sum(axis=1, keepdims=True)),
        lambda v: T.log(v.y * T.exp(v.x) * 3),
        lambda v: T.log(0.5 * T.erfc(v.x)),
        special=False,
    ),
    "log_of_part": _case(lambda v: T.log((T.exp(v.x) / T.exp(v.x).sum())[1:3]), special=False),
    "steep_factors_cancelled": _case(lambda v: _softmax(v.x, lambda e, s, p: v.y / p * e / s), special=False),
    "exponential_multiplied_out": _case(
        lambda v: _softmax(v.x, lambda e, s, p: (v.y / p / s + T.tanh(v.y) / s) * e), special=False
    ),
    "divisor_out_of_sum": _case(lambda v: (v.B / T.exp(v.A).sum(axis=1, keepdims=True)).sum(axis=1), special=False),
    "complement_of_error_function": _case(
        lambda v: 1 - T.erf(v.x),
        lambda v: T.erf(v.x) + 1,
        lambda v: 1 - T.erfc(v.x),
        lambda v: T.erf(v.x) - 1,
        lambda v: 1 + (-T.erf(v.x)),
    ),
    "log_of_complement": _case(lambda v: T.log(T.erfc(v.x))),
    "bell_over_complement": _case(lambda v: v.y * T.exp(-T.sqr(v.x)) / T.erfc(v.x) * 3, special=False),
    # losses
    "log_of_chosen_share": _case(
        lambda v: T.log(T.nnet.softmax(v.A)[T.arange(6), v.n]), lambda v: T.log(T.nnet.softmax(v.x)[0]), special=False
    ),
    "chosen_logarithm_of_share": _case(
        lambda v: T.log(T.nnet.softmax(v.A))[T.arange(v.n.shape[0]), v.n],
        lambda v: T.nnet.logsoftmax(v.A)[v.n, v.n],
        lambda v: T.nnet.crossentropy_softmax_argmax_1hot_with_bias(v.A, v.x, v.n)[0],
        special=False,
    ),
    "softmax_as_exponentials": _case(
        lambda v: T.nnet.softmax(v.A), lambda v: T.nnet.logsoftmax(v.A, axis=0), special=False
    ),
    "sum_of_placed_elements": _case(
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[T.arange(6), v.n], v.x).sum(axis=1),
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[v.n, v.n], v.x).sum(axis=1),
    ),
    "placed_elements_added": _case(
        lambda v: T.inc_subtensor(T.zeros_like(v.A)[v.n, v.n], v.x) - v.B,
        lambda v: v.B - T.inc_subtensor(T.zeros_like(v.A)[1], v.x),
        lambda v: v.B + T.inc_subtensor(T.zeros_like(v.A)[v.n], v.B) + v.A,
    ),
    # Where both are one half.
    "local_hard_sigmoid": _case(lambda v: T.nnet.sigmoid(v.x * 1e-300), special=False, tags=("local_hard_sigmoid",)),
    "local_ultra_fast_sigmoid": _case(
        lambda v: T.nnet.sigmoid(v.x * 1e-300), special=False, tags=("local_ultra_fast_sigmoid",)
    ),
}

#: Rules of subjects that are tested elsewhere: parts of tensors, choices between branches.
ELSEWHERE = ("indexing", "choices")


def names_of_rules() -> set[str]:
    """Return the names of all listed rules that belong in the table."""
    found = set()
    for entry in RULES:
        module = getattr(getattr(entry.rewriter, "_function", None), "__module__", "")
        if not any(part in module for part in ELSEWHERE) and module.startswith("theano_tensor.rewrites"):
            found.add(entry.rewriter.name)
    return found
