"""Reductions as statements.

On a graphics card, work-items of a group take elements or vectors in turns and join their totals by a tree, within a
warp or in local memory; work-items side by side read elements side by side. On a CPU a group is one work-item with
several partial totals, which the compiler keeps in vectors. Sums of floats are compensated from block to block, as on
the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from theano_linker_c.codegen.ir import (
    Assign,
    Body,
    Buffer,
    Expression,
    If,
    Index,
    Joined,
    Let,
    Load,
    Loop,
    LoopKind,
    Opaque,
    Position,
    Region,
    Statement,
    Store,
    Value,
    operand_value,
    value_of_text,
)
from theano_linker_c.codegen.lengths import Length
from theano_linker_c.codegen.passes import program_statements
from theano_linker_c.kernels import Reduction, memory_type, reduction_seed
from theano_linker_c.scalar import CValue, NoNativeForm, c_cast, c_literal, c_type, is_complex, is_discrete

from ._form import KernelText
from ._layouts import ReduceJob, ReduceLayout
from ._prelude import aligned, vector_type
from .elementwise import element, let, offset, positions
from .text import Signature

#: Elements whose total is joined with that of those before.
BLOCK = 128
#: Inputs up to which a work-item loads several elements of each: more would not fit into its registers.
MOST_SIDE_BY_SIDE = 4
#: Totals that are joined at a time.
MOST_TREES = 4


class Total:
    """One accumulator: `number` keeps the names of several apart."""

    def __init__(self, number: int, reduction: Reduction) -> None:
        self.number, self.reduction, self.dtype = number, reduction, reduction.acc_dtype
        if self.dtype == "float16" or is_complex(self.dtype):
            raise NoNativeForm(f"accumulators of {self.dtype} have no form on devices")
        self.type = memory_type(self.dtype)

    @property
    def compensates(self) -> bool:
        """Whether the rounding errors of a sum are kept."""
        return self.reduction.combine.name == "add" and not is_discrete(self.dtype)

    @property
    def seed(self) -> str:
        """The value that totals start from."""
        seed_value = self.reduction.identity
        return c_literal(
            reduction_seed(self.reduction.combine, self.dtype) if seed_value is None else seed_value, self.dtype
        )

    def named(self, stem: str) -> Value:
        """Return the value of the variable with some stem."""
        return operand_value(CValue(f"{stem}{self.number}", self.dtype))

    def place(self, stem: str, at: str = "") -> tuple[Buffer, Position]:
        """Return the variable with some stem, or an element of the array of variables."""
        name = f"{stem}{self.number}"
        if at:
            return Buffer(name, self.dtype, 1, "numbers"), value_of_text(at)
        return Buffer(f"&{name}", self.dtype, 0, "numbers"), Index()

    def joined(self, a: Expression, b: Expression) -> Joined:
        """Return `a` combined with `b`."""
        return Joined(self.reduction.combine, a, b, self.dtype)

    def taken(self, place: tuple[Buffer, Position], value: Expression) -> Store:
        """Return the statement that joins a value with a variable's content."""
        return Store(*place, self.joined(Load(*place), value))

    def begun(self, stem: str) -> Let:
        """Return the definition of a variable that begins with the seed."""
        return Let(f"{stem}{self.number}", self.type, value_of_text(self.seed, self.dtype), False)

    def array(self, stem: str, length: int, seed: str) -> list[Statement]:
        """Return the statements that define an array of variables."""
        name = f"{stem}{self.number}"
        begin = Store(*self.place(stem, "l"), value_of_text(seed, self.dtype))
        return [Opaque((f"{self.type} {name}[{length}];",), (name,)), _each(str(length), [begin])]

    def join(self, at: str = "") -> Statement:
        """Return the statement that joins a part with the total before, and keeps its rounding error."""
        k, kind = self.number, self.type
        if not self.compensates:
            return self.taken(self.place("total", at), Load(*self.place("part", at)))
        total, lost, part = (f"{stem}{k}{f'[{at}]' if at else ''}" for stem in ("total", "lost", "part"))
        # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
        text = (
            f"{{ const {kind} given{k} = {part} - {lost}, sum{k} = {total} + given{k};"
            f" {lost} = sum{k} - sum{k} == 0 ? (sum{k} - {total}) - given{k} : 0; {total} = sum{k}; }}"
        )
        return Opaque((text,), (), () if at else (f"total{k}", f"lost{k}"))


