"""Fourier transforms on devices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from theano_graph import format_error, record
from theano_linker_c.kernels import Kernel
from theano_linker_c.scalar import c_type

from ._form import DeviceOperand, LibraryCall, Operand, Recorder, register_device_form
from ._kernel_writer import KernelWriter, contiguous, host_numbers, merged_dimensions, on_device, spread

# ---- Kernels: transforms over all dimensions but the first, without a factor


@record
class RealFourierKernel(Kernel):
    """The transform of real numbers; of its last dimension the half is kept that determines the other.

    Parameters
    ----------
    dtype : {"float32", "float64"}
        Of operand and result, which has pairs of a real and an imaginary part in one dimension more.
    """

    dtype: str


@record
class InverseRealFourierKernel(Kernel):
    """The inverse of `RealFourierKernel`; the second input, on the host, is the length of the last dimension.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    """

    dtype: str


# ---- Short transforms as straight text, and factors of long ones

#: Lengths of short transforms, preferred ones first.
_RADICES = (8, 4, 2, 3, 5, 7, 11, 13)
#: Names of a real and an imaginary part.
_Number = tuple[str, str]


def radices(n: int) -> tuple[int, ...] | None:
    """Return short lengths whose product is `n`; None where it has a larger prime factor.

    Examples
    --------
    >>> radices(60)
    (4, 3, 5)
    >>> radices(34) is None
    True
    """
    factors: list[int] = []
    for r in _RADICES:
        while n % r == 0:
            factors.append(r)
            n //= r
    return tuple(factors) if n == 1 else None


class Butterfly:
    """Write the statements of a transform of a few complex numbers.

    Parameters
    ----------
    kind : str
        The type of C.
    sign : {-1, 1}
        Of the exponent.

    Attributes
    ----------
    lines : list of str
    """

    def __init__(self, kind: str, sign: int) -> None:
        self.kind, self.sign = kind, sign
        self.lines: list[str] = []
        self._count = 0

    def transform(self, values: Sequence[_Number]) -> list[_Number]:
        """Return the names of the transform of some numbers."""
        n = len(values)
        if n <= 1:
            return list(values)
        p = next(q for q in range(2, n + 1) if n % q == 0)
        if p == n:
            return self._pair(values) if n == 2 else self._prime(values)
        m = n // p
        parts = [self.transform(values[q::p]) for q in range(p)]
        results: list[_Number] = [("", "")] * n
        for k in range(m):
            row = [self._turned(parts[q][k], q * k, n) for q in range(p)]
            for j, value in enumerate(self.transform(row)):
                results[k + m * j] = value
        return results

    def _new(self, real: str, imaginary: str) -> _Number:
        self._count += 1
        names = f"u{self._count}", f"w{self._count}"
        self.lines.append(f"const {self.kind} {names[0]} = {real}, {names[1]} = {imaginary};")
        return names

    def _pair(self, values: Sequence[_Number]) -> list[_Number]:
        (a, b), (c, d) = values
        return [self._new(f"{a} + {c}", f"{b} + {d}"), self._new(f"{a} - {c}", f"{b} - {d}")]

    def _prime(self, values: Sequence[_Number]) -> list[_Number]:
        """Add up pairs of numbers whose factors are conjugate."""
        n, (a, b) = len(values), values[0]
        pairs = [(values[j], values[n - j]) for j in range(1, (n + 1) // 2)]
        sums = [self._new(f"{x[0]} + {y[0]}", f"{x[1]} + {y[1]}") for x, y in pairs]
        gaps = [self._new(f"{x[0]} - {y[0]}", f"{x[1]} - {y[1]}") for x, y in pairs]
        results = [self._new(" + ".join([a, *(s[0] for s in sums)]), " + ".join([b, *(s[1] for s in sums)]))] * n
        for k in range(1, (n + 1) // 2):
            angles = [2 * math.pi * (j * k % n) / n for j in range(1, (n + 1) // 2)]
            cosines = [self._literal(math.cos(t)) for t in angles]
            sines = [self._literal(self.sign * math.sin(t)) for t in angles]
            even = self._new(
                *(
                    " + ".join([v, *(f"{c} * {s[i]}" for c, s in zip(cosines, sums, strict=True))])
                    for i, v in enumerate((a, b))
                )
            )
            odd = self._new(*(" + ".join(f"{c} * {g[i]}" for c, g in zip(sines, gaps, strict=True)) for i in (0, 1)))
            results[k] = self._new(f"{even[0]} - {odd[1]}", f"{even[1]} + {odd[0]}")
            results[n - k] = self._new(f"{even[0]} + {odd[1]}", f"{even[1]} - {odd[0]}")
        return results

    def _turned(self, value: _Number, power: int, n: int) -> _Number:
        """Return a number times a power of the root of unity of order `n`."""
        a, b = value
        quarter, remainder = divmod(4 * power % (4 * n), n)
        if remainder == 0:
            turned = [(a, b), (f"-{b}", a), (f"-{a}", f"-{b}"), (b, f"-{a}")]
            real, imaginary = turned[(self.sign * quarter) % 4]
            return value if quarter == 0 else self._new(real, imaginary)
        t = 2 * math.pi * power / n
        c, s = self._literal(math.cos(t)), self._literal(self.sign * math.sin(t))
        return self._new(f"{a} * {c} - {b} * {s}", f"{a} * {s} + {b} * {c}")

    def _literal(self, value: float) -> str:
        return f"({value!r}{'' if self.kind == 'double' else 'f'})"


# ---- Lines of arrays along one axis: sources and destinations of a transform


@dataclass(frozen=True)
class Lines:
    """Lines of an array: all along one axis, numbered by the other dimensions.

    Parameters
    ----------
    operand : DeviceOperand
    shape, strides : tuple of int
        Of the other dimensions; strides in bytes.
    step : int
        Bytes from an element to the next one.
    part : int
        Bytes from a real to its imaginary part.
    kind : {"pairs", "half", "real"}
        Complex numbers; those of which only the first half is there, the others being their conjugates; or real ones.
    count : int
        How many elements a line has, with the missing ones.
    factors : DeviceOperand or None
        The factors of elements: when they are read, or before they are written.
    padded : bool
        Whether a longer transform reads and writes them: further elements are read as 0, and not written.
    """

    operand: DeviceOperand
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    step: int
    part: int
    kind: Literal["pairs", "half", "real"]
    count: int
    factors: DeviceOperand | None = None
    padded: bool = False

    def declare(self, writer: KernelWriter, name: str, *, written: bool = False) -> None:
        """Add the parameters, whose names begin with `name`."""
        writer.array(name, self.operand, written=written)
        shape, (strides,) = merged_dimensions(self.shape, self.strides)
        writer.numbers(f"{name}n", shape)
        writer.numbers(f"{name}s", strides)
        writer.number(f"{name}_step", self.step)
        if self.kind != "real":
            writer.number(f"{name}_part", self.part)
        if self.kind == "half" or self.padded:
            writer.number(f"{name}_count", self.count)
        if self.factors is not None:
            writer.array(f"{name}f", self.factors)

    def read(self, name: str) -> list[str]:
        """Return statements that set ``re`` and ``im`` to element ``i`` of line ``row``."""
        kind, address = c_type(self.operand.dtype), f"{name} + o + k * {name}_step"
        lines = [*self._begin(name), "int64_t k = i;"]
        if self.kind == "half":
            lines.append(f"const int mirrored = i > {name}_count / 2; if (mirrored) k = {name}_count - i;")
        lines.append(f"re = *(GLOBAL_MEM const {kind} *)({address});")
        if self.kind != "real":
            lines.append(f"im = *(GLOBAL_MEM const {kind} *)({address} + {name}_part);")
        if self.kind == "half":
            lines.append("if (mirrored) im = -im;")
        lines += self._multiplied(name)
        condition = f"if (i < {name}_count) " if self.padded else ""
        return ["re = 0; im = 0;", f"{condition}{{", *lines, "}"]

    def write(self, name: str) -> list[str]:
        """Return statements that store ``re`` and ``im`` as element ``i`` of line ``row``."""
        kind, address = c_type(self.operand.dtype), f"{name} + o + i * {name}_step"
        lines = [*self._begin(name), *self._multiplied(name), f"*(GLOBAL_MEM {kind} *)({address}) = re;"]
        if self.kind != "real":
            lines.append(f"*(GLOBAL_MEM {kind} *)({address} + {name}_part) = im;")
        condition = f"if (i < {name}_count) " if self.padded else ""
        if self.kind == "half":
            condition = f"if (i <= {name}_count / 2) "
        return [f"{condition}{{", *lines, "}"]

    def _begin(self, name: str) -> list[str]:
        """Return statements that find the first element of the line."""
        shape, _ = merged_dimensions(self.shape, self.strides)
        lines = [f"int64_t o = {name}_at; uint64_t r = row;"]
        for d in reversed(range(len(shape))):
            if d:
                lines.append(f"o += (int64_t)(r % (uint64_t){name}n{d}) * {name}s{d}; r /= (uint64_t){name}n{d};")
            else:
                lines.append(f"o += (int64_t)r * {name}s0;")
        return lines

    def _multiplied(self, name: str) -> list[str]:
        if self.factors is None:
            return []
        kind = c_type(self.operand.dtype)
        return [
            f"const {kind} c = ((GLOBAL_MEM const {kind} *)({name}f + {name}f_at))[2 * i];",
            f"const {kind} d = ((GLOBAL_MEM const {kind} *)({name}f + {name}f_at))[2 * i + 1];",
            f"const {kind} turned = re * c - im * d; im = re * d + im * c; re = turned;",
        ]


def lines_of(operand: DeviceOperand, axis: int, kind: Literal["pairs", "half", "real"], count: int) -> Lines:
    """Return the lines of an array along an axis; complex numbers have their parts in its last dimension.

    Parameters
    ----------
    operand : DeviceOperand
    axis : int
    kind : {"pairs", "half", "real"}
    count : int
        How many elements a line has, with the missing ones.
    """
    ndim = operand.ndim if kind == "real" else operand.ndim - 1
    others: Sequence[int] = [d for d in range(ndim) if d != axis]
    shape, strides = (tuple(given[d] for d in others) for given in (operand.shape, operand.strides))
    part = 0 if kind == "real" else operand.strides[-1]
    return Lines(operand, shape, strides, operand.strides[axis], part, kind, count)


# ---- Passes of short transforms along one axis, which leave the numbers in order (Stockham's algorithm)
#
# Where a line fits into local memory twice, one launch does all passes; else each one is a launch, over global memory.
# Lengths with large prime factors are convolutions with a chirp: Bluestein (1970), "A linear filtering approach to the
# computation of the discrete Fourier transform".

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
    """Return the statements that transform ``a0``, ``b0``, ``a1``, ..., and the names of their results.

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


