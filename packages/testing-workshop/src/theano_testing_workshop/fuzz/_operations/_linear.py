"""Products of matrices, and linear algebra on matrices that are well conditioned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_tensor import linalg

from .._programs._draw import COMPLEX, FLOATS, NUMBERS, Draw, NoOperands
from .._programs._program import Operation, Options

Drawn = tuple[Sequence[int], Options]
_DENSE = ("float64", "float32")


def linear_operations() -> list[Operation]:
    """Return the operations of this module."""
    return [*_products(), *_forms(), *_algebra()]


def _product_of(dtypes: Sequence[str]) -> Callable[[Draw], Drawn]:
    def draw(d: Draw) -> Drawn:
        x = d.pick(dtypes, (1, 2))
        inner = d.shape(x)[-1]

        def fits(i: int) -> bool:
            return d.shape(i)[0] == inner and d.broadcastable(i)[0] == d.broadcastable(x)[-1]

        try:
            y = d.pick(dtypes, (1, 2), where=fits)
        except NoOperands:
            static = 1 if d.broadcastable(x)[-1] else None
            y = d.leaf(d.dtype(x), (inner, d.between(1, 4)), static=(static, None))
        return [x, y], {}

    return draw


def _two_matrices(d: Draw, dtypes: Sequence[str]) -> tuple[int, int]:
    x = d.pick(dtypes, 2)
    inner = d.shape(x)[1]
    try:
        y = d.pick((d.dtype(x),), 2, where=lambda i: d.shape(i)[0] == inner and i != x)
    except NoOperands:
        y = d.leaf(d.dtype(x), (inner, d.between(1, 4)), static=(None, None))
    return x, y


def _batches(d: Draw) -> Drawn:
    n, a, b, c = (d.between(1, 3) for _ in range(4))
    dtype = d.any_dtype(FLOATS[:2])
    x = d.pick((dtype,), 3) if d.chance(0.5) else d.leaf(dtype, (n, a, b), static=(None,) * 3)
    n, a, b = d.shape(x)
    y = d.leaf(
        dtype, (n, b, c), static=(1 if d.broadcastable(x)[0] else None, 1 if d.broadcastable(x)[2] else None, None)
    )
    return [x, y], {}


def _contracted(d: Draw) -> Drawn:
    x = d.pick(FLOATS[:2], (2, 3))
    y = d.leaf(d.dtype(x), (*d.shape(x)[-1:], d.between(1, 3)), static=(1 if d.broadcastable(x)[-1] else None, None))
    return [x, y], {"axes": 1}


def _vectors(d: Draw) -> Drawn:
    return [d.pick(NUMBERS, 1), d.pick(NUMBERS, 1)], {}


def _products() -> list[Operation]:
    numbers = ("int64", "int32", *FLOATS, *COMPLEX)
    return [
        Operation("dot", tt.dot, np.dot, _product_of(numbers), weight=3, promotes=True),
        Operation("matmul", tt.matmul, np.matmul, _product_of(FLOATS), promotes=True),
        Operation("batched_dot", tt.batched_dot, np.matmul, _batches, promotes=True),
        Operation("tensordot", tt.tensordot, np.tensordot, _contracted, promotes=True, weight=0.7),
        Operation("outer", tt.outer, np.outer, _vectors, promotes=True, weight=0.7),
        Operation(
            "einsum",
            lambda x, y: tt.einsum("ij,jk->ki", x, y),
            lambda x, y: np.einsum("ij,jk->ki", x, y),
            lambda d: (list(_two_matrices(d, _DENSE)), {}),
            text=lambda names, _: f"tt.einsum('ij,jk->ki', {', '.join(names)})",
            promotes=True,
            weight=0.5,
        ),
    ]


def _with_rest(d: Draw) -> Drawn:
    """A product and what is added to it: the form of BLAS."""
    x, y = _two_matrices(d, _DENSE)
    shape = (d.shape(x)[0], d.shape(y)[1])
    pattern = (d.broadcastable(x)[0], d.broadcastable(y)[1])
    try:
        z = d.pick((d.dtype(x),), 2, where=lambda i: d.shape(i) == shape and d.broadcastable(i) == pattern)
    except NoOperands:
        z = d.leaf(d.dtype(x), shape, static=tuple(1 if s else None for s in pattern))
    return [x, y, z], {"factor": d.one_of((1, -1, 2, 0.5, -0.25, 0)), "rest": d.one_of((1, -1, 1, 0.5, 0, 2))}


def _gemm(x: Any, y: Any, z: Any, factor: float, rest: float) -> Any:
    return rest * z + factor * x.dot(y)


def _gemm_of_transposes(x: Any, y: Any, z: Any, factor: float, rest: float) -> Any:
    return rest * z - factor * y.T.dot(x.T).T


def _with_vector(d: Draw) -> Drawn:
    x = d.pick(_DENSE, 2)
    y = d.leaf(d.dtype(x), (d.shape(x)[1],), static=(1 if d.broadcastable(x)[1] else None,))
    z = d.leaf(d.dtype(x), (d.shape(x)[0],), static=(1 if d.broadcastable(x)[0] else None,))
    return [x, y, z], {"factor": d.one_of((1, -1, 2, 0.5)), "rest": d.one_of((1, -1, 0.5, 2))}


def _ger(x: Any, y: Any, z: Any, factor: float) -> Any:
    return z + factor * y[:, None] * x[None, :]


def _with_outer(d: Draw) -> Drawn:
    z = d.pick(_DENSE, 2)
    x = d.leaf(d.dtype(z), (d.shape(z)[1],), static=(1 if d.broadcastable(z)[1] else None,))
    y = d.leaf(d.dtype(z), (d.shape(z)[0],), static=(1 if d.broadcastable(z)[0] else None,))
    return [x, y, z], {"factor": d.one_of((1, -1, 2, 0.5))}


def _forms() -> list[Operation]:
    return [
        Operation(
            "gemm",
            _gemm,
            _gemm,
            _with_rest,
            text=lambda n, o: f"{o['rest']} * {n[2]} + {o['factor']} * {n[0]}.dot({n[1]})",
            weight=1.5,
        ),
        Operation(
            "gemm_of_transposes",
            _gemm_of_transposes,
            _gemm_of_transposes,
            _with_rest,
            text=lambda n, o: f"{o['rest']} * {n[2]} - {o['factor']} * {n[1]}.T.dot({n[0]}.T).T",
        ),
        Operation(
            "gemv",
            _gemm,
            _gemm,
            _with_vector,
            text=lambda n, o: f"{o['rest']} * {n[2]} + {o['factor']} * {n[0]}.dot({n[1]})",
        ),
        Operation(
            "ger",
            _ger,
            _ger,
            _with_outer,
            text=lambda n, o: f"{n[2]} + {o['factor']} * {n[1]}[:, None] * {n[0]}[None, :]",
        ),
    ]


# Linear algebra
def _stable(x: Any) -> Any:
    """A matrix near the identity that is made of any: it has an inverse, its symmetric part is positive."""
    return x / (4 * abs(x).sum() + 1)


def _stable_text(name: str) -> str:
    return f"{name} / (4 * abs({name}).sum() + 1) + tt.eye({name}.shape[0], dtype={name}.dtype)"


def _square(d: Draw) -> Drawn:
    x = d.pick(_DENSE, 2, where=lambda i: d.shape(i)[0] == d.shape(i)[1] > 0 and bool(np.isfinite(d.values[i]).all()))
    return [x], {}


def _of_square(name: str, ours: Callable[..., Any], reference: Callable[..., Any]) -> Operation:
    def build(x: Any) -> Any:
        return ours(_stable(x) + tt.eye(x.shape[0], dtype=x.dtype))

    return Operation(
        name,
        build,
        lambda x: reference(_stable(x) + np.eye(len(x), dtype=x.dtype)),
        _square,
        text=lambda n, _: f"linalg.{name}({_stable_text(n[0])})",
        weight=0.25,
        ulp=256,
        imports="from theano_tensor import linalg",
    )


def _algebra() -> list[Operation]:
    return [
        _of_square("matrix_inverse", linalg.matrix_inverse, np.linalg.inv),
        _of_square("det", linalg.det, np.linalg.det),
        _of_square("trace", linalg.trace, np.trace),
        Operation(
            "cholesky",
            lambda x: linalg.cholesky(x.dot(x.T) + tt.eye(x.shape[0], dtype=x.dtype)),
            lambda x: np.linalg.cholesky(x.dot(x.T) + np.eye(len(x), dtype=x.dtype)),
            lambda d: ([d.pick(_DENSE, 2, where=lambda i: _modest(d.values[i]))], {}),
            text=lambda n, _: f"linalg.cholesky({n[0]}.dot({n[0]}.T) + tt.eye({n[0]}.shape[0], dtype={n[0]}.dtype))",
            weight=0.3,
            ulp=256,
            imports="from theano_tensor import linalg",
        ),
        Operation(
            "solve",
            lambda x, y: linalg.solve(_stable(x) + tt.eye(x.shape[0], dtype=x.dtype), y),
            lambda x, y: np.linalg.solve(_stable(x) + np.eye(len(x), dtype=x.dtype), y),
            _system,
            text=lambda n, _: f"linalg.solve({_stable_text(n[0])}, {n[1]})",
            weight=0.3,
            ulp=256,
            imports="from theano_tensor import linalg",
        ),
    ]


def _modest(value: Any) -> bool:
    return bool(value.size and np.isfinite(value).all() and np.abs(value).max() < 30)


def _system(d: Draw) -> Drawn:
    (x,), _ = _square(d)
    static = 1 if d.broadcastable(x)[0] else None
    return [x, d.leaf(d.dtype(x), (d.shape(x)[0], d.between(1, 3)), static=(static, None))], {}
