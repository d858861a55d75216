"""Operations on whole arrays: reductions, shapes, joining, sorting, and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_tensor import nnet

from .._draw import ALL, DISCRETE, FLOATS, NUMBERS, REALS, Draw, NoOperands
from .._program import Operation, Options

Drawn = tuple[Sequence[int], Options]


def whole_array_operations() -> list[Operation]:
    """Return the operations of this module."""
    return [*_reductions(), *_views(), *_joins(), *_orders(), *_makers()]


# Reductions
def _axes(d: Draw, ndim: int) -> Any:
    if d.chance(0.25):
        return None
    if d.chance(0.6):
        axis = d.between(0, ndim - 1)
        return axis - ndim if d.chance(0.3) else axis
    chosen = [k for k in range(ndim) if d.chance(0.5)] or [0]
    return tuple(chosen)


def _reduced(dtypes: Sequence[str], *, filled: bool = False, one_axis: bool = False) -> Callable[[Draw], Drawn]:
    def draw(d: Draw) -> Drawn:
        x = d.pick(dtypes, (1, 2, 3, 4), where=(lambda i: d.values[i].size > 0) if filled else None)
        ndim = d.ndim(x)
        axis = d.between(0, ndim - 1) if one_axis else _axes(d, ndim)
        options: dict[str, Any] = {"axis": axis}
        if d.chance(0.3) and not one_axis:
            options["keepdims"] = True
        return [x], options

    return draw


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reference that adds truth values and small integers as 64 bits."""

    def reduce(x: Any, **options: Any) -> Any:
        if x.dtype.kind in "bi":
            x = x.astype("int64")
        elif x.dtype.kind == "u":
            x = x.astype("uint64")
        return function(x, **options)

    return reduce


def _product(x: Any, **options: Any) -> Any:
    """Multiply narrow floats as wide ones: in another order, a part of a product may be too small for the narrow."""
    wide = {"float16": "float64", "float32": "float64", "complex64": "complex128"}.get(x.dtype.name, x.dtype.name)
    with np.errstate(over="ignore"):
        return np.prod(x.astype(wide), **options).astype(x.dtype)


def _mean(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **options: function(x.astype("float64") if x.dtype.kind in "biu" else x, **options)


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, np.zeros_like(top))
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


def _lines(d: Draw) -> Drawn:
    x = d.pick(FLOATS, (1, 2, 3), where=lambda i: d.values[i].size > 0 and bool(np.all(np.abs(d.values[i]) < 1e3)))
    return [x], {"axis": d.between(0, d.ndim(x) - 1)}


def _logsoftmax(x: Any, axis: int) -> Any:
    return x - _logsumexp(x, axis=axis, keepdims=True)


def _softmax(x: Any, axis: int) -> Any:
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def _norm(x: Any, axis: int) -> Any:
    return np.sqrt(np.sum(x * x, axis=axis))


def _norm_text(names: Sequence[str], options: Options) -> str:
    return f"tt.norm({names[0]}, 2, axis={options['axis']})"


def _nnet_text(name: str) -> Callable[[Sequence[str], Options], str]:
    return lambda names, o: f"tt.nnet.{name}({names[0]}, axis={o['axis']})"


def _reductions() -> list[Operation]:
    some = {"filled": True}
    return [
        Operation("sum", tt.sum, _wide(np.sum), _reduced(ALL), weight=5),
        Operation("prod", tt.prod, _wide(_product), _reduced(ALL), weight=1.5),
        Operation("max", tt.max, np.max, _reduced(NUMBERS, **some), weight=1.5),
        Operation("min", tt.min, np.min, _reduced(NUMBERS, **some)),
        Operation("all", tt.all, np.all, _reduced(REALS)),
        Operation("any", tt.any, np.any, _reduced(REALS)),
        Operation("mean", tt.mean, _mean(np.mean), _reduced(REALS, **some), weight=2),
        Operation("var", tt.var, _mean(np.var), _reduced(FLOATS, **some), ulp=64),
        Operation("std", tt.std, _mean(np.std), _reduced(FLOATS, **some), ulp=64),
        Operation("ptp", tt.ptp, lambda x, axis: np.ptp(x, axis=axis), _reduced(FLOATS, filled=True, one_axis=True)),
        Operation("logsumexp", tt.logsumexp, _logsumexp, _reduced(FLOATS, **some), ulp=64),
        Operation("softmax", nnet.softmax, _softmax, _lines, text=_nnet_text("softmax"), ulp=64),
        Operation("logsoftmax", nnet.logsoftmax, _logsoftmax, _lines, text=_nnet_text("logsoftmax"), ulp=64),
        Operation("norm", lambda x, axis: tt.norm(x, 2, axis=axis), _norm, _lines, text=_norm_text, ulp=64, weight=0.5),
        Operation("argmax", tt.argmax, np.argmax, _reduced(NUMBERS, filled=True, one_axis=True)),
        Operation("argmin", tt.argmin, np.argmin, _reduced(NUMBERS, filled=True, one_axis=True)),
        Operation("cumsum", tt.cumsum, _wide(np.cumsum), _reduced(NUMBERS, one_axis=True)),
        Operation("cumprod", tt.cumprod, _wide(np.cumprod), _reduced(FLOATS, one_axis=True)),
        Operation("diff", tt.diff, np.diff, _reduced(NUMBERS, filled=True, one_axis=True)),
    ]


