"""Transforms along one axis: passes of short transforms that leave the numbers in order (Stockham's algorithm).

Where a line fits into local memory twice, one launch does all passes; else each one is a launch, over global memory.
Lengths with large prime factors are convolutions with a chirp: Bluestein (1970), "A linear filtering approach to the
computation of the discrete Fourier transform".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from theano_linker_c.scalar import c_type

from .._form import DeviceOperand, Recorder
from .._kernel_writer import KernelWriter, spread
from ._lines import Lines
from ._radix import Butterfly, radices

__all__ = ["transform"]

#: Bytes of local memory that a group uses, and its work-items, at most.
_MEMORY, _LOCAL = 32768, 256
#: Short lines share a group, up to so many elements.
_TOGETHER = 256


def transform(recorder: Recorder, source: Lines, target: Lines, n: int, sign: int) -> None:
    """Transform lines of `n` complex numbers without a factor.

    Parameters
    ----------
    recorder : Recorder
    source, target : Lines
        As many lines; they may be the same memory if elements lie at the same places.
    n : int
    sign : {-1, 1}
        Of the exponent.
    """
    rows = math.prod(source.shape)
    if not rows:
        return
    factors = radices(n)
    if factors is None:
        _chirped(recorder, source, target, n, sign)
    elif 4 * n * source.operand.itemsize <= min(_MEMORY, recorder.properties.local_memory):
        _in_local_memory(recorder, (source, target), (rows, n), factors, sign)
    else:
        _in_global_memory(recorder, (source, target), (rows, n), factors, sign)


def _pairs(recorder: Recorder, values: np.ndarray[tuple[int], np.dtype[np.complex128]], dtype: str) -> DeviceOperand:
    return recorder.constant(np.stack([values.real, values.imag], axis=-1).astype(dtype))


def _roots(recorder: Recorder, n: int, sign: int, dtype: str) -> DeviceOperand:
    return _pairs(recorder, np.exp(sign * 2j * np.pi / n * np.arange(n)), dtype)


def _butterfly(dtype: str, r: int, sign: int, position: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the statements that transform ``a0``, ``b0``, ``a1``, ..., and the names of what they give.

    The numbers are turned before, by the powers ``0, place, 2 place, ...`` of the root of unity.
    """
    kind = c_type(dtype)
    lines = [
        f"{{ const int64_t p = {q} * ({position}); const {kind} c = root[2 * p], d = root[2 * p + 1];"
        f" const {kind} x = a{q} * c - b{q} * d; b{q} = a{q} * d + b{q} * c; a{q} = x; }}"
        for q in range(1, r)
    ]
    short = Butterfly(kind, sign)
    results = short.transform([(f"a{q}", f"b{q}") for q in range(r)])
    return [*lines, *short.lines], results