# ---- Transforms by cuFFT

#: Dimensions that the library transforms.
_MOST_DIMENSIONS = 3


def forward_by_library(recorder: Recorder, x: DeviceOperand, result: DeviceOperand) -> bool:
    """Transform all dimensions but the first; return False where there is no library for it."""
    call = LibraryCall("rfft", x.dtype, x.shape)
    if not x.size or x.ndim > _MOST_DIMENSIONS + 1:
        return False
    size = recorder.workspace(call)
    if size is None:
        return False
    operand = contiguous(recorder, x)
    # The library reads real numbers as pairs.
    if operand.offset % (2 * x.itemsize):
        operand = contiguous(recorder, x, copied=True)
    recorder.call(call, [operand, result, recorder.empty("uint8", (size,))])
    return True


def inverse_by_library(recorder: Recorder, y: DeviceOperand, result: DeviceOperand) -> bool:
    """Transform all dimensions but the first back; return False where there is no library for it."""
    call = LibraryCall("irfft", y.dtype, result.shape)
    if not y.size or result.ndim > _MOST_DIMENSIONS + 1:
        return False
    size = recorder.workspace(call)
    if size is None:
        return False
    recorder.call(call, [_hermitian(recorder, y, result.shape), result, recorder.empty("uint8", (size,))])
    return True