# Views
def _permuted(d: Draw) -> Drawn:
    x = d.pick(ALL, (0, 1, 2, 3))
    broadcasted = d.broadcastable(x)
    saved = [k for k in range(d.ndim(x)) if not (broadcasted[k] and d.chance(0.5))]
    order: list[Any] = [int(k) for k in d.rng.permutation(saved)] if d.chance(0.7) else list(saved)
    while len(order) < 4 and d.chance(0.35):
        order.insert(d.between(0, len(order)), "x")
    return [x], {"order": tuple(order)}


def _dimshuffle(x: Any, order: tuple[Any, ...]) -> Any:
    saved = [k for k in order if k != "x"]
    dropped = tuple(k for k in range(x.ndim) if k not in saved)
    moved = np.squeeze(x, dropped)
    left = [k for k in range(x.ndim) if k in saved]
    moved = np.transpose(moved, [left.index(k) for k in saved])
    return np.expand_dims(moved, tuple(i for i, k in enumerate(order) if k == "x"))


def _reshaped(d: Draw) -> Drawn:
    x = d.pick(ALL)
    size = int(d.values[x].size)
    shape: list[int] = []
    left = size
    for _ in range(d.between(0, 3)):
        divisors = [n for n in range(1, left + 1) if left % n == 0] or [0, 1, 2]
        shape.append(d.one_of(divisors))
        left = left // shape[-1] if shape[-1] else left
    if left != 1 or not shape:
        shape.insert(d.between(0, len(shape)), left)
    if int(np.prod(shape)) != size or len(shape) > 4:
        raise NoOperands
    if size and d.chance(0.4):
        shape[d.between(0, len(shape) - 1)] = -1
    return [x], {"shape": tuple(shape)}


def _shaped_like(d: Draw) -> Drawn:
    """Reshape to the shape of another item, or of a flat one: lengths that only run time tells."""
    x = d.pick(ALL)
    y = d.pick(ALL, where=lambda i: d.values[i].size == d.values[x].size)
    return [x, y], {}


