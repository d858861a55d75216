"""Kernels that reduce results of each element, and keep others, all in one pass; their accumulators and C text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from theano_graph import format_error, record

from ..scalar import (
    CValue,
    NoNativeForm,
    ProgramBuilder,
    ScalarOp,
    ScalarProgram,
    ScalarTypeError,
    c_cast,
    c_literal,
    c_type,
    cast,
    is_complex,
    is_discrete,
    program_of,
)
from ._elementwise import EXPENSIVE, PARAMETERS, LoopNest, layout_test, loop_nest_functions
from ._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    axis_flags,
    c_text,
    check_broadcast,
    donors_like,
    padded_donors,
    type_number,
)
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, memory_type, vector_layouts

# ---- The accumulator of a reduction: its starting value, and its C text

#: Operators of OpenMP's reduction clause, by the name of the op that joins elements.
_CLAUSES: Mapping[str, str] = MappingProxyType(
    {"add": "+", "mul": "*", "and_": "&", "or_": "|", "xor": "^", "maximum": "max", "minimum": "min"}
)


def can_reduce(combine: ScalarOp, acc_dtype: str) -> bool:
    """Say whether `combine` can be one of several reductions, in an accumulator of `acc_dtype`.

    Examples
    --------
    >>> from theano_linker_c.scalar import add
    >>> can_reduce(add, "float64"), can_reduce(add, "complex128")
    (True, False)
    """
    return combine.name in _CLAUSES and not is_complex(acc_dtype) and acc_dtype != "float16"


def reduction_seed(combine: ScalarOp, dtype: str) -> float | int:
    """Give the value that changes nothing when it is joined by `combine` with a value of `dtype`.

    Raises
    ------
    TypeError
        If `combine` is not add, mul, maximum, minimum, and_, or_ or xor.

    Examples
    --------
    >>> from theano_linker_c.scalar import maximum
    >>> reduction_seed(maximum, "float64")
    -inf
    """
    name = combine.name
    if name in ("add", "or_", "xor"):
        return 0
    if name == "mul":
        return 1
    if name == "and_":
        return 1 if dtype == "bool" else int(np.array(-1).astype(dtype))
    if name in ("maximum", "minimum"):
        lowest = name == "maximum"
        if dtype == "bool":
            return int(not lowest)
        if is_discrete(dtype):
            return int(np.iinfo(dtype).min if lowest else np.iinfo(dtype).max)
        return float("-inf") if lowest else float("inf")
    raise ScalarTypeError(
        format_error(f"a reduction with {combine} has no starting value", hint="give the kernel an identity")
    )


@record
class Accumulator:
    """One reduction in the generated text: its number, its joining op, its dtype, and its pointer."""

    number: int
    combine: ScalarOp
    dtype: str
    #: The pointer to the total, and the pointer to its lost part.
    total: int
    lost: int

    @property
    def part(self) -> str:
        return f"part{self.number}"

    @property
    def nan(self) -> str:
        return f"nan{self.number}"

    @property
    def scalar(self) -> str:
        return memory_type(self.dtype)

    @property
    def clause(self) -> str | None:
        """The operator of OpenMP's reduction clause, if there is one; of truth values, "or" is the sum.

        A product of complex numbers is no ``*`` of C, and compilers differ in their treatment of complex sums.
        """
        clause = None if is_complex(self.dtype) else _CLAUSES.get(self.combine.name)
        return {"+": "|", "*": "&"}.get(clause or "", clause) if self.dtype == "bool" else clause

    @property
    def tracks_nan(self) -> bool:
        return self.clause in ("max", "min") and not is_discrete(self.dtype)

    @property
    def compensates(self) -> bool:
        return self.clause == "+" and not is_discrete(self.dtype)

    @property
    def rounds(self) -> bool:
        """Whether its operands are rounded."""
        return self.clause not in ("max", "min") and not is_discrete(self.dtype)

    @property
    def seed(self) -> str:
        return c_literal(reduction_seed(self.combine, self.dtype), self.dtype)

    def joined(self, a: str, b: str) -> str:
        """Give the C text of `a` combined with `b`."""
        args = [CValue(a, self.dtype), CValue(b, self.dtype)]
        return f"({c_type(self.dtype)})({self.combine.c_expression(args, self.dtype)})"

    def clauses(self) -> Iterator[str]:
        """Give the clauses of the vectorised loop."""
        if self.clause is not None:
            yield f"reduction({self.clause}: {self.part})"
        if self.tracks_nan:
            yield f"reduction(|: {self.nan})"

    def start(self, writer: CWriter) -> None:
        """Declare the total of a block. An op without a clause has no neutral value: it goes on with the total."""
        start = self.place(self.total) if self.clause is None else self.seed
        writer.line(f"{self.scalar} {self.part} = {start};")
        if self.tracks_nan:
            writer.line(f"int32_t {self.nan} = 0;")

    def add(self, writer: CWriter, value: CValue, masked: bool) -> None:
        """Reduce the value of an element into the total of its block, unless it is `masked` and one to leave out."""
        name = f"v{self.number}"
        text = c_cast(value, self.dtype)
        text = f"at >= 0 ? {text} : {self.seed}" if masked else text
        writer.line(f"const {c_type(self.dtype)} {name} = {text};")
        if self.clause is None:
            writer.line(f"{self.part} = {self.joined(self.part, name)};")
        elif self.clause in ("max", "min"):
            sign = ">" if self.clause == "max" else "<"
            writer.line(f"{self.part} = {name} {sign} {self.part} ? {name} : {self.part};")
            if self.tracks_nan:
                writer.line(f"{self.nan} |= {name} != {name};")
        else:
            writer.line(f"{self.part} {self.clause}= {name};")

    def finish(self, writer: CWriter) -> None:
        """Join the total of a block with that of the blocks before."""
        if self.tracks_nan:
            suffix = "f" if self.dtype == "float32" else ""
            writer.line(f'if ({self.nan}) {self.part} = __builtin_nan{suffix}("");')
        total, part, k = self.place(self.total), self.part, self.number
        if self.compensates:
            lost = self.place(self.lost)
            writer.line(
                f"const {self.scalar} old{k} = {total}, given{k} = {part} - {lost}, sum{k} = old{k} + given{k};"
            )
            # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
            writer.line(f"{lost} = sum{k} - sum{k} == 0 ? (sum{k} - old{k}) - given{k} : 0;")
            writer.line(f"{total} = sum{k};")
        else:
            writer.line(f"{total} = {part if self.clause is None else self.joined(total, part)};")

    def place(self, index: int) -> str:
        """Give the C text of the accumulator's number behind one of the pointers."""
        return f"*({self.scalar} *)data[{index}]"


