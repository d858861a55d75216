"""Convolutions and pooling, with their borders, steps, dilations and groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_tensor.nnet import convolution, neighbours
from theano_tensor.signal import pool

from .._draw import Draw, fitting
from .._program import Operation, Options

Drawn = tuple[Sequence[int], Options]
_DTYPES = ("float64", "float64", "float32", "float16")


def image_operations() -> list[Operation]:
    """Return the operations of this module."""
    return [
        _convolution("conv2d", convolution.conv2d, 2, 1.2),
        _convolution("conv3d", convolution.conv3d, 3, 0.4),
        *(_pooling(mode) for mode in ("max", "sum", "average_inc_pad", "average_exc_pad")),
        Operation(
            "images2neibs",
            lambda x, size, step: neighbours.images2neibs(x, size, step),
            _neighbours,
            _drawn_neighbours,
            text=lambda n, o: f"neighbours.images2neibs({n[0]}, {o['size']}, {o['step']})",
            weight=0.3,
            imports="from theano_tensor.nnet import neighbours",
        ),
    ]


def _convolution(name: str, ours: Callable[..., Any], dims: int, weight: float) -> Operation:
    def text(names: Sequence[str], options: Options) -> str:
        operand = ", ".join([*names, *(f"{key}={value!r}" for key, value in options.items())])
        return f"convolution.{name}({operand})"

    return Operation(
        name,
        ours,
        _convolved,
        lambda d: _drawn_convolution(d, dims),
        text=text,
        weight=weight,
        ulp=128,
        imports="from theano_tensor.nnet import convolution",
    )


def _drawn_convolution(d: Draw, dims: int) -> Drawn:
    dtype = d.any_dtype(_DTYPES) if d.chance(0.4) else str(d.one_of(_DTYPES))
    groups = 2 if dims == 2 and d.chance(0.15) else 1
    inside, outside = d.between(1, 2), groups * d.between(1, 2)
    lengths = tuple(d.between(1, 5 if dims == 2 else 3) for _ in range(dims))
    filters = tuple(d.between(1, min(3, n)) for n in lengths)
    x = fitting(d, dtype, (d.between(1, 2), groups * inside, *lengths))
    w = fitting(d, dtype, (outside, inside, *filters))
    options: dict[str, Any] = {"border_mode": d.one_of(("valid", "valid", "full", "half", 1, (1, 0, 2)[:dims]))}
    if d.chance(0.4):
        options["subsample"] = tuple(d.between(1, 2) for _ in range(dims))
    if d.chance(0.4):
        options["filter_flip"] = False
    if d.chance(0.2):
        options["filter_dilation"] = tuple(d.between(1, 2) for _ in range(dims))
    if groups > 1:
        options["num_groups"] = groups
    if d.chance(0.3):
        options["input_shape"] = tuple(n if d.chance(0.5) else None for n in d.shape(x))
        options["filter_shape"] = tuple(n if d.chance(0.5) else None for n in d.shape(w))
    return [x, w], options


def _convolved(
    x: Any,
    w: Any,
    border_mode: Any = "valid",
    subsample: Any = None,
    filter_flip: bool = True,
    filter_dilation: Any = None,
    num_groups: int = 1,
    input_shape: Any = None,
    filter_shape: Any = None,
) -> Any:
    dims = x.ndim - 2
    step, apart = subsample or (1,) * dims, filter_dilation or (1,) * dims
    if filter_flip:
        w = w[(..., *(slice(None, None, -1),) * dims)]
    widths = [(n - 1) * k + 1 for n, k in zip(w.shape[2:], apart, strict=True)]
    operand = border_mode if isinstance(border_mode, tuple) else (border_mode,) * dims
    named: dict[str, Callable[[int], int]] = {"valid": lambda n: 0, "full": lambda n: n - 1, "half": lambda n: n // 2}
    borders = [named[b](n) if isinstance(b, str) else b for b, n in zip(operand, widths, strict=True)]
    x = np.pad(x, [(0, 0), (0, 0), *((b, b) for b in borders)])
    counts = [(n - m) // s + 1 for n, m, s in zip(x.shape[2:], widths, step, strict=True)]
    if min(counts) <= 0:
        raise ValueError("the filters are larger than the images")
    inside, outside = w.shape[1], w.shape[0] // num_groups
    result = np.zeros((len(x), len(w), *counts), "float64" if x.dtype.itemsize > 4 else "float32")
    for position in itertools.product(*map(range, w.shape[2:])):
        cut = tuple(
            slice(p * k, p * k + s * (n - 1) + 1, s) for p, k, s, n in zip(position, apart, step, counts, strict=True)
        )
        for g in range(num_groups):
            part = x[(slice(None), slice(g * inside, (g + 1) * inside), *cut)]
            taps = w[(slice(g * outside, (g + 1) * outside), slice(None), *position)]
            result[:, g * outside : (g + 1) * outside] += np.moveaxis(np.tensordot(part, taps, (1, 1)), -1, 1)
    return result.astype(x.dtype)


def _pooling(mode: str) -> Operation:
    def text(names: Sequence[str], options: Options) -> str:
        operand = ", ".join([*names, *(f"{key}={value!r}" for key, value in options.items())])
        return f"pool.pool_2d({operand}, mode={mode!r})"

    return Operation(
        f"pool_{mode}",
        lambda x, **options: pool.pool_2d(x, mode=mode, **options),
        lambda x, **options: _pooled(x, mode, **options),
        _drawn_pooling,
        text=text,
        weight=0.4,
        ulp=64,
        imports="from theano_tensor.signal import pool",
    )


def _drawn_pooling(d: Draw) -> Drawn:
    dtype = d.any_dtype(_DTYPES)
    lengths = tuple(d.between(2, 5) for _ in range(2))
    x = fitting(d, dtype, (*(d.between(1, 2) for _ in range(d.between(0, 2))), *lengths))
    size = tuple(d.between(1, min(3, n)) for n in lengths)
    ignore = d.chance(0.6)
    options: dict[str, Any] = {"ws": size, "ignore_border": ignore}
    if d.chance(0.5):
        options["stride"] = tuple(d.between(1, 3) for _ in range(2))
    if ignore and d.chance(0.4):
        options["pad"] = tuple(d.between(0, n - 1) for n in size)
    return [x], options


def _pooled(x: Any, mode: str, ws: Any, ignore_border: bool, stride: Any = None, pad: Any = (0, 0)) -> Any:
    steps = stride or ws
    lengths = x.shape[-2:]
    positions = [_positions(n + 2 * p, w, s, ignore_border) for n, w, s, p in zip(lengths, ws, steps, pad, strict=True)]
    result = np.zeros((*x.shape[:-2], *map(len, positions)), x.dtype)
    for i, top in enumerate(positions[0]):
        for j, left in enumerate(positions[1]):
            (a, b), (c, e) = (_clipped(k - p, w, n) for k, p, w, n in zip((top, left), pad, ws, lengths, strict=True))
            window = x[..., a:b, c:e].astype("float64")
            if mode == "max":
                result[..., i, j] = window.max((-2, -1))
            else:
                total = window.sum((-2, -1))
                count = (
                    ws[0] * ws[1]
                    if mode == "average_inc_pad" and ignore_border
                    else window[..., :, :].shape[-1] * (b - a)
                )
                result[..., i, j] = total if mode == "sum" else total / count
    return result


def _positions(length: int, size: int, step: int, ignore: bool) -> list[int]:
    if ignore:
        return list(range(0, length - size + 1, step))
    if step >= size:
        return list(range(0, length, step))
    count = max(0, -(-(length - size) // step)) + 1
    return [k * step for k in range(count)]


def _clipped(start: int, size: int, length: int) -> tuple[int, int]:
    return max(start, 0), min(start + size, length)


def _drawn_neighbours(d: Draw) -> Drawn:
    size = tuple(d.between(1, 2) for _ in range(2))
    step = tuple(d.between(1, 2) for _ in range(2))
    lengths = [w + s * d.between(0, 2) for w, s in zip(size, step, strict=True)]
    return [fitting(d, d.any_dtype(_DTYPES[:3]), (d.between(1, 2), d.between(1, 2), *lengths))], {
        "size": size,
        "step": step,
    }


def _neighbours(x: Any, size: Any, step: Any) -> Any:
    rows = [
        x[n, c, i : i + size[0], j : j + size[1]].reshape(-1)
        for n in range(x.shape[0])
        for c in range(x.shape[1])
        for i in range(0, x.shape[2] - size[0] + 1, step[0])
        for j in range(0, x.shape[3] - size[1] + 1, step[1])
    ]
    return np.stack(rows)
