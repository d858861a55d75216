"""Tolerances by which Theano 1.0 compares arrays, by the less precise of their dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

float16_atol = 1e-3
float16_rtol = 1e-3
float32_atol = 1e-5
float32_rtol = 1e-5
float64_atol = 1e-8
float64_rtol = 1e-5

_HALF, _SINGLE = frozenset({"float16"}), frozenset({"float32", "complex64"})


def _get_atol_rtol(a: Any, b: Any) -> tuple[float, float]:
    """Return the absolute and the relative tolerance for a comparison of two arrays."""
    dtypes = {str(a.dtype), str(b.dtype)}
    if dtypes & _HALF:
        return float16_atol, float16_rtol
    if dtypes & _SINGLE:
        return float32_atol, float32_rtol
    return float64_atol, float64_rtol


def _allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Tell whether two arrays are equal within tolerances; by default, those of their dtypes."""
    a, b = np.asarray(a), np.asarray(b)
    own_atol, own_rtol = _get_atol_rtol(a, b)
    return bool(np.allclose(a, b, rtol=own_rtol if rtol is None else rtol, atol=own_atol if atol is None else atol))
