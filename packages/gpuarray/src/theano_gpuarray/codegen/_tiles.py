"""Products in tiles, of matrices defined by their elements: the core of matrix products and of convolutions.

On a graphics card a group computes a tile of the result. It loads strips of both factors into local memory, the next
ones while it multiplies those before, and each work-item keeps some rows and columns of the tile in registers. On a CPU
a group is one work-item, which copies strips to memory of its own and multiplies them as vectors. Products with few
elements and a long inner length are split: parts are added up by a second launch. In all forms the order of sums
depends on nothing but the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from theano_linker_c.scalar import c_type

from ._form import DeviceOperand, DeviceProperties, Recorder
from ._kernel_writer import KernelWriter, spread

# ---- Tiles

#: Work-items of a group on a graphics card: a square of so many rows and columns.
_SIDE = 16
#: Length of the strips in local memory; on a CPU.
_DEPTH, _CPU_DEPTH = 16, 64
_CPU_ROWS, _CPU_VECTORS = 16, 8
#: Inner lengths from which a product is split, and the shortest part.
_LEAST_PART = 256
_MOST_PARTS = 64


@dataclass(frozen=True)
class TiledProduct:
    """A product of matrices, for each number of a batch.

    Parameters
    ----------
    name : str
        Of the kernel.
    dtype : str
        In which is computed: float32 or float64.
    sizes : tuple of int
        Rows, columns, inner length and batch.
    declare : callable
        ``(writer) -> None``: adds the parameters of the factors.
    first, second : sequence of str
        Statements that set ``value`` to the element (``row``, ``inner``) of the first factor, or (``inner``,
        ``column``) of the second, of matrix ``batch``.
    declare_result : callable
        ``(writer) -> None``: adds the parameters of the result.
    store : sequence of str
        Statements that put ``sum`` to (``row``, ``column``) of matrix ``batch`` of the result.
    by_rows : tuple of bool
        Whether neighbours along a row lie close together in memory, for both factors.
    declare_lengths : callable
        ``(writer) -> None``: adds parameters that factors and result have in common.
    narrow : bool
        Whether 32 bits are enough for positions and offsets.
    """

    name: str
    dtype: str
    sizes: tuple[int, int, int, int]
    declare: Callable[[KernelWriter], None]
    first: Sequence[str]
    second: Sequence[str]
    declare_result: Callable[[KernelWriter], None]
    store: Sequence[str]
    by_rows: tuple[bool, bool] = (True, True)
    declare_lengths: Callable[[KernelWriter], None] = lambda writer: None
    narrow: bool = False

    @property
    def index(self) -> str:
        """C type of positions."""
        return "int32_t" if self.narrow else "int64_t"


@dataclass(frozen=True)
class _Tile:
    """Rows and columns of a tile, and work-items of its group."""

    rows: int
    columns: int
    local: int


def _tile(product: TiledProduct, properties: DeviceProperties) -> _Tile:
    if properties.cpu:
        return _Tile(_CPU_ROWS, _CPU_VECTORS * _lanes(product), 1)
    rows, columns, _, batch = product.sizes
    side = _SIDE if properties.max_local >= _SIDE * _SIDE else 8
    large = -(-rows // (4 * side)) * -(-columns // (4 * side)) * batch >= properties.units
    each = 4 if large and min(rows, columns) > 2 * side else 2
    return _Tile(side * each, side * each, side * side)


def _lanes(product: TiledProduct) -> int:
    return 4 if product.dtype == "float64" else 8


def _parts(product: TiledProduct, groups: int, properties: DeviceProperties) -> int:
    """Return in how many parts the inner length is split, so that all units have work."""
    inner = product.sizes[2]
    parts = -(-2 * properties.units // max(groups, 1))
    return max(1, min(parts, inner // _LEAST_PART, _MOST_PARTS))


def launch_product(recorder: Recorder, product: TiledProduct) -> None:
    """Compute a product, by one launch, or by two where it is split."""
    rows, columns, inner, batch = product.sizes
    if not rows * columns * batch:
        return
    tile = _tile(product, recorder.properties)
    across, down = -(-columns // tile.columns), -(-rows // tile.rows)
    groups = across * down * batch
    parts = _parts(product, groups, recorder.properties)
    length = -(-inner // parts)
    length = -(-length // _DEPTH) * _DEPTH if parts > 1 else length
    parts = max(1, -(-inner // max(length, 1)))
    sums = recorder.empty(product.dtype, (parts, batch, rows, columns)) if parts > 1 else None
    writer, index, counter = KernelWriter(product.name), product.index, f"u{product.index}"
    writer.function(_MULTIPLY)
    for name, value in zip(("rows", "columns", "inners", "batches"), product.sizes, strict=True):
        writer.number(name, value)
    for name, value in (("across", across), ("down", down), ("part_length", length)):
        writer.number(name, value)
    product.declare_lengths(writer)
    product.declare(writer)
    if sums is None:
        product.declare_result(writer)
        store: Sequence[str] = product.store
    else:
        writer.writes(sums=sums)
        kind = c_type(product.dtype)
        offset = "((part * batches + batch) * rows + row) * columns + column"
        store = [f"((GLOBAL_MEM {kind} *)(sums + sums_at))[{offset}] = sum;"]
    writer.add(
        f"{counter} left = GID_0;",
        f"const {index} first_column = left % ({counter})across * {tile.columns}; left /= ({counter})across;",
        f"const {index} first_row = left % ({counter})down * {tile.rows}; left /= ({counter})down;",
        f"const {index} batch = left % ({counter})batches;",
        f"const int64_t part = left / ({counter})batches;",
        f"const {index} begin = part * part_length;",
        f"const {index} end = inners - begin < part_length ? inners : begin + part_length;",
    )
    if recorder.properties.cpu:
        _write_for_cpu(writer, product, tile, store)
    else:
        _write_for_groups(writer, product, tile, store, _stages(product, tile, recorder.properties))
    writer.launch(recorder, (groups * parts,), (tile.local,))
    if sums is not None:
        add_parts(recorder, product, sums)


def add_parts(recorder: Recorder, product: TiledProduct, sums: DeviceOperand) -> None:
    """Add up the parts of each element, in order."""
    rows, columns, _, batch = product.sizes
    writer, kind = KernelWriter(f"{product.name}_parts", light=True), c_type(product.dtype)
    for name, value in (("rows", rows), ("columns", columns), ("batches", batch), ("parts", sums.shape[0])):
        writer.number(name, value)
    writer.reads(sums=sums)
    product.declare_lengths(writer)
    product.declare_result(writer)
    writer.walk(rows * columns * batch)
    index = writer.positions(("batches", "rows", "columns"))
    writer.add(
        f"GLOBAL_MEM const {kind} *const from = (GLOBAL_MEM const {kind} *)(sums + sums_at) + i;",
        f"{kind} sum = from[0];",
        "for (int64_t part = 1; part < parts; part++) sum += from[part * rows * columns * batches];",
        f"const int64_t batch = {index[0]}, row = {index[1]}, column = {index[2]};",
        *product.store,
    )
    writer.end()
    writer.launch(recorder, *spread(recorder, rows * columns * batch))


#: The fast form is one operation; the other would be a function.
_MULTIPLY = """#ifdef __OPENCL_VERSION__
#ifdef FP_FAST_FMAF
#define THEANO_ADD_PRODUCT(a, b, c) fma(a, b, c)
#else
#define THEANO_ADD_PRODUCT(a, b, c) ((a) * (b) + (c))
#endif
#else
#define THEANO_ADD_PRODUCT(a, b, c) fma(a, b, c)
#endif
"""


def _load(kind: str, condition: str, statements: Sequence[str], target: str) -> list[str]:
    return [f"{kind} value = 0;", f"if ({condition}) {{", *statements, "}", f"{target} = value;"]


def _write_for_groups(
    writer: KernelWriter, product: TiledProduct, tile: _Tile, store: Sequence[str], stages: int
) -> None:
    """Write the form of graphics cards: while a strip is multiplied, loads of the next one are under way.

    Each work-item has neighbouring rows and columns, which it reads from local memory at once.
    """
    kind, index, side = c_type(product.dtype), product.index, round(tile.local**0.5)
    each, width = tile.rows // side, tile.rows + _pad(product)
    loads = _DEPTH * tile.rows // tile.local
    along_a, along_b = product.by_rows
    # Neighbouring work-items load neighbours in memory.
    place_a = f"l = e % {_DEPTH}, m = e / {_DEPTH}" if along_a else f"m = e % {tile.rows}, l = e / {tile.rows}"
    place_b = f"n = e % {tile.columns}, l = e / {tile.columns}" if along_b else f"l = e % {_DEPTH}, n = e / {_DEPTH}"
    head = ["#pragma unroll", f"for (int k = 0; k < {loads}; k++) {{", f"const int e = LID_0 + k * {tile.local};"]
    square = [
        "#pragma unroll",
        f"for (int y = 0; y < {each}; y++)",
        "#pragma unroll",
        f"for (int x = 0; x < {each}; x++)",
    ]
    writer.local(kind, "a", stages, _DEPTH, width)
    writer.local(kind, "b", stages, _DEPTH, width)
    writer.add(
        f"{kind} own[{each}][{each}], next_a[{loads}], next_b[{loads}];",
        *(*square, "own[y][x] = 0;"),
        f"const int own_row = (int)LID_0 / {side} * {each}, own_column = (int)LID_0 % {side} * {each};",
        "int stage = 0;",
        # The first round has nothing to multiply yet, the last one nothing to load.
        f"for ({index} step = begin - {_DEPTH}; step < end; step += {_DEPTH}) {{",
        *(*head, f"const int {place_a};", f"const {index} row = first_row + m, inner = step + {_DEPTH} + l;"),
        *(*_load(kind, "row < rows && inner < end", product.first, "next_a[k]"), "}"),
        *(*head, f"const int {place_b};", f"const {index} column = first_column + n, inner = step + {_DEPTH} + l;"),
        *(*_load(kind, "column < columns && inner < end", product.second, "next_b[k]"), "}"),
        f"if (step >= begin) for (int l = 0; l < {_DEPTH}; l++) {{",
        f"{kind} u[{each}], v[{each}];",
        *("#pragma unroll", f"for (int y = 0; y < {each}; y++) u[y] = a[stage][l][own_row + y];"),
        *("#pragma unroll", f"for (int x = 0; x < {each}; x++) v[x] = b[stage][l][own_column + x];"),
        *(*square, "own[y][x] = THEANO_ADD_PRODUCT(u[y], v[x], own[y][x]);"),
        "}",
        "stage ^= 1;" if stages == 2 else "local_barrier();",
        *(*head, f"const int {place_a};", "a[stage][l][m] = next_a[k];", "}"),
        *(*head, f"const int {place_b};", "b[stage][l][n] = next_b[k];", "}"),
        "local_barrier();",
        "}",
        *(*square, "{"),
        f"const {index} row = first_row + own_row + y, column = first_column + own_column + x;",
        "if (row < rows && column < columns) {",
        f"const {kind} sum = own[y][x];",
        *store,
        "}",
        "}",
    )


def _pad(product: TiledProduct) -> int:
    """Return how many elements stand behind a row in local memory, so that rows begin in different banks."""
    return 16 // (8 if product.dtype == "float64" else 4)


def _stages(product: TiledProduct, tile: _Tile, properties: DeviceProperties) -> int:
    """Return 2 where two strips of both factors fit into half of the local memory, so that a unit has two groups."""
    size = 8 if product.dtype == "float64" else 4
    strips = 2 * _DEPTH * (tile.rows + _pad(product)) * size
    return 2 if 4 * strips <= properties.local_memory else 1


def _write_for_cpu(writer: KernelWriter, product: TiledProduct, tile: _Tile, store: Sequence[str]) -> None:
    """Write the form with vectors of OpenCL: there is no CPU that CUDA runs on."""
    kind, lanes = c_type(product.dtype), _lanes(product)
    # Four rows of two vectors each stay in registers.
    block = [(y, x) for y in range(4) for x in range(2)]
    vector = f"{kind}{lanes}"
    along_a, along_b = product.by_rows
    loops_a = [f"for (int m = 0; m < {tile.rows}; m++)", f"for (int l = 0; l < {_CPU_DEPTH}; l++)"]
    loops_b = [f"for (int l = 0; l < {_CPU_DEPTH}; l++)", f"for (int n = 0; n < {tile.columns}; n++)"]
    writer.add(
        f"{kind} a[{_CPU_DEPTH * tile.rows}], b[{_CPU_DEPTH * tile.columns}], own[{tile.rows * tile.columns}];",
        f"for (int e = 0; e < {tile.rows * tile.columns}; e++) own[e] = 0;",
        f"for (int64_t step = begin; step < end; step += {_CPU_DEPTH}) {{",
        *(loops_a if along_a else loops_a[::-1]),
        "{",
        "const int64_t row = first_row + m, inner = step + l;",
        *_load(kind, "row < rows && inner < end", product.first, f"a[l * {tile.rows} + m]"),
        "}",
        *(loops_b if along_b else loops_b[::-1]),
        "{",
        "const int64_t column = first_column + n, inner = step + l;",
        *_load(kind, "column < columns && inner < end", product.second, f"b[l * {tile.columns} + n]"),
        "}",
        f"const int depth = end - step < {_CPU_DEPTH} ? (int)(end - step) : {_CPU_DEPTH};",
        f"for (int m = 0; m < {tile.rows}; m += 4) for (int n = 0; n < {tile.columns}; n += {2 * lanes}) {{",
        *(f"{vector} c{y}{x} = vload{lanes}({x}, own + (m + {y}) * {tile.columns} + n);" for y, x in block),
        "for (int l = 0; l < depth; l++) {",
        *(f"const {vector} v{x} = vload{lanes}({x}, b + l * {tile.columns} + n);" for x in range(2)),
        *(f"const {vector} u{y} = ({vector})(a[l * {tile.rows} + m + {y}]);" for y in range(4)),
        *(f"c{y}{x} = THEANO_ADD_PRODUCT(u{y}, v{x}, c{y}{x});" for y, x in block),
        "}",
        *(f"vstore{lanes}(c{y}{x}, {x}, own + (m + {y}) * {tile.columns} + n);" for y, x in block),
        "}",
        "}",
        f"for (int m = 0; m < {tile.rows}; m++) for (int n = 0; n < {tile.columns}; n++) {{",
        "const int64_t row = first_row + m, column = first_column + n;",
        "if (row < rows && column < columns) {",
        f"const {kind} sum = own[m * {tile.columns} + n];",
        *store,
        "}",
        "}",
    )


# ---- Products with one column: each group adds up some rows

#: Work-items of a group, and the ones that share a row where neighbours along a column lie close together.
_LOCAL = 256
_LANES = 8
#: Elements that each work-item has to add before rows are split.
_LEAST_EACH = 16
_MOST_ROW_PARTS = 256


def launch_thin(recorder: Recorder, product: TiledProduct) -> None:
    """Compute a product with one column, by one launch, or two where the rows are few and long.

    Parameters
    ----------
    recorder : Recorder
    product : TiledProduct
        With one column.
    """
    rows, columns, inner, batch = product.sizes
    assert columns == 1, "a thin product has one column"
    if not rows * batch:
        return
    local = min(_LOCAL, 1 << (recorder.properties.max_local.bit_length() - 1))
    while product.by_rows[0] and local > 32 and local > inner:
        local //= 2
    lanes = local if product.by_rows[0] else min(_LANES, local)
    of_group = local // lanes
    groups = -(-rows // of_group) * batch
    wanted = -(-8 * recorder.properties.units // groups)
    parts = max(1, min(wanted, inner // (lanes * _LEAST_EACH), _MOST_ROW_PARTS))
    length = -(-inner // parts)
    sums = recorder.empty(product.dtype, (parts, batch, rows, 1)) if parts > 1 else None
    kind, writer = c_type(product.dtype), KernelWriter(f"{product.name}_thin")
    for name, value in zip(("rows", "columns", "inners", "batches"), product.sizes, strict=True):
        writer.number(name, value)
    writer.number("down", -(-rows // of_group))
    writer.number("part_length", length)
    product.declare_lengths(writer)
    product.declare(writer)
    store: Sequence[str] = product.store
    if sums is None:
        product.declare_result(writer)
    else:
        writer.writes(sums=sums)
        store = [f"((GLOBAL_MEM {kind} *)(sums + sums_at))[(part * batches + batch) * rows + row] = sum;"]
    writer.local(kind, "shared", local)
    writer.add(*_body(product, local, lanes, store))
    writer.launch(recorder, (groups * parts,), (local,))
    if sums is not None:
        add_parts(recorder, product, sums)


def _body(product: TiledProduct, local: int, lanes: int, store: Sequence[str]) -> list[str]:
    """Return the statements of the kernel; its groups have `local` work-items, of which `lanes` share a row."""
    kind, of_group = c_type(product.dtype), local // lanes
    return [
        "int64_t left = GID_0;",
        f"const int lane = (int)LID_0 / {of_group}, me = (int)LID_0 % {of_group};",
        f"const int64_t row = left % down * {of_group} + me, column = 0; left /= down;",
        "const int64_t batch = left % batches, part = left / batches;",
        "const int64_t begin = part * part_length;",
        "const int64_t end = inners - begin < part_length ? inners : begin + part_length;",
        f"{kind} own = 0;",
        "if (row < rows) {",
        # Several loads are under way at once.
        "#pragma unroll 4",
        f"for (int64_t inner = begin + lane; inner < end; inner += {lanes}) {{",
        f"{kind} value;",
        *product.first,
        f"const {kind} factor = value;",
        *product.second,
        "own += factor * value;",
        "}",
        "}",
        "shared[LID_0] = own;",
        "local_barrier();",
        f"for (int step = {lanes // 2}; step > 0; step /= 2) {{",
        f"if (lane < step) shared[LID_0] += shared[LID_0 + step * {of_group}];",
        "local_barrier();",
        "}",
        "if (lane == 0 && row < rows) {",
        f"const {kind} sum = shared[LID_0];",
        *store,
        "}",
    ]


__all__ = ["TiledProduct", "add_parts", "launch_product", "launch_thin"]
