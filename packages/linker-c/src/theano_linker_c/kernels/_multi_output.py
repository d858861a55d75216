"""C text of kernels that keep some results of each element and reduce others, all in one pass.

As in reductions, elements are reduced in blocks by one vectorised loop, and sums of floats join the sums of blocks with
a running compensation. Kept results are stored by the same loop. The runtime runs it over blocks and joins the totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from theano_graph import record

from ..scalar import (
    CValue,
    NoNativeForm,
    ProgramBuilder,
    ScalarOp,
    ScalarProgram,
    c_cast,
    c_literal,
    c_type,
    cast,
    is_complex,
    is_discrete,
    program_of,
)
from ._descriptions import EXPENSIVE, MultiOutputKernel, reduction_seed
from ._elementwise import PARAMETERS, LoopNest, loop_nest_functions
from ._kernel import c_text
from ._shared_code import join_code
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, memory_type, vector_layouts

_CLAUSES = {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}


def can_reduce(combine: ScalarOp, acc_dtype: str) -> bool:
    """Say whether a :class:`MultiOutputKernel` can reduce by `combine` in an accumulator of `acc_dtype`.

    Examples
    --------
    >>> from theano_linker_c.scalar import add
    >>> can_reduce(add, "float64"), can_reduce(add, "complex128")
    (True, False)
    """
    return combine.name in _CLAUSES and not is_complex(acc_dtype) and acc_dtype != "float16"


@record
class _Accumulator:
    """One reduction in the generated text: its number, what it joins elements by, and its dtype."""

    number: int
    combine: ScalarOp
    dtype: str

    @property
    def part(self) -> str:
        return f"part{self.number}"

    @property
    def nan(self) -> str:
        return f"nan{self.number}"

    @property
    def clause(self) -> str:
        """The operator of OpenMP's reduction clause; of truth values, "or" is the sum."""
        clause = _CLAUSES[self.combine.name]
        return {"+": "|", "*": "&"}.get(clause, clause) if self.dtype == "bool" else clause

    @property
    def tracks_nan(self) -> bool:
        return self.clause in ("max", "min") and not is_discrete(self.dtype)

    @property
    def code(self) -> int:
        """How the runtime joins totals."""
        return join_code("sum" if self.clause == "+" and not is_discrete(self.dtype) else self.clause, self.dtype)

    @property
    def seed(self) -> str:
        return c_literal(reduction_seed(self.combine, self.dtype), self.dtype)

    def clauses(self) -> Iterator[str]:
        """Give the clauses of the vectorised loop."""
        yield f"reduction({self.clause}: {self.part})"
        if self.tracks_nan:
            yield f"reduction(|: {self.nan})"

    def start(self, writer: CWriter) -> None:
        """Declare the total of a block."""
        writer.line(f"{memory_type(self.dtype)} {self.part} = {self.seed};")
        if self.tracks_nan:
            writer.line(f"int32_t {self.nan} = 0;")

    def add(self, writer: CWriter, value: CValue, masked: bool) -> None:
        """Reduce the value of an element into the total of its block, unless it is `masked` and one to leave out."""
        name = f"v{self.number}"
        text = c_cast(value, self.dtype)
        text = f"at >= 0 ? {text} : {self.seed}" if masked else text
        writer.line(f"const {c_type(self.dtype)} {name} = {text};")
        if self.clause in ("max", "min"):
            sign = ">" if self.clause == "max" else "<"
            writer.line(f"{self.part} = {name} {sign} {self.part} ? {name} : {self.part};")
            if self.tracks_nan:
                writer.line(f"{self.nan} |= {name} != {name};")
        else:
            writer.line(f"{self.part} {self.clause}= {name};")

    def finish(self, writer: CWriter, index: int) -> None:
        """Put the total of a block where operand `index` says."""
        if self.tracks_nan:
            suffix = "f" if self.dtype == "float32" else ""
            writer.line(f'if ({self.nan}) {self.part} = __builtin_nan{suffix}("");')
        writer.line(f"*({memory_type(self.dtype)} *)data[{index}] = {self.part};")


@record
class _Parts:
    """What the functions of one kernel share."""

    program: ScalarProgram
    inputs: tuple[Operand, ...]
    kept: tuple[Operand, ...]
    totals: tuple[Operand, ...]
    accumulators: tuple[_Accumulator, ...]
    #: Which inputs are the same for all elements: of the loop that is always right, and maybe of one that is faster.
    layouts: tuple[tuple[bool, ...], ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, *self.kept, *self.totals)

    @property
    def lanes(self) -> int:
        """Elements that a loop takes at a time, whatever the machine's vectors and the operands' types."""
        return max(x.lanes for x in self.operands)

    @property
    def masked(self) -> bool:
        """Whether loops take whole vectors only: where elements are cheap, choosing would cost more than they do."""
        return self.program.cost >= EXPENSIVE


