"""Products of a sparse and a dense matrix in C, on the arrays that the sparse one consists of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, Variable, compose, pullback, pushforward, shape_rule
from theano_tensor import as_tensor_variable

from ._op import SparseOp, dense
from ._type import CLASSES

#: The dtypes of elements that the C code is written for.
NATIVE_DTYPES = ("float32", "float64")

#: Adds `scale` times a row of the dense operand to a row of the product.
_ADD_ROW = """
static void add_row_{name}(npy_intp n, {t} scale, const char *from, npy_intp from_step, char *to, npy_intp to_step)
{{
    if (from_step == sizeof({t}) && to_step == sizeof({t})) {{
        const {t} *restrict a = (const {t} *)from;
        {t} *restrict b = ({t} *)to;
        for (npy_intp k = 0; k < n; k++)
            b[k] += scale * a[k];
    }} else {{
        for (npy_intp k = 0; k < n; k++)
            *({t} *)(to + k * to_step) += scale * *(const {t} *)(from + k * from_step);
    }}
}}
"""

#: Rows of csr products, some columns at a time, so that their sums stay in registers.
_SUM_ROW = """
typedef {t} lanes_{name} __attribute__((vector_size(32), aligned(sizeof({t})), may_alias));
enum {{ WIDTH_{name} = 4 * 32 / sizeof({t}) }};
static void sum_row_{name}(npy_intp stored, const char *data, npy_intp data_step, const char *indices,
                           npy_intp index_step, const char *y, npy_intp line_step, npy_intp columns, char *z)
{{
    npy_intp k = 0;
    for (; k + WIDTH_{name} <= columns; k += WIDTH_{name}) {{
        lanes_{name} sums[4] = {{{{0}}, {{0}}, {{0}}, {{0}}}};
        for (npy_intp p = 0; p < stored; p++) {{
            const {t} scale = *(const {t} *)(data + p * data_step);
            const npy_intp line = *(const npy_int32 *)(indices + p * index_step);
            const lanes_{name} *a = (const lanes_{name} *)(y + line * line_step + k * sizeof({t}));
            sums[0] += scale * a[0];
            sums[1] += scale * a[1];
            sums[2] += scale * a[2];
            sums[3] += scale * a[3];
        }}
        for (int j = 0; j < 4; j++)
            ((lanes_{name} *)(z + k * sizeof({t})))[j] = sums[j];
    }}
    if (k == columns)
        return;
    for (npy_intp j = k; j < columns; j++)
        (({t} *)z)[j] = 0;
    for (npy_intp p = 0; p < stored; p++) {{
        const npy_intp line = *(const npy_int32 *)(indices + p * index_step);
        add_row_{name}(columns - k, *(const {t} *)(data + p * data_step), y + line * line_step + k * sizeof({t}),
                       sizeof({t}), z + k * sizeof({t}), sizeof({t}));
    }}
}}
"""

_CHECK = """
    const npy_intp lines = PyArray_DIM({indptr}, 0) - 1, columns = PyArray_DIM({y}, 1);
    const npy_intp rows = {rows};
    npy_intp shape[2] = {{rows, columns}};
    if (lines < 0 || PyArray_DIM({indices}, 0) != PyArray_DIM({data}, 0)) {{
        PyErr_SetString(PyExc_ValueError, "the arrays of a sparse matrix do not fit each other\\n"
                        "  To mend: take them from csm_properties(x) of one matrix");
        {fail}
    }}
    if (PyArray_DIM({y}, 0) != {inner}) {{
        PyErr_Format(PyExc_ValueError, "StructuredDot: %lld columns of the sparse matrix meet %lld rows\\n"
                     "  To mend: transpose one of the two", (long long){inner}, (long long)PyArray_DIM({y}, 0));
        {fail}
    }}
    if ({z} == NULL || PyArray_DIM({z}, 0) != rows || PyArray_DIM({z}, 1) != columns) {{
        Py_XDECREF({z});
        {z} = (PyArrayObject *)PyArray_EMPTY(2, shape, PyArray_TYPE({y}), 0);
        if ({z} == NULL) {{ {fail} }}
    }}
