"""The combined recurrence MRG31k3p: one step, jumps far ahead, and the op that draws."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, Self, TypeAlias

import numpy as np

from theano_graph import Apply, Variable, batch_rule, describe, format_error, shape_rule

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import INTEGER_DTYPES, Array, ShapeLike, TensorLike
from ..._core._ops import DiscreteOp, run_in_a_loop
from ..._core._type import Tensor, TensorType, tensor_type
from ..._errors import DTypeError, ShapeError
from ...elemwise import cast
from ...indexing._getitem import getitem
from .._distributions import size_vector
from .._function import RandomVariable

# ---- The combined recurrence MRG31k3p: its constants, one step of many streams, and jumps far ahead
#
# P. L'Ecuyer and R. Touzin, "Fast Combined Multiple Recursive Generators with Multipliers of the form a = ±2^q ± 2^r",
# Proceedings of the 2000 Winter Simulation Conference, 683-689. Two recurrences of order three run side by side::
#
#     x1[k] = (2^22 x1[k-2] + (2^7 + 1) x1[k-3])     mod M1,    M1 = 2^31 - 1
#     x2[k] = (2^15 x2[k-1] + (2^15 + 1) x2[k-3])    mod M2,    M2 = 2^31 - 21069
#     z[k]  = (x1[k] - x2[k]) mod M1, taken from 1 to M1
#
# A state holds ``x1[k-1], x1[k-2], x1[k-3], x2[k-1], x2[k-2], x2[k-3]``. The period is about 2^185. Jumps multiply the
# two halves by powers of the matrices of the recurrences (P. L'Ecuyer, R. Simard, E. J. Chen and W. D. Kelton, "An
# Object-Oriented Random-Number Package with Many Long Streams and Substreams", Operations Research 50, 2002).

#: The moduli.
M1, M2 = 2**31 - 1, 2**31 - 21069
#: The matrices that move a half of a state by one step.
A1 = ((0, 2**22, 2**7 + 1), (1, 0, 0), (0, 1, 0))
A2 = ((2**15, 0, 2**15 + 1), (1, 0, 0), (0, 1, 0))
#: Binary logarithms of the distances between the substreams of one stream, and between streams.
SUBSTREAM, STREAM = 72, 134

_Matrix = tuple[tuple[int, ...], ...]
#: Rows of numbers, in an array or not.
Numbers: TypeAlias = "Array | Sequence[Any]"


def _product(a: _Matrix, b: _Matrix, modulus: int) -> _Matrix:
    columns = tuple(zip(*b, strict=True))
    return tuple(tuple(sum(x * y for x, y in zip(row, col, strict=True)) % modulus for col in columns) for row in a)


@cache
def jump_matrices(exponent: int) -> tuple[Any, Any]:
    """Return the matrices, as int64 arrays, that move the halves of a state by 2**exponent steps."""
    first: _Matrix = A1
    second: _Matrix = A2
    for _ in range(exponent):
        first, second = _product(first, first, M1), _product(second, second, M2)
    return np.array(first, "int64"), np.array(second, "int64")


def mat_vec_mod(matrix: Numbers, vector: Numbers, modulus: int) -> Any:
    """Return the product of a matrix and a vector modulo a number below 2**31, without overflow.

    Parameters
    ----------
    matrix : array_like of int
        Of shape (r, c), entries from 0 to `modulus` - 1.
    vector : array_like of int
        Of shape (c,).
    modulus : int

    Returns
    -------
    ndarray of int32
        Of shape (r,).
    """
    terms = np.asarray(matrix, "int64") * np.asarray(vector, "int64") % modulus
    return (terms.sum(axis=1) % modulus).astype("int32")


def mult_mat_vect(v: Numbers, first: Numbers, m1: int, second: Numbers, m2: int) -> Any:
    """Return both halves of a state, each multiplied by its matrix modulo its number.

    Parameters
    ----------
    v : array_like of int
        Of length 6.
    first, second : array_like of int
        Of shape (3, 3): for the first three entries modulo `m1`, and for the last three modulo `m2`.
    m1, m2 : int
        Below 2**31.

    Returns
    -------
    ndarray of int32
        Of length 6.

    Examples
    --------
    >>> from theano.sandbox import rng_mrg
    >>> rng_mrg.mult_mat_vect([1, 2, 3, 4, 5, 6], rng_mrg.A1, rng_mrg.M1, rng_mrg.A2, rng_mrg.M2).tolist()
    [8388995, 1, 2, 327686, 4, 5]
    """
    return np.concatenate([mat_vec_mod(first, v[:3], m1), mat_vec_mod(second, v[3:], m2)])


def jump(states: Numbers, exponent: int) -> Any:
    """Return states, an array of shape (..., 6), 2**exponent steps further, as int32."""
    first, second = jump_matrices(exponent)
    wide = np.asarray(states, "int64")[..., None, :]
    halves = (wide[..., :3] * first % M1).sum(axis=-1) % M1, (wide[..., 3:] * second % M2).sum(axis=-1) % M2
    return np.concatenate(halves, axis=-1).astype("int32")


def substreams(state: Numbers, count: int) -> Any:
    """Return the states of `count` substreams, each 2**72 steps after the one before.

    Parameters
    ----------
    state : array_like of int
        State of the first, of length 6.
    count : int

    Returns
    -------
    ndarray of int32
        Of shape (count, 6).
    """
    rows, exponent = np.asarray(state, "int32").reshape(1, 6), SUBSTREAM
    while len(rows) < count:
        # The rows so far, moved by as many substreams as there are of them.
        rows = np.concatenate([rows, jump(rows, exponent)])
        exponent += 1
    return np.ascontiguousarray(rows[:count])


def check_state(seed: Any) -> Any:
    """Return a seed as a state: an int stands for six times itself.

    Raises
    ------
    TypeError
        If it is neither an int nor six of them.
    ValueError
        If a number is too large for its half or negative, or a half is all zero.
    """
    if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
        numbers = [int(seed)] * 6
    elif isinstance(seed, (list, tuple, np.ndarray)) and all(isinstance(n, (int, np.integer)) for n in seed):
        numbers = [int(n) for n in seed]
    else:
        raise TypeError(format_error(f"MRG31k3p: {seed!r} is no seed", hint="pass an int, or a list of six ints"))
    if len(numbers) != 6:
        raise ValueError(
            format_error(
                f"MRG31k3p: a seed has six numbers, not {len(numbers)}", hint="pass an int, or a list of six ints"
            )
        )
    for half, modulus in ((numbers[:3], M1), (numbers[3:], M2)):
        if not all(0 <= n < modulus for n in half) or not any(half):
            which = "first" if modulus == M1 else "last"
            raise ValueError(
                format_error(
                    f"MRG31k3p: the {which} three numbers of a seed lie below {modulus}, and are not all 0: {half}",
                    context=[f"seed: {seed!r}"],
                    hint="choose other numbers, from 1 up",
                )
            )
    return np.array(numbers, "int32")


def _reduced(y: Array, modulus: int) -> Any:
    return np.where(y >= modulus, y - modulus, y)


def step(state: Array) -> Any:
    """Move streams by one step, in place, and return their output.

    Parameters
    ----------
    state : ndarray of int64
        Of shape (6, n): a column for each stream.

    Returns
    -------
    ndarray of int64
        Of shape (n,): from 1 to M1.
    """
    x11, x12, x13, x21, x22, x23 = state
    y = _reduced(((x12 & 511) << 22) + (x12 >> 9) + ((x13 & 16777215) << 7) + (x13 >> 24), M1)
    new1 = _reduced(y + x13, M1)
    a = _reduced(((x21 & 65535) << 15) + 21069 * (x21 >> 16), M2)
    b = _reduced(((x23 & 65535) << 15) + 21069 * (x23 >> 16), M2)
    new2 = _reduced(_reduced(b + x23, M2) + a, M2)
    state[:] = np.stack([new1, x11, x12, new2, x21, x22])
    return np.where(new1 <= new2, new1 - new2 + M1, new1 - new2)


#: The factor of a number from 1 to M1, for each dtype. Those of float32 and float16 are a little below the factor that
#: would take the largest number to 1, which is never drawn. Of float16 only the last 15 bits count.
SCALES = {"float64": 2.0**-31, "float32": 4.6566126e-10, "float16": float(np.float16(3.0458e-05))}


def uniform_numbers(z: Array, dtype: str) -> Any:
    """Return the output of streams as numbers between 0 and 1, which are never reached."""
    if dtype == "float16":
        z = (z & 0x7FFF) + 1
    elif dtype == "float32":
        return z.astype("float32") * np.float32(SCALES[dtype])
    return (z * SCALES[dtype]).astype(dtype)


# ---- Jumps of states as an operation


class DotModulo(DiscreteOp):
    """Two products of a matrix and a vector, each modulo its number, as one vector: ``A s mod m``, ``A2 s2 mod m2``.

    Products of numbers below 2**31 do not overflow.

    Examples
    --------
    >>> from theano.sandbox import rng_mrg
    >>> rng_mrg.DotModulo()([[2, 1]], [5, 6], 7, [[1, 1]], [3, 4], 5).eval()
    array([2, 2], dtype=int32)
    """

    __props__ = ()

    def make_node(
        self, A: TensorLike, s: TensorLike, m: TensorLike, A2: TensorLike, s2: TensorLike, m2: TensorLike
    ) -> Apply[Self, Tensor]:
        """Apply to matrix, vector and modulus of either product; all hold integers.

        Raises
        ------
        ShapeError
            If an operand has other dimensions, or is not of an integer dtype.
        """
        inputs = [as_tensor_variable(v) for v in (A, s, m, A2, s2, m2)]
        for variable, ndim in zip(inputs, (2, 1, 0, 2, 1, 0), strict=True):
            if variable.type.ndim != ndim or variable.type.dtype not in INTEGER_DTYPES:
                raise ShapeError(
                    format_error(
                        "DotModulo takes a matrix, a vector and a number twice, all of integers",
                        context=[describe(variable)],
                        hint="cast it to int64, or index it",
                    )
                )
        lengths = [inputs[i].type.shape[0] for i in (0, 3)]
        total = None if None in lengths else sum(n for n in lengths if n is not None)
        return Apply(self, inputs, [tensor_type("int32", (total,)).make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute with NumPy."""
        first, s, m, second, s2, m2 = inputs
        halves = mat_vec_mod(first, s, int(m)), mat_vec_mod(second, s2, int(m2))
        output_storage[0][0] = np.concatenate(halves)


@shape_rule.register(DotModulo)
def _shape_skip(node: Apply[DotModulo, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [(input_shapes[0][0] + input_shapes[3][0],)]


batch_rule.register(DotModulo)(run_in_a_loop)


# ---- The op that draws from streams of MRG31k3p, in NumPy and in C

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
def _shape_uniform(node: Apply[MRGUniform, Tensor], input_shapes: list[Any]) -> list[Any]:
    static = node.op.output_type.shape
    lengths = [getitem(node.inputs[1], i) if n is None else n for i, n in enumerate(static)]
    return [input_shapes[0], tuple(lengths)]


def draw_uniform(states: Variable, size: ShapeLike, output_type: TensorType) -> tuple[Any, Variable]:
    """Return a draw, and the states after it."""
    new_states, draw = MRGUniform(output_type).make_node(states, size).outputs
    return draw, new_states


batch_rule.register(MRGUniform)(run_in_a_loop)
