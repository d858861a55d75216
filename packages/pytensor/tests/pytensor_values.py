"""Functions compiled by Theano, compared with the same functions run by PyTensor in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import theano_pytensor

IN_PYTHON = Mode("py", RewriteDatabaseQuery(include=["minimum_compile", "py_only"]))


def check(inputs: Sequence[Any], outputs: Sequence[Any], *values: Any, performed: Sequence[str] = ()) -> None:
    """Compare values, shapes and dtypes of outputs, and which ops are left to PyTensor."""
    ours = pytensor.function(inputs, outputs, mode="THEANO", on_unused_input="ignore")
    theirs = pytensor.function(inputs, outputs, mode=IN_PYTHON, on_unused_input="ignore")
    for variable, result, expected in zip(outputs, ours(*values), theirs(*values), strict=True):
        single = getattr(variable, "dtype", "") in ("float32", "complex64")
        rtol, atol = (1e-6, 1e-7) if single else (1e-9, 1e-12)
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol, strict=True, err_msg=str(variable))
    report = theano_pytensor.report(ours)
    if sorted(report.performed) != sorted(performed):
        raise AssertionError(f"left to PyTensor: {report}")
