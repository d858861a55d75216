"""C text of reductions fused with the computation of their elements.

Sums of floats are taken in blocks: inside a block each vector lane adds up its own elements, and the sums of blocks are
joined with a running compensation (Kahan). The error hardly grows with the number of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..scalar import CValue, ScalarOp, ScalarProgram, c_cast, c_literal, c_type, is_discrete, program_of
from ._descriptions import ReductionKernel, reduction_seed
from ._elementwise import PARAMETERS
from ._source import CFunction, CWriter, KernelSource, Operand, layout_test, memory_type, vector_layouts

BLOCK = 512
_CLAUSES = {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}


@dataclass(frozen=True, slots=True)
class _Fold:
    """What the loops of one reduction share."""

    combine: ScalarOp
    dtype: str
    program: ScalarProgram
    inputs: tuple[Operand, ...]

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

    def element(self, writer: CWriter, values: Sequence[CValue | None], mode: str) -> str:
        """Write the computation of one element and give its value in the accumulator's dtype."""
        loaded = [v if v is not None else x.load(writer, mode) for v, x in zip(values, self.inputs, strict=True)]
        statements, (result,) = self.program.emit(loaded, "t")
        for statement in statements:
            writer.line(statement)
        writer.line(f"const {c_type(self.dtype)} v = {c_cast(result, self.dtype)};")
        return "v"


def reduction_source(kernel: ReductionKernel) -> KernelSource:
    """Generate ``NAME_inner`` and ``NAME_outer`` for `kernel`.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    inputs = tuple(Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes))
    fold = _Fold(kernel.combine, kernel.acc_dtype, program_of(kernel.element, kernel.input_dtypes), inputs)
    layouts = vector_layouts(kernel.broadcast, len(inputs))
    return KernelSource((_inner(fold, layouts), _outer(fold, layouts)))


def _inner(fold: _Fold, layouts: Sequence[Sequence[bool]]) -> CFunction:
    writer = CWriter()
    for operand in fold.inputs:
        operand.declare(writer)
    writer.line(f"{fold.scalar} total = *({fold.scalar} *)acc;")
    if fold.compensates:
        writer.line(f"{fold.scalar} lost = 0;")
    chain = "if"
    for fixed in layouts:
        with writer.block(f"{chain} ({layout_test(fold.inputs, fixed)})"):
            _blocks(writer, fold, fixed)
        chain = "else if"
    with writer.block("else" if layouts else "if (1)"):
        _blocks(writer, fold, None)
    writer.line(f"*({fold.scalar} *)acc = total;")
    return CFunction("_inner", PARAMETERS + ", void *acc", tuple(writer.lines))


def _fixed_values(writer: CWriter, fold: _Fold, fixed: Sequence[bool] | None) -> list[CValue | None]:
    flags = fixed if fixed is not None else [False] * len(fold.inputs)
    return [x.load(writer, "fixed") if flag else None for x, flag in zip(fold.inputs, flags, strict=True)]


def _blocks(writer: CWriter, fold: _Fold, fixed: Sequence[bool] | None) -> None:
    """Fold all n elements into `total`, block by block."""
    mode = "strided" if fixed is None else "contiguous"
    values = _fixed_values(writer, fold, fixed)
    if fold.clause is None:
        with writer.block("for (int64_t i = 0; i < n; i++)"):
            writer.line(f"total = {fold.joined('total', fold.element(writer, values, mode))};")
        return
    with writer.block(f"for (int64_t start = 0; start < n; start += {BLOCK})"):
        writer.line(f"const int64_t stop = n - start > {BLOCK} ? start + {BLOCK} : n;")
        writer.line(f"{fold.scalar} part = {_neutral(fold)};")
        extra = ""
        if fold.tracks_nan:
            writer.line("int32_t nan = 0;")
            extra = " reduction(|: nan)"
        writer.directive(f"#pragma omp simd reduction({fold.clause}: part){extra}")
        with writer.block("for (int64_t i = start; i < stop; i++)"):
            _accumulate(writer, fold, fold.element(writer, values, mode))
        _join_block(writer, fold)


def _neutral(fold: _Fold) -> str:
    return c_literal(reduction_seed(fold.combine, fold.dtype), fold.dtype)


def _accumulate(writer: CWriter, fold: _Fold, value: str) -> None:
    if fold.clause in ("max", "min"):
        sign = ">" if fold.clause == "max" else "<"
        writer.line(f"part = {value} {sign} part ? {value} : part;")
        if fold.tracks_nan:
            writer.line(f"nan |= {value} != {value};")
    else:
        writer.line(f"part {fold.clause}= {value};")


def _join_block(writer: CWriter, fold: _Fold) -> None:
    if fold.compensates:
        writer.line(f"const {fold.scalar} given = part - lost, sum = total + given;")
        # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
        writer.line("lost = sum - sum == 0 ? (sum - total) - given : 0;")
        writer.line("total = sum;")
        return
    if fold.tracks_nan:
        suffix = "f" if fold.dtype == "float32" else ""
        writer.line(f'if (nan) part = __builtin_nan{suffix}("");')
    writer.line(f"total = {fold.joined('total', 'part')};")


def _outer(fold: _Fold, layouts: Sequence[Sequence[bool]]) -> CFunction:
    writer = CWriter()
    target = Operand(len(fold.inputs), fold.dtype)
    for operand in (*fold.inputs, target):
        operand.declare(writer)
    for fixed in layouts:
        with writer.block(f"if ({layout_test((*fold.inputs, target), (*fixed, False))})"):
            _outer_loop(writer, fold, target, fixed)
            writer.line("return;")
    _outer_loop(writer, fold, target, None)
    return CFunction("_outer", PARAMETERS, tuple(writer.lines))


def _outer_loop(writer: CWriter, fold: _Fold, target: Operand, fixed: Sequence[bool] | None) -> None:
    mode = "strided" if fixed is None else "contiguous"
    values = _fixed_values(writer, fold, fixed)
    if fixed is not None:
        writer.directive("#pragma omp simd")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        value = fold.element(writer, values, mode)
        old = target.load(writer, mode)
        writer.line(f"{target.place(mode)} = {fold.joined(old.text, value)};")
