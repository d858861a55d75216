"""C text of reductions fused with the computation of their elements.

Elements are reduced in blocks by one vectorised loop, each vector lane on its own; operands that are not contiguous are
copied block by block. Sums of floats join the sums of blocks with a running compensation (Kahan), so that the error
hardly grows with the number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from ._descriptions import EXPENSIVE, ReductionKernel, reduction_seed
from ._elementwise import PARAMETERS, LoopNest, declare_blocks, layout_test, loop_nest_functions, take_block
from ._kernel import c_text
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, memory_type, vector_layouts

#: Elements that are reduced before their total is joined with that of the others: of copies, and of memory as it lies.
BLOCK = 512
LONG_BLOCK = 1024
#: Rows that are reduced into a row of accumulators at once.
ROWS = 4
_CLAUSES = {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}


@record
class _Reduction:
    """What the functions of one reduction share."""

    combine: ScalarOp
    dtype: str
    program: ScalarProgram
    inputs: tuple[Operand, ...]
    #: Which inputs are the same for all elements: of the loop that is always right, and maybe of one that is faster.
    layouts: tuple[tuple[bool, ...], ...]

    @property
    def fixed(self) -> tuple[bool, ...]:
        return self.layouts[0]

    @property
    def longest(self) -> int:
        """Elements of a block that is reduced where it lies: single precision loses too much in long ones."""
        return BLOCK if self.dtype == "float32" else LONG_BLOCK

    @property
    def pinned(self) -> tuple[Operand, ...]:
        """Inputs that are fixed in the faster loop only."""
        return tuple(x for x in self.inputs if self.layouts[-1][x.index] and not self.fixed[x.index])

    @property
    def scalar(self) -> str:
        return memory_type(self.dtype)

    @property
    def clause(self) -> str | None:
        """The operator of OpenMP's reduction clause, if there is one; of truth values, "or" is the sum.

        A product of complex numbers is no ``*`` of C, and compilers differ in what they allow for complex sums.
        """
        clause = None if is_complex(self.dtype) else _CLAUSES.get(self.combine.name)
        return {"+": "|", "*": "&"}.get(clause or "", clause) if self.dtype == "bool" else clause

    @property
    def tracks_nan(self) -> bool:
        return self.clause in ("max", "min") and not is_discrete(self.dtype)

    @property
    def compensates(self) -> bool:
        return self.clause == "+" and not is_discrete(self.dtype)

    def joined(self, a: str, b: str) -> str:
        """Give the C text of `a` combined with `b`."""
        args = [CValue(a, self.dtype), CValue(b, self.dtype)]
        return f"({c_type(self.dtype)})({self.combine.c_expression(args, self.dtype)})"


@c_text.register(ReductionKernel)
def reduction_source(kernel: ReductionKernel) -> KernelSource:
    """Generate ``NAME_inner`` for `kernel`, and ``NAME_outer`` where an axis is kept.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    inputs = tuple(Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes))
    layouts = vector_layouts(kernel.broadcast) or [tuple(all(pattern) for pattern in kernel.broadcast)]
    program = program_of(kernel.element, kernel.input_dtypes)
    if kernel.acc_dtype == "float16":
        raise NoNativeForm("accumulators of reductions have at least 32 bits")
    reduction = _Reduction(kernel.combine, kernel.acc_dtype, program, inputs, tuple(layouts))
    parts = [_part(reduction, number) for number in range(len(layouts))]
    rows = _outer(reduction, kernel) if len(set(kernel.axes)) < kernel.ndim else ()
    return KernelSource((*parts, _inner(reduction), *rows), program.preamble)