def _rolled(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    return [x], {"shift": d.between(-3, 4), "axis": d.between(0, d.ndim(x) - 1)}


def _axis_only(dims: Sequence[int] = (1, 2, 3)) -> Callable[[Draw], Drawn]:
    def draw(d: Draw) -> Drawn:
        x = d.pick(ALL, dims)
        return [x], {"axis": d.between(0, d.ndim(x) - 1)}

    return draw


def _moved(d: Draw) -> Drawn:
    x = d.pick(ALL, (2, 3, 4))
    return [x], {"axis1": d.between(0, d.ndim(x) - 1), "axis2": d.between(0, d.ndim(x) - 1)}


def _views() -> list[Operation]:
    def anything(d: Draw) -> Drawn:
        return [d.pick(ALL)], {}

    def matrix(d: Draw) -> Drawn:
        return [d.pick(ALL, 2)], {}

    return [
        Operation(
            "dimshuffle",
            lambda x, order: x.dimshuffle(*order),
            _dimshuffle,
            _permuted,
            text=lambda names, o: f"{names[0]}.dimshuffle({', '.join(map(repr, o['order']))})",
            weight=4,
        ),
        Operation(
            "reshape",
            lambda x, shape: tt.reshape(x, shape, ndim=len(shape)),
            lambda x, shape: np.reshape(x, shape),
            _reshaped,
            text=lambda names, o: f"tt.reshape({names[0]}, {o['shape']!r}, ndim={len(o['shape'])})",
            weight=3,
        ),
        Operation(
            "reshape_like",
            lambda x, y: tt.reshape(x, y.shape, ndim=y.ndim),
            lambda x, y: np.reshape(x, y.shape),
            _shaped_like,
            text=lambda names, _: f"tt.reshape({names[0]}, {names[1]}.shape, ndim={names[1]}.ndim)",
        ),
        Operation("flatten", tt.flatten, np.ravel, anything),
        Operation("transpose", tt.transpose, np.transpose, anything, weight=2),
        Operation("roll", tt.roll, np.roll, _rolled),
        Operation("flip", tt.flip, np.flip, _axis_only()),
        Operation("expand_dims", tt.expand_dims, np.expand_dims, _axis_only()),
        Operation(
            "swapaxes",
            tt.swapaxes,
            np.swapaxes,
            _moved,
            text=lambda names, o: f"tt.swapaxes({names[0]}, {o['axis1']}, {o['axis2']})",
        ),
        Operation("shape", tt.shape, lambda x: np.array(x.shape, "int64"), anything),
        Operation(
            "length",
            lambda x: x.shape[0],
            lambda x: np.int64(x.shape[0]),
            lambda d: ([d.pick(ALL, (1, 2, 3))], {}),
            text=lambda names, _: f"{names[0]}.shape[0]",
        ),
        Operation("size", tt.size, lambda x: np.int64(x.size), anything, weight=0.5),
        Operation("diagonal", tt.diagonal, np.diagonal, matrix, weight=0.5),
        Operation("tril", tt.tril, np.tril, matrix, weight=0.4),
        Operation("triu", tt.triu, np.triu, matrix, weight=0.4),
        Operation("atleast_2d", tt.atleast_2d, np.atleast_2d, anything, weight=0.3),
    ]


# Joining
def _joined(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    axis = d.between(0, d.ndim(x) - 1)

    def fits(i: int) -> bool:
        return d.ndim(i) == d.ndim(x) and all(
            k == axis or (m == n and d.broadcastable(i)[k] == d.broadcastable(x)[k])
            for k, (m, n) in enumerate(zip(d.shape(i), d.shape(x), strict=True))
        )

    others = [d.pick(ALL, where=fits) for _ in range(d.between(0, 2))]
    parts = [x, *others]
    d.rng.shuffle(parts)
    return parts, {"axis": axis - d.ndim(x) if d.chance(0.2) else axis}


def _stacked(d: Draw) -> Drawn:
    x = d.pick(ALL, (0, 1, 2))
    others = [
        d.pick(ALL, where=lambda i: d.shape(i) == d.shape(x) and d.broadcastable(i) == d.broadcastable(x))
        for _ in range(d.between(1, 2))
    ]
    return [x, *others], {"axis": d.between(0, d.ndim(x))}


def _splits(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2, 3))
    axis = d.between(0, d.ndim(x) - 1)
    length = d.shape(x)[axis]
    first = d.between(0, length)
    sizes = (first, length - first) if d.chance(0.7) else (length,)
    return [x], {"sizes": sizes, "axis": axis, "part": d.between(0, len(sizes) - 1)}


def _split(x: Any, sizes: tuple[int, ...], axis: int, part: int) -> Any:
    return np.split(x, np.cumsum(sizes)[:-1], axis=axis)[part]


def _joins() -> list[Operation]:
    return [
        Operation(
            "concatenate",
            lambda *parts, axis: tt.concatenate(list(parts), axis=axis),
            lambda *parts, axis: np.concatenate(parts, axis=axis),
            _joined,
            text=lambda names, o: f"tt.concatenate([{', '.join(names)}], axis={o['axis']})",
            weight=2.5,
        ),
        Operation(
            "stack",
            lambda *parts, axis: tt.stack(list(parts), axis=axis),
            lambda *parts, axis: np.stack(parts, axis=axis),
            _stacked,
            text=lambda names, o: f"tt.stack([{', '.join(names)}], axis={o['axis']})",
        ),
        Operation(
            "split",
            lambda x, sizes, axis, part: _part(tt.split(x, list(sizes), len(sizes), axis), part),
            _split,
            _splits,
            text=lambda names, o: (
                f"tt.split({names[0]}, {list(o['sizes'])}, {len(o['sizes'])}, {o['axis']})"
                + (f"[{o['part']}]" if len(o["sizes"]) > 1 else "")
            ),
            weight=1.5,
        ),
        Operation("tile", tt.tile, np.tile, _tiled, weight=0.7),
        Operation("repeat", tt.repeat, np.repeat, _repeated, weight=0.7),
    ]


def _part(results: Any, part: int) -> Any:
    return results[part] if isinstance(results, (list, tuple)) else results


def _tiled(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2))
    return [x], {"reps": tuple(d.between(0 if d.chance(0.1) else 1, 3) for _ in range(d.ndim(x)))}


