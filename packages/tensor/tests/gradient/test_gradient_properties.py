"""Laws of the derivatives of any expression; and that wrong arguments give documented errors."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import Mode, function
from theano_tensor.gradient import Lop, Rop, format_as, grad, hessian, jacobian, subgraph_grad
from theano_testing.tensor import assert_allclose
from theano_testing.tiers import examples, slow

#: Each takes two vectors of one length and gives another, smoothly and with bounded derivatives.
STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: tt.tanh(a),
    lambda a, b: a * b,
    lambda a, b: a - b / 2,
    lambda a, b: tt.sin(a) + b,
    lambda a, b: a[::-1],
    lambda a, b: tt.cumsum(b) / 3,
    lambda a, b: a * b.mean(),
    lambda a, b: tt.set_subtensor(a[1:], b[:-1]),
    lambda a, b: tt.concatenate([a[:1], b[1:]]),
    lambda a, b: tt.outer(a, b).sum(0) / 4,
    lambda a, b: tt.dot(a, b) * tt.cos(a) / 4,
    lambda a, b: tt.switch(tt.gt(a, 0), tt.exp(-a), 1 - a),
    lambda a, b: (a.dimshuffle(0, "x") * b).sum(1) / 4,
    lambda a, b: 1 / (1 + a**2),
    lambda a, b: tt.inc_subtensor(a[[0, 0, 1]], b[[1, 2, 1]]) / 2,
]
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7
)
PLAIN = Mode("py", "fast_compile")


def build(program: list[tuple[int, int, int]], x: Any) -> Any:
    """Return a vector that a program computes of a vector."""
    result = [x]
    for step, first, second in program:
        result.append(STEPS[step](result[first % len(result)], result[second % len(result)]))
    return result[-1]


class TestAnyExpression(unittest.TestCase):
    @given(PROGRAMS, st.integers(0, 1000))
    @settings(deadline=None, max_examples=examples(25))
    def test_all_derivatives_agree(self, program: list[tuple[int, int, int]], seed: int) -> None:
        x, u, v = tt.dvectors("x", "u", "v")
        y = build(program, x)
        rows = jacobian(y, x, disconnected_inputs="ignore")
        left = Lop(y, x, u, disconnected_inputs="ignore")
        right = Rop(y, x, v, disconnected_outputs="ignore")
        f: Any = function([x, u, v], [y, rows, left, right], mode=PLAIN, on_unused_input="ignore")
        rng = np.random.RandomState(seed)
        point, weights, along = rng.uniform(0.2, 1.2, (3, 4))
        value, J, uJ, Jv = f(point, weights, along)
        assert_allclose(uJ, weights @ J, rtol=1e-8, atol=1e-10)
        assert_allclose(Jv, J @ along, rtol=1e-8, atol=1e-10)
        step = 1e-6
        numeric = (f(point + step * along, weights, along)[0] - f(point - step * along, weights, along)[0]) / (2 * step)
        assert_allclose(Jv, numeric, rtol=1e-5, atol=1e-6 * (1 + np.abs(value).max()))

    @slow
    @given(PROGRAMS, st.integers(0, 1000))
    @settings(deadline=None, max_examples=examples(12))
    def test_second_derivatives_agree(self, program: list[tuple[int, int, int]], seed: int) -> None:
        x, v = tt.dvectors("x", "v")
        cost = (build(program, x) ** 2).sum() + (x**3).sum()
        gradient = grad(cost, x)
        products = [Rop(gradient, x, v), grad((gradient * v).sum(), x)]
        f: Any = function([x, v], [hessian(cost, x), *products], mode=PLAIN)
        rng = np.random.RandomState(seed)
        point, along = rng.uniform(0.2, 1.2, (2, 4))
        H, forward, backward = f(point, along)
        scale = 1e-10 * (1 + np.abs(H).max())
        assert_allclose(H, H.T, rtol=1e-7, atol=scale)
        assert_allclose(forward, H @ along, rtol=1e-7, atol=scale)
        assert_allclose(backward, H @ along, rtol=1e-7, atol=scale)


def anything() -> st.SearchStrategy[Any]:
    """Return right and wrong arguments for functions of derivatives."""
    x, M = tt.dvector("x"), tt.dmatrix("M")
    return st.sampled_from(
        [
            x,
            M,
            x.sum(),
            (x**2).sum(),
            tt.lscalar("n"),
            tt.zvector("z"),
            x * 2,
            None,
            3.0,
            "x",
            [x],
            (x, M),
            [],
            object(),
        ]
    )


class TestWrongArguments(unittest.TestCase):
    @given(anything(), anything(), anything(), st.sampled_from(["raise", "ignore", "warn", "never", None]))
    @settings(deadline=None, max_examples=examples(150))
    def test_an_error_of_a_documented_kind_or_a_result(self, first: Any, second: Any, third: Any, policy: Any) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: grad(first, second, disconnected_inputs="ignore" if policy == "warn" else policy),
            lambda: jacobian(first, second, disconnected_inputs="ignore" if policy == "warn" else policy),
            lambda: hessian(first, second, disconnected_inputs="ignore" if policy == "warn" else policy),
            lambda: Lop(first, second, third, disconnected_inputs="ignore"),
            lambda: Rop(first, second, third, disconnected_outputs="ignore"),
            lambda: grad(None, second, known_grads={first: third}) if _hashable(first) else None,
            lambda: subgraph_grad(second, third, cost=first),
        ]
        for call in calls:
            try:
                call()
            except (TypeError, ValueError) as error:
                self.assertGreater(len(str(error)), 15)

    def test_forms(self) -> None:
        self.assertEqual(format_as(True, False, 1), [1])
        self.assertEqual(format_as(False, True, [1, 2]), (1, 2))
        self.assertEqual(format_as(False, False, [1]), [1])
        with self.assertRaisesRegex(ValueError, "not both"):
            format_as(True, True, [])


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
