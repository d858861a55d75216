"""C text of reductions fused with the computation of their elements.

Elements are folded in blocks by one vectorised loop, each vector lane on its own; operands that are not contiguous are
copied block by block. Sums of floats join the sums of blocks with a running compensation (Kahan), so that the error
hardly grows with the number of elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..scalar import (
    CValue,
    ProgramBuilder,
    ScalarOp,
    ScalarProgram,
    c_cast,
    c_literal,
    c_type,
    cast,
    is_discrete,
    program_of,
)
from ._descriptions import ReductionKernel, reduction_seed
from ._elementwise import PARAMETERS, Nest, declare_blocks, nest_functions, take_block
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, memory_type, vector_layouts

BLOCK = 512
_CLAUSES = {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True, slots=True)
class _Fold:
    """What the functions of one reduction share."""

    combine: ScalarOp
    dtype: str
    program: ScalarProgram
    inputs: tuple[Operand, ...]
    fixed: tuple[bool, ...]

    @property
    def scalar(self) -> str:
        return memory_type(self.dtype)

    @property
    def clause(self) -> str | None:
        """The operator of OpenMP's reduction clause, if there is one; of truth values, "or" is the sum."""
        clause = _CLAUSES.get(self.combine.name)
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


def reduction_source(kernel: ReductionKernel) -> KernelSource:
    """Generate ``NAME_inner`` and ``NAME_outer`` for `kernel`.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    inputs = tuple(Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes))
    fixed = tuple(all(pattern) for pattern in kernel.broadcast)
    program = program_of(kernel.element, kernel.input_dtypes)
    fold = _Fold(kernel.combine, kernel.acc_dtype, program, inputs, fixed)
    return KernelSource((_part(fold), _inner(fold), *_outer(fold, kernel)))


def _part(fold: _Fold) -> CFunction:
    """Write the function that folds up to a block of contiguous elements into an accumulator of its own.

    An op without an OpenMP clause has no neutral value: it folds into the running total that it is given.
    """
    writer = CWriter()
    for operand in fold.inputs:
        operand.declare(writer, stride=False)
    fixed = [x.load(writer, "fixed") if f else None for x, f in zip(fold.inputs, fold.fixed, strict=True)]
    if fold.clause is not None:
        writer.line(f"part = {c_literal(reduction_seed(fold.combine, fold.dtype), fold.dtype)};")
        clauses = f"reduction({fold.clause}: part)"
        if fold.tracks_nan:
            writer.line("int32_t nan = 0;")
            clauses += " reduction(|: nan)"
        writer.directive(f"#pragma omp simd {clauses}")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        values = [v if v is not None else x.load(writer, "contiguous") for v, x in zip(fixed, fold.inputs, strict=True)]
        statements, (result,) = fold.program.emit(values, "t")
        for statement in statements:
            writer.line(statement)
        writer.line(f"const {c_type(fold.dtype)} v = {c_cast(result, fold.dtype)};")
        _accumulate(writer, fold)
    if fold.tracks_nan:
        suffix = "f" if fold.dtype == "float32" else ""
        writer.line(f'if (nan) part = __builtin_nan{suffix}("");')
    writer.line("return part;")
    return CFunction("__part", f"int64_t n, char *const *data, {fold.scalar} part", tuple(writer.lines), fold.scalar)


def _accumulate(writer: CWriter, fold: _Fold) -> None:
    if fold.clause is None:
        writer.line(f"part = {fold.joined('part', 'v')};")
    elif fold.clause in ("max", "min"):
        writer.line(f"part = v {'>' if fold.clause == 'max' else '<'} part ? v : part;")
        if fold.tracks_nan:
            writer.line("nan |= v != v;")
    else:
        writer.line(f"part {fold.clause}= v;")


def _inner(fold: _Fold) -> CFunction:
    writer = CWriter()
    for operand in fold.inputs:
        operand.declare_stride(writer)
    writer.line(f"{fold.scalar} total = *({fold.scalar} *)acc;")
    if fold.compensates:
        writer.line(f"{fold.scalar} lost = 0;")
    varying = [x for x, is_fixed in zip(fold.inputs, fold.fixed, strict=True) if not is_fixed]
    declare_blocks(writer, varying, len(fold.inputs), BLOCK)
    with writer.block(f"for (int64_t start = 0; start < n; start += {BLOCK})"):
        writer.line(f"const int64_t count = n - start > {BLOCK} ? {BLOCK} : n - start;")
        for operand, is_fixed in zip(fold.inputs, fold.fixed, strict=True):
            take_block(writer, operand, is_fixed)
        writer.line(f"const {fold.scalar} part = {SYMBOL}__part(count, block, total);")
        _join_block(writer, fold)
    writer.line(f"*({fold.scalar} *)acc = total;")
    return CFunction("_inner", PARAMETERS + ", void *acc", tuple(writer.lines))


def _join_block(writer: CWriter, fold: _Fold) -> None:
    if fold.clause is None:
        writer.line("total = part;")
    elif fold.compensates:
        writer.line(f"const {fold.scalar} given = part - lost, sum = total + given;")
        # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
        writer.line("lost = sum - sum == 0 ? (sum - total) - given : 0;")
        writer.line("total = sum;")
    else:
        writer.line(f"total = {fold.joined('total', 'part')};")


def _outer(fold: _Fold, kernel: ReductionKernel) -> tuple[CFunction, ...]:
    """Write the fold of rows into a row of accumulators: an elementwise nest that updates its last operand."""
    builder = ProgramBuilder((*kernel.input_dtypes, fold.dtype))
    numbers = builder.inline(fold.program, range(len(fold.inputs)))
    (element,) = builder.step(cast(fold.dtype), numbers, [builder.dtype_of(numbers[0])])
    results = builder.step(fold.combine, (len(fold.inputs), element), (fold.dtype, fold.dtype))
    target = Operand(len(fold.inputs), fold.dtype, read=True, written=True)
    layouts = tuple((*fixed, False) for fixed in vector_layouts(kernel.broadcast))
    return nest_functions(Nest(builder.finish(results), (*fold.inputs, target), layouts), "_outer")
