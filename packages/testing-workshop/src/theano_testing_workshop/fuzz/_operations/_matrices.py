"""Products of matrices, linear algebra on well-conditioned matrices, and sparse matrices inside of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_sparse as ts
import theano_tensor as tt
from theano_tensor import linalg

from .._draw import COMPLEX, FLOATS, NUMBERS, Draw, NoOperands, called, fitting
from .._program import Operation, Options

# ---- Products and linear algebra

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
    """A product and a summand: the form of BLAS."""
    x, y = _two_matrices(d, _DENSE)
    shape = (d.shape(x)[0], d.shape(y)[1])
    pattern = (d.broadcastable(x)[0], d.broadcastable(y)[1])
    try:
        z = d.pick((d.dtype(x),), 2, where=lambda i: d.shape(i) == shape and d.broadcastable(i) == pattern)
    except NoOperands:
        z = d.leaf(d.dtype(x), shape, static=tuple(1 if s else None for s in pattern))
    return [x, y, z], {"factor": d.one_of((1, -1, 2, 0.5, -0.25, 0)), "share": d.one_of((1, -1, 1, 0.5, 0, 2))}


def _gemm(x: Any, y: Any, z: Any, factor: float, share: float) -> Any:
    return share * z + factor * x.dot(y)


def _gemm_of_transposes(x: Any, y: Any, z: Any, factor: float, share: float) -> Any:
    return share * z - factor * y.T.dot(x.T).T


def _with_vector(d: Draw) -> Drawn:
    x = d.pick(_DENSE, 2)
    y = d.leaf(d.dtype(x), (d.shape(x)[1],), static=(1 if d.broadcastable(x)[1] else None,))
    z = d.leaf(d.dtype(x), (d.shape(x)[0],), static=(1 if d.broadcastable(x)[0] else None,))
    return [x, y, z], {"factor": d.one_of((1, -1, 2, 0.5)), "share": d.one_of((1, -1, 0.5, 2))}


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
            text=lambda n, o: f"{o['share']} * {n[2]} + {o['factor']} * {n[0]}.dot({n[1]})",
            weight=1.5,
        ),
        Operation(
            "gemm_of_transposes",
            _gemm_of_transposes,
            _gemm_of_transposes,
            _with_rest,
            text=lambda n, o: f"{o['share']} * {n[2]} - {o['factor']} * {n[1]}.T.dot({n[0]}.T).T",
        ),
        Operation(
            "gemv",
            _gemm,
            _gemm,
            _with_vector,
            text=lambda n, o: f"{o['share']} * {n[2]} + {o['factor']} * {n[0]}.dot({n[1]})",
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


# ---- Sparse matrices, dense again at the end

_DTYPES = ("float64", "float64", "float32", "int64", "int8", *COMPLEX)

_UNARY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "neg": (ts.neg, np.negative),
    "sqr": (ts.sqr, np.square),
    "sgn": (ts.sgn, np.sign),
    "abs": (ts.abs_, np.abs),
    "sin": (ts.sin, np.sin),
    "tanh": (ts.tanh, np.tanh),
    "expm1": (ts.expm1, np.expm1),
    "rint": (ts.rint, np.rint),
    "arctan": (ts.arctan, np.arctan),
    "floor": (ts.floor, np.floor),
    "structured_exp": (ts.structured_exp, np.exp),
    "structured_sigmoid": (ts.structured_sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "structured_pow": (lambda s: ts.structured_pow(s, 2), lambda x: x**2),
    "structured_add": (lambda s: ts.structured_add(s, 3), lambda x: x + x.dtype.type(3)),
    "structured_maximum": (lambda s: ts.structured_maximum(s, 1), lambda x: np.maximum(x, x.dtype.type(1))),
}
_FLOATING = ("sin", "tanh", "expm1", "rint", "arctan", "floor", "structured_exp", "structured_sigmoid")
_ORDERED = ("sgn", "rint", "floor", "arctan", "structured_maximum", "structured_sigmoid", "tanh", "abs")


def _product(s: Any, y: Any, both: bool = False) -> Any:
    """Return a product of matrices in which zeros of the first one, or of both, are no elements."""
    terms = s[:, :, None] * y[None]
    there = (s[:, :, None] != 0) & (y[None] != 0) if both else s[:, :, None] != 0
    return np.where(there, terms, 0).sum(1, dtype=s.dtype)


#: Functions of sparse matrices `s` and `t` of one shape, dense `x` of that shape, `y` to the right of it, and
#: vectors `r` of a row and `c` of a column; the same in NumPy, where `m` is the structure of `s`.
_FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "dot": (lambda s, y: ts.dot(s, y), lambda s, y: _product(s, y)),
    "structured_dot": (lambda s, y: ts.structured_dot(s, y), lambda s, y: _product(s, y)),
    "true_dot": (lambda s, y: ts.dense_from_sparse(ts.true_dot(s, y)), lambda s, y: _product(s, y)),
    "dot_of_dense": (lambda s, y: ts.dot(y.T, s.T), lambda s, y: _product(s, y).T),
    "dot_of_two": (lambda s, t: ts.dense_from_sparse(ts.true_dot(s, t.T)), lambda s, t: _product(s, t.T, True)),
    "sum_of_products": (lambda s, y, z: z - 2 * ts.dot(s, y), lambda s, y, z: z - s.dtype.type(2) * _product(s, y)),
    "sampled": (
        lambda s, y, z: ts.dense_from_sparse(ts.sampling_dot(y, z, s)),
        lambda s, y, z: np.where(s != 0, y.dot(z.T) * s, 0),
    ),
    "add": (lambda s, t: ts.dense_from_sparse(ts.add(s, t)), lambda s, t: s + t),
    "sub": (lambda s, t: ts.dense_from_sparse(ts.sub(s, t)), lambda s, t: s - t),
    "mul": (lambda s, t: ts.dense_from_sparse(ts.mul(s, t)), lambda s, t: s * t),
    "add_dense": (lambda s, x: ts.add(s, x), lambda s, x: s + x),
    "mul_dense": (lambda s, x: ts.dense_from_sparse(ts.mul(s, x)), lambda s, x: np.where(s != 0, s * x, 0)),
    "col_scale": (lambda s, r: ts.dense_from_sparse(ts.col_scale(s, r)), lambda s, r: np.where(s != 0, s * r, 0)),
    "row_scale": (
        lambda s, c: ts.dense_from_sparse(ts.row_scale(s, c)),
        lambda s, c: np.where(s != 0, s * c[:, None], 0),
    ),
    "hstack": (lambda s, t: ts.dense_from_sparse(ts.hstack([s, t])), lambda s, t: np.hstack([s, t])),
    "vstack": (lambda s, t: ts.dense_from_sparse(ts.vstack([s, t])), lambda s, t: np.vstack([s, t])),
    "transpose": (lambda s: ts.dense_from_sparse(s.T), np.transpose),
    "parts": (
        lambda s: ts.dense_from_sparse(_rebuilt(s)),
        np.array,
    ),
    "doubled_parts": (lambda s: ts.dense_from_sparse(_rebuilt(s, 2)), lambda s: s + s),
    "remove0": (lambda s: ts.dense_from_sparse(ts.remove0(s)), np.array),
    "sorted": (lambda s: ts.dense_from_sparse(ts.ensure_sorted_indices(s.T).T), np.array),
    "clean": (lambda s: ts.dense_from_sparse(ts.clean(s)), np.array),
    "sum": (lambda s: ts.sp_sum(s), np.sum),
    "sum_of_columns": (lambda s: ts.sp_sum(s, axis=0), lambda s: s.sum(0)),
    "sum_of_rows": (lambda s: ts.sp_sum(s, axis=1), lambda s: s.sum(1)),
    "diag": (lambda s: ts.diag(s[: tt.minimum(*s.shape), : tt.minimum(*s.shape)]), np.diag),
    "square_diagonal": (lambda s, r: ts.dense_from_sparse(ts.square_diagonal(r)), lambda s, r: np.diag(r)),
    "part": (lambda s: ts.dense_from_sparse(s[1:, :2]), lambda s: s[1:, :2]),
    "row": (lambda s: ts.dense_from_sparse(s[-1:, :]), lambda s: s[-1:, :]),
    "element": (lambda s: s[0, -1], lambda s: s[0, -1]),
    "some_rows": (lambda s: ts.dense_from_sparse(s[[0, -1, 0]]), lambda s: s[[0, -1, 0]]),
    "some_elements": (lambda s: s[[0, -1], [-1, 0]], lambda s: s[[0, -1], [-1, 0]]),
    "less": (lambda s, t: ts.dense_from_sparse(ts.lt(s, t)), lambda s, t: (s < t).astype("uint8")),
    "less_than_dense": (lambda s, x: ts.ge(s, x), lambda s, x: (s >= x).astype("uint8")),
}
#: The operands of each form after the first sparse matrix.
_OPERANDS = {
    **dict.fromkeys(("dot", "structured_dot", "true_dot", "dot_of_dense"), "y"),
    **dict.fromkeys(("dot_of_two", "add", "sub", "mul", "hstack", "vstack", "less"), "t"),
    **dict.fromkeys(("add_dense", "mul_dense", "less_than_dense"), "x"),
    **dict.fromkeys(("col_scale", "square_diagonal"), "r"),
    "row_scale": "c",
    "sum_of_products": "yz",
    "sampled": "uv",
}
_LINEAR = ("dot", "structured_dot", "true_dot", "dot_of_dense", "sum_of_products", "add", "add_dense", "transpose")


def _rebuilt(s: Any, factor: int = 1) -> Any:
    """Return a sparse matrix that is made of the parts of another one."""
    make = ts.CSC if s.type.format == "csc" else ts.CSR
    return make(ts.csm_data(s) * np.asarray(factor, s.dtype), ts.csm_indices(s), ts.csm_indptr(s), ts.csm_shape(s))


def sparse_operations() -> list[Operation]:
    """Return the operations of this module."""
    imports = "from theano_testing_workshop.fuzz import of_sparse"
    return [
        Operation(
            f"sparse_{form}",
            of_sparse,
            _reference,
            _drawn(form),
            called("of_sparse"),
            0.3 if form in _LINEAR else 0.12,
            ulp=64,
            imports=imports,
        )
        for form in _FORMS
    ]


def of_sparse(*operands: Any, form: str, formats: tuple[str, ...], before: str | None = None) -> Any:
    """Return a dense result of an operation on sparse matrices.

    Parameters
    ----------
    *operands : variables
        Dense; the first one becomes sparse, others where the form wants it.
    form : str
        Name of an operation.
    formats : tuple of str
        'csc' or 'csr', of the sparse operands.
    before : str, optional
        Name of a function of the elements that the first one is given.
    """
    make = {"csc": ts.csc_from_dense, "csr": ts.csr_from_dense}
    kinds = "s" + _OPERANDS.get(form, "")
    names = iter(formats)
    given = [make[next(names)](x) if kind in "st" else x for x, kind in zip(operands, kinds, strict=True)]
    if before is not None:
        given[0] = _UNARY[before][0](given[0])
    return _FORMS[form][0](*given)


def _reference(*operands: Any, form: str, formats: tuple[str, ...], before: str | None = None) -> Any:
    first = operands[0]
    if before is not None:
        first = np.where(first != 0, _UNARY[before][1](first), 0).astype(first.dtype)
    return _FORMS[form][1](first, *operands[1:])


def _drawn(form: str) -> Callable[[Draw], Drawn]:
    def draw(d: Draw) -> Drawn:
        dtype = d.any_dtype(_DTYPES) if d.chance(0.5) else str(d.one_of(_DTYPES))
        if form.startswith("less") and dtype in COMPLEX:
            raise NoOperands(form)
        rows, columns, inner = (d.between(1, 4) for _ in range(3))
        shapes = {
            "s": (rows, columns),
            "t": (rows, columns),
            "x": (rows, columns),
            "y": (columns, inner),
            "z": (rows, inner),
            "u": (rows, inner),
            "v": (columns, inner),
            "r": (columns,),
            "c": (rows,),
        }
        kinds = "s" + _OPERANDS.get(form, "")
        operands = [_holed(d, dtype, shapes[k]) if k in "st" else fitting(d, dtype, shapes[k]) for k in kinds]
        formats = [str(d.one_of(("csc", "csr"))) for k in kinds if k in "st"]
        if len(set(formats)) > 1 and (form == "less" or d.chance(0.7)):
            formats = [formats[0]] * len(formats)
        options: dict[str, Any] = {"form": form, "formats": tuple(formats)}
        if d.chance(0.35):
            name = str(d.one_of(tuple(_UNARY)))
            if (name not in _FLOATING or dtype in FLOATS) and (name not in _ORDERED or dtype not in COMPLEX):
                options["before"] = name
        return operands, options

    return draw


def _holed(d: Draw, dtype: str, shape: tuple[int, ...]) -> int:
    """Return a matrix many of whose elements are zero."""
    match = fitting(d, dtype, shape)
    if d.chance(0.35):
        return match
    holes = d.rng.random(shape) < d.one_of((0.3, 0.6, 0.9))
    return d.leaf(dtype, shape, values=np.where(holes, 0, d.values[match]), static=(None, None))
