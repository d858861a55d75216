"""The comparison of two values of one expression, and of gradients with differences of NumPy's values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._program import Built, Node, Program, Unbuildable, evaluate

# ---- When two values of one expression count as the same
#
# Rewriting may change how results are rounded, and it makes some finite that the expression as written does not: exact
# equality is no criterion, nor is one tolerance for all. A difference is held against the effect of roundings and the
# choice of special values inside of the expression as written do to its result: the graph is computed again with
# results and operands of each inexact operation moved by a few units in the last place (`"rounding"`), and with results
# that are not
# finite replaced by random numbers (`"special"`). A value that moves further in this way than the two values are apart
# says nothing and counts as `unjudged`; everything else has to agree.

#: How many samples are taken at most where values differ: so many that chance hardly ever hides the reason. Of
#: special values there are more: each may hide the side of zero on which another would be.
ROUNDINGS = 16
SPECIALS = 48
#: How much further than the perturbed results a value may lie.
SLACK = 8.0


@dataclass(slots=True)
class Tally:
    """The compared values.

    Attributes
    ----------
    counts : Counter
        ``"compared"`` (arrays), ``"rounding"`` (arrays that agree within their roundings), ``"finite"``
        (the rewritten graph gives numbers where the graph as written gives none), ``"unjudged"`` (arrays that depend
        on roundings or on values that are not finite, and differ). Of these arrays: ``"elements"`` (all that were
        compared), ``"elements, rounding"``, ``"elements, finite"`` and ``"elements, unjudged"``; of arrays whose
        shapes were not judged, all.
    """

    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Difference:
    """How two values differ that should not."""

    what: str

    def __str__(self) -> str:
        return self.what


Samples = Callable[[str], Iterable[Any]]


def judge(
    match: Any, requested: Any, samples: Samples, tally: Tally, *, ulp: float = 64.0, lenient: bool = True
) -> Difference | None:
    """Return how `match` differs from `requested`; None if it does not, or if the difference says nothing.

    Parameters
    ----------
    found, wanted : array
    samples : callable
        Takes ``"rounding"`` or ``"special"``, returns perturbed values of `requested`, which are made as they are asked
        for.
    tally : Tally
    ulp : float
        Tolerance that needs no further reason, in units in the last place.
    lenient : bool
        Whether numbers may be found where NaN or infinity is wanted.
    """
    a, b = np.asarray(match), np.asarray(requested)
    tally.counts["compared"] += 1
    if a.dtype != b.dtype:
        return Difference(f"dtype {a.dtype} instead of {b.dtype}")
    if a.shape != b.shape:
        return _of_shape(a, b, samples, tally)
    tally.counts["elements"] += b.size
    open_ = ~_near(a, b, ulp)
    if not open_.any():
        return None
    open_ = _counted(open_, _explained(a, b, samples("rounding"), open_), "rounding", tally)
    if not open_.any():
        return None
    if lenient and a.dtype.kind in "fc":
        open_ = _counted(open_, np.isfinite(a) & ~np.isfinite(b), "finite", tally)
    if open_.any():
        open_ = _counted(open_, _explained(a, b, samples("special"), open_), "unjudged", tally)
    return _difference(a, b, open_) if open_.any() else None


def _counted(open_: Any, settled: Any, reason: str, tally: Tally) -> Any:
    """Return the open differences; count the ones that a reason settles."""
    count = int((open_ & settled).sum())
    if count:
        tally.counts[reason] += 1
        tally.counts[f"elements, {reason}"] += count
    return open_ & ~settled


def _of_shape(a: Any, b: Any, samples: Samples, tally: Tally) -> Difference | None:
    """Shapes may depend on values: the number of true elements, or of different ones."""
    for kind in ("rounding", "special"):
        if any(np.shape(sample) != b.shape for sample in samples(kind)):
            tally.counts["unjudged"] += 1
            tally.counts["elements, unjudged"] += b.size
            return None
    return Difference(f"shape {a.shape} instead of {b.shape}")


def _parts(x: Any) -> tuple[Any, ...]:
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def _wide(x: Any) -> Any:
    return x if x.dtype.kind not in "fc" else x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def _near(a: Any, b: Any, ulp: float) -> Any:
    if a.dtype.kind not in "fc":
        return np.asarray(a == b)
    info = np.finfo(a.dtype)
    x, y = _wide(a), _wide(b)
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        close = np.isfinite(y) & (np.abs(x - y) <= ulp * (float(info.eps) * np.abs(y) + float(info.tiny)))
        if a.dtype.kind == "c":  # infinities and NaN of complex numbers part by part
            same = same | np.logical_and(*(_same(p, q) for p, q in zip(_parts(a), _parts(b), strict=True)))
    return np.asarray(same | close)


def _same(p: Any, q: Any) -> Any:
    return (p == q) | (np.isnan(p) & np.isnan(q))


def _explained(a: Any, b: Any, samples: Iterable[Any], open_: Any) -> Any:
    """Return where a sample lies so far from `b`, or is so much of another kind, that `a` may lie where it does.

    No more samples are taken when they explain all of `open_`.
    """
    reached = _Reached(a, b)
    for sample in samples:
        if np.shape(sample) != b.shape:
            return np.ones(b.shape, bool)
        reached.add(np.asarray(sample))
        if not (open_ & ~reached.explained).any():
            break
    return reached.explained


class _Reached:
    """The reach of samples of a value: how far they lie from the expected one."""

    def __init__(self, found: Any, wanted: Any) -> None:
        self.found, self.wanted = found, wanted
        self.spread = np.zeros(wanted.shape)
        self.other = np.zeros(wanted.shape, bool)
        self.explained = np.zeros(wanted.shape, bool)

    def add(self, sample: Any) -> None:
        """Take another sample."""
        a, b = self.found, self.wanted
        if a.dtype.kind not in "fc":
            self.explained = self.explained | (sample != b)
            return
        with np.errstate(all="ignore"):
            y = _wide(b)
            self.other |= np.isfinite(sample) != np.isfinite(b)
            self.other |= ~np.isfinite(b) & ~_near(sample, b, 0.0)
            moved = np.abs(_wide(sample) - y)
            self.spread = np.maximum(self.spread, np.where(np.isfinite(moved), moved, 0.0))
            close = np.isfinite(a) & np.isfinite(b) & (np.abs(_wide(a) - y) <= SLACK * self.spread)
        self.explained = self.other | close


def _difference(a: Any, b: Any, wrong: Any) -> Difference:
    where = tuple(int(k) for k in np.argwhere(wrong)[0])
    return Difference(
        f"{a[where]!r} instead of {b[where]!r} at {where}; {int(wrong.sum())} of {a.size} elements differ"
    )


# ---- Gradients against differences of NumPy's values

#: Step of the differences, in units of the numbers.
STEP = 1e-5
#: The common part of the names of operations that look for extremes along an axis.
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
    others = iter(gradients)
    for cost, wrt in built.program.gradients:
        diagonal = {i: rng.uniform(0.5, 1.0, values[i].shape) for i in wrt}
        directions = {i: d * rng.choice([-1, 1], d.shape) for i, d in diagonal.items()}
        match = sum(float((next(others) * directions[i]).sum()) for i in wrt)
        requested = _slope(built, cost, values, directions)
        if requested is None or _slope(built, cost, values, diagonal) is None:
            continue
        if not abs(match - requested[0]) <= requested[1]:
            return f"slope {match!r}, differences of NumPy's values {requested[0]!r} (up to {requested[1]:.2g})"
    return None


def _has_ties(program: Program, values: Sequence[Any]) -> bool:
    """Tell whether the rules of a gradient choose among values that are equal, as slopes beside the point do not."""
    return any(
        _has_tie(item.operation.name, [values[k] for k in item.operands], values[number])
        for number, item in enumerate(program.items)
        if isinstance(item, Node)
    )


def _has_tie(name: str, operands: Sequence[Any], result: Any) -> bool:
    # Zeros of sparse matrices are no elements, and have no gradients; so has an element that cancels in a sum of two.
    if name.startswith("sparse_"):
        cancels = name in ("sparse_add", "sparse_sub") and not np.all(result)
        return cancels or any(not np.all(x) for x in operands)
    # A number that is zero chooses branches that no number beside it does.
    if name == "where":
        return operands[0].dtype.kind == "f" and not np.all(operands[0])
    if name == "clip":
        return any(bool(np.any(operands[0] == bound)) for bound in operands[1:])
    # Each of several largest elements gets the whole gradient.
    if any(word in name for word in _EXTREMES):
        operand = operands[0]
        return bool(operand.size > 1 and len(np.unique(operand)) < operand.size)
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
