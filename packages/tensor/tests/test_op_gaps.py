"""Records of ops that no other module has, and the check that no op lacks a gradient, R-op, shape rule or record."""

from __future__ import annotations

import os
import unittest
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test, and its ops too
from theano_linker_c import scalar
from theano_tensor.builders import OpFromGraph, checkpoint
from theano_tensor.control import ifelse
from theano_tensor.creation import AllocEmpty, Eye
from theano_tensor.gradient import (
    EvaluationPoint,
    MapRows,
    disconnected_grad,
    grad,
    grad_clip,
    grad_scale,
    hessian,
    jacobian,
    undefined_grad,
    zero_grad,
)
from theano_tensor.linalg import (
    CholeskyGrad,
    Cofactors,
    CofactorsChange,
    EighGrad,
    Hint,
    cholesky,
    eigh,
    eigvalsh,
    expm,
    trace,
)
from theano_tensor.linear import BatchedDot, dot22, dot22_scalar, gemm_no_inplace, gemv_no_inplace, ger
from theano_tensor.reduce import ArgMax, ArgMin, Sum
from theano_tensor.reduce._reduce import Supremum
from theano_tensor.rewrites._groups import FusedReduce
from theano_tensor.rewrites.movements import Unfolded
from theano_tensor.shape._rebroadcast import RebroadcastCode, ShapeCode, ShapeICode, SpecifyShapeCode
from theano_testing.gaps import find_gaps, known_records, load_records, record_absence, without_batch_rule
from theano_testing.tensor import OpRecord, OpTestCase, check_batch_gradients, check_batches, fetch_seed, op_tests
from theano_testing.tiers import slow

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
HERE = os.path.dirname(os.path.abspath(__file__))
MATRIX, CUBE, SQUARE = RNG.randn(3, 4), RNG.randn(2, 3, 4), RNG.randn(3, 3)
POSITIVE = SQUARE @ SQUARE.T + np.eye(3)
LENGTHS = [np.array(n) for n in (3, 5, -1)]
THROUGH = (grad_clip, grad_scale, zero_grad, disconnected_grad, undefined_grad)


def _gates(x: Any) -> list[Any]:
    """Return the results of all gates of gradients for `x`."""
    return [
        grad_clip(x, -1, 1) * 1,
        grad_scale(x, 2) * 1,
        zero_grad(x) * 1,
        disconnected_grad(x) * 1,
        undefined_grad(x) * 1,
    ]


def _from_graph(x: Any, y: Any) -> Any:
    a, b = x.type(), y.type()
    return OpFromGraph([a, b], [a * b + 1, tt.exp(b)])(x, y)


def _tanh_jacobian(x: Any) -> Any:
    a = np.tanh(x)
    return np.diag(1 - a**2) * x.sum() + a[:, None]


def _lower(x: Any) -> Any:
    """Return the derivative by a symmetric matrix of which only the lower triangle is read."""
    return np.tril(x) + np.triu(x, 1).T


def _cholesky_gradient(x: Any) -> Any:
    factor = cholesky(x)
    return CholeskyGrad()(x, factor, tt.diag(2 / tt.diag(factor)))


def _eigh_gradient(x: Any) -> Any:
    values, vectors = eigh(x)
    return EighGrad()(x, values, vectors, 2 * values, tt.zeros_like(vectors))


def _composite() -> scalar.Composite:
    x, y = (scalar.ScalarType("float64").make_variable() for _ in range(2))
    return scalar.Composite([x, y], [scalar.exp(x * y) + x])


def _two_results() -> scalar.Composite:
    x, y = (scalar.ScalarType("float64").make_variable() for _ in range(2))
    return scalar.Composite([x, y], [scalar.exp(x * y), x + y])


def _gamma_derivative(k: Any, x: Any) -> Any:
    def central(step: float) -> Any:
        return (scipy.special.gammainc(k + step, x) - scipy.special.gammainc(k - step, x)) / (2 * step)

    return (4 * central(1e-3) - central(2e-3)) / 3


def _cofactors(x: Any) -> Any:
    """Return the cofactors of matrices, times 2."""
    return 2 * np.linalg.det(x)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)


def _cofactors_change(x: Any, d: Any) -> Any:
    near = [_cofactors(x + step * d) for step in (-2e-3, -1e-3, 1e-3, 2e-3)]
    return (8 * (near[2] - near[1]) - (near[3] - near[0])) / 12e-3


