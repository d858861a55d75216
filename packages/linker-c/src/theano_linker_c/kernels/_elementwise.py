"""C text of elementwise kernels.

There is one vectorised loop, over whole vectors of contiguous operands. Other strides, and what remains, are
served by a plain loop where an element is cheap; where it is not, the runtime copies blocks of the operands together
and runs the vectorised loop on the copies. So an element has the same value whatever the strides.
"""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import record

from ..scalar import Composite, CValue, OneOp, ScalarProgram, program_of
from ._descriptions import EXPENSIVE, ElementwiseKernel
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, vector_layouts

PARAMETERS = "int64_t n, char *const *data, const int64_t *strides"


@record
class LoopNest:
    """A scalar program over operands: what it reads comes first, results go to the operands that are written."""

    program: ScalarProgram | OneOp
    operands: tuple[Operand, ...]
    #: For each vectorised loop, which operands are the same for all elements.
    layouts: tuple[tuple[bool, ...], ...]

    @property
    def inputs(self) -> tuple[Operand, ...]:
        """Operands that are read."""
        return tuple(operand for operand in self.operands if operand.read)

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """Operands that are written."""
        return tuple(operand for operand in self.operands if operand.written)

    @property
    def lanes(self) -> int:
        """Elements that a vectorised loop takes at a time, whatever the machine's vectors and the operands' types."""
        return max(x.lanes for x in self.operands)


def elementwise_source(kernel: ElementwiseKernel) -> KernelSource:
    """Generate ``void NAME(n, data, strides)`` for `kernel`.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    inputs = [Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes)]
    count = len(inputs)
    outputs = [Operand(count + i, dtype, read=False, written=True) for i, dtype in enumerate(kernel.output_dtypes)]
    written = (False,) * len(outputs)
    layouts = tuple((*fixed, *written) for fixed in vector_layouts(kernel.broadcast)) if kernel.ndim else ()
    op = kernel.scalar_op
    alone = op.nout > 1 and not isinstance(op, Composite)
    program = OneOp(op, kernel.input_dtypes) if alone else program_of(op, kernel.input_dtypes)
    return KernelSource(loop_nest_functions(LoopNest(program, (*inputs, *outputs), layouts), ""), program.preamble)


def loop_nest_functions(nest: LoopNest, suffix: str) -> tuple[CFunction, ...]:
    """Write the function NAME + `suffix` and the vectorised loops that it calls."""
    loops = [_vector_function(nest, fixed, f"__vector{i}{suffix}") for i, fixed in enumerate(nest.layouts)]
    writer = CWriter()
    if loops and nest.program.cost >= EXPENSIVE:
        _run_blocks(writer, nest, [loop.suffix for loop in loops])
        return (*loops, CFunction(suffix, PARAMETERS, tuple(writer.lines)))
    for operand in nest.operands:
        operand.declare(writer, stride=True)
    writer.line("int64_t i = 0;")
    for function, fixed in zip(loops, nest.layouts, strict=True):
        with writer.block(f"{'else ' * (function is not loops[0])}if ({layout_test(nest.operands, fixed)})"):
            writer.line(f"i = n & -{nest.lanes};")
            writer.line(f"if (i) {SYMBOL}{function.suffix}(i, data);")
    _loop(writer, nest, [None] * len(nest.inputs), "strided", "; i < n")
    return (*loops, CFunction(suffix, PARAMETERS, tuple(writer.lines)))


def _run_blocks(writer: CWriter, nest: LoopNest, loops: Sequence[str]) -> None:
    """Let shared code run the vectorised `loops`, on the operands themselves or on copies."""
    kinds = ", ".join(str(operand.kind(nest.layouts)) for operand in nest.operands)
    vectors = ", ".join(SYMBOL + suffix for suffix in loops)
    writer.line(f"static const int32_t kinds[] = {{{kinds}}};")
    values = f"{len(nest.operands)}, {len(loops)}, {nest.lanes}, kinds, {{{vectors}}}"
    writer.line(f"static const theano_loop_nest nest = {{{values}}};")
    writer.line("theano_run(n, data, strides, &nest);")


def layout_test(operands: Sequence[Operand], fixed: Sequence[bool]) -> str:
    """Give the C text that tells whether operands are contiguous, those of `fixed` apart, which stay in place."""
    return " & ".join(
        f"(s{operand.index} == {0 if is_fixed else operand.itemsize})"
        for operand, is_fixed in zip(operands, fixed, strict=True)
    )


def _vector_function(nest: LoopNest, fixed: Sequence[bool], suffix: str) -> CFunction:
    writer = CWriter()
    for operand in nest.operands:
        operand.declare(writer, stride=False)
    values = [x.load(writer, "fixed") if fixed[x.index] else None for x in nest.inputs]
    # Whole vectors only: the compiler is spared the loops for what remains, which the caller sees to.
    writer.line(f"const int64_t whole = n & -{nest.lanes};")
    # An output may be the very memory of an input: element i is then read before it is written, in each lane. So the
    # loop has no dependence between elements, although the pointers are not `restrict`.
    writer.directive("#pragma omp simd")
    _loop(writer, nest, values, "contiguous", "int64_t i = 0; i < whole")
    return CFunction(suffix, "int64_t n, char *const *data", tuple(writer.lines))


def _loop(writer: CWriter, nest: LoopNest, values: Sequence[CValue | None], mode: str, head: str) -> None:
    with writer.block(f"for ({head}; i++)"):
        loaded = [v if v is not None else x.load(writer, mode) for v, x in zip(values, nest.inputs, strict=True)]
        statements, results = nest.program.emit(loaded, "t")
        for statement in statements:
            writer.line(statement)
        for operand, result in zip(nest.outputs, results, strict=True):
            operand.store(writer, mode, result)
