"""Determinants from the factors L and U, without overflow on the way."""

from __future__ import annotations

from collections.abc import Sequence

from theano_linker_c.scalar import c_type

from .._copies import on_device
from .._form import DeviceOperand, Operand, Recorder, register_device_form
from .._kernel_writer import KernelWriter
from ._blocks import BLOCK, add_matrices, element, group_size
from ._equations import factor_rows
from ._kernel import DeterminantKernel
from ._library import lu_by_library
from ._stacks import FLOATS, check_square, copy_matrices

__all__: list[str] = []


@register_device_form(DeterminantKernel, supports=lambda kernel: kernel.dtype in FLOATS)
def _determinant(kernel: DeterminantKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    x = on_device(recorder, operands[0])
    check_square("slogdet" if kernel.logarithm else "det", x)
    *front, n, _ = x.shape
    results = [recorder.empty(x.dtype, tuple(front)) for _ in range(1 + kernel.logarithm)]
    batch = results[0].size
    if not batch:
        return results
    a = recorder.empty(x.dtype, (batch, n, n))
    copy_matrices(recorder, a, x)
    factors = lu_by_library(recorder, a)
    if factors is None:
        _multiply(recorder, a, factor_rows(recorder, a, None), None, results)
    else:
        _multiply(recorder, a, *factors, results)
    return results


def _multiply(
    recorder: Recorder,
    a: DeviceOperand,
    pivots: DeviceOperand,
    info: DeviceOperand | None,
    results: Sequence[DeviceOperand],
) -> None:
    """Multiply the diagonals of U, with a sign for each exchange of rows.

    Factors are kept between 0.5 and 1, and powers of 2 are added up beside them; so are signs, since NaN counts as
    positive there, and 0 makes the whole 0, as in NumPy. A library counts rows from 1, and says where a matrix is
    singular.
    """
    kind, local = c_type(a.dtype), group_size(recorder)
    # What splits off the power of 2; OpenCL has one name for both precisions.
    end = "" if kind == "double" or recorder.properties.driver == "opencl" else "f"
    writer = KernelWriter("determinant")
    add_matrices(writer, "a", a)
    writer.reads(p=pivots)
    writer.number("n", a.shape[1])
    for k, result in enumerate(results):
        writer.array(f"z{k}", result, written=True)
    itself, suffix = f"k % {BLOCK}", "" if kind == "double" else "f"
    singular = ""
    if info is not None:
        writer.reads(info=info)
        itself = "k + 1"
        singular = "if (((GLOBAL_MEM const int32_t *)(info + info_at))[b] != 0) signs[0] = 0;"
    targets = [f"((GLOBAL_MEM {kind} *)(z{k} + z{k}_at))[b]" for k in range(len(results))]
    writer.local(kind, "parts", local)
    for name in ("powers", "signs"):
        writer.local("int32_t", name, local)
    writer.add(
        f"const int64_t b = GID_0; {kind} part = 1; int32_t power = 0, sign = 1; int more;",
        f"for (int32_t k = LID_0; k < n; k += {local}) {{",
        f"const {kind} pivot = {element(kind, 'a', 'k', 'k')};",
        f"part *= fabs{suffix}(pivot);",
        "if (pivot == 0) sign = 0;",
        f"if ((((GLOBAL_MEM const int32_t *)(p + p_at))[b * n + k] != {itself}) != (pivot < 0)) sign = -sign;",
        f"more = 0; part = frexp{end}(part, &more); power += more;",
        "}",
        "parts[LID_0] = part; powers[LID_0] = power; signs[LID_0] = sign;",
        "local_barrier();",
        f"for (int span = {local // 2}; span > 0; span /= 2) {{",
        "if (LID_0 < span) {",
        f"more = 0; parts[LID_0] = frexp{end}(parts[LID_0] * parts[LID_0 + span], &more);",
        "powers[LID_0] += powers[LID_0 + span] + more; signs[LID_0] *= signs[LID_0 + span];",
        "}",
        "local_barrier();",
        "}",
        "if (LID_0 == 0) {",
        f"{singular} const {kind} total = signs[0] == 0 ? 0 : parts[0];",
        *_results(kind, end, targets),
        "}",
    )
    writer.launch(recorder, (a.shape[0],), (local,))


def _results(kind: str, end: str, targets: Sequence[str]) -> list[str]:
    """Return the statements that store ``signs[0] * total * 2 ** powers[0]``, or its sign and logarithm."""
    if len(targets) == 1:
        return [f"{targets[0]} = ldexp{end}(signs[0] * total, powers[0]);"]
    suffix = "" if kind == "double" else "f"
    size = f"log{suffix}(total) + powers[0] * ({kind})0.69314718055994530942"
    return [f"{targets[0]} = signs[0];", f"{targets[1]} = {size};"]
