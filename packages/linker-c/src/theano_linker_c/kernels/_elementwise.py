"""C text of elementwise kernels."""

from __future__ import annotations

from collections.abc import Sequence

from ..scalar import CValue, ScalarProgram, c_cast, program_of
from ._descriptions import EXPENSIVE, ElementwiseKernel
from ._source import CFunction, CWriter, KernelSource, Operand, layout_test, vector_layouts

PARAMETERS = "int64_t n, char *const *data, const int64_t *strides"


def elementwise_source(kernel: ElementwiseKernel) -> KernelSource:
    """Generate ``void NAME(n, data, strides)`` for `kernel`.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    program = program_of(kernel.scalar_op, kernel.input_dtypes)
    inputs = [Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes)]
    outputs = [Operand(len(inputs) + i, dtype) for i, dtype in enumerate(kernel.output_dtypes)]
    writer = CWriter()
    for operand in (*inputs, *outputs):
        operand.declare(writer)
    for fixed in vector_layouts(kernel.broadcast, len(inputs)) if kernel.ndim else []:
        written = (False,) * len(outputs)
        with writer.block(f"if ({layout_test((*inputs, *outputs), (*fixed, *written))})"):
            loop(writer, program, inputs, outputs, fixed=fixed)
            writer.line("return;")
    loop(writer, program, inputs, outputs, fixed=None)
    return KernelSource((CFunction("", PARAMETERS, tuple(writer.lines)),))


def loop(
    writer: CWriter,
    program: ScalarProgram,
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    fixed: Sequence[bool] | None,
) -> None:
    """Write one loop; `fixed` says which inputs are the same for all elements, None: all operands have strides."""
    mode = "strided" if fixed is None else "contiguous"
    values: list[CValue | None] = [None] * len(inputs)
    for i, operand in enumerate(inputs):
        if fixed is not None and fixed[i]:
            values[i] = operand.load(writer, "fixed")
    # An output may be the very memory of an input: element i is then read before it is written, in each lane. So the
    # loop has no dependence between elements, although the pointers are not `restrict`.
    if fixed is not None or program.cost >= EXPENSIVE:
        writer.directive("#pragma omp simd")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        loaded = [v if v is not None else x.load(writer, mode) for v, x in zip(values, inputs, strict=True)]
        statements, results = program.emit(loaded, "t")
        for statement in statements:
            writer.line(statement)
        for operand, result in zip(outputs, results, strict=True):
            writer.line(f"{operand.place(mode)} = {c_cast(result, operand.dtype)};")