# ---- Kernels that reduce results of each element, and keep others, all in one pass; and their C text
#
# Elements are reduced in blocks by one vectorised loop, each vector lane on its own; kept results are stored by the
# same
# loop. The total of a block is joined with that of the blocks before; sums of floats with a running compensation
# (Kahan),
# so that the error hardly grows with the number of elements. The runtime goes from block to block.

#: Elements of a block that is reduced in place: single precision loses too much in long ones, and exact sums
#: loses nothing.
BLOCK = 512
LONG_BLOCK = 1024
EXACT_BLOCK = 1 << 20
#: Rows that are reduced into a row of accumulators at once.
ROWS = 4
#: The op that joins partial results of a reduction that was cut in chunks, by the name of the reducing op.
_JOIN: Mapping[str, np.ufunc] = MappingProxyType(
    {
        "add": np.add,
        "mul": np.multiply,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "and_": np.bitwise_and,
        "or_": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)


@record
class Reduction:
    """How one result of a scalar op is reduced along axes.

    Parameters
    ----------
    combine : ScalarOp
        The op that joins two elements: add, mul, maximum, minimum, and_, or_, xor, or any associative op of two inputs.
    acc_dtype, output_dtype : str
        Dtype in which elements are joined, and dtype of the result.
    identity : float or int or None
        Result for no elements; None if that is an error.
    """

    combine: ScalarOp
    acc_dtype: str
    output_dtype: str
    identity: float | int | None

    @property
    def seed(self) -> float | int:
        """The value that accumulators start from, also where `identity` is None."""
        return reduction_seed(self.combine, self.acc_dtype) if self.identity is None else self.identity


@record
class ReductionKernel(Kernel):
    """A scalar op over all elements; its first results are kept, each of the others is reduced along the same axes.

    Parameters
    ----------
    scalar_op : ScalarOp
        With as many results as there are kept and reduced ones together; `identity` where elements themselves are
        reduced.
    input_dtypes, kept_dtypes : tuple of str
        Mostly, nothing is kept.
    reductions : tuple of Reduction
        At least one.
    broadcast : tuple of tuple of bool
        For each input, which dimensions are known to have length 1 and broadcast.
    ndim : int
        Number of dimensions of the inputs.
    axes : tuple of int
        Axes along which is reduced, and which reduced results do not have.
    """

    needs_code: ClassVar[bool] = True
    overwriting: ClassVar[Overwriting | None] = Overwriting.ELEMENTWISE
    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    kept_dtypes: tuple[str, ...]
    reductions: tuple[Reduction, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        check_broadcast("reduction kernel", self.input_dtypes, self.broadcast, self.ndim)

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return self.scalar_op.cost + sum(max(reduction.combine.cost, 1) for reduction in self.reductions)

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        if code is None:
            return None
        reductions = self.reductions
        dtypes = (*self.input_dtypes, *self.kept_dtypes, *(reduction.output_dtype for reduction in reductions))
        return "reduction", (
            code.address,
            code.outer_address,
            self.ndim,
            tuple(type_number(dtype) for dtype in dtypes),
            tuple(type_number(reduction.acc_dtype) for reduction in reductions),
            tuple(np.array(reduction.seed).astype(reduction.acc_dtype).tobytes() for reduction in reductions),
            tuple(_JOIN.get(reduction.combine.name) for reduction in reductions),
            self.broadcast,
            axis_flags(self.axes, self.ndim),
            padded_donors(site, len(self.kept_dtypes)),
            any(reduction.identity is None for reduction in reductions),
            float(self.cost),
        )

    def donors(self, site: Site) -> Donors:
        """Return the inputs whose memory the results that are kept may take."""
        return donors_like(site, self.input_dtypes, self.broadcast, self.kept_dtypes)


@record
class _Reductions:
    """The common part of the functions of one kernel."""

    program: ScalarProgram
    inputs: tuple[Operand, ...]
    kept: tuple[Operand, ...]
    totals: tuple[Operand, ...]
    accumulators: tuple[Accumulator, ...]
    #: Which inputs are the same for all elements: of the loop that is always right, and maybe of one that is faster.
    layouts: tuple[tuple[bool, ...], ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, *self.kept, *self.totals)

    @property
    def lanes(self) -> int:
        """Elements that a loop takes at a time, for all vectors of machines and types of operands."""
        return max(x.lanes for x in self.operands)

    @property
    def block(self) -> int:
        """Elements of a block that is reduced where it lies; extrema of the elements of a block are exact."""
        rounded = [accumulator.dtype for accumulator in self.accumulators if accumulator.rounds]
        return BLOCK if "float32" in rounded else LONG_BLOCK if rounded else EXACT_BLOCK

    @property
    def masked(self) -> bool:
        """Whether loops take whole vectors only: where elements are cheap, choosing would cost more than they do.

        So the kept result of an element does not depend on its position.
        """
        if not self.kept or self.program.cost < EXPENSIVE:
            return False
        return all(accumulator.clause is not None for accumulator in self.accumulators)


@c_text.register(ReductionKernel)
def reduction_source(kernel: ReductionKernel) -> KernelSource:
    """Generate ``NAME_inner`` for `kernel`, and ``NAME_outer`` where an axis is kept.

    The operands are the inputs, the kept results, and the accumulators.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    if any(reduction.acc_dtype == "float16" for reduction in kernel.reductions):
        raise NoNativeForm("accumulators of reductions have at least 32 bits")
    inputs = tuple(Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes))
    first = len(inputs)
    outputs = tuple(Operand(first + i, dtype, read=False, written=True) for i, dtype in enumerate(kernel.kept_dtypes))
    first += len(outputs)
    dtypes = [reduction.acc_dtype for reduction in kernel.reductions]
    totals = tuple(Operand(first + i, dtype, read=True, written=True) for i, dtype in enumerate(dtypes))
    lost = first + len(totals)
    accumulators = tuple(
        Accumulator(i, reduction.combine, reduction.acc_dtype, first + i, lost + i)
        for i, reduction in enumerate(kernel.reductions)
    )
    layouts = vector_layouts(kernel.broadcast) or [tuple(all(pattern) for pattern in kernel.broadcast)]
    program = program_of(kernel.scalar_op, kernel.input_dtypes)
    reductions = _Reductions(program, inputs, outputs, totals, accumulators, tuple(layouts))
    blocks = [_block(reductions, number) for number in range(len(layouts))]
    outer = _outer(reductions, kernel) if len(set(kernel.axes)) < kernel.ndim else ()
    return KernelSource((*blocks, _inner(reductions), *outer), program.preamble)


def _block(reductions: _Reductions, number: int) -> CFunction:
    """Write the function that takes a block of contiguous elements and joins its totals with the accumulators."""
    writer = CWriter()
    layout, masked, accumulators = reductions.layouts[number], reductions.masked, reductions.accumulators
    for operand in (*reductions.inputs, *reductions.kept):
        operand.declare(writer, stride=False)
    fixed = [x.load(writer, "fixed") if f else None for x, f in zip(reductions.inputs, layout, strict=True)]
    for accumulator in accumulators:
        accumulator.start(writer)
    if masked:
        writer.line(f"const int64_t whole = n & -{reductions.lanes};")
    clauses = [clause for accumulator in accumulators for clause in accumulator.clauses()]
    if all(accumulator.clause is not None for accumulator in accumulators):
        writer.vector_loop(partial(_loop, writer, reductions, fixed), " " + " ".join(clauses))
    else:
        _loop(writer, reductions, fixed, True)
    for accumulator in accumulators:
        accumulator.finish(writer)
    return CFunction(f"__block{number}", "int64_t n, char *const *data, int64_t skip", tuple(writer.lines))


def _loop(writer: CWriter, reductions: _Reductions, fixed: Sequence[CValue | None], store: bool) -> None:
    """Write the loop over a block; without `store` it only computes values."""
    masked = reductions.masked
    with writer.block(f"for (int64_t i = 0; i < {'whole' if masked else 'n'}; i++)"):
        if masked:
            index = "int64_t" if reductions.totals[0].itemsize == 8 else "int32_t"
            writer.line(f"const {index} at = ({index})i - ({index})skip;")
        loads = zip(fixed, reductions.inputs, strict=True)
        values = [v if v is not None else x.load(writer, "contiguous") for v, x in loads]
        statements, results = reductions.program.emit(values, "t")
        for statement in statements:
            writer.line(statement)
        if not store:
            return
        for operand, result in zip(reductions.kept, results[: len(reductions.kept)], strict=True):
            operand.store(writer, "contiguous", result)
        for accumulator, result in zip(reductions.accumulators, results[len(reductions.kept) :], strict=True):
            accumulator.add(writer, result, masked)


def _inner(reductions: _Reductions) -> CFunction:
    """Write the function that reduces along its loop: the runtime goes from block to block."""
    writer = CWriter()
    written = (False,) * (len(reductions.kept) + len(reductions.totals))
    layouts = [(*layout, *written) for layout in reductions.layouts]
    kinds = ", ".join(str(operand.kind(layouts)) for operand in reductions.operands)
    loops = ", ".join(f"{SYMBOL}__block{i}" for i in range(len(layouts)))
    writer.line(f"static const int32_t kinds[] = {{{kinds}}};")
    counts = f"{len(reductions.operands)}, {len(layouts)}, {len(reductions.totals)}, {int(reductions.masked)}"
    lengths = f"{reductions.lanes}, {reductions.block}"
    writer.line(f"static const theano_reduction reduction = {{{counts}, {lengths}, kinds, {{{loops}}}}};")
    writer.line("theano_reduce(n, data, strides, &reduction);")
    return CFunction("_inner", PARAMETERS, tuple(writer.lines))


def _outer(reductions: _Reductions, kernel: ReductionKernel) -> Sequence[CFunction]:
    """Write the reduction of rows into rows of accumulators: an elementwise nest that updates its last operands."""
    builder = ProgramBuilder((*kernel.input_dtypes, *(total.dtype for total in reductions.totals)))
    numbers = builder.inline(reductions.program, range(len(reductions.inputs)))
    results = list(numbers[: len(reductions.kept)])
    for k, accumulator in enumerate(reductions.accumulators):
        number = numbers[len(reductions.kept) + k]
        (element,) = builder.step(cast(accumulator.dtype), [number], [builder.dtype_of(number)])
        element_outputs = (len(reductions.inputs) + k, element)
        results += builder.step(accumulator.combine, element_outputs, (accumulator.dtype, accumulator.dtype))
    written = (False,) * (len(reductions.kept) + len(reductions.totals))
    layouts = tuple((*fixed, *written) for fixed in vector_layouts(kernel.broadcast))
    nest = LoopNest(builder.finish(results), reductions.operands, layouts)
    together = bool(layouts) and nest.program.cost < EXPENSIVE and not reductions.kept
    rows = [_several_rows(reductions)] if together else []
    return (*loop_nest_functions(nest, "__row"), *rows, _all_rows(nest, together))


def _several_rows(reductions: _Reductions) -> CFunction:
    """Write the reduction of some contiguous rows at once, which loads and stores accumulators less often."""
    writer = CWriter()
    for operand in reductions.totals:
        operand.declare(writer, stride=False)
    fixed: list[CValue | None] = []
    for x, is_fixed in zip(reductions.inputs, reductions.layouts[0], strict=True):
        if is_fixed:
            x.declare(writer, stride=False)
        fixed.append(x.load(writer, "fixed") if is_fixed else None)
    varying = [x for x, value in zip(reductions.inputs, fixed, strict=True) if value is None]
    for x in varying:
        for row in range(ROWS):
            writer.line(f"char *const p{x.index}_{row} = data[{x.index}] + {row} * steps[{x.index}];")
    writer.directive("#pragma omp simd")
    with writer.block("for (int64_t i = 0; i < n; i++)"):
        for a in reductions.accumulators:
            writer.line(f"{c_type(a.dtype)} {', '.join(f'v{a.number}_{row}' for row in range(ROWS))};")
        for row in range(ROWS):
            with writer.block(""):
                _row_values(writer, reductions, fixed, row)
        for a, total in zip(reductions.accumulators, reductions.totals, strict=True):
            joined = [f"v{a.number}_{row}" for row in range(ROWS)]
            while len(joined) > 1:
                joined = [a.joined(*pair) for pair in zip(joined[::2], joined[1::2], strict=True)]
            old = total.load(writer, "contiguous")
            total.store(writer, "contiguous", CValue(a.joined(old.text, joined[0]), a.dtype))
    return CFunction("__rows", "int64_t n, char *const *data, const int64_t *steps", tuple(writer.lines))


def _row_values(writer: CWriter, reductions: _Reductions, fixed: Sequence[CValue | None], row: int) -> None:
    """Compute the reduced values of element ``i`` of a row."""
    for x, value in zip(reductions.inputs, fixed, strict=True):
        if value is None:
            writer.line(f"char *const p{x.index} = p{x.index}_{row};")
    values = [v or x.load(writer, "contiguous") for v, x in zip(fixed, reductions.inputs, strict=True)]
    statements, results = reductions.program.emit(values, "t")
    for statement in statements:
        writer.line(statement)
    for a, result in zip(reductions.accumulators, results, strict=True):
        writer.line(f"v{a.number}_{row} = {c_cast(result, a.dtype)};")


def _all_rows(nest: LoopNest, together: bool) -> CFunction:
    """Write the function that takes all rows: `steps` are the byte strides from one row to the next."""
    writer = CWriter()
    writer.line(f"char *at[{len(nest.operands)}];")
    for x in nest.operands:
        writer.line(f"at[{x.index}] = data[{x.index}];")

    def advance(rows: int) -> None:
        for x in nest.operands:
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


__all__ = ["can_reduce", "reduction_seed", "Reduction", "ReductionKernel"]
