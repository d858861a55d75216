"""Argmax and argmin, and their C text.

Along contiguous elements, vectors hold the extremum of each lane and its position. Across rows, tiles of columns
keep their extrema and positions while the rows pass by.
"""

from __future__ import annotations

from typing import ClassVar

from theano_graph import record

from ..scalar import NoNativeForm, ScalarOp, is_complex, is_discrete, maximum, minimum
from ._kernel import Encoded, Kernel, LoadedKernel, Site, axis_flags, c_text, type_number
from ._source import CFunction, CWriter, KernelSource, memory_type

__all__ = ["ArgmaxKernel"]

#: Elements of a block: few enough rounds that they are counted in an integer as small as an element.
BLOCK = 4096
TILE = 256
#: Bytes of a vector, and how many are filled side by side: a comparison takes longer than the next load.
VECTOR = 64
VECTORS = 4
#: Bytes of the vectors that two halves of wider ones are joined in.
HALVES = (32, 16)
_SIZES = {"bool": 1, "8": 1, "16": 2, "32": 4, "64": 8}


@record
class ArgmaxKernel(Kernel):
    """Argmax (or argmin) over some axes: the position of the first extremum in the flattened axes, or of the first NaN.

    Parameters
    ----------
    dtype : str
        Of the elements; positions are int64.
    ndim : int
        Number of dimensions of the input.
    axes : tuple of int
        Axes that disappear.
    largest : bool
        Whether it is argmax, or argmin.
    """

    needs_code: ClassVar[bool] = True
    dtype: str
    ndim: int
    axes: tuple[int, ...]
    largest: bool = True

    @property
    def combine(self) -> ScalarOp:
        """The expression that joins two elements."""
        return maximum if self.largest else minimum

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return 1

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        if code is None:
            return None
        flags = axis_flags(self.axes, self.ndim)
        addresses = code.address, code.outer_address
        return "argmax", (*addresses, self.ndim, type_number(self.dtype), flags, float(self.cost))


@c_text.register(ArgmaxKernel)
def argmax_source(kernel: ArgmaxKernel) -> KernelSource:
    """Generate ``int64_t NAME_inner(n, x, stride)`` and ``void NAME_outer(n, rows, x, stride, step, position)``."""
    if kernel.dtype == "float16" or is_complex(kernel.dtype):
        raise NoNativeForm(f"positions of {kernel.dtype} have no C form")
    return KernelSource((_block(kernel), _inner(kernel), _outer(kernel)))


def itemsize(dtype: str) -> int:
    """Bytes of an element."""
    return 1 if dtype == "bool" else _SIZES[dtype.lstrip("uintfloa")]


def _better(kernel: ArgmaxKernel) -> str:
    return ">" if kernel.largest else "<"


def _tracks_nan(kernel: ArgmaxKernel) -> bool:
    return not is_discrete(kernel.dtype)


def _is_aligned(kernel: ArgmaxKernel) -> bool:
    return itemsize(kernel.dtype) == 8


def _block(kernel: ArgmaxKernel) -> CFunction:
    """Write the search of contiguous elements: vectors hold the best of their lanes and the rounds they are from."""
    scalar, size, writer = memory_type(kernel.dtype), itemsize(kernel.dtype), CWriter()
    lanes = VECTOR // size
    width = lanes * VECTORS
    writer.line(f"typedef {scalar} values __attribute__((vector_size({VECTOR})));")
    writer.line(f"typedef int{8 * size}_t indices __attribute__((vector_size({VECTOR})));")
    # Vectors that lie across two lines of the cache load slowly: rounds of wide elements begin at a line.
    aligned = f"(int64_t)((-(uint64_t)x & {VECTOR - 1}) / {size})" if _is_aligned(kernel) else "0"
    writer.line(f"const int64_t skip = {aligned}, rounds = (n - skip) / {width};")
    writer.line(f"const {scalar} *const y = x + skip;")
    writer.line("int64_t position = 0;")
    writer.line(f"{scalar} best = x[0];")
    with writer.block("if (rounds > 0)"):
        _rounds(writer, kernel, lanes)
        (_best_position if size > 1 else _best_lane)(writer, kernel, lanes)
    remainder = "n" if size > 1 else f"n / {lanes} * {lanes}"
    with writer.block(f"for (int64_t i = rounds > 0 ? {remainder} : 0; i < n; i++)"):
        if _tracks_nan(kernel):
            writer.line("if (x[i] != x[i]) { *extremum = x[i]; return i; }")
        writer.line(f"if (x[i] {_better(kernel)} best) {{ best = x[i]; position = i; }}")
    writer.line("*extremum = best;")
    writer.line("return position;")
    parameters = f"int64_t n, const {scalar} *x, {scalar} *extremum"
    return CFunction("__block", parameters, tuple(writer.lines), "int64_t")


