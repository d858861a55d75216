"""The combined recurrence MRG31k3p: its constants, one step of many streams, and jumps far ahead.

P. L'Ecuyer and R. Touzin, "Fast Combined Multiple Recursive Generators with Multipliers of the form a = ±2^q ± 2^r",
Proceedings of the 2000 Winter Simulation Conference, 683-689. Two recurrences of order three run side by side::

    x1[k] = (2^22 x1[k-2] + (2^7 + 1) x1[k-3])     mod M1,    M1 = 2^31 - 1
    x2[k] = (2^15 x2[k-1] + (2^15 + 1) x2[k-3])    mod M2,    M2 = 2^31 - 21069
    z[k]  = (x1[k] - x2[k]) mod M1, taken from 1 to M1

A state holds ``x1[k-1], x1[k-2], x1[k-3], x2[k-1], x2[k-2], x2[k-3]``. The period is about 2^185. Jumps multiply the
two halves by powers of the matrices of the recurrences (P. L'Ecuyer, R. Simard, E. J. Chen and W. D. Kelton, "An
Object-Oriented Random-Number Package with Many Long Streams and Substreams", Operations Research 50, 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from theano_graph import format_error

from ..._core._dtypes import Array

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
