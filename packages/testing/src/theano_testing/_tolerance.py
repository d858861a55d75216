"""How near two results have to be. The only place with tolerances for comparisons of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theano_graph import config


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative and absolute tolerance of a comparison."""

    relative: float
    absolute: float


#: By the dtype with the fewest digits among the two that are compared.
TOLERANCES: dict[str, Tolerance] = {
    "float16": Tolerance(5e-3, 1e-3),
    "float32": Tolerance(1e-5, 1e-6),
    "float64": Tolerance(1e-11, 1e-13),
    "complex64": Tolerance(1e-5, 1e-6),
    "complex128": Tolerance(1e-11, 1e-13),
}

_ORDER = ("float16", "float32", "complex64", "float64", "complex128")
_EXACT = Tolerance(0.0, 0.0)


def tolerance_for(*values: Any) -> Tolerance:
    """Return the tolerance for comparing arrays of the given dtypes: exact where none holds floating-point numbers.

    The flag ``tensor.cmp_sloppy`` widens it.
    """
    names = {np.asarray(value).dtype.name for value in values}
    strict = next((TOLERANCES[name] for name in _ORDER if name in names), _EXACT)
    slack = _slack()
    return Tolerance(strict.relative * slack, strict.absolute * slack)


def _slack() -> float:
    # The flag belongs to the tensor layer, which tests of the layers below do not import.
    known = "tensor.cmp_sloppy" in config.flag_names()
    return 10.0 ** int(config.tensor.cmp_sloppy) if known else 1.0


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float | None = None,
    atol: float | None = None,
    err_msg: str = "",
    *,
    ulp: float | None = None,
) -> None:
    """Fail unless two arrays have one shape and nearly equal elements; NaN equals NaN, infinities must agree.

    Parameters
    ----------
    actual, desired : array_like
    rtol, atol : float, optional
        By default those of the less precise of the two dtypes.
    err_msg : str
        Put in front of the message.
    ulp : float, optional
        In place of `rtol`: how many units in the last place, of the less precise dtype, are allowed.

    Raises
    ------
    AssertionError
        Saying how many elements differ, which one most, by how much, and the tolerance.

    Examples
    --------
    >>> assert_allclose([1.0, float("nan")], [1.0 + 1e-15, float("nan")])
    """
    a, d = np.asarray(actual), np.asarray(desired)
    start = f"{err_msg}\n" if err_msg else ""
    if a.shape != d.shape:
        raise AssertionError(f"{start}shapes differ: {a.shape} and {d.shape} (wanted)")
    allowed = tolerance_for(a, d)
    if ulp is not None:
        rtol = ulp * max((float(np.finfo(x.dtype).eps) for x in (a, d) if x.dtype.kind in "fc"), default=0.0)
    relative = allowed.relative if rtol is None else rtol
    absolute = allowed.absolute if atol is None else atol
    wide = np.complex128 if "c" in (a.dtype.kind, d.dtype.kind) else np.float64
    if a.dtype.kind in "biu" and d.dtype.kind in "biu" and relative == 0 and absolute == 0:
        near = a == d
        error = np.where(near, 0.0, 1.0)
    else:
        near, error = _near(a.astype(wide), d.astype(wide), relative, absolute)
    if not np.all(near):
        raise AssertionError(start + _difference(a, d, near, error, relative, absolute))


def _near(a: Any, d: Any, relative: float, absolute: float) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        error = np.abs(a - d)
        equal = (a == d) | (np.isnan(a) & np.isnan(d))
        near = equal | (np.isfinite(d) & (error <= absolute + relative * np.abs(d)))
    return near, np.where(equal, 0.0, np.where(np.isnan(error), np.inf, error))


def _difference(a: Any, d: Any, near: Any, error: Any, relative: float, absolute: float) -> str:
    wrong = np.argwhere(~np.asarray(near))
    worst = (
        tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(near, -1.0, error))), a.shape)) if a.shape else ()
    )
    return (
        f"{len(wrong)} of {a.size} elements differ; the worst is at {worst}: got {a[worst]!r}, wanted {d[worst]!r}\n"
        f"  error {float(error[worst]):.3g}, allowed {absolute:.3g} + {relative:.3g} * |wanted| ({a.dtype}, {d.dtype})"
    )
