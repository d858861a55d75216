"""Products of a matrix and a vector, and of two vectors: each group adds up some rows."""

from __future__ import annotations

from collections.abc import Sequence

from theano_linker_c.scalar import c_type

from .._form import Recorder
from .._kernel_writer import KernelWriter
from ._tiles import TiledProduct, add_parts

__all__ = ["launch_thin"]

#: Work-items of a group, and those that share a row where neighbours along a column lie close together.
_LOCAL = 256
_LANES = 8
#: Elements that each work-item has to add before rows are split.
_LEAST_EACH = 16
_MOST_PARTS = 256


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
    parts = max(1, min(wanted, inner // (lanes * _LEAST_EACH), _MOST_PARTS))
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
