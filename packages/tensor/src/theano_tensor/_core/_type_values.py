"""Values of tensors: no mask is dropped; comparison of arrays."""

from __future__ import annotations

import numpy as np

from theano_graph import config, format_error

from ._typing import Array

#: dtype -> (relative, absolute) difference that rounding explains.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-2, 5e-3),
    "float32": (1e-4, 1e-5),
    "float64": (1e-5, 1e-8),
    "complex64": (1e-4, 1e-5),
    "complex128": (1e-5, 1e-8),
}


def refuse_mask(value: object) -> None:
    """Raise TypeError for a masked array, whose mask a conversion would drop without a word."""
    # Told by its attribute: naming numpy.ma.MaskedArray would import numpy.ma.
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray and hasattr(value, "mask"):
        raise TypeError(
            format_error(
                f"a masked array of shape {value.shape} is no value of a tensor: its mask would be lost",
                hint="pass value.filled(...), and the mask as an array of its own where it matters",
            )
        )


def arrays_equal(a: Array, b: Array) -> bool:
    """Tell whether two arrays have the same shape and values; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    same = a == b
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        same = same | ((a != a) & (b != b))
    return bool(np.all(same))


def arrays_near(
    a: Array,
    b: Array,
    rtol: float | None,
    atol: float | None,
    allow_remove_inf: bool = False,
    allow_remove_nan: bool = False,
) -> bool:
    """Tell whether two arrays of one shape differ by rounding only.

    NaN equals NaN, infinities must have the same sign. The flag ``tensor.cmp_sloppy`` widens the differences that are
    allowed where the caller gives none.
    """
    slack = 10.0 ** int(config.tensor.cmp_sloppy)
    names = np.asarray(a).dtype.name, np.asarray(b).dtype.name
    relative, absolute = (slack * t for t in max(TOLERANCES[name] for name in names))
    rtol, atol = (relative if rtol is None else rtol), (absolute if atol is None else atol)
    with np.errstate(all="ignore"):
        near = np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
        if allow_remove_inf:
            near = near | np.isinf(a)
        if allow_remove_nan:
            near = near | np.isnan(a)
    return bool(np.all(near))
