"""Sparse matrices inside of programs: made of dense ones, and dense again at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_sparse as ts
import theano_tensor as tt

from .._programs._draw import COMPLEX, FLOATS, Draw, NoOperands
from .._programs._expressions import called, fitting
from .._programs._program import Operation, Options

Drawn = tuple[Sequence[int], Options]
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


#: What is done to sparse matrices `s` and `t` of one shape, dense `x` of that shape, `y` to the right of it, and
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
    found = fitting(d, dtype, shape)
    if d.chance(0.35):
        return found
    holes = d.rng.random(shape) < d.one_of((0.3, 0.6, 0.9))
    return d.leaf(dtype, shape, values=np.where(holes, 0, d.values[found]), static=(None, None))