def _rounds(writer: CWriter, kernel: ArgmaxKernel, lanes: int) -> None:
    """Write the loop that takes one round of vectors after the other."""
    nan, each = _tracks_nan(kernel), range(VECTORS)
    writer.line(f"indices at = {{0}}, take, {', '.join(f'w{i} = at' for i in each)};")
    writer.line(f"values {', '.join(f'b{i}, v{i}' for i in each)};")
    for i in each:
        writer.line(f"__builtin_memcpy(&b{i}, y + {i * lanes}, {VECTOR});")
    if nan:
        # A sum is NaN where an element is, which costs less to see than by comparing each.
        writer.line(f"values {', '.join(f's{i} = b{i}' for i in each)};")
    with writer.block("for (int64_t round = 1; round < rounds; round++)"):
        writer.line(f"const {memory_type(kernel.dtype)} *p = y + round * {VECTORS * lanes};")
        for i in each:
            writer.line(f"__builtin_memcpy(&v{i}, p + {i * lanes}, {VECTOR});")
        writer.line("at += 1;")
        for i in each:
            _compare(writer, kernel, i)
    # The last round: whole vectors are compared like those before, the remainder one by one.
    writer.line("at += 1;")
    for i in range(VECTORS - 1):
        with writer.block(f"if (rounds * {VECTORS * lanes} + {(i + 1) * lanes} <= n - skip)"):
            writer.line(f"__builtin_memcpy(&v{i}, y + rounds * {VECTORS * lanes} + {i * lanes}, {VECTOR});")
            _compare(writer, kernel, i)
    if itemsize(kernel.dtype) > 1:
        # The first and the last elements are compared as vectors too, some of them once more.
        writer.line("values first, last;" if _is_aligned(kernel) else "values last;")
        if _is_aligned(kernel):
            writer.line(f"__builtin_memcpy(&first, x, {VECTOR});")
        writer.line(f"__builtin_memcpy(&last, x + n - {lanes}, {VECTOR});")
        if nan:
            writer.line("s0 += first + last;" if _is_aligned(kernel) else "s0 += last;")
    if nan:
        writer.line(f"s0 = {' + '.join(f's{i}' for i in each)};")
        writer.line("const indices bad = (indices)(s0 != s0);")
        writer.line(f"uint64_t any = 0, parts[{VECTOR // 8}];")
        writer.line(f"__builtin_memcpy(parts, &bad, {VECTOR});")
        writer.line(f"for (int i = 0; i < {VECTOR // 8}; i++) any |= parts[i];")
        with writer.block("if (any)"):
            # Opposite infinities have such a sum as well.
            writer.line("while (position < n && x[position] == x[position]) position++;")
            writer.line("if (position < n) { *extremum = x[position]; return position; }")
            writer.line("position = 0;")


def _compare(writer: CWriter, kernel: ArgmaxKernel, number: int) -> None:
    if _tracks_nan(kernel):
        writer.line(f"s{number} += v{number};")
    writer.line(f"take = (indices)(v{number} {_better(kernel)} b{number});")
    writer.line(_blend(f"b{number}", f"v{number}", "values"))
    writer.line(_blend(f"w{number}", "at", "indices"))


