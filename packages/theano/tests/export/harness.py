"""Compiles exported C strictly, and calls it with NumPy's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_testing.tiers import is_quick
from theano_testing_workshop.exported import STRICT, Exported

__all__ = ["STRICT", "Exported", "check"]

#: Sums are added in another order.
_TOLERANCES = {"float64": 1e-9, "float32": 2e-4, "float16": 4e-3}


#: The level of optimisation of what is not compiled at another one, too.
_LEVEL = ("-O1",)


def check(fn: Any, *calls: Sequence[Any], arguments: Sequence[str] = _LEVEL, tolerance: float | None = None) -> None:
    """Compare exported code with the function, with lengths that calls decide; in the slow tier with known ones, too.

    Code of known lengths tells a compiler more: where both are compiled, the other one is not optimised.

    Parameters
    ----------
    fn : Function
        Exported code begins with the values that its shared variables have then.
    calls : sequences of arguments
        One after the other, so that new values of shared variables are seen; those of the first give the known shapes.
    arguments : sequence of str
        For the compiler.
    tolerance : float, optional
        Relative and absolute; by dtype by default.
    """
    inputs = [item.variable for item in fn.maker.inputs if not item.implicit]
    reference = {v: np.shape(value) for v, value in zip(inputs, calls[0], strict=True)}
    plain = arguments if is_quick() or arguments != _LEVEL else ("-O0",)
    for shapes, level in ((None, plain),) if is_quick() else ((None, plain), (reference, arguments)):
        exported = Exported(fn, shapes, static=shapes is not None, arguments=level)
        for values in calls:
            if shapes is not None and any(np.shape(v) != reference[x] for x, v in zip(inputs, values, strict=True)):
                continue
            expected = fn(*values)
            expected = expected if isinstance(expected, (list, tuple)) else [expected]
            for got, want in zip(exported(*values), expected, strict=True):
                assert got.dtype == want.dtype, (got.dtype, want.dtype)
                assert got.shape == np.shape(want), (got.shape, np.shape(want))
                bound = _TOLERANCES.get(got.dtype.name, 0) if tolerance is None else tolerance
                np.testing.assert_allclose(got, want, rtol=bound, atol=bound)
        exported.free()
