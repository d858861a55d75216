"""Tests of elementwise ops, reductions and products, generated from records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import theano_tensor as tt
import theano_tensor.rewrites  # the full pipeline is under test
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarRecord
from theano_tensor.elemwise import Elemwise
from theano_tensor.reduce import All, Any_, CAReduce, CAReduceDtype, Max, Min, Prod, ProdWithoutZeros, Sum
from theano_testing.tensor import OpRecord, OpTestCase, fetch_seed, op_tests

del OpTestCase  # a base class without a record is no test

RNG = np.random.RandomState(fetch_seed())
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5)


def _numbers(record: ScalarRecord, dtype: str, shape: tuple[int, ...], margin: float = 0.0) -> Any:
    """Return random numbers from the domain of an op, the border left out by a part of the width."""
    edge = margin * (record.high - record.low)
    values = RNG.uniform(record.low + edge, record.high - edge, shape)
    return np.asarray(np.trunc(values) if dtype.startswith("int") else values, dtype=dtype)


def _cases(record: ScalarRecord) -> list[list[Any]]:
    cases: list[list[Any]] = []
    for dtype in ("float64", "float32", "int64"):
        if dtype not in record.dtypes:
            continue
        shapes = [(3, 4)] * record.nin
        cases.append([_numbers(record, dtype, s) for s in shapes])
        cases.append([_numbers(record, dtype, (0, 4)) for _ in shapes])
        cases.append([_numbers(record, dtype, ()) for _ in shapes])
        if record.nin > 1:
            cases.append([_numbers(record, dtype, ((3, 1), (1, 4), (4,))[i % 3]) for i in range(record.nin)])
    if record.nin == 1 and "float64" in record.dtypes:
        cases.append([np.array(SPECIAL)])
    return cases


def _broadcasting(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference for broadcast arguments of one for vectors of one length."""

    def whole(*values: Any) -> Any:
        shape = np.broadcast_shapes(*(v.shape for v in values))
        return np.asarray(reference(*(np.broadcast_to(v, shape).reshape(-1) for v in values))).reshape(shape)

    return whole


def _elementwise(record: ScalarRecord) -> OpRecord:
    gradient: list[list[Any]] = []
    if not record.parameters and record.smooth and "float64" in record.dtypes:
        gradient.append([_numbers(record, "float64", (2, 3), 0.1) for _ in range(record.nin)])
        if record.nin > 1:
            gradient.append([_numbers(record, "float64", ((2, 1), (1, 3))[i % 2], 0.1) for i in range(record.nin)])
    return OpRecord(
        name=f"{record.op.name}_elementwise",
        op=Elemwise(record.op),
        reference=_broadcasting(record.reference),
        cases=_cases(record),
        gradient=gradient,
        ulp=record.ulp,
    )


def _with_parameters(record: ScalarRecord) -> OpRecord:
    """Return the record of an op whose first inputs, by which it has no derivative, are constants."""
    fixed = [_numbers(record, "float64", (2, 3), 0.1) for _ in range(record.parameters)]
    count = record.nin - record.parameters
    return OpRecord(
        name=f"{record.op.name}_with_parameters",
        op=lambda *inputs: Elemwise(record.op)(*fixed, *inputs),
        reference=lambda *inputs: _broadcasting(record.reference)(*fixed, *inputs),
        cases=[[_numbers(record, "float64", (2, 3), 0.1) for _ in range(count)]],
        gradient=[[_numbers(record, "float64", (2, 3), 0.1) for _ in range(count)]],
        ulp=record.ulp,
    )


def _reduction(name: str, op: Callable[..., Any], reference: Callable[..., Any], dtypes: Sequence[str]) -> OpRecord:
    """Return the record of a reduction that is tried over several axes at once."""
    axes: list[Any] = [None, (0,), (1,), (0, 2)]

    def every_axis(x: Any) -> list[Any]:
        return [op(axis)(x) for axis in axes]

    def every_reference(x: Any) -> list[Any]:
        return [reference(x, axis=axis) for axis in axes]

    values = RNG.uniform(0.5, 2.0, (2, 3, 4))
    cases = [[np.asarray(values * (3 if d.startswith("int") else 1), dtype=d)] for d in dtypes]
    cases.append([np.asarray(values[:, :1], dtype=dtypes[0])])
    return OpRecord(name, every_axis, every_reference, cases)


def _reduce_by(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda x, axis: ufunc.reduce(x, axis=tuple(range(x.ndim)) if axis is None else axis)


def _dot_cases(dtype: str) -> list[list[Any]]:
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((2,), (2, 3)), ((2, 3), (3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4))]
    return [[np.asarray(RNG.randn(*a), dtype), np.asarray(RNG.randn(*b), dtype)] for a, b in shapes]