"""


class StructuredDotLines(SparseOp):
    """The product of a sparse matrix, given by its arrays, and a dense one. Put in by a rewrite; no gradient.

    Parameters
    ----------
    format : {"csc", "csr"}
        Of the sparse matrix. The inputs are ``data, indices, indptr``, the
        number of the sparse matrix's columns (csr) or rows (csc), and the dense matrix.
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, data: Any, indices: Any, indptr: Any, other_length: Any, y: Any) -> Apply:
        """Apply to the arrays of a sparse matrix, its other length, and a dense matrix."""
        inputs = [as_tensor_variable(part) for part in (data, indices, indptr, other_length, y)]
        return Apply(self, inputs, [dense(inputs[4].type.dtype, 2)])

    def compute(self, node: Apply, *values: Any) -> Any:
        """Multiply with SciPy."""
        data, indices, indptr, other_length, y = values
        lines, other = len(indptr) - 1, int(other_length)
        shape = (other, lines) if self.format == "csc" else (lines, other)
        if shape[1] != y.shape[0]:
            raise ValueError(
                compose(
                    f"StructuredDot: {shape[1]} columns of the sparse matrix meet {y.shape[0]} rows",
                    mend="transpose one of the two",
                )
            )
        return np.asarray(CLASSES[self.format]((data, indices, indptr), shape=shape) @ y)

    def c_code_cache_version(self) -> tuple[int, ...]:
        """Return the version of the C code."""
        return (1,)

    def c_compile_args(self) -> list[str]:
        """Return the options that make vector code of the inner loop."""
        return ["-O3"]

    def c_support_code_apply(self, node: Apply, name: str) -> str:
        """Return the inner loop."""
        names = {"name": name, "t": self._number(node)}
        return _ADD_ROW.format(**names) + (_SUM_ROW.format(**names) if self.format == "csr" else "")

    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: dict[str, str]) -> str:
        """Return the loop over what is stored."""
        data, indices, indptr, other_length, y = inputs
        (z,) = outputs
        other = f"(npy_intp)*(npy_int64 *)PyArray_DATA({other_length})"
        rows, inner = (other, "lines") if self.format == "csc" else ("lines", other)
        names = {"data": data, "indices": indices, "indptr": indptr, "y": y, "z": z, "fail": sub["fail"]}
        place = ("index", "line") if self.format == "csc" else ("line", "index")
        t = self._number(node)
        summed = ""
        if self.format == "csr":
            summed = f"""if (whole)
            sum_row_{name}(stop > start ? stop - start : 0, PyArray_BYTES({data}) + start * PyArray_STRIDE({data}, 0),
                PyArray_STRIDE({data}, 0), PyArray_BYTES({indices}) + start * PyArray_STRIDE({indices}, 0),
                PyArray_STRIDE({indices}, 0), PyArray_BYTES({y}), PyArray_STRIDE({y}, 0), columns,
                PyArray_BYTES({z}) + line * PyArray_STRIDE({z}, 0));"""
        broken = (
            'PyErr_SetString(PyExc_ValueError, "the arrays do not make a sparse matrix\\n'
            f'  To mend: take them from csm_properties(x) of one matrix"); {sub["fail"]}'
        )
        check = _CHECK.format(rows=rows, inner=inner, **names)
        return f"""{{
    {check}
    const npy_intp stored = PyArray_DIM({data}, 0), limit = {"rows" if self.format == "csc" else inner};
    const npy_intp step = PyArray_STRIDE({y}, 1), made = PyArray_STRIDE({z}, 1);
    const int whole = {int(self.format == "csr")} && step == sizeof({t}) && made == sizeof({t});
    if (!whole)
        PyArray_FILLWBYTE({z}, 0);
    for (npy_intp line = 0; line < lines; line++) {{
        const npy_intp start = *(npy_int32 *)PyArray_GETPTR1({indptr}, line);
        const npy_intp stop = *(npy_int32 *)PyArray_GETPTR1({indptr}, line + 1);
        if (start < 0 || stop > stored) {{ {broken} }}
        for (npy_intp p = start; p < stop; p++) {{
            const npy_intp index = *(npy_int32 *)PyArray_GETPTR1({indices}, p);
            if (index < 0 || index >= limit) {{ {broken} }}
            if (!whole)
                add_row_{name}(columns, *({t} *)PyArray_GETPTR1({data}, p),
                    PyArray_BYTES({y}) + {place[1]} * PyArray_STRIDE({y}, 0), step,
                    PyArray_BYTES({z}) + {place[0]} * PyArray_STRIDE({z}, 0), made);
        }}
        {summed}
    }}
}}
"""

    def _number(self, node: Apply) -> str:
        kind: Any = node.inputs[4].type
        return f"npy_{kind.dtype}"

    def __str__(self) -> str:
        return f"StructuredDot{{{self.format}, native}}"


pullback.declare_absent(StructuredDotLines, "it is put in by rewriting, after differentiation")


@pushforward.register(StructuredDotLines)
def _pushforward_lines(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [None if tangents[4] is None else node.op(*node.inputs[:4], tangents[4])]


@shape_rule.register(StructuredDotLines)
def _shape_lines(node: Apply, input_shapes: list[Any]) -> list[Any]:
    other = as_tensor_variable(node.inputs[3])
    rows = other if node.op.format == "csc" else input_shapes[2][0] - 1
    return [(rows, input_shapes[4][1])]