def _part(reduction: _Reduction, number: int) -> CFunction:
    """Write the function that reduces up to a block of contiguous elements into an accumulator of its own.

    An op without an OpenMP clause has no neutral value: it reduces into the running total that it is given.
    """
    writer = CWriter()
    for operand in reduction.inputs:
        operand.declare(writer, stride=False)
    layout = reduction.layouts[number]
    fixed = [x.load(writer, "fixed") if f else None for x, f in zip(reduction.inputs, layout, strict=True)]
    if reduction.tracks_nan:
        writer.line("int32_t nan = 0;")
    if reduction.clause is not None:
        writer.line(f"part = {c_literal(reduction_seed(reduction.combine, reduction.dtype), reduction.dtype)};")
        clauses = f"reduction({reduction.clause}: part)" + (" reduction(|: nan)" if reduction.tracks_nan else "")
        writer.directive(f"#pragma omp simd {clauses}")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        _accumulate(writer, reduction, fixed)
    if reduction.tracks_nan:
        suffix = "f" if reduction.dtype == "float32" else ""
        writer.line(f'if (nan) part = __builtin_nan{suffix}("");')
    writer.line("return part;")
    parameters = f"int64_t n, char *const *data, {reduction.scalar} part"
    return CFunction(f"__part{number}", parameters, tuple(writer.lines), reduction.scalar)


def _accumulate(writer: CWriter, reduction: _Reduction, fixed: Sequence[CValue | None]) -> None:
    """Compute element ``i`` and reduce it into ``part``."""
    values = [
        v if v is not None else x.load(writer, "contiguous") for v, x in zip(fixed, reduction.inputs, strict=True)
    ]
    statements, (result,) = reduction.program.emit(values, "t")
    for statement in statements:
        writer.line(statement)
    writer.line(f"const {c_type(reduction.dtype)} v = {c_cast(result, reduction.dtype)};")
    if reduction.clause is None:
        writer.line(f"part = {reduction.joined('part', 'v')};")
    elif reduction.clause in ("max", "min"):
        writer.line(f"part = v {'>' if reduction.clause == 'max' else '<'} part ? v : part;")
        if reduction.tracks_nan:
            writer.line("nan |= v != v;")
    else:
        writer.line(f"part {reduction.clause}= v;")


def _inner(reduction: _Reduction) -> CFunction:
    writer = CWriter()
    for operand in reduction.inputs:
        operand.declare_stride(writer)
    writer.line(f"{reduction.scalar} total = *({reduction.scalar} *)acc;")
    if reduction.compensates:
        writer.line(f"{reduction.scalar} lost = 0;")
    varying = [x for x, is_fixed in zip(reduction.inputs, reduction.fixed, strict=True) if not is_fixed]
    declare_blocks(writer, varying, len(reduction.inputs), BLOCK)
    pinned = " && ".join(f"s{x.index} == 0" for x in reduction.pinned)
    call = f"{SYMBOL}__part0(count, block, total)"
    if pinned:
        writer.line(f"const int pinned = {pinned};")
        call = f"pinned ? {SYMBOL}__part1(count, block, total) : {call}"
    tests = [
        f"(pinned || s{x.index} == {x.itemsize})" if x in reduction.pinned else f"s{x.index} == {x.itemsize}"
        for x in varying
    ]
    writer.line(f"const int64_t most = {' && '.join(tests) or '0'} ? {reduction.longest} : {BLOCK};")
    with writer.block("for (int64_t start = 0; start < n; start += most)"):
        writer.line("const int64_t count = n - start > most ? most : n - start;")
        for operand, is_fixed in zip(reduction.inputs, reduction.fixed, strict=True):
            if operand in reduction.pinned:
                writer.line(f"if (pinned) block[{operand.index}] = data[{operand.index}]; else {{")
            take_block(writer, operand, is_fixed)
            if operand in reduction.pinned:
                writer.line("}")
        writer.line(f"const {reduction.scalar} part = {call};")
        _join_block(writer, reduction)
    writer.line(f"*({reduction.scalar} *)acc = total;")
    return CFunction("_inner", PARAMETERS + ", void *acc", tuple(writer.lines))


def _join_block(writer: CWriter, reduction: _Reduction) -> None:
    if reduction.clause is None:
        writer.line("total = part;")
    elif reduction.compensates:
        writer.line(f"const {reduction.scalar} given = part - lost, sum = total + given;")
        # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
        writer.line("lost = sum - sum == 0 ? (sum - total) - given : 0;")
        writer.line("total = sum;")
    else:
        writer.line(f"total = {reduction.joined('total', 'part')};")