def _each(length: str, body: Sequence[Statement]) -> Region:
    """Return the loop over elements ``l`` of arrays of variables."""
    return Region(f"for (int l = 0; l < {length}; l++)", tuple(body), ("l",), ("l",))


class ReductionBody:
    """The statements of one reduction."""

    def __init__(self, job: ReduceJob, layout: ReduceLayout, partial: bool) -> None:
        self.job, self.layout, self.partial = job, layout, partial
        self.update = None if partial else job.update
        self.totals = [Total(k, reduction) for k, reduction in enumerate(job.reductions)]
        self.dtypes = (*job.input_dtypes, *job.kept_dtypes)
        self.kept = [f"k{d}" for d in range(layout.n_kept)]
        self.reduced = [f"m{d}" for d in range(layout.n_reduced)]

    @property
    def unroll(self) -> int:
        """Elements or vectors that a work-item of a graphics card loads before it joins them: 16 bytes, four at least.

        With a load at a time memory would wait for the work-items. Where a work-item has one element, there is one.
        """
        if not self.layout.many:
            return 1
        sizes = [np.dtype(dtype).itemsize for dtype in self.job.input_dtypes]
        if len(sizes) > MOST_SIDE_BY_SIDE:
            return 2
        return max(4, 16 // (self.layout.vector * max(sizes, default=4)))

    @property
    def stored(self) -> list[str]:
        """The dtypes stored for each result."""
        return [total.dtype for total in self.totals] if self.partial else list(self.job.result_dtypes)

    @property
    def places(self) -> range:
        """Numbers of the arrays that have elements for each result: the stored ones, then operands of the update."""
        return range(len(self.stored) + (0 if self.update is None else len(self.update.dtypes)))

    @property
    def _warp(self) -> int:
        """Work-items of a result that hand each other totals without local memory."""
        return self.layout.warp if self.layout.inner or self.layout.columns == 1 else 1

    @property
    def _shared(self) -> list[str]:
        """Names of the arrays in local memory for each total; totals that are joined one after the other share them."""
        return [f"shared_{t.type}_{k % MOST_TREES}" for k, t in enumerate(self.totals)]

    def signature(self) -> Signature:
        """Declare the parameters; arguments are given in the same order by the device form."""
        layout, signature, letter = self.layout, Signature(apart=True), self.layout.letter
        signature.number(letter, *self.kept, *self.reduced)
        signature.number(letter, "n", "m", "chunk")
        for k in range(len(self.dtypes)):
            signature.array(f"p{k}", written=k >= len(self.job.input_dtypes))
            signature.number(letter, *self.kept_steps(k), *self.reduced_steps(k))
        for k in self.places:
            signature.array(f"q{k}", written=k < len(self.stored))
            signature.number("q", f"split{k}")
            signature.number(letter, *self.result_steps(k))
        if not layout.cpu and layout.lanes > self._warp:
            for name, kind in dict(zip(self._shared, (t.type for t in self.totals), strict=True)).items():
                signature.local(kind, name, layout.lanes * layout.columns)
        return signature

    def kept_steps(self, k: int) -> list[str]:
        """Strides along kept dimensions."""
        return [f"s{k}_{d}" for d in range(self.layout.n_kept)]

    def reduced_steps(self, k: int) -> list[str]:
        """Strides along reduced dimensions."""
        return [f"r{k}_{d}" for d in range(self.layout.n_reduced)]

    def result_steps(self, k: int) -> list[str]:
        """Strides of a result."""
        return [f"z{k}_{d}" for d in range(self.layout.n_kept)]

    def _offsets(self, stem: str, texts: Sequence[str]) -> Iterator[Statement]:
        """Give the definitions of offsets, one for each operand."""
        yield from (let(f"{stem}{k}", self.layout.index, text) for k, text in enumerate(texts))

    def _kept_offsets(self, count: int, start: str = "") -> list[str]:
        """Return the offsets of operands along the first kept dimensions, at the position ``j``."""
        last = f"{start} * " if start else ""
        return [
            offset("j", steps[:count], f"{last}{steps[-1]}" if start else "")
            for steps in map(self.kept_steps, range(len(self.dtypes)))
        ]

    def _reduced_offsets(self, count: int, tail: str = "") -> list[str]:
        """Return the offsets of operands along the first reduced dimensions, at the position ``i``."""
        found = []
        for k in range(len(self.dtypes)):
            steps = self.reduced_steps(k)
            start = f"o{k} + {tail} * {steps[-1]}" if tail and steps else f"o{k}"
            found.append(offset("i", steps[:count], start))
        return found

    def _program(self) -> tuple[list[Statement], list[Value]]:
        operands = [CValue(f"x{k}", dtype) for k, dtype in enumerate(self.job.input_dtypes)]
        return program_statements(self.job.program, operands, "t")

    def element(self, places: Sequence[str], stem: str, at: str = "") -> Iterator[Statement]:
        """Give the statements that take the element at some addresses into variables."""
        count = len(self.job.input_dtypes)
        for k, dtype in enumerate(self.job.input_dtypes):
            yield Let(f"x{k}", c_type(dtype), Load(element(places[k], dtype, False), Index()))
        statements, results = self._program()
        yield from statements
        for k, dtype in enumerate(self.job.kept_dtypes):
            yield Store(element(places[count + k], dtype, True), Index(), results[k])
        for total, result in zip(self.totals, results[len(self.job.kept_dtypes) :], strict=True):
            yield let(f"v{total.number}", c_type(total.dtype), c_cast(result.operand, total.dtype))
            yield total.taken(total.place(stem, at), total.named("v"))

    def finish(self, values: Sequence[CValue], places: Sequence[str]) -> Iterator[Statement]:
        """Give the statements that store totals, or an update's values of them."""
        results, dtypes, update = [operand_value(value) for value in values], self.stored, self.update
        if update is not None:
            dtype = self.job.reductions[0].output_dtype
            numbers = [CValue("result", dtype)]
            yield let("result", c_type(dtype), c_cast(values[0], dtype))
            for k, dtype in enumerate(update.dtypes):
                numbers.append(CValue(f"y{k}", dtype))
                source = self._result(len(dtypes) + k, dtype, places)
                yield Let(f"y{k}", c_type(dtype), Load(source, Index()))
            statements, results = program_statements(update.program, [numbers[k + 1] for k in update.inputs], "f")
            yield from statements
        for k, (result, dtype) in enumerate(zip(results, dtypes, strict=True)):
            yield Store(self._result(k, dtype, places), Index(), result)

    def _result(self, k: int, dtype: str, places: Sequence[str]) -> Buffer:
        return element(f"q{k} + (int64_t)GID_1 * split{k} + {places[k]}", dtype, k < len(self.stored))

    def _start(self) -> Iterator[Statement]:
        for total in self.totals:
            yield total.begun("total")
            if total.compensates:
                yield Let(f"lost{total.number}", total.type, value_of_text("0"), False)

    # ---- graphics cards

    def for_card(self) -> Iterator[Statement]:
        """Give the statements for a graphics card."""
        layout, unsigned = self.layout, self.layout.unsigned
        lanes, columns, width = layout.lanes, layout.columns, layout.vector
        yield from work_items(layout)
        yield from positions(layout, "g", self.kept, "j")
        yield from self._offsets("o", self._kept_offsets(layout.n_kept))
        yield from self._start()
        if width > 1:
            yield let("whole", "bool", self._aligned())
        most = max(BLOCK // width, 1)
        block = (
            *(total.begun("part") for total in self.totals),
            let("left", unsigned, f"(end - r + {lanes - 1}) / {lanes}"),
            let("turns", "int", f"left < {most} ? (int)left : {most}"),
            *(self._vector_turns() if width > 1 else self._turns()),
            *(total.join() for total in self.totals),
        )
        yield Region(f"for ({unsigned} r = begin + lane; r < end;)", block, ("r",), ("r",))
        if lanes > 1:
            yield from self._tree(lanes, 1 if layout.inner else columns)
        stored = (*self._result_offsets(), *self.finish(*self._totals()))
        yield If(value_of_text(f"lane == 0 && at < ({unsigned})n", "bool"), stored, ())

    def _totals(self) -> tuple[list[CValue], list[str]]:
        return [total.named("total").operand for total in self.totals], [f"z{k}" for k in self.places]

    def _result_offsets(self) -> Iterator[Statement]:
        yield from (let(f"z{k}", self.layout.index, offset("j", self.result_steps(k))) for k in self.places)

    def _turns(self) -> Iterator[Statement]:
        """Give the loop over some elements of a work-item.

        Work-items beyond the last result repeat the last one's work, and store the same: a branch for each
        element would keep loads from being under way together.
        """
        body = self.element([f"p{k} + a{k}" for k in range(len(self.dtypes))], "part")
        yield from self._turn(self.unroll, "r", body)

    def _turn(self, unroll: int, flat: str, body: Iterator[Statement]) -> Iterator[Statement]:
        layout = self.layout
        if unroll > 1 or layout.vector > 1:
            yield Opaque((f"#pragma unroll {unroll}",))
        offsets = self._offsets("a", self._reduced_offsets(layout.n_reduced))
        yield Region(
            f"for (int b = 0; b < turns; b++, r += {layout.lanes})",
            (*positions(layout, flat, self.reduced, "i"), *offsets, *body),
            ("b",),
            ("b", "r"),
        )

    def _aligned(self) -> str:
        """Give the text that tells whether all vectors lie where they may."""
        places = []
        for k, dtype in enumerate(self.dtypes):
            if self.layout.contiguous[k]:
                steps = [*self.kept_steps(k), *self.reduced_steps(k)[:-1]]
                places += [(address, dtype, self.layout.vector) for address in (f"p{k}", *steps)]
        return aligned(places)

    def _vector_turns(self) -> Iterator[Statement]:
        """Give the loops over some vectors of a work-item: as they are, and element by element in the same order."""
        flat = f"(r * {self.layout.vector})"
        bodies = [tuple(self._turn(self.unroll if wide else 1, flat, self._vector(wide))) for wide in (True, False)]
        yield If(value_of_text("whole", "bool"), *bodies)

    def _vector(self, wide: bool) -> Iterator[Statement]:
        """Give the statements that take the vector at the offsets ``a``."""
        layout, width, count = self.layout, self.layout.vector, len(self.job.input_dtypes)
        values: list[Statement] = []
        for k, dtype in enumerate(self.job.input_dtypes):
            kind, name = memory_type(dtype), f"w{k}"
            if wide or not layout.contiguous[k]:
                kind = vector_type(dtype, width) if layout.contiguous[k] else kind
                yield Opaque((f"const {kind} {name} = *(GLOBAL_MEM const {kind} *)(p{k} + a{k});",), (name,))
            else:
                yield Opaque((f"{vector_type(dtype, width)} {name};",), (name,))
                line = f"{name}.at[e] = ((GLOBAL_MEM const {kind} *)(p{k} + a{k}))[e];"
                yield self._side_by_side([Opaque((line,))])
            value: tuple[Buffer, Position] = (Buffer(f"&{name}", dtype, 0, "local"), Index())
            if layout.contiguous[k]:
                value = Buffer(f"{name}.at", dtype, 1, "local"), value_of_text("e")
            values.append(Let(f"x{k}", c_type(dtype), Load(*value)))
        outputs = list(enumerate(self.job.kept_dtypes, count))
        yield from (Opaque((f"{vector_type(dtype, width)} w{k};",), (f"w{k}",)) for k, dtype in outputs)
        yield from (Opaque((f"{t.type} s{t.number}[{width}];",), (f"s{t.number}",)) for t in self.totals)
        statements, results = self._program()
        values += statements
        for (k, dtype), result in zip(outputs, results, strict=False):
            values.append(Store(Buffer(f"w{k}.at", dtype, 1, "local"), value_of_text("e"), result))
        for total, result in zip(self.totals, results[len(outputs) :], strict=True):
            values.append(
                Store(*total.place("s", "e"), value_of_text(c_cast(result.operand, total.dtype), total.dtype))
            )
        yield self._side_by_side(values)
        for k, dtype in outputs:
            if wide:
                yield Opaque((f"*(GLOBAL_MEM {vector_type(dtype, width)} *)(p{k} + a{k}) = w{k};",))
            else:
                line = f"((GLOBAL_MEM {memory_type(dtype)} *)(p{k} + a{k}))[e] = w{k}.at[e];"
                yield self._side_by_side([Opaque((line,))])
        for total in self.totals:
            h = width // 2
            while h:
                yield from (
                    total.taken(total.place("s", f"{e}"), Load(*total.place("s", f"{e + h}"))) for e in range(h)
                )
                h //= 2
            yield total.taken(total.place("part"), Load(*total.place("s", "0")))

    def _side_by_side(self, body: Sequence[Statement]) -> Loop:
        """Return the loop over the elements ``e`` of a vector."""
        return Loop(LoopKind.UNROLLED, "e", Length(self.layout.vector), tuple(body))

    def _tree(self, lanes: int, step: int) -> Iterator[Statement]:
        """Join the totals of work-items: those of a warp are handed over, others go through local memory.

        Both join the same pairs. Totals in local memory are joined some at a time: many would not fit into it together.
        """
        warp = self._warp
        if lanes > warp:
            yield from self._shared_tree(lanes, step, warp)
        if warp > 1:
            pairs: list[Statement] = []
            for t in self.totals:
                k = t.number
                pairs += [let(f"u{k}", t.type, f"total{k}"), let(f"w{k}", t.type, f"theano_shuffle(total{k}, h)")]
                pairs.append(Assign(f"total{k}", t.joined(t.named("u"), t.named("w"))))
            halves = Region(f"for (int h = {min(lanes, warp) // 2}; h > 0; h /= 2)", tuple(pairs), ("h",), ("h",))
            inside = (Opaque(("#pragma unroll",)), halves)
            yield If(value_of_text(f"lane < {min(lanes, warp)}", "bool"), inside, ())

    def _shared_tree(self, lanes: int, step: int, least: int) -> Iterator[Statement]:
        """Join totals by trees in local memory until `least` of each result are left."""
        barrier = Opaque(("local_barrier();",))
        for first in range(0, len(self.totals), MOST_TREES):
            totals = list(zip(self.totals, self._shared, strict=True))[first : first + MOST_TREES]
            if first:
                yield barrier
            pairs: list[Statement] = []
            for t, name in totals:
                k, memory = t.number, Buffer(name, t.dtype, 1, "numbers")
                yield Store(memory, value_of_text("LID_0"), t.named("total"))
                pairs += [let(f"u{k}", t.type, f"{name}[LID_0]"), let(f"w{k}", t.type, f"{name}[LID_0 + h * {step}]")]
                pairs.append(Store(memory, value_of_text("LID_0"), t.joined(t.named("u"), t.named("w"))))
            half = If(value_of_text("lane < h", "bool"), tuple(pairs), ())
            yield Region(f"for (int h = {lanes // 2}; h >= {least}; h /= 2)", (barrier, half), ("h",), ("h",))
            yield from (Assign(f"total{t.number}", value_of_text(f"{name}[LID_0]")) for t, name in totals)

    # ---- CPUs

    def _range(self) -> Iterator[Statement]:
        """Give the statements that say which elements of each result a group on a CPU takes."""
        index = self.layout.index
        yield let("begin", index, f"({index})GID_1 * chunk")
        yield let("end", index, "begin + chunk < m ? begin + chunk : m")

    def for_rows(self) -> Iterator[Statement]:
        """Give the statements for a CPU where the innermost dimension is reduced."""
        layout, index, unsigned = self.layout, self.layout.index, self.layout.unsigned
        lanes, last = layout.lanes, self.reduced[-1] if self.reduced else "1"
        yield from self._range()
        sets = Region(
            f"for (; i + {lanes} <= run; i += {lanes})",
            (_each(str(lanes), list(self.element(self._places("(i + l)"), "parts", "l"))),),
            (),
            ("i",),
        )
        block: Body = (
            let("row", unsigned, f"({unsigned})r / ({unsigned}){last}"),
            let("j", index, f"r - ({index})row * {last}"),
            let("rest", index, f"{last} - j < end - r ? {last} - j : end - r"),
            let("run", index, f"rest < {BLOCK * lanes} ? rest : {BLOCK * lanes}"),
            *positions(layout, "row", self.reduced[:-1], "i"),
            *self._offsets(
                "a", self._reduced_offsets(layout.n_reduced - 1, "j") if self.reduced else self._reduced_offsets(0)
            ),
            *(statement for t in self.totals for statement in t.array("parts", lanes, t.seed)),
            Let("i", index, value_of_text("0"), False),
            sets,
            Region("for (; i < run; i++)", tuple(self.element(self._places("i"), "parts", "0")), (), ("i",)),
            *(statement for t in self.totals for statement in self._lanes_joined(t)),
            *(total.join() for total in self.totals),
            Opaque(("r += run;",), (), ("r",)),
        )
        row = (
            *positions(layout, f"({unsigned})g", self.kept, "j"),
            *self._offsets("o", self._kept_offsets(layout.n_kept)),
            *self._start(),
            Region(f"for ({index} r = begin; r < end;)", block, ("r",), ("r",)),
            *self._result_offsets(),
            *self.finish(*self._totals()),
        )
        yield Loop(LoopKind.GROUPS, "g", Length(1, ("n",)), row)

    def _lanes_joined(self, total: Total) -> Iterator[Statement]:
        """Give the statements that join partial totals to a part."""
        pair = total.taken(total.place("parts", "l"), Load(*total.place("parts", "l + h")))
        half = _each("h", [pair])
        yield Region(f"for (int h = {self.layout.lanes // 2}; h > 0; h /= 2)", (half,), ("h",), ("h",))
        yield Let(f"part{total.number}", total.type, Load(*total.place("parts", "0")))

    def _places(self, i: str) -> list[str]:
        """Give the addresses of element i along the innermost dimension."""
        places = []
        for k, dtype in enumerate(self.dtypes):
            steps = self.reduced_steps(k) if self.layout.inner else self.kept_steps(k)
            size = f"(int)sizeof({memory_type(dtype)})"
            step = size if self.layout.contiguous[k] else steps[-1] if steps else "0"
            places.append(f"p{k} + a{k} + {i} * {step}")
        return places

    def for_columns(self) -> Iterator[Statement]:
        """Give the statements for a CPU where the innermost dimension is kept: some results are reduced at once."""
        layout, index, unsigned = self.layout, self.layout.index, self.layout.unsigned
        columns, last, count = layout.columns, self.kept[-1], layout.n_kept - 1
        yield from self._range()
        yield let("pieces", index, f"({last} + {columns - 1}) / {columns}")
        yield let("units", index, f"n / {last} * pieces")
        elements = (
            *positions(layout, f"({unsigned})r", self.reduced, "i"),
            *self._offsets("a", self._reduced_offsets(layout.n_reduced)),
            _each("width", list(self.element(self._places("l"), "part", "l"))),
        )
        block = (
            *(_each(str(columns), [Store(*t.place("part", "l"), value_of_text(t.seed))]) for t in self.totals),
            Region(f"for (int b = 0; b < {BLOCK} && r < end; b++, r++)", elements, ("b",), ("b", "r")),
            _each("width", [total.join("l") for total in self.totals]),
        )
        values = [CValue(f"total{t.number}[l]", t.dtype) for t in self.totals]
        where = [f"z{k} + l * {self.result_steps(k)[-1]}" for k in self.places]
        starts = (offset("j", self.result_steps(k)[:-1], f"first * {self.result_steps(k)[-1]}") for k in self.places)
        row: Body = (
            let("row", unsigned, f"({unsigned})unit / ({unsigned})pieces"),
            let("first", index, f"(unit - ({index})row * pieces) * {columns}"),
            let("width", "int", f"{last} - first < {columns} ? (int)({last} - first) : {columns}"),
            *positions(layout, "row", self.kept[:-1], "j"),
            *self._offsets("o", self._kept_offsets(count, "first")),
            *(statement for t in self.totals for statement in t.array("total", columns, t.seed)),
            *(Opaque((f"{t.type} part{t.number}[{columns}];",), (f"part{t.number}",)) for t in self.totals),
            *(statement for t in self.totals if t.compensates for statement in t.array("lost", columns, "0")),
            Region(f"for ({index} r = begin; r < end;)", block, ("r",), ("r",)),
            *(let(f"z{k}", index, text) for k, text in enumerate(starts)),
            _each("width", list(self.finish(values, where))),
        )
        yield Loop(LoopKind.GROUPS, "unit", Length(1, ("units",)), row)


def work_items(layout: ReduceLayout) -> Iterator[Statement]:
    """Give the statements that say which result ``g`` and which elements a work-item of a graphics card takes.

    Those of the lane ``lane`` go from ``begin`` on; rows of vectors are counted in vectors.
    """
    unsigned, width = layout.unsigned, layout.vector
    near, names = (layout.lanes, ("lane", "column")) if layout.inner else (layout.columns, ("column", "lane"))
    yield let(names[0], unsigned, f"LID_0 % {near}")
    yield let(names[1], unsigned, f"LID_0 / {near}")
    yield let("at", unsigned, f"({unsigned})GID_0 * {layout.columns} + column")
    yield let("g", unsigned, f"at < ({unsigned})n ? at : ({unsigned})(n - 1)")
    part, whole = (f"({unsigned}){name}" + (f" / {width}" if width > 1 else "") for name in ("chunk", "m"))
    yield let("begin", unsigned, f"({unsigned})GID_1 * ({part})")
    yield let("end", unsigned, f"begin + {part} < {whole} ? begin + {part} : {whole}")


@lru_cache(maxsize=1024)
def reduction_text(job: ReduceJob, layout: ReduceLayout, partial: bool) -> KernelText:
    """Return the text of a reduction.

    Parameters
    ----------
    job : ReduceJob
    layout : ReduceLayout
    partial : bool
        Whether totals of chunks are stored, in the dtype of the accumulator.

    Raises
    ------
    NoNativeForm, NoDeviceForm
        If a dtype or an op has no form.
    """
    body = ReductionBody(job, layout, partial)
    statements = body.for_card() if not layout.cpu else body.for_rows() if layout.inner else body.for_columns()
    programs = [job.program] if body.update is None else [job.program, body.update.program]
    preamble = dict.fromkeys(part for program in programs for part in program.preamble)
    return body.signature().text("reduction", list(statements), (), preamble, single_item=layout.cpu, light=True)


__all__ = ["reduction_text", "work_items"]
