"""Gradients against differences of NumPy's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._programs._program import Built, Node, Program, Unbuildable, evaluate

#: Step of the differences, in units of the numbers.
STEP = 1e-5
#: What the names of operations have in common that look for extremes along an axis.
_EXTREMES = ("max", "min", "ptp")


def wrong_slope(built: Built, gradients: Sequence[Any]) -> str | None:
    """Return how a gradient differs from the slope of NumPy's values; None if it does not, or if there is no telling.

    All in all the slope along a random direction is compared. Where the slopes to both sides differ, along it or along
    the diagonal, there is a kink or a jump. Programs with numbers of less than 64 bits, or that are not finite, are let
    pass.

    Parameters
    ----------
    built : Built
    gradients : sequence of array
        Values of the gradients, in the order of ``built.program.gradients``.
    """
    values = evaluate(built)
    if _has_ties(built.program, values) or any(not _is_smooth(v) for v in (*values, *gradients)):
        return None
    rng = np.random.default_rng(built.program.seed)
    rest = iter(gradients)
    for cost, wrt in built.program.gradients:
        diagonal = {i: rng.uniform(0.5, 1.0, values[i].shape) for i in wrt}
        directions = {i: d * rng.choice([-1, 1], d.shape) for i, d in diagonal.items()}
        found = sum(float((next(rest) * directions[i]).sum()) for i in wrt)
        wanted = _slope(built, cost, values, directions)
        if wanted is None or _slope(built, cost, values, diagonal) is None:
            continue
        if not abs(found - wanted[0]) <= wanted[1]:
            return f"slope {found!r}, differences of NumPy's values {wanted[0]!r} (up to {wanted[1]:.2g})"
    return None


def _has_ties(program: Program, values: Sequence[Any]) -> bool:
    """Tell whether the rules of a gradient choose among values that are equal, as slopes beside the point do not."""
    return any(
        _has_tie(item.operation.name, [values[k] for k in item.operands], values[number])
        for number, item in enumerate(program.items)
        if isinstance(item, Node)
    )


def _has_tie(name: str, operands: Sequence[Any], result: Any) -> bool:
    # Zeros of sparse matrices are no elements, and have no gradients; so has what cancels in a sum of two.
    if name.startswith("sparse_"):
        cancels = name in ("sparse_add", "sparse_sub") and not np.all(result)
        return cancels or any(not np.all(x) for x in operands)
    # A number that is zero chooses what no number beside it does.
    if name == "where":
        return operands[0].dtype.kind == "f" and not np.all(operands[0])
    if name == "clip":
        return any(bool(np.any(operands[0] == bound)) for bound in operands[1:])
    # Each of several largest elements gets the whole gradient.
    if any(word in name for word in _EXTREMES):
        given = operands[0]
        return bool(given.size > 1 and len(np.unique(given)) < given.size)
    return False


def _is_smooth(value: Any) -> bool:
    if value.dtype.kind in "biu":
        return True
    return value.dtype == np.float64 and bool(np.all(np.abs(value) < 1e6))


def _slope(built: Built, cost: int, values: Sequence[Any], directions: Mapping[int, Any]) -> tuple[float, float] | None:
    """Return the slope of a cost along a direction, and how far it may be off; None at kinks."""

    def at(step: float) -> float:
        moved = {i: values[i] + step * d for i, d in directions.items()}
        return float(evaluate(built, moved)[cost].astype(np.longdouble).sum())

    try:
        near = [at(k * STEP) for k in (-2, -1, 0, 1, 2)]
    except Unbuildable:
        return None
    slopes = np.diff(near) / STEP
    if not np.all(np.isfinite(slopes)):
        return None
    size = float(np.abs(slopes).max())
    noise = 1e-9 * (1 + max(float(np.abs(v).max(initial=0.0)) for v in values if v.dtype.kind == "f")) / STEP * 1e-3
    curvature = np.abs(np.diff(slopes))
    # Of a smooth function the slopes change steadily; a kink shows as a change in one place.
    if curvature.max() > 3 * curvature.min() + noise or curvature.max() > 0.05 * size + noise:
        return None
    central = (near[3] - near[1]) / (2 * STEP)
    return central, 10 * float(curvature.max()) + 1e-5 * size + noise