def _repeated(d: Draw) -> Drawn:
    x = d.pick(ALL, (1, 2))
    return [x], {"repeats": d.between(0, 3), "axis": d.between(0, d.ndim(x) - 1)}


# Sorting and counting
def _vector_of_counts(d: Draw) -> Drawn:
    return [d.pick(("int64", "int32", "int8", "uint8"), 1, where=lambda i: _counts(d.values[i]))], {}


def _counts(value: Any) -> bool:
    return bool(value.size and np.all((value >= 0) & (value < 20)))


def _searched(d: Draw) -> Drawn:
    x = d.pick(FLOATS, 1, where=lambda i: bool(np.all(np.diff(d.values[i]) >= 0)))
    return [x, d.pick((d.dtype(x),), (0, 1, 2))], {"side": d.one_of(("left", "right"))}


def _orders() -> list[Operation]:
    return [
        Operation("sort", tt.sort, np.sort, _reduced(NUMBERS, one_axis=True)),
        Operation("argsort", tt.argsort, np.argsort, _argsorted, weight=0.5),
        Operation("bincount", tt.bincount, np.bincount, _vector_of_counts, weight=0.3),
        Operation("searchsorted", tt.searchsorted, np.searchsorted, _searched, weight=0.3),
        Operation(
            "unique",
            tt.unique,
            np.unique,
            lambda d: ([d.pick(DISCRETE, 1)], {}),
            weight=0.3,
        ),
    ]


def _argsorted(d: Draw) -> Drawn:
    def distinct(i: int) -> bool:
        value = d.values[i]
        return bool(len(np.unique(value)) == value.size and not np.any(np.isnan(value)))

    x = d.pick(FLOATS, (1, 2), where=distinct)
    return [x], {"axis": d.between(0, d.ndim(x) - 1), "kind": "stable"}


# Arrays made of others
def _filled(d: Draw) -> Drawn:
    x = d.pick(ALL, (0, 1, 2))
    lead = tuple(d.between(1, 3) for _ in range(d.between(0, 2)))
    broadcasted = d.broadcastable(x)
    tail = tuple(d.between(1, 4) if broadcasted[k] else n for k, n in enumerate(d.shape(x)))
    return [x], {"shape": (*lead, *tail)}


def _makers() -> list[Operation]:
    return [
        Operation(
            "alloc",
            lambda x, shape: tt.alloc(x, *shape),
            lambda x, shape: np.broadcast_to(x, shape),
            _filled,
            text=lambda names, o: f"tt.alloc({', '.join([names[0], *map(repr, o['shape'])])})",
            weight=1.5,
        ),
        Operation(
            "alloc_like",
            lambda x, y: tt.alloc(x, *[y.shape[k] for k in range(y.ndim)]),
            lambda x, y: np.broadcast_to(x, y.shape),
            lambda d: ([d.pick(ALL, 0), d.pick(ALL, (1, 2, 3))], {}),
            text=lambda names, _: f"tt.alloc({names[0]}, *[{names[1]}.shape[k] for k in range({names[1]}.ndim)])",
        ),
        Operation(
            "arange_of_length",
            lambda x: tt.arange(x.shape[0]),
            lambda x: np.arange(x.shape[0], dtype="int64"),
            lambda d: ([d.pick(ALL, (1, 2, 3))], {}),
            text=lambda names, _: f"tt.arange({names[0]}.shape[0])",
            weight=0.6,
        ),
        Operation("diag", tt.diag, np.diag, lambda d: ([d.pick(ALL, (1, 2))], {}), weight=0.4),
        Operation(
            "eye_of_length",
            lambda x: tt.eye(x.shape[0], dtype=x.dtype),
            lambda x: np.eye(x.shape[0], dtype=x.dtype),
            lambda d: ([d.pick(FLOATS, (1, 2))], {}),
            text=lambda names, _: f"tt.eye({names[0]}.shape[0], dtype={names[0]}.dtype)",
            weight=0.3,
        ),
    ]
