"""Checks of tensor expressions: values, gradients, and everything about an op that can be told from a record."""

from __future__ import annotations

import numpy as np

from ._records import (
    OpRecord as OpRecord,
    OpTestCase as OpTestCase,
    check_batch_gradients as check_batch_gradients,
    check_batches as check_batches,
    check_on_device as check_on_device,
    op_tests as op_tests,
)
from ._seeds import fetch_seed as fetch_seed
from ._testers import (
    InferShapeTester as InferShapeTester,
    MockRandomState as MockRandomState,
    RopLopChecker as RopLopChecker,
    make_broadcast_tester as make_broadcast_tester,
    make_tester as make_tester,
)
from ._tolerance import (
    TOLERANCES as TOLERANCES,
    Tolerance as Tolerance,
    assert_allclose as assert_allclose,
    tolerance_for as tolerance_for,
)
from ._verify_grad import GradientError as GradientError, numeric_grad as numeric_grad, verify_grad as verify_grad

__all__ = [
    "check_batch_gradients",
    "check_batches",
    "check_on_device",
    "TOLERANCES",
    "GradientError",
    "InferShapeTester",
    "MockRandomState",
    "OpRecord",
    "OpTestCase",
    "RopLopChecker",
    "Tolerance",
    "assert_allclose",
    "fetch_seed",
    "make_broadcast_tester",
    "make_tester",
    "numeric_grad",
    "op_tests",
    "seed_rng",
    "tolerance_for",
    "verify_grad",
]


def seed_rng(pseed: int | None = None) -> int:
    """Seed NumPy's global generator for a test and return the seed.

    Parameters
    ----------
    pseed : int, optional
        The seed itself; by default that of :func:`fetch_seed`.

    Examples
    --------
    >>> seed_rng(1231)
    1231
    """
    seed = fetch_seed(pseed)
    np.random.seed(seed)  # noqa: NPY002  # tests that are written with numpy.random need this very generator
    return seed