@c_text.register(MultiOutputKernel)
def multi_output_source(kernel: MultiOutputKernel) -> KernelSource:
    """Generate ``NAME_inner`` and ``NAME_outer``, called with (n, data, strides); NAME where all axes go.

    The operands are the inputs, what is kept, and the accumulators.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    if not all(can_reduce(reduction.combine, reduction.acc_dtype) for reduction in kernel.reductions):
        raise NoNativeForm("one of the reductions has no form that is joined with others")
    inputs = tuple(Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes))
    n = len(inputs)
    kept = tuple(Operand(n + i, dtype, read=False, written=True) for i, dtype in enumerate(kernel.kept_dtypes))
    n += len(kept)
    totals = tuple(
        Operand(n + i, reduction.acc_dtype, read=True, written=True) for i, reduction in enumerate(kernel.reductions)
    )
    accumulators = tuple(
        _Accumulator(i, reduction.combine, reduction.acc_dtype) for i, reduction in enumerate(kernel.reductions)
    )
    layouts = vector_layouts(kernel.broadcast) or [tuple(all(pattern) for pattern in kernel.broadcast)]
    program = program_of(kernel.scalar_op, kernel.input_dtypes)
    parts = _Parts(program, inputs, kept, totals, accumulators, tuple(layouts))
    blocks = [_block(parts, number) for number in range(len(layouts))]
    if len(kernel.axes) == kernel.ndim:
        return KernelSource((*blocks, _inner(parts, "")), program.preamble)
    return KernelSource((*blocks, _inner(parts, "_inner"), *_outer(parts, kernel)), program.preamble)


def _block(parts: _Parts, number: int) -> CFunction:
    """Write the function that takes a block of contiguous elements, with totals of its own."""
    writer = CWriter()
    layout = parts.layouts[number]
    for operand in (*parts.inputs, *parts.kept):
        operand.declare(writer, stride=False)
    fixed = [x.load(writer, "fixed") if f else None for x, f in zip(parts.inputs, layout, strict=True)]
    for accumulator in parts.accumulators:
        accumulator.start(writer)
    length = "n"
    if parts.masked:
        length = "whole"
        writer.line(f"const int64_t whole = n & -{parts.lanes};")
    clauses = [clause for accumulator in parts.accumulators for clause in accumulator.clauses()]
    writer.directive(f"#pragma omp simd {' '.join(clauses)}")
    with writer.block(f"for (int64_t i = 0; i < {length}; i++)"):
        if parts.masked:
            index = "int64_t" if parts.totals[0].itemsize == 8 else "int32_t"
            writer.line(f"const {index} at = ({index})i - ({index})skip;")
        values = [
            v if v is not None else x.load(writer, "contiguous") for v, x in zip(fixed, parts.inputs, strict=True)
        ]
        statements, results = parts.program.emit(values, "t")
        for statement in statements:
            writer.line(statement)
        for operand, result in zip(parts.kept, results[: len(parts.kept)], strict=True):
            operand.store(writer, "contiguous", result)
        for accumulator, result in zip(parts.accumulators, results[len(parts.kept) :], strict=True):
            accumulator.add(writer, result, parts.masked)
    for accumulator, total in zip(parts.accumulators, parts.totals, strict=True):
        accumulator.finish(writer, total.index)
    return CFunction(f"__part{number}", "int64_t n, char *const *data, int64_t skip", tuple(writer.lines))


def _inner(parts: _Parts, suffix: str) -> CFunction:
    """Write the function that reduces along its loop: the runtime goes from block to block."""
    writer = CWriter()
    rest = (False,) * (len(parts.kept) + len(parts.totals))
    layouts = [(*layout, *rest) for layout in parts.layouts]
    kinds = ", ".join(str(operand.kind(layouts)) for operand in parts.operands)
    joins = ", ".join(str(accumulator.code) for accumulator in parts.accumulators)
    loops = ", ".join(f"{SYMBOL}__part{i}" for i in range(len(layouts)))
    writer.line(f"static const int32_t kinds[] = {{{kinds}}}, joins[] = {{{joins}}};")
    counts = f"{len(parts.operands)}, {len(layouts)}, {len(parts.accumulators)}, {int(parts.masked)}, {parts.lanes}"
    writer.line(f"static const theano_reduction reduction = {{{counts}, kinds, joins, {{{loops}}}}};")
    writer.line("theano_reduce(n, data, strides, &reduction);")
    return CFunction(suffix, PARAMETERS, tuple(writer.lines))


def _outer(parts: _Parts, kernel: MultiOutputKernel) -> Sequence[CFunction]:
    """Write the reduction of a row into rows of accumulators: an elementwise nest that updates its last operands."""
    builder = ProgramBuilder((*kernel.input_dtypes, *(total.dtype for total in parts.totals)))
    numbers = builder.inline(parts.program, range(len(parts.inputs)))
    results = list(numbers[: len(parts.kept)])
    for k, accumulator in enumerate(parts.accumulators):
        number = numbers[len(parts.kept) + k]
        (element,) = builder.step(cast(accumulator.dtype), [number], [builder.dtype_of(number)])
        given = (len(parts.inputs) + k, element)
        results += builder.step(accumulator.combine, given, (accumulator.dtype, accumulator.dtype))
    written = (False,) * (len(parts.kept) + len(parts.totals))
    layouts = tuple((*fixed, *written) for fixed in vector_layouts(kernel.broadcast))
    nest = LoopNest(builder.finish(results), (*parts.inputs, *parts.kept, *parts.totals), layouts)
    return loop_nest_functions(nest, "_outer")
