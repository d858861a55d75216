"""Records of the further operations: values on both machines, layouts, gradients, shapes, pickles."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano_tensor as T
from theano_tensor.extra_ops import Recurrence
from theano_testing.tensor import OpRecord, op_tests

RNG = np.random.default_rng(5)
MATRIX = RNG.uniform(0.5, 2.0, (3, 4))
CUBE = RNG.normal(size=(2, 3, 4))
ZEROS = np.array([[2.0, 0.0, 3.0, 4.0], [1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 1.0, 5.0]])
NUMBERS = np.array([3, 0, 1, 1, 3])


def _filled(a: Any, value: Any, offset: int) -> Any:
    result = a.copy()
    for i in range(a.shape[0]):
        if 0 <= i + offset < a.shape[1]:
            result[i, i + offset] = value
    return result


def _several(*parts: Any) -> Any:
    """Return a function of one argument that gives the results of several."""
    return lambda x: [part(x) for part in parts]


def _recurrence(x: Any, factors: Any) -> Any:
    columns: list[Any] = []
    for column, factor in zip(x.T, factors.T, strict=True):
        columns.append(column + (factor * columns[-1] if columns else 0))
    return np.array(columns).T if columns else x * factors


RECORDS = (
    OpRecord(
        "Cumsum",
        _several(T.cumsum, lambda x: T.cumsum(x, 0), lambda x: T.cumsum(x, -1)),
        _several(np.cumsum, lambda x: np.cumsum(x, 0), lambda x: np.cumsum(x, -1)),
        [(CUBE,), (CUBE[:, :0],), (CUBE.astype("float32"),), (NUMBERS.astype("int8"),), (CUBE > 0,), (CUBE * 1j,)],
    ),
    OpRecord(
        "CumsumGradient", lambda x: T.cumsum(x, 1), lambda x: np.cumsum(x, 1), [(CUBE,)], [(CUBE,), (CUBE[:, :1],)]
    ),
    OpRecord(
        "Cumprod",
        _several(T.cumprod, lambda x: T.cumprod(x, 1)),
        _several(np.cumprod, lambda x: np.cumprod(x, 1)),
        [(MATRIX,), (ZEROS,), (MATRIX[:, :0],), (NUMBERS[None].astype("uint8"),)],
    ),
    OpRecord(
        "Recurrence",
        Recurrence(1),
        _recurrence,
        [(MATRIX, MATRIX * 0.5), (ZEROS, ZEROS), (MATRIX[:, :0], MATRIX[:, :0]), (MATRIX * 1j, MATRIX)],
        [(MATRIX, ZEROS)],
    ),
    OpRecord(
        "CumprodGradient", lambda x: T.cumprod(x, 1), lambda x: np.cumprod(x, 1), [(ZEROS,)], [(MATRIX,), (ZEROS,)]
    ),
    OpRecord(
        "Diff",
        _several(T.diff, lambda x: T.diff(x, 2, 0), lambda x: T.diff(x, 0), lambda x: T.diff(x, 9)),
        _several(np.diff, lambda x: np.diff(x, 2, 0), lambda x: np.diff(x, 0), lambda x: np.diff(x, 9)),
        [(MATRIX,), (NUMBERS,), (MATRIX[:0],), (MATRIX > 1,)],
    ),
    OpRecord("DiffGradient", lambda x: T.diff(x, 2), lambda x: np.diff(x, 2), [(MATRIX,)], [(MATRIX,)]),
    OpRecord("Bincount", T.bincount, np.bincount, [(NUMBERS,), (NUMBERS[:0],), (NUMBERS.astype("uint8"),)]),
    OpRecord(
        "BincountOfWeights",
        lambda x, w: T.bincount(x, w, minlength=6),
        lambda x, w: np.bincount(x, w, minlength=6),
        [(NUMBERS, RNG.normal(size=5)), (NUMBERS[:1], RNG.normal(size=1))],
    ),
    OpRecord(
        "BincountGradient",
        lambda w: T.bincount(NUMBERS, w),
        lambda w: np.bincount(NUMBERS, w),
        [(MATRIX[0, [0, 1, 2, 3, 0]],)],
        [(MATRIX[0, [0, 1, 2, 3, 0]],)],
    ),
    OpRecord("Bartlett", T.bartlett, lambda n: np.bartlett(int(n)), [(np.array(n),) for n in (-1, 0, 1, 2, 5, 6)]),
    OpRecord(
        "ToOneHot",
        lambda y: [T.to_one_hot(y, 4), T.to_one_hot(y, 5, "int8")],
        lambda y: [np.eye(4)[y], np.eye(5, dtype="int8")[y]],
        [(NUMBERS,), (NUMBERS[:0],), (NUMBERS.astype("uint8"),)],
    ),
    OpRecord(
        "RepeatOne",
        lambda x, n: [T.repeat(x, n), T.repeat(x, n, 0), T.repeat(x, n, -1)],
        lambda x, n: [np.repeat(x, n), np.repeat(x, n, 0), np.repeat(x, n, -1)],
        [(CUBE, np.array(2)), (CUBE, np.array(0, "int8")), (NUMBERS, np.array([3]))],
    ),
    OpRecord(
        "RepeatEach",
        lambda x, n: T.repeat(x, n, 1),
        lambda x, n: np.repeat(x, n, 1),
        [(CUBE, np.array([2, 0, 1])), (CUBE[:, :0], NUMBERS[:0])],
    ),
    OpRecord(
        "RepeatGradient",
        lambda x: T.concatenate([T.repeat(x, 2, 1), T.repeat(x, [2, 0, 1], 1)], 1),
        lambda x: np.concatenate([np.repeat(x, 2, 1), np.repeat(x, [2, 0, 1], 1)], 1),
        [(CUBE,)],
        [(CUBE,), (CUBE[:1],)],
    ),
    OpRecord(
        "Tile",
        lambda x, n: [T.tile(x, (n, 2)), T.tile(x, 3), T.tile(x, (2, 1, 2)), T.tile(x, (2, n, 1, 1))],
        lambda x, n: [np.tile(x, (n, 2)), np.tile(x, 3), np.tile(x, (2, 1, 2)), np.tile(x, (2, n, 1, 1))],
        [(MATRIX, np.array(2)), (MATRIX[:0], np.array(1)), (MATRIX, np.array(0))],
    ),
    OpRecord("TileGradient", lambda x: T.tile(x, (2, 3)), lambda x: np.tile(x, (2, 3)), [(MATRIX,)], [(MATRIX,)]),
    OpRecord(
        "Diagonals",
        lambda x: [T.diagonal(x), T.diagonal(x, 1), T.diagonal(x, -2, 0, -1), T.diagonal(x, 7), x.diagonal(1, 1, 0)],
        lambda x: [x.diagonal(), x.diagonal(1), x.diagonal(-2, 0, -1), x.diagonal(7), x.diagonal(1, 1, 0)],
        [(CUBE,), (MATRIX,), (CUBE[:0],), (NUMBERS[None],)],
    ),
    OpRecord(
        "DiagonalGradient",
        lambda x: T.diagonal(x, 1, -1, 1),
        lambda x: x.diagonal(1, -1, 1),
        [(CUBE,)],
        [(CUBE,), (CUBE[:, :1],)],
    ),
    OpRecord(
        "DiagonalMatrix",
        lambda v: [T.diag(v), T.diag(v, 1), T.diag(v, -2)],
        lambda v: [np.diag(v), np.diag(v, 1), np.diag(v, -2)],
        [(NUMBERS,), (MATRIX[0],), (NUMBERS[:0],)],
    ),
    OpRecord("DiagGradient", lambda v: T.diag(v, -1), lambda v: np.diag(v, -1), [(MATRIX[0],)], [(MATRIX[0],)]),
    OpRecord("Trace", lambda x: x.trace(), np.trace, [(MATRIX,), (MATRIX.T,)], [(MATRIX,)]),
    OpRecord(
        "FillDiagonal",
        T.fill_diagonal,
        lambda a, v: _filled(a, v, 0),
        [(MATRIX, np.array(7.0)), (MATRIX.T, np.array(7, "int16")), (NUMBERS[None], np.array(2))],
        [(MATRIX, np.array(1.5)), (MATRIX.T, np.array(1.5))],
    ),
    OpRecord(
        "FillDiagonalOfCube",
        T.fill_diagonal,
        lambda a, v: np.where(np.sum(np.abs(np.diff(np.indices(a.shape), axis=0)), axis=0) == 0, v, a),
        [(CUBE[:, :2, :2], np.array(7.0))],
        [(CUBE[:, :2, :2], np.array(7.0))],
    ),
    OpRecord(
        "FillDiagonalOffset",
        lambda a, v: [T.fill_diagonal_offset(a, v, k) for k in (-5, -2, 0, 1, 3)],
        lambda a, v: [_filled(a, v, k) for k in (-5, -2, 0, 1, 3)],
        [(MATRIX, np.array(7.0)), (MATRIX.T, np.array(7.0))],
    ),
    OpRecord(
        "FillDiagonalOffsetGradient",
        lambda a, v: T.fill_diagonal_offset(a, v, -1),
        lambda a, v: _filled(a, v, -1),
        [(MATRIX, np.array(7.0))],
        [(MATRIX, np.array(7.0)), (MATRIX.T, np.array(7.0))],
    ),
    OpRecord(
        "Unique",
        lambda x: T.unique(x, True, True, True),
        lambda x: [np.asarray(a).reshape(-1) for a in np.unique(x, True, True, True)],
        [(NUMBERS,), (ZEROS,), (ZEROS[:, :0],), (ZEROS > 1,)],
    ),
    OpRecord(
        "UniqueRows",
        lambda x: T.unique(x, True, True, True, axis=0),
        lambda x: [a if i == 0 else a.reshape(-1) for i, a in enumerate(np.unique(x, True, True, True, axis=0))],
        [(ZEROS[[0, 2, 0, 1]],)],
    ),
    OpRecord("UniqueGradient", T.unique, np.unique, [(MATRIX,)], [(MATRIX,)]),
    OpRecord(
        "UniqueRowsGradient", lambda x: T.unique(x, axis=1), lambda x: np.unique(x, axis=1), [(MATRIX,)], [(MATRIX,)]
    ),
    OpRecord(
        "Searchsorted",
        lambda x, v: [T.searchsorted(x, v), T.searchsorted(x, v, "right"), x.searchsorted(v)],
        lambda x, v: [np.searchsorted(x, v), np.searchsorted(x, v, "right"), np.searchsorted(x, v)],
        [(np.sort(NUMBERS), NUMBERS), (np.sort(NUMBERS), np.array(2)), (NUMBERS[:0], MATRIX)],
    ),
    OpRecord(
        "UnravelIndex",
        lambda i: [*T.unravel_index(i, (3, 4)), *T.unravel_index(i, (3, 4), "F")],
        lambda i: [*np.unravel_index(i, (3, 4)), *np.unravel_index(i, (3, 4), "F")],
        [(NUMBERS,), (np.array(11),), (NUMBERS.astype("uint8")[:, None],)],
    ),
    OpRecord(
        "RavelMultiIndex",
        lambda i, j: [
            T.ravel_multi_index((i, j), (4, 5)),
            T.ravel_multi_index((i - 2, j), (4, 3), mode="wrap", order="F"),
            T.ravel_multi_index((i, j), (2, 4), mode=("clip", "wrap")),
        ],
        lambda i, j: [
            np.ravel_multi_index((i, j), (4, 5)),
            np.ravel_multi_index((i - 2, j), (4, 3), mode="wrap", order="F"),
            np.ravel_multi_index((i, j), (2, 4), mode=("clip", "wrap")),
        ],
        [(NUMBERS, NUMBERS), (NUMBERS[:, None], NUMBERS[None]), (np.array(1), NUMBERS)],
    ),
    OpRecord("CpuContiguous", T.cpu_contiguous, lambda x: x, [(CUBE,), (np.array(2.0),)], [(CUBE,)]),
    OpRecord(
        "Pad",
        lambda x: [T.pad(x, ((1, 2), (0, 3)), mode) for mode in ("constant", "edge", "wrap", "reflect", "symmetric")],
        lambda x: [np.pad(x, ((1, 2), (0, 3)), mode) for mode in ("constant", "edge", "wrap", "reflect", "symmetric")],
        [(MATRIX,), (NUMBERS[None],)],
    ),
    OpRecord(
        "PadGradient",
        lambda x: T.pad(x, 2, "constant", 1.5) * T.pad(x, 2, "reflect"),
        lambda x: np.pad(x, 2, constant_values=1.5) * np.pad(x, 2, "reflect"),
        [(MATRIX,)],
        [(MATRIX,)],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})
