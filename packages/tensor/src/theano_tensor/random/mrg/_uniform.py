"""The op that draws from streams of MRG31k3p, in NumPy and in C."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, shape_rule

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, ShapeLike, TensorLike
from ..._core._ops import DiscreteOp, run_in_a_loop
from ..._core._type import Tensor, TensorType, tensor_type
from ..._errors import DTypeError, ShapeError
from ...elemwise import cast
from ...indexing._getitem import getitem
from .._size import size_vector
from .._variable import RandomVariable
from ._recurrence import M1, M2, step, uniform_numbers

DTYPES = ("float16", "float32", "float64")

#: Streams are advanced side by side, in blocks that stay in registers and in the nearest cache.
_SUPPORT = """
#define THEANO_MRG_LANES 32
static inline npy_uint32 theano_mrg_reduced(npy_uint32 y, npy_uint32 m) {
    npy_uint32 lower = y - m;  /* wraps to something large where y is below m */
    return lower < y ? lower : y;
}
static inline npy_uint32 theano_mrg_shifted(npy_uint32 x) {
    return theano_mrg_reduced(((x & 65535u) << 15) + 21069u * (x >> 16), %(m2)uu);
}
static inline void theano_mrg_step(npy_uint32 s[6][THEANO_MRG_LANES], npy_uint32 *restrict z) {
    for (int i = 0; i < THEANO_MRG_LANES; i++) {
        npy_uint32 x12 = s[1][i], x13 = s[2][i], x21 = s[3][i], x23 = s[5][i];
        npy_uint32 y = theano_mrg_reduced(
            ((x12 & 511u) << 22) + (x12 >> 9) + ((x13 & 16777215u) << 7) + (x13 >> 24), %(m1)uu);
        npy_uint32 new1 = theano_mrg_reduced(y + x13, %(m1)uu);
        npy_uint32 new2 = theano_mrg_reduced(theano_mrg_shifted(x23) + x23, %(m2)uu);
        new2 = theano_mrg_reduced(new2 + theano_mrg_shifted(x21), %(m2)uu);
        s[2][i] = x12; s[1][i] = s[0][i]; s[0][i] = new1;
        s[5][i] = s[4][i]; s[4][i] = x21; s[3][i] = new2;
        z[i] = new1 - new2 + (new1 <= new2 ? %(m1)uu : 0u);
    }
}
""" % {"m1": M1, "m2": M2}  # noqa: UP031  (C code is full of braces)

_APPLY = """
static inline %(ctype)s NAME_number(npy_uint32 z) {
    return %(number)s;
}
static void NAME_fill(npy_int32 *restrict states, npy_intp n, %(ctype)s *restrict out, npy_intp total) {
    for (npy_intp first = 0; first < n && first < total; first += THEANO_MRG_LANES) {
        npy_uint32 s[6][THEANO_MRG_LANES], before[6][THEANO_MRG_LANES], z[THEANO_MRG_LANES];
        npy_intp lanes = n - first < THEANO_MRG_LANES ? n - first : THEANO_MRG_LANES;
        npy_int32 *rows = states + 6 * first;
        for (int i = 0; i < THEANO_MRG_LANES; i++)
            for (int k = 0; k < 6; k++)
                s[k][i] = i < lanes ? (npy_uint32)rows[6 * i + k] : 1u;
        npy_intp at = first;
        if (lanes == THEANO_MRG_LANES) {
            for (; at + THEANO_MRG_LANES <= total; at += n) {
                theano_mrg_step(s, z);
                for (int i = 0; i < THEANO_MRG_LANES; i++)
                    out[at + i] = NAME_number(z[i]);
            }
        } else {
            for (; at + lanes <= total; at += n) {
                theano_mrg_step(s, z);
                for (npy_intp i = 0; i < lanes; i++)
                    out[at + i] = NAME_number(z[i]);
            }
        }
        /* In the last round some of the streams may have nothing to draw any more: these stand still. */
        npy_intp rest = at < total ? total - at : 0;
        if (rest > 0) {
            memcpy(before, s, sizeof s);
            theano_mrg_step(s, z);
            for (npy_intp i = 0; i < rest; i++)
                out[at + i] = NAME_number(z[i]);
        }
        for (npy_intp i = 0; i < lanes; i++)
            for (int k = 0; k < 6; k++)
                rows[6 * i + k] = (npy_int32)(rest > 0 && i >= rest ? before[k][i] : s[k][i]);
    }
}
"""

_CODE = """
{
    npy_intp dims[NPY_MAXDIMS], total = 1, n = PyArray_DIM(%(states)s, 0);
    if (PyArray_DIM(%(size)s, 0) != %(ndim)d || PyArray_DIM(%(states)s, 1) != 6) {
        PyErr_Format(PyExc_ValueError, "MRGUniform: %%zd lengths and states of %%zd numbers, not %(ndim)d and 6",
                     (Py_ssize_t)PyArray_DIM(%(size)s, 0), (Py_ssize_t)PyArray_DIM(%(states)s, 1));
        %(fail)s
    }
    for (int i = 0; i < %(ndim)d; i++) {
        dims[i] = (npy_intp)*(npy_int64 *)PyArray_GETPTR1(%(size)s, i);
        if (dims[i] < 0) {
            PyErr_Format(PyExc_ValueError, "MRGUniform: length %%zd in the size of a draw is negative",
                         (Py_ssize_t)dims[i]);
            %(fail)s
        }
        total = dims[i] > 0 && total > %(most)d / dims[i] ? %(most)d + 1 : total * dims[i];
    }
    if (total > %(most)d) {
        PyErr_SetString(PyExc_ValueError, "MRGUniform: one draw takes at most %(most)d numbers");
        %(fail)s
    }
    if (n == 0 && total > 0) {
        PyErr_SetString(PyExc_ValueError, "MRGUniform: there is no stream to draw from");
        %(fail)s
    }
    if (%(out)s == NULL || PyArray_NDIM(%(out)s) != %(ndim)d || !PyArray_IS_C_CONTIGUOUS(%(out)s) ||
        (%(ndim)d > 0 && !PyArray_CompareLists(PyArray_DIMS(%(out)s), dims, %(ndim)d))) {
        Py_XDECREF((PyObject *)%(out)s);
        %(out)s = (PyArrayObject *)PyArray_EMPTY(%(ndim)d, dims, %(number)s, 0);
        if (%(out)s == NULL)
            %(fail)s
    }
    Py_XDECREF((PyObject *)%(new)s);
    if (%(inplace)d && PyArray_ISCARRAY(%(states)s)) {
        %(new)s = %(states)s;
        Py_INCREF((PyObject *)%(new)s);
    } else {
        %(new)s = (PyArrayObject *)PyArray_NewCopy(%(states)s, NPY_CORDER);
    }
    if (%(new)s == NULL)
        %(fail)s
    %(name)s_fill((npy_int32 *)PyArray_DATA(%(new)s), n, (%(ctype)s *)PyArray_DATA(%(out)s), total);
}
"""


class MRGUniform(DiscreteOp):
    """Draw numbers between 0 and 1 from streams of MRG31k3p; neither bound is ever drawn.

    Element i of the draw (in C order) comes from stream ``i % n`` of n. Nothing is differentiated through it.

    Parameters
    ----------
    output_type : TensorType
        Of dtype float16, float32 or float64.
    inplace : bool
        Whether the states that are given are moved themselves; otherwise they are copied first.

    Notes
    -----
    The inputs are the states, int32 of shape (n, 6), and the size as a vector of integers; the outputs are the states
    after the draw, and the draw.
    """

    __props__ = ("inplace", "output_type")
    #: The C code writes each element of an output: the machine may give it the memory of an earlier call.
    fills_outputs = True

    def __init__(self, output_type: TensorType, inplace: bool = False) -> None:
        if output_type.dtype not in DTYPES:
            raise DTypeError(
                format_error(
                    f"MRG31k3p draws no {output_type.dtype}",
                    hint=f"draw one of {', '.join(DTYPES)}, and cast it with astype",
                )
            )
        self.output_type, self.inplace = output_type, bool(inplace)
        self.destroy_map: Mapping[int, Sequence[int]] = {0: [0]} if self.inplace else {}

    def __str__(self) -> str:
        return f"mrg_uniform{{{self.output_type},{'inplace' if self.inplace else 'no_inplace'}}}"

    @classmethod
    def new(cls, rstate: Any, ndim: int | None, dtype: str, size: ShapeLike) -> Any:
        """Return the states after a draw, and the draw.

        Parameters
        ----------
        rstate : int32 matrix
            A state in each row.
        ndim : int or None
            Number of dimensions of the draw, where the length of `size` does not tell.
        dtype : str
        size : sequence of int and scalars, or integer vector
        """
        vector, shape = size_vector(cls.__name__, size, ndim, ())
        return cls(tensor_type(dtype, shape))(rstate, vector)

    def make_node(self, rstate: TensorLike, size: ShapeLike) -> Apply[Self, Tensor]:
        """Apply to states and a size.

        Raises
        ------
        DTypeError, ShapeError
            If the states are no int32 matrix with six columns, or the size is no vector of integers.
        """
        states, vector = as_tensor_variable(rstate), as_tensor_variable(size)
        if states.type.dtype != "int32" or states.type.ndim != 2 or states.type.shape[1] not in (None, 6):
            raise DTypeError(
                format_error(
                    "MRG31k3p: states of streams are an int32 matrix with six columns",
                    context=[describe(states)],
                    hint="take them from MRG_RandomStreams.get_substream_rstates",
                )
            )
        if vector.type.ndim != 1 or vector.type.dtype not in INTEGER_DTYPES:
            raise ShapeError(format_error("MRG31k3p: the size is a vector of integers", context=[describe(vector)]))
        if vector.type.shape[0] not in (None, self.output_type.ndim):
            raise ShapeError(
                format_error(
                    f"MRG31k3p: {vector.type.shape[0]} lengths for a draw of {self.output_type.ndim} dimensions",
                    context=[describe(vector)],
                )
            )
        return Apply(
            self, [states, cast(vector, "int64")], [states.type.make_variable(), RandomVariable(self.output_type)]
        )

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Draw with NumPy: all streams side by side, one round after the other."""
        states, shape = inputs[0], tuple(int(n) for n in inputs[1])
        if any(n < 0 for n in shape):
            raise ValueError(f"MRGUniform: length {min(shape)} in the size of a draw is negative")
        total, n = math.prod(shape), len(states)
        if len(shape) != self.output_type.ndim or states.shape[1] != 6:
            raise ValueError(
                f"MRGUniform: {len(shape)} lengths, states of {states.shape[1]} numbers; "
                f"not {self.output_type.ndim} and 6"
            )
        if n == 0 and total:
            raise ValueError("MRGUniform: there is no stream to draw from")
        if total > M1:
            raise ValueError(f"MRGUniform: one draw takes at most {M1} numbers, not {total}")
        moving, flat = states.T.astype("int64"), np.empty(total, "int64")
        for at in range(0, total, max(n, 1)):
            active = min(n, total - at)
            part = moving[:, :active].copy()
            flat[at : at + active] = step(part)
            moving[:, :active] = part
        if self.inplace:
            states[...] = moving.T
        output_storage[0][0] = states if self.inplace else np.ascontiguousarray(moving.T.astype("int32"))
        output_storage[1][0] = uniform_numbers(flat, self.output_type.dtype).reshape(shape)

    def c_support_code(self) -> str:
        """Return one step of a block of streams."""
        return _SUPPORT

    def c_support_code_apply(self, node: Apply[Self, Tensor], name: str) -> str:
        """Return the loop that fills an array."""
        texts = {
            "float64": ("npy_float64", "(npy_int32)z * 0x1p-31"),
            "float32": ("npy_float32", "(npy_float32)(npy_int32)z * 4.6566126e-10f"),
        }
        ctype, number = texts[self.output_type.dtype]
        filled = _APPLY % {"ctype": ctype, "number": number}
        return filled.replace("NAME", name)

    def c_code(
        self,
        node: Apply[Self, Tensor],
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        sub: Mapping[str, str],
    ) -> str:
        """Return the code of a draw; there is none for float16, which C has no arithmetic of."""
        dtype = self.output_type.dtype
        (states, size), (new, out) = inputs, outputs
        names = {"states": states, "size": size, "new": new, "out": out, "name": name, "ndim": self.output_type.ndim}
        names |= {"inplace": int(self.inplace), "most": M1}
        return _CODE % {**names, **sub, "ctype": f"npy_{dtype}", "number": f"NPY_{dtype.upper()}"}

    def c_compile_args(self) -> list[str]:
        """Return the directive that turns the loops into vector code."""
        return ["-O3"]

    def c_code_cache_version(self) -> tuple[Hashable, ...]:
        """Return the version of the code."""
        return (2,)


@shape_rule.register(MRGUniform)
def _shape(node: Apply[MRGUniform, Tensor], input_shapes: list[Any]) -> list[Any]:
    static = node.op.output_type.shape
    lengths = [getitem(node.inputs[1], i) if n is None else n for i, n in enumerate(static)]
    return [input_shapes[0], tuple(lengths)]


def draw_uniform(states: Variable, size: ShapeLike, output_type: TensorType) -> tuple[Any, Variable]:
    """Return a draw, and the states after it."""
    new_states, draw = MRGUniform(output_type).make_node(states, size).outputs
    return draw, new_states


batch_rule.register(MRGUniform)(run_in_a_loop)