_RECORDS = [
    OpRecord("gates_of_gradients", _gates, lambda x: [x] * 5, [[MATRIX], [MATRIX.astype("float32")]]),
    OpRecord("scaled_gradient", lambda x: grad_scale(x, 1.0) ** 2, np.square, [[MATRIX]], [[MATRIX]]),
    OpRecord(
        "rows_of_a_jacobian",
        lambda x: jacobian(tt.tanh(x) * x.sum(), x),
        _tanh_jacobian,
        [[MATRIX[0]], [np.zeros(0)], [MATRIX[0].astype("float32")]],
        [[MATRIX[0]]],
    ),
    OpRecord(
        "rows_of_a_hessian",
        lambda x: hessian((x**3).sum(), x),
        lambda x: np.diag(6 * x),
        [[MATRIX[0]]],
        [[MATRIX[0]]],
    ),
    OpRecord(
        "op_from_graph",
        _from_graph,
        lambda x, y: (x * y + 1, np.exp(y)),
        [[MATRIX, MATRIX + 1], [MATRIX[:0], MATRIX[:0]]],
        [[MATRIX, MATRIX + 1]],
    ),
    OpRecord(
        "part_computed_again",
        lambda x, y: checkpoint(tt.exp(x) * y + 1),
        lambda x, y: np.exp(x) * y + 1,
        [[MATRIX, MATRIX + 1], [MATRIX[:0], MATRIX[:0]]],
        [[MATRIX, MATRIX + 1]],
    ),
    OpRecord(
        "lazy_choice",
        ifelse,
        lambda c, x, y: x if c else y,
        [[np.array(1), MATRIX, CUBE[0]], [np.array(0, dtype="int8"), MATRIX, CUBE[0]]],
    ),
    OpRecord("derivative_of_a_choice", lambda x: ifelse(x[0, 0] < 9, x**2, x), np.square, [[MATRIX]], [[MATRIX]]),
    OpRecord(
        "composite",
        lambda x, y: tt.Elemwise(_composite())(x, y),
        lambda x, y: np.exp(x * y) + x,
        domain=[(-1.0, 1.0), (-1.0, 1.0)],
        dtypes=("float32", "float64"),
    ),
    OpRecord(
        "derivative_of_the_incomplete_gamma_function",
        tt.Elemwise(scalar.special.GammaIncDer()),
        _gamma_derivative,
        domain=[(0.5, 3.0), (0.5, 3.0)],
        smooth=False,
        ulp=1e5,
    ),
    OpRecord(
        "within_a_range",
        lambda x, low, high: [tt.Elemwise(op)(x, low, high) for op in (scalar.inopenrange, scalar.inclosedrange)],
        lambda x, low, high: [(low < x) & (x < high), (low <= x) & (x <= high)],
        [[MATRIX, np.round(MATRIX), MATRIX + 1], [MATRIX[:0], MATRIX[:0], MATRIX[:0]]],
    ),
    OpRecord("eye", Eye("float32"), lambda n, m, k: np.eye(n, m, k, dtype="float32"), [LENGTHS]),
    OpRecord(
        "arange_of_floats",
        lambda start, step: tt.arange(start, 7.25, step),
        lambda start, step: np.arange(start, 7.25, step),
        [[np.array(0.5), np.array(1.5)]],
        [[np.array(0.5), np.array(1.5)]],
    ),
    OpRecord(
        "split",
        lambda x: tt.split(x, [1, 2, 1], 3, axis=1),
        lambda x: np.split(x, [1, 3], axis=1),
        [[MATRIX], [MATRIX.astype("int32")]],
        [[MATRIX]],
    ),
    OpRecord(
        "batched_dot",
        BatchedDot(),
        np.matmul,
        [[CUBE, CUBE.transpose(0, 2, 1).copy()], [CUBE[:0], CUBE[:0].transpose(0, 2, 1)]],
        [[CUBE, CUBE.transpose(0, 2, 1).copy()]],
    ),
    OpRecord(
        "products_with_factors",
        lambda x, y, a: [dot22(x, y), dot22_scalar(x, y, a)],
        lambda x, y, a: [x @ y, a * (x @ y)],
        [[MATRIX, MATRIX.T.copy(), np.array(2.5)], [MATRIX[:0], MATRIX.T.copy(), np.array(2.5)]],
        [[MATRIX, MATRIX.T.copy(), np.array(2.5)]],
    ),
    OpRecord(
        "added_product",
        gemm_no_inplace,
        lambda z, a, x, y, b: b * z + a * (x @ y),
        [[SQUARE, np.array(2.5), MATRIX, MATRIX.T.copy(), np.array(-0.5)]],
        [[SQUARE, np.array(2.5), MATRIX, MATRIX.T.copy(), np.array(-0.5)]],
    ),
    OpRecord(
        "added_product_with_a_vector",
        gemv_no_inplace,
        lambda y, a, A, x, b: b * y + a * (A @ x),
        [[SQUARE[0], np.array(2.5), MATRIX, MATRIX[0], np.array(-0.5)]],
        [[SQUARE[0], np.array(2.5), MATRIX, MATRIX[0], np.array(-0.5)]],
    ),
    OpRecord(
        "added_outer_product",
        ger,
        lambda A, a, x, y: A + a * np.outer(x, y),
        [[MATRIX, np.array(2.5), SQUARE[0], MATRIX[0]]],
        [[MATRIX, np.array(2.5), SQUARE[0], MATRIX[0]]],
    ),
    OpRecord(
        "evaluation_point",
        lambda x, y: EvaluationPoint()(x, y) * 2,
        lambda x, y: 2 * x,
        [[MATRIX, MATRIX.astype("float32")]],
        [[MATRIX, MATRIX]],
    ),
    OpRecord(
        "derivative_of_cholesky",
        lambda x: grad(2 * tt.log(tt.diag(cholesky(x))).sum(), x),
        lambda x: _lower(np.linalg.inv(x)),
        [[POSITIVE]],
        [[POSITIVE]],
    ),
    OpRecord(
        "op_for_the_derivative_of_cholesky",
        _cholesky_gradient,
        lambda x: _lower(np.linalg.inv(x)),
        [[POSITIVE]],
    ),
    OpRecord("cofactors", lambda x: Cofactors()(x, 2.0), _cofactors, [[SQUARE]], [[SQUARE]]),
    OpRecord(
        "second_derivative_of_det",
        lambda x, d: CofactorsChange()(x, 2.0, d),
        _cofactors_change,
        [[SQUARE, POSITIVE]],
        [[SQUARE, POSITIVE]],
    ),
    OpRecord("op_for_the_derivative_of_eigh", _eigh_gradient, lambda x: _lower(2 * x), [[POSITIVE]]),
    OpRecord(
        "derivative_of_eigh",
        lambda x: grad((eigh(x)[0] ** 2).sum(), x),
        lambda x: _lower(2 * x),
        [[POSITIVE]],
        [[POSITIVE]],
    ),
    OpRecord(
        "second_derivative_of_eigh",
        lambda x, d: grad((grad((eigh(x)[0] ** 2).sum(), x) * d).sum(), x),
        lambda x, d: 4 * np.tril(d) - 2 * np.diag(np.diag(d)) + 0 * x,
        [[POSITIVE, POSITIVE]],
        [[POSITIVE, POSITIVE]],
    ),
    OpRecord(
        "derivative_of_eigvalsh",
        lambda x, y: grad(eigvalsh(x, y).sum(), x),
        lambda x, y: _lower(np.linalg.inv(y)),
        [[POSITIVE, POSITIVE + np.diag([1.0, 2.0, 3.0])]],
    ),
    OpRecord(
        "derivative_of_expm",
        lambda x: grad(trace(expm(x)), x),
        lambda x: scipy.linalg.expm(x).T,
        [[SQUARE]],
        [[SQUARE]],
    ),
    OpRecord("hint", lambda x: Hint(psd=True)(x) * 2, lambda x: x * 2, [[POSITIVE]], [[POSITIVE]]),
    OpRecord(
        "arguments_of_extrema",
        lambda x: [ArgMax((1,))(x), ArgMin((0, 1))(x)],
        lambda x: [np.argmax(x, 1), np.argmin(x)],
        [[MATRIX], [MATRIX.astype("int8")]],
    ),
    OpRecord(
        "largest_or_minus_infinity",
        Supremum((1,)),
        lambda x: np.max(x, 1, initial=-np.inf),
        [[MATRIX], [MATRIX[:, :0]]],
        [[MATRIX]],
    ),
    OpRecord(
        "fused_reduction",
        lambda x, y: FusedReduce(scalar.mul, [Sum((0,))])(x, y),
        lambda x, y: (x * y).sum(0),
        [[MATRIX, MATRIX + 1], [MATRIX[:0], MATRIX[:0]]],
    ),
    OpRecord(
        "number_as_a_scalar_and_back",
        lambda x: tt.tensor_from_scalar(tt.scalar_from_tensor(x * 2)) * x,
        lambda x: x.dtype.type(2) * x * x,
        [[np.array(3.0)], [np.array(1.5, dtype="float32")]],
        [[np.array(3.0)]],
    ),
    OpRecord(
        "fused_reduction_that_keeps_elements",
        lambda x, y: FusedReduce(_two_results(), [Sum((0,))])(x, y),
        lambda x, y: [np.exp(x * y), (x + y).sum(0)],
        [[MATRIX, MATRIX + 1], [MATRIX[:1], MATRIX[:1]]],
    ),
    OpRecord("unbroadcast", lambda x: tt.unbroadcast(x, 0) * 2, lambda x: x * 2, [[MATRIX[:1]]], [[MATRIX[:1]]]),
    OpRecord("vector_of_lengths", lambda x: tt.ShapeOf()(x), lambda x: np.array(x.shape), [[MATRIX], [CUBE[:0]]]),
    OpRecord(
        "user_reduction",
        lambda x: [tt.CAReduce(scalar.add, 0)(x), tt.CAReduce(scalar.mul, (0, 1))(x)],
        lambda x: [x.sum(0), x.prod()],
        [[MATRIX]],
        [[MATRIX]],
    ),
    OpRecord(
        "power_in_the_domain",
        lambda x, y: x**y,
        np.power,
        domain=[(0.5, 2.0), (-1.0, 2.0)],
        dtypes=("float32", "float64"),
    ),
]