_RECORDS = [_elementwise(record) for record in scalar.records]
_RECORDS += [_with_parameters(record) for record in scalar.records if record.parameters]
_RECORDS += [
    _reduction("sum_over_axes", Sum, np.sum, ("float64", "int64")),
    _reduction("prod_over_axes", Prod, np.prod, ("float64", "int64")),
    _reduction("max_over_axes", Max, np.max, ("float64", "float32", "int64")),
    _reduction("min_over_axes", Min, np.min, ("float64", "float32", "int64")),
    _reduction("all_over_axes", All, np.all, ("bool", "float64")),
    _reduction("any_over_axes", Any_, np.any, ("bool", "float64")),
    OpRecord(
        "sum_of_matrix",
        lambda x: tt.sum(x, axis=0),
        lambda x: np.sum(x, axis=0),
        cases=[[RNG.randn(3, 4)], [np.zeros((0, 4))]],
        gradient=[[RNG.randn(3, 4)], [RNG.randn(3, 1)]],
    ),
    OpRecord(
        "prod_of_matrix",
        lambda x: tt.prod(x, axis=1),
        lambda x: np.prod(x, axis=1),
        cases=[[RNG.randn(3, 4)], [np.zeros((3, 0))]],
        gradient=[[RNG.randn(3, 4)], [np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.0]])]],
    ),
    OpRecord(
        "max_of_matrix",
        lambda x: tt.max(x, axis=1),
        lambda x: np.max(x, axis=1),
        cases=[[RNG.randn(3, 4)], [np.array([[1.0, np.nan], [np.inf, 0.0]])]],
        gradient=[[RNG.randn(3, 4)]],
    ),
    _reduction("xor_over_axes", partial(CAReduce, scalar.xor), _reduce_by(np.bitwise_xor), ("int64", "bool")),
    _reduction("product_of_nonzeros", ProdWithoutZeros, np.prod, ("float64", "int64")),
    OpRecord(
        "mean_of_matrix",
        lambda x: tt.mean(x, axis=0),
        lambda x: np.mean(x, axis=0),
        cases=[[RNG.randn(3, 4)]],
        gradient=[[RNG.randn(3, 4)]],
    ),
    OpRecord(
        "dot_product",
        tt.dot,
        np.dot,
        cases=[*_dot_cases("float64"), *_dot_cases("float32")],
        gradient=_dot_cases("float64")[:4],
    ),
    OpRecord(
        "transposed_dot",
        lambda x, y: tt.dot(x.T, y),
        lambda x, y: np.dot(x.T, y),
        cases=[[RNG.randn(3, 2), RNG.randn(3)], [RNG.randn(3, 2), RNG.randn(3, 4)]],
        gradient=[[RNG.randn(3, 2), RNG.randn(3)]],
    ),
]

MATRIX = RNG.randn(3, 4)
_OF_A_MATRIX: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "fold_add": (CAReduce(scalar.add, 1), lambda x: np.sum(x, axis=1)),
    "fold_mul": (CAReduce(scalar.mul, 1), lambda x: np.prod(x, axis=1)),
    "fold_maximum": (CAReduce(scalar.maximum, 1), lambda x: np.max(x, axis=1)),
    "fold_minimum": (CAReduce(scalar.minimum), np.min),
    "fold_add_with_dtype": (CAReduceDtype(scalar.add, 0, "float64"), lambda x: np.sum(x, axis=0, dtype="float64")),
    "norm_1": (lambda x: tt.norm(x, 1, axis=1), lambda x: np.linalg.norm(x, 1, axis=1)),
    "norm_2": (lambda x: tt.norm(x, 2), lambda x: np.sqrt(np.sum(x**2))),
    "norm_3": (lambda x: tt.norm(x, 3, axis=1), lambda x: np.linalg.norm(x, 3, axis=1)),
    "norm_inf": (lambda x: tt.norm(x, float("inf"), axis=1), lambda x: np.linalg.norm(x, np.inf, axis=1)),
    "log_sum_exp": (lambda x: tt.logsumexp(x, axis=1), lambda x: np.log(np.exp(x).sum(axis=1))),
    "range": (lambda x: tt.ptp(x, axis=1), lambda x: np.ptp(x, axis=1)),
    "variance": (lambda x: tt.var(x, axis=0), lambda x: np.var(x, axis=0)),
    "deviation": (lambda x: tt.std(x, ddof=1), lambda x: np.std(x, ddof=1)),
    "corrected_variance": (
        lambda x: tt.var(x, axis=1, corrected=True, keepdims=True),
        lambda x: np.var(x, axis=1, keepdims=True),
    ),
    "sinc": (tt.sinc, np.sinc),
    "second_of_divmod": (lambda x: tt.divmod(x, 0.75)[1], lambda x: np.remainder(x, 0.75)),
    "real_part_of_square": (lambda x: tt.real(tt.complex(x, 2 * x) ** 2), lambda x: -3 * x**2),
    "size_of_polar": (lambda x: tt.abs_(tt.complex_from_polar(x, x)), np.abs),
    "angle_of_complex": (lambda x: tt.angle(tt.complex(x, 1 + x)), lambda x: np.arctan2(1 + x, x)),
    "nonzero_product": (ProdWithoutZeros(0), lambda x: np.prod(x, axis=0)),
}
_RECORDS += [
    OpRecord(name, op, reference, cases=[[MATRIX], [MATRIX.astype("float32")]], gradient=[[MATRIX]])
    for name, (op, reference) in _OF_A_MATRIX.items()
]

for _record in _RECORDS:
    _class = op_tests(_record)
    assert _class.__name__ not in globals(), f"two records are called {_record.name}"
    globals()[_class.__name__] = _class
del _class