def _hermitian(recorder: Recorder, y: DeviceOperand, shape: tuple[int, ...]) -> DeviceOperand:
    """Return a copy, for the library overwrites it, in which elements that stand for each other are conjugates.

    Where the last position is 0 or half of an even length, an element and the one at the opposite positions along the
    other dimensions are both there. The result depends on their mean alone, and the library takes for granted that they
    fit to each other.
    """
    kind, target = c_type(y.dtype), recorder.empty(y.dtype, y.shape)
    lengths, lead = y.shape[:-1], range(1, y.ndim - 2)
    writer = KernelWriter("fourier_hermitian")
    writer.reads(x=y)
    writer.writes(z=target)
    names, steps = writer.numbers("n", lengths), writer.numbers("s", y.strides)
    writer.number("whole", shape[-1])
    writer.walk(math.prod(lengths))
    j = writer.positions(names)
    last = j[-1]
    offset = " + ".join(["x_at", *(f"{p} * {s}" for p, s in zip(j, steps[:-1], strict=True))])
    turned = [f"({names[d]} - {j[d]}) % {names[d]}" if d in lead else j[d] for d in range(len(lengths))]
    other = " + ".join(["x_at", *(f"{p} * {s}" for p, s in zip(turned, steps[:-1], strict=True))])
    writer.add(
        f"const int64_t a = {offset}, b = {other};",
        f"{kind} re = *(GLOBAL_MEM const {kind} *)(x + a), im = *(GLOBAL_MEM const {kind} *)(x + a + {steps[-1]});",
        f"if ({last} == 0 || 2 * {last} == whole) {{",
        f"re = (re + *(GLOBAL_MEM const {kind} *)(x + b)) / 2;",
        f"im = (im - *(GLOBAL_MEM const {kind} *)(x + b + {steps[-1]})) / 2;",
        "}",
        f"((GLOBAL_MEM {kind} *)(z + z_at))[2 * i] = re; ((GLOBAL_MEM {kind} *)(z + z_at))[2 * i + 1] = im;",
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, math.prod(lengths)))
    return target


