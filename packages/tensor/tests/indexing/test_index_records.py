"""Records of the ops of indexing: values on both machines, layouts, gradients, shapes, pickles."""

from __future__ import annotations

from typing import Any

import numpy as np

import theano_tensor as T
from theano_testing.tensor import OpRecord, op_tests

RNG = np.random.default_rng(8)
CUBE = RNG.normal(size=(4, 3, 2))
ROWS = np.array([3, 0, -1, 3])
PAIRS = np.array([[0, 1], [2, -1]])
MASK = CUBE[:, :, 0] > 0
NUMBER = np.array(2, dtype="int32")


def _written(x: Any, index: Any, y: Any, replace: bool) -> Any:
    result = x.copy()
    if replace:
        result[index] = y
    else:
        np.add.at(result, index, y)
    return result


RECORDS = (
    OpRecord(
        "Slices",
        lambda x, n: x[n:, ::-1, -1],
        lambda x, n: x[int(n) :, ::-1, -1],
        [(CUBE, NUMBER), (CUBE[:0], NUMBER), (CUBE.astype("int16"), NUMBER), (CUBE.astype("float16"), NUMBER)],
    ),
    OpRecord("SlicesGradient", lambda x: x[1:, ::-1, 0], lambda x: x[1:, ::-1, 0], [(CUBE,)], [(CUBE,)]),
    OpRecord(
        "Rows",
        lambda x, i: x[i],
        lambda x, i: x[i],
        [
            (CUBE, ROWS),
            (CUBE.astype("complex64"), ROWS.astype("int8")),
            (CUBE, ROWS[:0]),
            (CUBE > 0, abs(ROWS).astype("uint16")),
        ],
    ),
    OpRecord("RowsGradient", lambda x: x[ROWS], lambda x: x[ROWS], [(CUBE,)], [(CUBE,)]),
    OpRecord("Arrays", lambda x, i: x[i, :, i * 0], lambda x, i: x[i, :, i * 0], [(CUBE, PAIRS), (CUBE, PAIRS[:, :0])]),
    OpRecord("ArraysGradient", lambda x: x[PAIRS, 1:, 0], lambda x: x[PAIRS, 1:, 0], [(CUBE,)], [(CUBE,)]),
    OpRecord(
        "Mask", lambda x, m: x[m], lambda x, m: x[m], [(CUBE, MASK), (CUBE, MASK & False), (CUBE.astype("uint8"), MASK)]
    ),
    OpRecord("MaskGradient", lambda x: x[MASK, None, 1], lambda x: x[MASK, None, 1], [(CUBE,)], [(CUBE,)]),
    OpRecord(
        "IncrementSlices",
        lambda x, y: T.inc_subtensor(x[1:, ::2], y),
        lambda x, y: _written(x, np.s_[1:, ::2], y, False),
        [(CUBE, CUBE[1:, ::2]), (CUBE.astype("float32"), CUBE[:1, :1, 0].astype("float32"))],
        [(CUBE, CUBE[1:, ::2]), (CUBE, np.array(0.5))],
    ),
    OpRecord(
        "ReplaceSlices",
        lambda x, y: T.set_subtensor(x[:, 1], y),
        lambda x, y: _written(x, np.s_[:, 1], y, True),
        [(CUBE, CUBE[:, 0]), (CUBE, CUBE[:1, 0])],
        [(CUBE, CUBE[:, 0]), (CUBE, CUBE[:1, 0])],
    ),
    OpRecord(
        "IncrementRows",
        lambda x, y: T.inc_subtensor(x[ROWS], y),
        lambda x, y: _written(x, ROWS, y, False),
        [(CUBE, CUBE), (CUBE.astype("int32"), CUBE[:1].astype("int32"))],
        [(CUBE, CUBE), (CUBE, CUBE[0])],
    ),
    OpRecord(
        "ReplaceRows",
        lambda x, y: T.set_subtensor(x[ROWS], y),
        lambda x, y: _written(x, ROWS, y, True),
        [(CUBE, CUBE), (CUBE.astype("complex128"), CUBE[:1])],
        [(CUBE, CUBE)],
    ),
    OpRecord(
        "IncrementArrays",
        lambda x, y: T.inc_subtensor(x[PAIRS, :, 0], y),
        lambda x, y: _written(x, np.s_[PAIRS, :, 0], y, False),
        [(CUBE, CUBE[:2, :2, :].repeat(2, 2)[:, :, :3]), (CUBE, np.array(2.0))],
        [(CUBE, CUBE[:2, :2, :].repeat(2, 2)[:, :, :3])],
    ),
    OpRecord(
        "ReplaceMask",
        lambda x, y: T.set_subtensor(x[MASK], y),
        lambda x, y: _written(x, MASK, y, True),
        [(CUBE, CUBE[MASK] * 2), (CUBE, np.array(1.0))],
        [(CUBE, CUBE[MASK] * 2), (CUBE, np.array(1.0))],
    ),
    OpRecord("Nonzero", lambda x: list(x.nonzero()), np.nonzero, [(MASK,), (ROWS,), (CUBE[:0],)]),
    OpRecord(
        "Choose",
        lambda a, b, c: T.choose(a, [b, c]),
        lambda a, b, c: np.choose(a, [b, c]),
        [(MASK.astype("int64"), CUBE[:, :, 0], CUBE[:1, :, 1])],
    ),
)

globals().update({test.__name__: test for test in (op_tests(record) for record in RECORDS)})
