"""Masks as indices: where the true elements are, in order."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import format_error

from .._form import DeviceOperand, Recorder
from .._kernel_writer import KernelWriter, merged_dimensions

__all__ = ["check_mask", "true_offsets"]

#: Elements that a work-item counts one after the other.
_RUN = 16

#: The sum of `value` over the work-items up to this one; `sums` holds one number for each of them.
_SCAN = """static inline int64_t theano_scan(LOCAL_MEM_ARG int64_t *sums, int64_t value) {
  const int me = (int)LID_0;
  sums[me] = value;
  local_barrier();
  for (int step = 1; step < (int)LDIM_0; step *= 2) {
    const int64_t before = me >= step ? sums[me - step] : 0;
    local_barrier();
    sums[me] += before;
    local_barrier();
  }
  return sums[me];
}
"""


def check_mask(mask: DeviceOperand, x: DeviceOperand, axis: int) -> None:
    """Raise IndexError if a mask has not the lengths of the axes that it indexes."""
    if mask.shape != x.shape[axis : axis + mask.ndim]:
        raise IndexError(
            format_error(
                f"boolean index of shape {mask.shape} did not match the indexed array of shape {x.shape} "
                f"from axis {axis} on",
                hint="give the mask the lengths of the axes that it indexes",
            )
        )


def true_offsets(recorder: Recorder, mask: DeviceOperand, strides: Sequence[int]) -> DeviceOperand:
    """Return the sums of positions times `strides` of all true elements of a mask, as int64, in order.

    The host has to know how many there are: it waits for the device.
    """
    if not mask.size:
        return recorder.empty("int64", (0,))
    local = min(128, recorder.properties.max_local)
    groups = -(-mask.size // (local * _RUN))
    counts = recorder.empty("int64", (groups + 1,))
    _launch(recorder, mask, strides, counts, None, (groups, local))
    _add_up(recorder, counts, local)
    (total,) = recorder.read(counts.view((1,), (8,), counts.offset + 8 * groups))
    offsets = recorder.empty("int64", (int(total),))
    if total:
        _launch(recorder, mask, strides, counts, offsets, (groups, local))
    return offsets


def _launch(
    recorder: Recorder,
    mask: DeviceOperand,
    strides: Sequence[int],
    counts: DeviceOperand,
    offsets: DeviceOperand | None,
    layout: tuple[int, int],
) -> None:
    """Count the true elements of each group; or write where they are, from the place on that `counts` tells."""
    groups, local = layout
    shape, (steps, weights) = merged_dimensions(mask.shape, mask.strides, tuple(strides))
    writer = KernelWriter("mask_count" if offsets is None else "mask_offsets")
    writer.function(_SCAN)
    writer.reads(m=mask)
    writer.array("c", counts, written=offsets is None)
    writer.writes(q=offsets)
    lengths, along, each = writer.numbers("n", shape), writer.numbers("s", steps), writer.numbers("w", weights)
    writer.number("count", mask.size)
    element = [
        "uint64_t r = (uint64_t)i; int64_t a = m_at, o = 0;",
        *_decoded(lengths, along, each),
        "const int is_true = *(GLOBAL_MEM const uint8_t *)(m + a) != 0;",
    ]
    loop = "for (int64_t i = begin; i < begin + RUN && i < count; i++) {".replace("RUN", str(_RUN))
    writer.local("int64_t", "sums", local)
    writer.add(
        f"const int64_t begin = ((int64_t)GID_0 * LDIM_0 + LID_0) * {_RUN};",
        "int64_t own = 0;",
        loop,
        *element,
        "own += is_true;",
        "}",
        "const int64_t upto = theano_scan(sums, own);",
        "GLOBAL_MEM int64_t *const of_group = (GLOBAL_MEM int64_t *)(c + c_at) + GID_0;",
    )
    if offsets is None:
        writer.add("if (LID_0 == LDIM_0 - 1) *of_group = upto;")
    else:
        writer.add(
            "GLOBAL_MEM int64_t *to = (GLOBAL_MEM int64_t *)(q + q_at) + *of_group + upto - own;",
            loop,
            *element,
            "if (is_true) *to++ = o;",
            "}",
        )
    writer.launch(recorder, (groups,), (local,))


def _decoded(lengths: Sequence[str], along: Sequence[str], each: Sequence[str]) -> list[str]:
    lines = []
    for d in reversed(range(len(lengths))):
        position = f"r % (uint64_t){lengths[d]}" if d else "r"
        division = f" r /= (uint64_t){lengths[d]};" if d else ""
        lines.append(f"{{ const int64_t j = {position};{division} a += j * {along[d]}; o += j * {each[d]}; }}")
    return lines


def _add_up(recorder: Recorder, counts: DeviceOperand, local: int) -> None:
    """Replace counts by the sums of those before each, by one group."""
    writer = KernelWriter("mask_sums")
    writer.function(_SCAN)
    writer.writes(c=counts)
    writer.number("count", counts.shape[0])
    writer.local("int64_t", "sums", local)
    writer.add(
        "GLOBAL_MEM int64_t *const p = (GLOBAL_MEM int64_t *)(c + c_at);",
        "int64_t before = 0;",
        "for (int64_t begin = 0; begin < count; begin += LDIM_0) {",
        "const int64_t i = begin + LID_0;",
        # The last place has no count: it gets the sum of all.
        "const int64_t own = i < count - 1 ? p[i] : 0;",
        "const int64_t upto = theano_scan(sums, own);",
        "if (i < count) p[i] = before + upto - own;",
        "before += sums[LDIM_0 - 1];",
        "local_barrier();",
        "}",
    )
    writer.launch(recorder, (1,), (local,))