def _best_position(writer: CWriter, kernel: ArgmaxKernel, lanes: int) -> None:
    """Write how the vectors are joined where an element can count a block: the extremum, then its first position.

    Halves of vectors are joined until few lanes are left: a row of matrices is often as short as a loop over lanes.
    """
    scalar, index = memory_type(kernel.dtype), f"int{8 * itemsize(kernel.dtype)}_t"
    for width in HALVES:
        writer.line(f"typedef {scalar} values{width} __attribute__((vector_size({width})));")
        writer.line(f"typedef {index} indices{width} __attribute__((vector_size({width})));")
    writer.line("values top = b0;")
    ends = [("last", f"({index})(n - {lanes})")]
    if _is_aligned(kernel):
        ends.append(("first", f"({index})0"))
    for vector in (*(f"b{i}" for i in range(1, VECTORS)), *(vector for vector, _ in ends)):
        writer.line(f"take = (indices)({vector} {_better(kernel)} top);")
        writer.line(_blend("top", vector, "values"))
    _narrow(writer, "top", "values", _better(kernel))
    writer.line("best = top_lane[0];")
    for k in range(1, HALVES[-1] // itemsize(kernel.dtype)):
        writer.line(f"best = top_lane[{k}] {_better(kernel)} best ? top_lane[{k}] : best;")
    writer.line("const values wanted = (values){0} + best;")
    writer.line(f"const indices lane = {{{', '.join(map(str, range(lanes)))}}};")
    writer.line(f"indices candidate = (indices){{0}} + ({index}){BLOCK}, found;")
    starts = [(f"b{i}", f"({index})skip + (w{i} * {VECTORS} + {i}) * {lanes}") for i in range(VECTORS)]
    for vector, start in (*starts, *ends):
        writer.line(f"found = {start} + lane;")
        writer.line(f"take = (indices)({vector} == wanted) & (indices)(found < candidate);")
        writer.line(_blend("candidate", "found", "indices"))
    _narrow(writer, "candidate", "indices", "<")
    writer.line("position = candidate_lane[0];")
    for k in range(1, HALVES[-1] // itemsize(kernel.dtype)):
        writer.line(f"position = candidate_lane[{k}] < position ? candidate_lane[{k}] : position;")


def _narrow(writer: CWriter, name: str, kind: str, better: str) -> None:
    """Write how the lanes of the vector `name` are joined until those of the narrowest are left, as ``NAME_lane``."""
    full_name = name
    for width in HALVES:
        low, high, take = f"{name}{width}", f"{name}_high{width}", f"{name}_take{width}"
        writer.line(f"{kind}{width} {low}, {high};")
        writer.line(f"__builtin_memcpy(&{low}, &{full_name}, {width});")
        writer.line(f"__builtin_memcpy(&{high}, (const char *)&{full_name} + {width}, {width});")
        writer.line(f"const indices{width} {take} = (indices{width})({high} {better} {low});")
        bits = f"indices{width}"
        writer.line(f"{low} = ({kind}{width})(({take} & ({bits}){high}) | (~{take} & ({bits}){low}));")
        full_name = low
    writer.line(f"__typeof__({full_name}[0]) {name}_lane[{HALVES[-1]} / sizeof {full_name}[0]];")
    writer.line(f"__builtin_memcpy({name}_lane, &{full_name}, {HALVES[-1]});")


def _best_lane(writer: CWriter, kernel: ArgmaxKernel, lanes: int) -> None:
    """Write how vectors of bytes, which cannot count a block, are joined; of equal extrema the earlier one counts."""
    better, scalar = _better(kernel), memory_type(kernel.dtype)
    writer.line(f"indices {', '.join(f'u{i} = w{i} - w{i} + {i}' for i in range(VECTORS))};")
    for step in (1, 2):
        for i in range(0, VECTORS, 2 * step):
            a, b = str(i), str(i + step)
            earlier = f"((w{b} < w{a}) | ((w{b} == w{a}) & (u{b} < u{a})))"
            writer.line(f"take = (indices)(b{b} {better} b{a}) | ((indices)(b{b} == b{a}) & (indices){earlier});")
            writer.line(_blend(f"b{a}", f"b{b}", "values"))
            writer.line(_blend(f"w{a}", f"w{b}", "indices"))
            writer.line(_blend(f"u{a}", f"u{b}", "indices"))
    index = f"int{8 * itemsize(kernel.dtype)}_t"
    for name, kind, vector in (("lane", scalar, "b0"), ("round_of", index, "w0"), ("vector", index, "u0")):
        writer.line(f"{kind} {name}[{lanes}];")
        writer.line(f"__builtin_memcpy({name}, &{vector}, {VECTOR});")
    writer.line("position = INT64_MAX;")
    writer.line("best = lane[0];")
    with writer.block(f"for (int64_t i = 0; i < {lanes}; i++)"):
        writer.line(f"const int64_t candidate = (round_of[i] * (int64_t){VECTORS} + vector[i]) * {lanes} + i;")
        writer.line(f"const int better = (lane[i] {better} best) | ((lane[i] == best) & (candidate < position));")
        writer.line("best = better ? lane[i] : best;")
        writer.line("position = better ? candidate : position;")


def _blend(target: str, source: str, kind: str) -> str:
    """Give the statement that takes the lanes of `source` where ``take`` says so."""
    return f"{target} = ({kind})((take & (indices){source}) | (~take & (indices){target}));"


def _inner(kernel: ArgmaxKernel) -> CFunction:
    scalar, size, writer = memory_type(kernel.dtype), itemsize(kernel.dtype), CWriter()
    writer.line(f"{scalar} copy[{BLOCK}] __attribute__((aligned(64))), best = 0;")
    writer.line("int64_t position = -1;")
    with writer.block(f"for (int64_t start = 0; start < n; start += {BLOCK})"):
        writer.line(f"const int64_t count = n - start > {BLOCK} ? {BLOCK} : n - start;")
        writer.line(f"const {scalar} *block = (const {scalar} *)(x + start * stride);")
        with writer.block(f"if (stride != {size})"):
            writer.line(f"theano_pack((char *)copy, x + start * stride, stride, count, {size});")
            writer.line("block = copy;")
        writer.line(f"{scalar} found;")
        writer.line("const int64_t at = SYMBOL__block(count, block, &found);")
        if _tracks_nan(kernel):
            writer.line("if (found != found) return start + at;")
        with writer.block(f"if (position < 0 || found {_better(kernel)} best)"):
            writer.line("position = start + at;")
            writer.line("best = found;")
    writer.line("return position;")
    return CFunction("_inner", "int64_t n, const char *x, int64_t stride", tuple(writer.lines), "int64_t")


def _outer(kernel: ArgmaxKernel) -> CFunction:
    """Write the positions along rows, for up to ``TILE`` columns; narrow integers count rows."""
    scalar, size, writer = memory_type(kernel.dtype), itemsize(kernel.dtype), CWriter()
    index = "int64_t" if size == 8 else "int32_t"
    writer.line(f"{scalar} best[{TILE}] __attribute__((aligned(64)));")
    writer.line(f"{index} where[{TILE}] __attribute__((aligned(64)));")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        writer.line(f"best[i] = *(const {scalar} *)(x + i * stride);")
        writer.line("where[i] = 0;")
    with writer.block(f"for ({index} row = 1; row < rows; row++)"):
        writer.line("x += step;")
        with writer.block(f"if (stride == {size})"):
            writer.line(f"const {scalar} *values = (const {scalar} *)x;")
            writer.directive("#pragma omp simd")
            with writer.block("for (int64_t i = 0; i < n; i++)"):
                _take(writer, kernel, "values[i]")
        with writer.block("else"), writer.block("for (int64_t i = 0; i < n; i++)"):
            _take(writer, kernel, f"*(const {scalar} *)(x + i * stride)")
    writer.line("for (int64_t i = 0; i < n; i++) position[i] = where[i];")
    parameters = "int64_t n, int64_t rows, const char *x, int64_t stride, int64_t step, int64_t *position"
    return CFunction("_outer", parameters, tuple(writer.lines))


def _take(writer: CWriter, kernel: ArgmaxKernel, value: str) -> None:
    scalar = memory_type(kernel.dtype)
    writer.line(f"const {scalar} v = {value}, b = best[i];")
    better = f"v {_better(kernel)} b"
    if _tracks_nan(kernel):
        better = f"({better}) | ((v != v) & (b == b))"
    writer.line(f"const int take = {better};")
    writer.line("best[i] = take ? v : b;")
    writer.line("where[i] = take ? row : where[i];")