def _outer(reduction: _Reduction, kernel: ReductionKernel) -> tuple[CFunction, ...]:
    """Write the reduction of rows into a row of accumulators: an elementwise nest that updates its last operand."""
    builder = ProgramBuilder((*kernel.input_dtypes, reduction.dtype))
    numbers = builder.inline(reduction.program, range(len(reduction.inputs)))
    (element,) = builder.step(cast(reduction.dtype), numbers, [builder.dtype_of(numbers[0])])
    results = builder.step(reduction.combine, (len(reduction.inputs), element), (reduction.dtype, reduction.dtype))
    target = Operand(len(reduction.inputs), reduction.dtype, read=True, written=True)
    layouts = tuple((*fixed, False) for fixed in vector_layouts(kernel.broadcast))
    nest = LoopNest(builder.finish(results), (*reduction.inputs, target), layouts)
    together = bool(layouts) and nest.program.cost < EXPENSIVE
    rows = [_several_rows(reduction, target)] if together else []
    return (*loop_nest_functions(nest, "__row"), *rows, _all_rows(nest, together))


def _several_rows(reduction: _Reduction, target: Operand) -> CFunction:
    """Write the reduction of some contiguous rows at once, which loads and stores accumulators less often."""
    writer = CWriter()
    target.declare(writer, stride=False)
    fixed: list[CValue | None] = []
    for x, is_fixed in zip(reduction.inputs, reduction.fixed, strict=True):
        if is_fixed:
            x.declare(writer, stride=False)
        fixed.append(x.load(writer, "fixed") if is_fixed else None)
    varying = [x for x, value in zip(reduction.inputs, fixed, strict=True) if value is None]
    for x in varying:
        for row in range(ROWS):
            writer.line(f"char *const p{x.index}_{row} = data[{x.index}] + {row} * steps[{x.index}];")
    writer.directive("#pragma omp simd")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        writer.line(f"{c_type(reduction.dtype)} {', '.join(f'v{row}' for row in range(ROWS))};")
        for row in range(ROWS):
            with writer.block(""):
                for x in varying:
                    writer.line(f"char *const p{x.index} = p{x.index}_{row};")
                values = [v or x.load(writer, "contiguous") for v, x in zip(fixed, reduction.inputs, strict=True)]
                statements, (result,) = reduction.program.emit(values, "t")
                for statement in statements:
                    writer.line(statement)
                writer.line(f"v{row} = {c_cast(result, reduction.dtype)};")
        joined = [f"v{row}" for row in range(ROWS)]
        while len(joined) > 1:
            joined = [reduction.joined(a, b) for a, b in zip(joined[::2], joined[1::2], strict=True)]
        total = target.load(writer, "contiguous")
        target.store(writer, "contiguous", CValue(reduction.joined(total.text, joined[0]), reduction.dtype))
    return CFunction("__rows", "int64_t n, char *const *data, const int64_t *steps", tuple(writer.lines))


def _all_rows(nest: LoopNest, together: bool) -> CFunction:
    """Write the function that takes all rows: `steps` are the byte strides from one row to the next."""
    writer = CWriter()
    count = len(nest.operands)
    writer.line(f"char *at[{count}];")
    for x in nest.operands:
        writer.line(f"at[{x.index}] = data[{x.index}];")

    def advance(rows: int) -> None:
        for x in nest.inputs:
            writer.line(f"at[{x.index}] += {rows} * steps[{x.index}];")

    if together:
        for x in nest.operands:
            x.declare_stride(writer)
        test = layout_test(nest.operands, nest.layouts[0])
        with writer.block(f"if ({test})"), writer.block(f"for (; rows >= {ROWS}; rows -= {ROWS})"):
            writer.line(f"{SYMBOL}__rows(n, at, steps);")
            advance(ROWS)
    with writer.block("for (; rows > 0; rows--)"):
        writer.line(f"{SYMBOL}__row(n, at, strides);")
        advance(1)
    return CFunction("_outer", PARAMETERS + ", int64_t rows, const int64_t *steps", tuple(writer.lines))
