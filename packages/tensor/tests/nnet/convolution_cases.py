"""Convolutions by loops over positions, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def padding(mode: Any, kernel: Sequence[int]) -> list[tuple[int, int]]:
    """Return the zeros around images, for filters that are dilated already."""
    if mode == "valid":
        return [(0, 0)] * len(kernel)
    if mode == "full":
        return [(k - 1, k - 1) for k in kernel]
    if mode == "half":
        return [(k // 2, k // 2) for k in kernel]
    modes = mode if isinstance(mode, tuple) else (mode,) * len(kernel)
    return [m if isinstance(m, tuple) else (m, m) for m in modes]


def convolved(
    x: Any,
    w: Any,
    border_mode: Any = "valid",
    subsample: Sequence[int] | None = None,
    filter_flip: bool = True,
    filter_dilation: Sequence[int] | None = None,
    num_groups: int = 1,
    unshared: bool = False,
) -> Any:
    """Convolve, position by position."""
    ndim = x.ndim - 2
    steps, spread = subsample or (1,) * ndim, filter_dilation or (1,) * ndim
    if filter_flip:
        w = np.flip(w, tuple(range(-ndim, 0)))
    sizes = [(k - 1) * d + 1 for k, d in zip(w.shape[-ndim:], spread, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *padding(border_mode, sizes)])
    lengths = [(n - k) // s + 1 for n, k, s in zip(x.shape[2:], sizes, steps, strict=True)]
    result = np.zeros((len(x), len(w), *lengths), np.result_type(x, w))
    filters, channels = len(w) // num_groups, x.shape[1] // num_groups
    for position in np.ndindex(*lengths):
        window = tuple(slice(i * s, i * s + k, d) for i, s, k, d in zip(position, steps, sizes, spread, strict=True))
        taps = x[(slice(None), slice(None), *window)]
        for g in range(num_groups):
            private = slice(g * filters, (g + 1) * filters)
            kernel = w[(private, *position)] if unshared else w[private]
            part = taps[:, g * channels : (g + 1) * channels]
            result[(slice(None), private, *position)] = np.tensordot(
                part, kernel, (range(1, ndim + 2), range(1, ndim + 2))
            )
    return result


#: Name, shape of images, shape of filters, arguments.
CASES: tuple[tuple[str, tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
    ("valid", (2, 3, 6, 5), (4, 3, 3, 2), {}),
    ("correlation", (2, 3, 6, 5), (4, 3, 3, 2), {"filter_flip": False}),
    ("full", (2, 2, 4, 5), (3, 2, 2, 3), {"border_mode": "full"}),
    ("half", (2, 2, 5, 5), (3, 2, 3, 4), {"border_mode": "half"}),
    ("one_border", (1, 2, 4, 4), (2, 2, 3, 3), {"border_mode": 1}),
    ("two_borders", (1, 2, 4, 5), (2, 2, 3, 3), {"border_mode": (2, 0)}),
    ("uneven_border", (1, 2, 4, 5), (2, 2, 3, 3), {"border_mode": (1, (2, 0))}),
    ("uneven_borders", (1, 2, 4, 5), (2, 2, 3, 3), {"border_mode": ((0, 1), (2, 0))}),
    ("steps", (2, 2, 7, 8), (3, 2, 3, 2), {"subsample": (2, 3)}),
    ("steps_with_border", (2, 2, 6, 8), (3, 2, 3, 3), {"subsample": (2, 3), "border_mode": "half"}),
    ("dilated", (2, 2, 7, 8), (3, 2, 3, 2), {"filter_dilation": (2, 3), "border_mode": "full"}),
    ("grouped", (2, 6, 5, 4), (4, 3, 2, 2), {"num_groups": 2, "border_mode": 1, "subsample": (2, 1)}),
    ("fewer_filters_than_channels", (2, 5, 6, 5), (3, 5, 3, 2), {"border_mode": ((1, 0), (1, 1))}),
    ("fewer_filters_in_groups", (2, 6, 5, 4), (4, 3, 2, 2), {"num_groups": 2, "filter_dilation": (1, 2)}),
    ("depthwise", (2, 3, 5, 4), (6, 1, 2, 2), {"num_groups": 3}),
    ("pointwise", (2, 3, 4, 4), (5, 3, 1, 1), {}),
    ("unshared", (2, 2, 4, 5), (3, 3, 4, 2, 2, 2), {"unshared": True}),
    (
        "unshared_grouped",
        (2, 4, 5, 5),
        (6, 3, 2, 2, 2, 3),
        {"unshared": True, "num_groups": 2, "border_mode": (1, 0), "subsample": (2, 2), "filter_flip": False},
    ),
    ("volumes", (2, 2, 4, 3, 5), (3, 2, 2, 2, 3), {}),
    (
        "volumes_with_everything",
        (1, 4, 5, 4, 6),
        (2, 2, 2, 1, 2),
        {
            "border_mode": (1, 0, 2),
            "subsample": (2, 1, 2),
            "filter_dilation": (1, 1, 2),
            "num_groups": 2,
            "filter_flip": False,
        },
    ),
)