record_absence.declare_absent(AllocEmpty, "its values are anything; test_creation looks at shape and dtype")
record_absence.declare_absent(Unfolded, "it is gone when a function runs; test_stable_behind looks at values")
for _code in (RebroadcastCode, ShapeCode, ShapeICode, SpecifyShapeCode):
    record_absence.declare_absent(_code, "it stands for an op with a record; test_registered_shapes runs its C code")

for _record in _RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class


#: Modules whose ops have no records: they take lists, states of generators, or arrays on devices, or only raise.
#: Those on devices stand for ops of the host, whose records run there too (`theano_testing.device`).
BY_HAND = (
    "theano_tensor.random.",
    "theano_tensor.typed_list",
    "theano_tensor.device.",
    "theano_tensor._core._ops",
)


class TestNoGaps(unittest.TestCase):
    @slow
    def test_every_op_has_rules_and_a_record(self) -> None:
        load_records([HERE])
        gaps = find_gaps(["theano_tensor"])
        left = [g for g in gaps if g.missing != ("record",) or not g.op_class.__module__.startswith(BY_HAND)]
        self.assertEqual([str(gap) for gap in left], [])

    def test_every_op_has_a_rule_for_batches(self) -> None:
        self.assertEqual(without_batch_rule(["theano_tensor", "theano_linker_c.ops"]), [])

    @slow
    def test_every_record_on_batches(self) -> None:
        load_records([HERE])
        for record in known_records:
            with self.subTest(record.name):
                check_batches(record)

    @slow
    def test_gradients_of_every_record_on_batches(self) -> None:
        load_records([HERE])
        for record in known_records:
            with self.subTest(record.name):
                check_batch_gradients(record)

    @slow
    def test_every_scalar_op_has_rules_and_a_record(self) -> None:
        load_records([HERE])
        self.assertEqual([str(gap) for gap in find_gaps(["theano_linker_c.scalar"])], [])

    def test_loops_are_among_the_recorded_ops(self) -> None:
        gaps = find_gaps(["theano_tensor._graph_op"], records=[])
        self.assertIn(MapRows, [gap.op_class for gap in gaps])
        self.assertEqual({gap.missing for gap in gaps if gap.op_class is MapRows}, {("record",)})