def _in_local_memory(
    recorder: Recorder, lines: tuple[Lines, Lines], sizes: tuple[int, int], passes: Sequence[int], sign: int
) -> None:
    """Transform some lines by each group."""
    (source, target), (rows, n), properties = lines, sizes, recorder.properties
    dtype, kind = source.operand.dtype, c_type(source.operand.dtype)
    together = 1 if properties.cpu else max(1, min(_TOGETHER // n, rows))
    local = 1 if properties.cpu else _work_items(together * n // max(passes, default=1), properties.max_local)
    writer = KernelWriter("fourier_lines")
    source.declare(writer, "x")
    target.declare(writer, "y", written=True)
    writer.reads(roots=_roots(recorder, n, sign, dtype))
    writer.number("rows", rows)
    total = together * n
    writer.local(kind, "buffer", 4 * total)
    writer.add(
        f"GLOBAL_MEM const {kind} *const root = (GLOBAL_MEM const {kind} *)(roots + roots_at);",
        f"for (int slot = LID_0; slot < {total}; slot += {local}) {{",
        f"const int64_t row = (int64_t)GID_0 * {together} + slot / {n}, i = slot % {n};",
        f"{kind} re = 0, im = 0;",
        "if (row < rows) {",
        *source.read("x"),
        "}",
        f"buffer[slot] = re; buffer[{total} + slot] = im;",
        "}",
        "local_barrier();",
    )
    done, at, to = 1, 0, 2 * total
    for r in passes:
        m = n // r
        writer.add(
            f"for (int slot = LID_0; slot < {together * m}; slot += {local}) {{",
            f"const int line = slot / {m}, j = slot % {m}, k = j % {done};",
            *(
                f"{kind} a{q} = buffer[{at} + line * {n} + j + {q * m}],"
                f" b{q} = buffer[{at + total} + line * {n} + j + {q * m}];"
                for q in range(r)
            ),
        )
        text, results = _butterfly(dtype, r, sign, f"(int64_t)k * {n // (done * r)}")
        writer.add(*text, f"const int out = line * {n} + (j / {done}) * {done * r} + k;")
        for q, (a, b) in enumerate(results):
            writer.add(f"buffer[{to} + out + {q * done}] = {a}; buffer[{to + total} + out + {q * done}] = {b};")
        writer.add("}", "local_barrier();")
        done, at, to = done * r, to, at
    writer.add(
        f"for (int slot = LID_0; slot < {total}; slot += {local}) {{",
        f"const int64_t row = (int64_t)GID_0 * {together} + slot / {n}, i = slot % {n};",
        f"{kind} re = buffer[{at} + slot], im = buffer[{at + total} + slot];",
        "if (row < rows) {",
        *target.write("y"),
        "}",
        "}",
    )
    writer.launch(recorder, (-(-rows // together),), (local,))


def _work_items(count: int, limit: int) -> int:
    local = 1
    while 2 * local <= min(count, _LOCAL, limit):
        local *= 2
    return local


def _in_global_memory(
    recorder: Recorder, lines: tuple[Lines, Lines], sizes: tuple[int, int], passes: Sequence[int], sign: int
) -> None:
    """Launch each pass, between two arrays that lines are copied to by the first one."""
    (source, target), (rows, n) = lines, sizes
    dtype = source.operand.dtype
    roots, between = _roots(recorder, n, sign, dtype), list[Lines]()
    for _ in range(min(2, len(passes) - 1)):
        between.append(_scratch(recorder, dtype, rows, n))
    done = 1
    for number, r in enumerate(passes):
        first, last = number == 0, number == len(passes) - 1
        read = source if first else between[(number - 1) % 2]
        write = target if last else between[number % 2]
        _pass(recorder, (read, write), (rows, n), (r, done), sign, roots)
        done *= r


def _scratch(recorder: Recorder, dtype: str, rows: int, n: int) -> Lines:
    scratch = recorder.empty(dtype, (rows, n, 2))
    return Lines(scratch, (rows,), scratch.strides[:1], scratch.strides[1], scratch.strides[2], "pairs", n)


def _pass(
    recorder: Recorder,
    lines: tuple[Lines, Lines],
    sizes: tuple[int, int],
    step: tuple[int, int],
    sign: int,
    roots: DeviceOperand,
) -> None:
    """Launch one pass: a work-item does a short transform of length `r`; `done` is the product of those before."""
    (source, target), (rows, n), (r, done) = lines, sizes, step
    dtype, kind = source.operand.dtype, c_type(source.operand.dtype)
    writer = KernelWriter("fourier_pass")
    source.declare(writer, "x")
    target.declare(writer, "y", written=True)
    writer.reads(roots=roots)
    for name, value in (("m", n // r), ("done", done), ("gap", n // (done * r))):
        writer.number(name, value)
    writer.walk(rows * (n // r))
    writer.add(
        f"GLOBAL_MEM const {kind} *const root = (GLOBAL_MEM const {kind} *)(roots + roots_at);",
        "const int64_t row = i / m, j = i % m, turn = j % done;",
        f"{kind} re, im;",
    )
    for q in range(r):
        writer.add(f"{kind} a{q}, b{q};", f"{{ const int64_t i = j + {q} * m;", *source.read("x"))
        writer.add(f"a{q} = re; b{q} = im; }}")
    text, results = _butterfly(dtype, r, sign, "turn * gap")
    writer.add(*text)
    for q, (a, b) in enumerate(results):
        writer.add(f"{{ const int64_t i = (j / done) * done * {r} + turn + {q} * done; re = {a}; im = {b};")
        writer.add(*target.write("y"), "}")
    writer.end()
    writer.launch(recorder, *spread(recorder, rows * (n // r)))


def _chirped(recorder: Recorder, source: Lines, target: Lines, n: int, sign: int) -> None:
    """Transform by a convolution, for which transforms of a power of two are used."""
    rows, dtype = math.prod(source.shape), source.operand.dtype
    length = 1 << (2 * n - 2).bit_length()
    # Squares are taken modulo 2 n, so that angles are exact.
    angles = np.pi * (np.arange(n, dtype=np.int64) ** 2 % (2 * n)) / n
    chirp = np.zeros(length, np.complex128)
    chirp[:n] = np.exp(sign * 1j * angles)
    other = np.conj(chirp)
    other[length - n + 1 :] = np.conj(chirp[1:n][::-1])
    scratch = _scratch(recorder, dtype, rows, length)
    turned = replace(source, factors=_pairs(recorder, chirp, dtype), padded=True)
    transform(recorder, turned, replace(scratch, factors=_pairs(recorder, np.fft.fft(other), dtype)), length, -1)
    back = replace(target, factors=_pairs(recorder, chirp / length, dtype), padded=True)
    transform(recorder, scratch, back, length, 1)