# ---- Device forms of transforms of real numbers


_FLOATS = ("float32", "float64")


@register_device_form(RealFourierKernel, supports=lambda kernel: kernel.dtype in _FLOATS)
def _forward(kernel: RealFourierKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    if 0 in x.shape[1:]:
        raise ValueError(format_error(f"rfft: there is nothing to transform in shape {x.shape}"))
    *front, n = x.shape
    result = recorder.empty(kernel.dtype, (*front, n // 2 + 1, 2))
    if forward_by_library(recorder, x, result):
        return [result]
    transform(recorder, lines_of(x, x.ndim - 1, "real", n), lines_of(result, x.ndim - 1, "half", n), n, -1)
    for axis in range(1, x.ndim - 1):
        lines = lines_of(result, axis, "pairs", x.shape[axis])
        transform(recorder, lines, lines, x.shape[axis], -1)
    return [result]


@register_device_form(
    InverseRealFourierKernel,
    supports=lambda kernel: kernel.dtype in _FLOATS,
    host_inputs=lambda kernel, count: (1,),
)
def _inverse(kernel: InverseRealFourierKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    y, (n,) = on_device(recorder, operands[0]), host_numbers(operands[1])
    if y.shape[-1] != 2 or n < 1 or 0 in y.shape[1:] or y.shape[-2] != n // 2 + 1:
        raise ValueError(
            format_error(
                f"irfft: shape {y.shape} does not fit {n} elements",
                hint="the last two lengths are n//2 + 1 and 2; set is_odd for an odd n",
            )
        )
    result = recorder.empty(kernel.dtype, (*y.shape[:-2], n))
    if inverse_by_library(recorder, y, result):
        return [result]
    for axis in range(1, y.ndim - 2):
        target = recorder.empty(kernel.dtype, y.shape)
        length = y.shape[axis]
        transform(recorder, lines_of(y, axis, "pairs", length), lines_of(target, axis, "pairs", length), length, 1)
        y = target
    transform(recorder, lines_of(y, y.ndim - 2, "half", n), lines_of(result, y.ndim - 2, "real", n), n, 1)
    return [result]


__all__ = ["InverseRealFourierKernel", "RealFourierKernel"]
