"""From uniform numbers to categories: draws with given probabilities, with replacement and without."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, batch_rule, describe, format_error, shape_rule

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, TensorLike, canonical_dtype
from ..._core._ops import DiscreteOp, run_in_a_loop
from ..._core._type import Tensor, tensor_type
from ..._errors import DTypeError, ShapeError
from ...elemwise import cast

#: Probabilities that add up to 1 but for rounding leave no gap above the last category.
SLACK = 1e-5

_SUPPORT = """
/* Which category a number from 0 to `whole` falls into: the first whose running sum of probabilities exceeds it. Past
 * the sum it is the last possible one where `closed` is set, and otherwise none: -1. */
static inline npy_intp theano_category(const double *p, npy_intp k, double u, int closed) {
    double sum = 0;
    for (npy_intp j = 0; j < k; j++) {
        sum += p[j];
        if (u < sum)
            return j;
    }
    if (closed)
        for (npy_intp j = k - 1; j >= 0; j--)
            if (p[j] > 0)
                return j;
    return -1;
}
"""

_CODE = """
{
    npy_intp rows = PyArray_DIM(%(pvals)s, 0), k = PyArray_DIM(%(pvals)s, 1), dims[2] = {0, 0};
    npy_int64 draws = *(npy_int64 *)PyArray_DATA(%(n)s);
    double *p, *taken;
    if (draws < 0 || PyArray_DIM(%(unis)s, 0) != rows * draws) {
        PyErr_Format(PyExc_ValueError, "%(op)s: %%lld draws from %%zd rows need as many uniform numbers, got %%zd",
                     (long long)draws, (Py_ssize_t)rows, (Py_ssize_t)PyArray_DIM(%(unis)s, 0));
        %(fail)s
    }
    if (%(excess)s) {
        PyErr_Format(PyExc_ValueError, "%(op)s: %%lld draws from %%zd categories: there are not so many",
                     (long long)draws, (Py_ssize_t)k);
        %(fail)s
    }
    dims[0] = rows;
    dims[1] = %(width)s;
    Py_XDECREF((PyObject *)%(out)s);
    %(out)s = (PyArrayObject *)PyArray_ZEROS(2, dims, %(number)s, 0);
    p = (double *)PyMem_Malloc((size_t)(2 * k + 1) * sizeof(double));
    taken = p + k;
    if (%(out)s == NULL || p == NULL) {
        PyMem_Free(p);
        if (%(out)s != NULL)
            PyErr_NoMemory();
        %(fail)s
    }
    for (npy_intp i = 0; i < rows; i++) {
        dtype_%(out)s *row = (dtype_%(out)s *)PyArray_GETPTR2(%(out)s, i, 0);
        double total = 0;
        for (npy_intp j = 0; j < k; j++) {
            p[j] = (double)*(dtype_%(pvals)s *)PyArray_GETPTR2(%(pvals)s, i, j);
            total += p[j];
            taken[j] = 0;
        }
        for (npy_int64 c = 0; c < draws; c++) {
            double u = (double)*(dtype_%(unis)s *)PyArray_GETPTR1(%(unis)s, c * rows + i);
            %(draw)s
        }
    }
    PyMem_Free(p);
}
"""

_COUNT = """npy_intp j = theano_category(p, k, u, total > 1 - %(slack)s);
            if (j >= 0)
                row[j] += 1;"""
_WITH = """row[c] = (dtype_%(out)s)(total > 0 ? theano_category(p, k, u * total, 1) : 0);"""
_WITHOUT = """double left = 0;
            npy_intp j = 0;
            if (total > 0) {
                for (j = 0; j < k; j++)
                    left += p[j];
                j = left > 0 ? theano_category(p, k, u * left, 1) : -1;
                if (j < 0)
                    for (j = 0; taken[j] != 0; j++)
                        ;
                p[j] = 0;
                taken[j] = 1;
            }
            row[c] = (dtype_%(out)s)j;"""


def _categories(chances: Any, numbers: Any, closed: Any) -> Any:
    """Return a category for each row, or -1, as `theano_category` does in C."""
    sums = np.cumsum(chances, axis=1)
    below = numbers[:, None] < sums
    categories = below.argmax(axis=1)
    possible = chances > 0
    last = chances.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)
    past = np.where(closed & possible.any(axis=1), last, -1)
    return np.where(below.any(axis=1), categories, past)


def _dtype(node: Apply) -> str:
    kind: Any = node.outputs[0].type
    dtype: str = kind.dtype
    return dtype


class _FromUniform(DiscreteOp):
    """The common part of both ops: probabilities in rows, uniform numbers, and a number of draws."""

    _draw = ""
    _width = "k"
    _excess = "0"

    def __init__(self, odtype: str) -> None:
        self.odtype = odtype if odtype == "auto" else canonical_dtype(odtype, "float64")

    def make_node(self, pvals: TensorLike, unis: TensorLike, n: TensorLike = 1) -> Apply[Self, Tensor]:
        """Apply to a matrix of probabilities, ``n * rows`` uniform numbers, and the number of draws from each row.

        Raises
        ------
        ShapeError, DTypeError
            If an operand has other dimensions or another dtype.
        """
        chances, numbers, draws = as_tensor_variable(pvals), as_tensor_variable(unis), as_tensor_variable(n)
        for variable, ndim, what in ((chances, 2, "probabilities"), (numbers, 1, "uniform numbers"), (draws, 0, "n")):
            if variable.type.ndim != ndim:
                raise ShapeError(
                    format_error(
                        f"{self}: {what} must have {ndim} dimensions, not {variable.type.ndim}",
                        context=[describe(variable)],
                        hint="use p[None, :] for one row, or reshape",
                    )
                )
        if draws.type.dtype not in INTEGER_DTYPES:
            raise DTypeError(format_error(f"{self}: the number of draws is no integer", context=[describe(draws)]))
        kinds = ("float32", "float64")
        chances, numbers = (v if v.type.dtype in kinds else cast(v, "float64") for v in (chances, numbers))
        kind = tensor_type(
            self._chosen_dtype(chances) if self.odtype == "auto" else self.odtype,
            (chances.type.shape[0], self._static_width(chances, draws)),
        )
        return Apply(self, [chances, numbers, cast(draws, "int64")], [kind.make_variable()])

    def _chosen_dtype(self, chances: Any) -> str:
        dtype: str = chances.type.dtype
        return dtype

    def _static_width(self, chances: Any, draws: Any) -> int | None:
        width: int | None = chances.type.shape[1]
        return width

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Draw with NumPy, for all rows at once."""
        pvals, unis, n = inputs[0].astype("float64"), inputs[1].astype("float64"), int(inputs[2])
        rows = len(pvals)
        if n < 0 or len(unis) != rows * n:
            raise ValueError(f"{type(self).__name__}: {n} draws from {rows} rows need as many uniform numbers")
        output_storage[0][0] = self._compute(pvals, unis.reshape(n, rows), n).astype(_dtype(node))

    @abstractmethod
    def _compute(self, pvals: Any, unis: Any, n: int) -> Any:
        """Return the result of the C code; `unis` has a row for each draw."""

    def c_support_code(self) -> str:
        """Return the search for a category."""
        return _SUPPORT

    def c_code(
        self,
        node: Apply[Self, Tensor],
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sub: Mapping[str, str],
    ) -> str:
        """Return the loop over rows and draws; there is none for results of dtype float16."""
        (pvals, unis, n), (out,) = inputs, outputs
        names = {"pvals": pvals, "unis": unis, "n": n, "out": out, **sub}
        names |= {"op": type(self).__name__, "number": f"NPY_{_dtype(node).upper()}", "slack": repr(SLACK)}
        return _CODE % {**names, "draw": self._draw % names, "width": self._width, "excess": self._excess}

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of the code."""
        return (1,)


class MultinomialFromUniform(_FromUniform):
    """How often each category comes up in `n` draws with replacement, by rows of probabilities.

    Parameters
    ----------
    odtype : str
        Dtype of the counts; ``"auto"`` stands for that of the probabilities.

    Notes
    -----
    Probabilities are not checked. A number above their sum counts for no category, unless the sum is 1 but for
    rounding.

    Examples
    --------
    >>> MultinomialFromUniform("int64")([[0.25, 0.75]], [0.1, 0.5, 0.9], 3).eval()
    array([[1, 2]])
    """

    __props__ = ("odtype",)
    _draw = _COUNT

    def _compute(self, pvals: Any, unis: Any, n: int) -> Any:
        counts = np.zeros(pvals.shape, "int64")
        if not pvals.shape[1]:
            return counts
        closed = np.cumsum(pvals, axis=1)[:, -1] > 1 - SLACK
        for c in range(n):
            categories = _categories(pvals, unis[c], closed)
            hit = categories >= 0
            counts[np.flatnonzero(hit), categories[hit]] += 1
        return counts


class ChoiceFromUniform(_FromUniform):
    """Which categories come up in `n` draws, by rows of probabilities that need not add up to 1.

    Parameters
    ----------
    odtype : str
        Dtype of the numbers of the categories; ``"auto"`` stands for int64.
    replace : bool
        Whether a category may come up in a row more than once.

    Notes
    -----
    Probabilities are not checked. A row whose sum is not positive gives zeros. Where no possible category is left, the
    first that has not come up yet is taken.

    Examples
    --------
    >>> ChoiceFromUniform("int64")([[0.25, 0.25, 0.5]], [0.1, 0.5], 2).eval()
    array([[0, 2]])
    """

    __props__ = ("odtype", "replace")
    _width = "(npy_intp)draws"

    def __init__(self, odtype: str, replace: bool = False) -> None:
        super().__init__(odtype)
        self.replace = bool(replace)

    def _chosen_dtype(self, chances: Any) -> str:
        return "int64"

    @property
    def _draw(self) -> str:  # type: ignore[override]  # which text it is depends on the op
        return _WITH if self.replace else _WITHOUT

    @property
    def _excess(self) -> str:  # type: ignore[override]  # as above
        return "draws > 0 && k == 0" if self.replace else "draws > k"

    def _static_width(self, chances: Any, draws: Any) -> int | None:
        data = getattr(draws, "data", None)
        return None if data is None or data < 0 else int(data)

    def _compute(self, pvals: Any, unis: Any, n: int) -> Any:
        rows, k = pvals.shape
        if n > k if not self.replace else n > 0 and k == 0:
            raise ValueError(_too_many(n, k))
        numbers = np.zeros((rows, n), "int64")
        if not k:
            return numbers
        valid = np.cumsum(pvals, axis=1)[:, -1] > 0
        taken = np.zeros(pvals.shape, bool)
        every = np.arange(rows)
        for c in range(n):
            left = np.cumsum(pvals, axis=1)[:, -1]
            categories = np.where(left > 0, _categories(pvals, unis[c] * left, left > 0), -1)
            fallback = np.zeros(rows, "int64") if self.replace else taken.argmin(axis=1)
            categories = np.where(categories < 0, fallback, categories)
            numbers[:, c] = np.where(valid, categories, 0)
            if not self.replace:
                taken[every, categories] = True
                pvals[every, categories] = 0
        return numbers


def _too_many(n: int, k: int) -> str:
    return f"ChoiceFromUniform: {n} draws from {k} categories: there are not so many"


@shape_rule.register(MultinomialFromUniform)
def _shape_counts(node: Apply[MultinomialFromUniform, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


@shape_rule.register(ChoiceFromUniform)
def _shape_numbers(node: Apply[ChoiceFromUniform, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(input_shapes[0][0], node.inputs[2])]


batch_rule.register(_FromUniform)(run_in_a_loop)
