"""The text of reductions.

On a graphics card, work-items of a group take elements or vectors in turns and join their totals by a tree, within a
warp or in local memory; work-items side by side read elements side by side. On a CPU a group is one work-item with
several partial totals, which the compiler keeps in vectors. Sums of floats are compensated from block to block, as on
the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from theano_linker_c.kernels import Reduction, memory_type, reduction_seed
from theano_linker_c.scalar import CValue, NoNativeForm, c_cast, c_literal, c_loaded, c_type, is_complex, is_discrete

from .._kernel_text import KernelText
from ..elementwise import decode
from ..text import Signature, aligned, declare, kernel_text, store, vector_type
from ._layout import ReduceJob, ReduceLayout

__all__ = ["Total", "reduction_text"]

#: Elements whose total is joined with that of those before.
BLOCK = 128
#: Inputs up to which a work-item loads several elements of each: more would not fit into its registers.
MOST_SIDE_BY_SIDE = 4
#: Totals that are joined at a time.
MOST_TREES = 4


class Total:
    """The text of one accumulator: `number` keeps the names of several apart."""

    def __init__(self, number: int, reduction: Reduction) -> None:
        self.number, self.reduction, self.dtype = number, reduction, reduction.acc_dtype
        if self.dtype == "float16" or is_complex(self.dtype):
            raise NoNativeForm(f"accumulators of {self.dtype} have no form on devices")
        self.type = memory_type(self.dtype)

    @property
    def compensates(self) -> bool:
        """Whether what a sum loses is kept."""
        return self.reduction.combine.name == "add" and not is_discrete(self.dtype)

    @property
    def seed(self) -> str:
        """The value that totals start from."""
        given = self.reduction.identity
        return c_literal(reduction_seed(self.reduction.combine, self.dtype) if given is None else given, self.dtype)

    def joined(self, a: str, b: str) -> str:
        """Give the text of `a` combined with `b`."""
        args = [CValue(a, self.dtype), CValue(b, self.dtype)]
        return f"({c_type(self.dtype)})({self.reduction.combine.c_expression(args, self.dtype)})"

    def join(self, total: str, lost: str, part: str) -> str:
        """Give the statements that join a part with the total before, and keep what was lost."""
        if not self.compensates:
            return f"{total} = {self.joined(total, part)};"
        k, kind = self.number, self.type
        # Of an infinite or NaN sum nothing was lost; `inf - inf` would spoil it.
        return (
            f"{{ const {kind} given{k} = {part} - {lost}, sum{k} = {total} + given{k};"
            f" {lost} = sum{k} - sum{k} == 0 ? (sum{k} - {total}) - given{k} : 0; {total} = sum{k}; }}"
        )


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
        """The dtypes of what is stored for each result."""
        return [total.dtype for total in self.totals] if self.partial else list(self.job.result_dtypes)

    @property
    def places(self) -> range:
        """Numbers of the arrays that have elements for each result: what is stored, then operands of the update."""
        return range(len(self.stored) + (0 if self.update is None else len(self.update.dtypes)))

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

    @property
    def _warp(self) -> int:
        """Work-items of a result that hand each other totals without local memory."""
        return self.layout.warp if self.layout.inner or self.layout.columns == 1 else 1

    @property
    def _shared(self) -> list[str]:
        """Names of the arrays in local memory for each total; totals that are joined one after the other share them."""
        return [f"shared_{t.type}_{k % MOST_TREES}" for k, t in enumerate(self.totals)]

    def kept_steps(self, k: int) -> list[str]:
        """Strides along kept dimensions."""
        return [f"s{k}_{d}" for d in range(self.layout.n_kept)]

    def reduced_steps(self, k: int) -> list[str]:
        """Strides along reduced dimensions."""
        return [f"r{k}_{d}" for d in range(self.layout.n_reduced)]

    def result_steps(self, k: int) -> list[str]:
        """Strides of a result."""
        return [f"z{k}_{d}" for d in range(self.layout.n_kept)]

    def offsets(self, prefix: str) -> list[str]:
        """Names of the offsets of all operands."""
        return [f"{prefix}{k}" for k in range(len(self.dtypes))]

    def element(self, places: Sequence[str], part: Sequence[str]) -> Iterator[str]:
        """Give the statements that take the element at some offsets."""
        count = len(self.job.input_dtypes)
        for k, dtype in enumerate(self.job.input_dtypes):
            place = f"*(GLOBAL_MEM const {memory_type(dtype)} *)({places[k]})"
            yield declare(f"x{k}", dtype, c_loaded(place, dtype))
        values = [CValue(f"x{k}", dtype) for k, dtype in enumerate(self.job.input_dtypes)]
        statements, results = self.job.program.emit(values, "t")
        yield from statements
        for k, dtype in enumerate(self.job.kept_dtypes):
            place = f"*(GLOBAL_MEM {memory_type(dtype)} *)({places[count + k]})"
            yield store(place, results[k], dtype)
        for total, result, name in zip(self.totals, results[len(self.job.kept_dtypes) :], part, strict=True):
            yield declare(f"v{total.number}", total.dtype, c_cast(result, total.dtype))
            yield f"{name} = {total.joined(name, f'v{total.number}')};"

    def finish(self, indent: str, names: Sequence[str], position: Sequence[str]) -> Iterator[str]:
        """Give the statements that store totals, or what an update makes of them."""
        values = [CValue(name, total.dtype) for total, name in zip(self.totals, names, strict=True)]
        dtypes = self.stored
        update = self.update
        if update is not None:
            dtype = self.job.reductions[0].output_dtype
            given = [CValue("result", dtype)]
            yield indent + declare("result", dtype, c_cast(values[0], dtype))
            for k, dtype in enumerate(update.dtypes):
                given.append(CValue(f"y{k}", dtype))
                yield indent + declare(
                    f"y{k}", dtype, c_loaded(self._result_place(len(dtypes) + k, dtype, position), dtype)
                )
            statements, values = update.program.emit([given[k + 1] for k in update.inputs], "f")
            yield from (indent + statement for statement in statements)
        for k, (value, dtype) in enumerate(zip(values, dtypes, strict=True)):
            yield indent + store(self._result_place(k, dtype, position), value, dtype)

    def _result_place(self, k: int, dtype: str, position: Sequence[str]) -> str:
        const = "" if k < len(self.stored) else "const "
        return f"*(GLOBAL_MEM {const}{memory_type(dtype)} *)(q{k} + (int64_t)GID_1 * split{k} + {position[k]})"

    def moved(
        self, flat: str, lengths: Sequence[str], moves: Sequence[tuple[str, list[str]]], indent: str
    ) -> Iterator[str]:
        """Give the statements that move offsets to a flat index, in a block of their own."""
        if lengths:
            yield indent + "{"
            for line in decode(self.layout, flat, lengths, moves):
                yield f"{indent}  {line}"
            yield indent + "}"

    def gpu(self) -> Iterator[str]:
        """Give the statements for a graphics card; rows of vectors are counted in vectors."""
        layout, index, unsigned = self.layout, self.layout.index, self.layout.unsigned
        lanes, columns, count, width = layout.lanes, layout.columns, len(self.dtypes), layout.vector
        near, far = (lanes, "lane") if layout.inner else (columns, "column")
        yield f"const {unsigned} {far} = LID_0 % {near}, {'column' if layout.inner else 'lane'} = LID_0 / {near};"
        yield f"const {unsigned} at = ({unsigned})GID_0 * {columns} + column;"
        yield f"const {unsigned} g = at < ({unsigned})n ? at : ({unsigned})(n - 1);"
        part, whole = (f"({unsigned}){name}" + (f" / {width}" if width > 1 else "") for name in ("chunk", "m"))
        yield f"const {unsigned} begin = ({unsigned})GID_1 * ({part});"
        yield f"const {unsigned} end = begin + {part} < {whole} ? begin + {part} : {whole};"
        yield from (f"{index} {o} = 0;" for o in self.offsets("o"))
        yield from self.moved("g", self.kept, [(f"o{k}", self.kept_steps(k)) for k in range(count)], "")
        yield from self._start("")
        if width > 1:
            yield f"const bool whole = {self._aligned()};"
        yield f"for ({unsigned} r = begin + lane; r < end;) {{"
        for total in self.totals:
            yield f"  {total.type} part{total.number} = {total.seed};"
        yield f"  const {unsigned} left = (end - r + {lanes - 1}) / {lanes};"
        most = max(BLOCK // width, 1)
        yield f"  const int turns = left < {most} ? (int)left : {most};"
        yield from (f"  {line}" for line in (self._vector_turns() if width > 1 else self._turns()))
        yield from self._join("  ", "")
        yield "}"
        if lanes > 1:
            yield from self._tree(lanes, 1 if layout.inner else columns)
        yield f"if (lane == 0 && at < ({unsigned})n) {{"
        yield from self._positions("  ", "g")
        yield from self.finish("  ", [f"total{t.number}" for t in self.totals], [f"z{k}" for k in self.places])
        yield "}"

    def _turns(self) -> Iterator[str]:
        """Give the loop over some elements of a work-item.

        Work-items beyond the last result do what that of the last one does, and store the same: a branch for each
        element would keep loads from being under way together.
        """
        count = len(self.dtypes)
        yield from self._turn_head(self.unroll, "r")
        for line in self.element([f"p{k} + a{k}" for k in range(count)], [f"part{t.number}" for t in self.totals]):
            yield "  " + line
        yield "}"

    def _turn_head(self, unroll: int, flat: str) -> Iterator[str]:
        layout = self.layout
        if unroll > 1 or layout.vector > 1:
            yield f"#pragma unroll {unroll}"
        yield f"for (int b = 0; b < turns; b++, r += {layout.lanes}) {{"
        yield from (f"  {layout.index} {a} = {o};" for a, o in zip(self.offsets("a"), self.offsets("o"), strict=True))
        moves = [(f"a{k}", self.reduced_steps(k)) for k in range(len(self.dtypes))]
        yield from self.moved(flat, self.reduced, moves, "  ")

    def _aligned(self) -> str:
        """Give the text that tells whether all vectors lie where they may."""
        places = []
        for k, dtype in enumerate(self.dtypes):
            if self.layout.contiguous[k]:
                steps = [*self.kept_steps(k), *self.reduced_steps(k)[:-1]]
                places += [(place, dtype, self.layout.vector) for place in (f"p{k}", *steps)]
        return aligned(places)

    def _vector_turns(self) -> Iterator[str]:
        """Give the loops over some vectors of a work-item: as they are, and element by element in the same order."""
        for wide in (True, False):
            yield "if (whole) {" if wide else "} else {"
            yield from (
                f"  {line}" for line in self._turn_head(self.unroll if wide else 1, f"r * {self.layout.vector}")
            )
            yield from (f"    {line}" for line in self._vector(wide))
            yield "  }"
        yield "}"

    def _vector(self, wide: bool) -> Iterator[str]:
        """Give the statements that take the vector at the offsets ``a``."""
        layout, width, count = self.layout, self.layout.vector, len(self.job.input_dtypes)
        each = ("#pragma unroll", f"for (int e = 0; e < {width}; e++) {{")
        places = {}
        for k, dtype in enumerate(self.job.input_dtypes):
            kind = memory_type(dtype)
            if wide or not layout.contiguous[k]:
                kind = vector_type(dtype, width) if layout.contiguous[k] else kind
                yield f"const {kind} w{k} = *(GLOBAL_MEM const {kind} *)(p{k} + a{k});"
            else:
                yield f"{vector_type(dtype, width)} w{k};"
                yield from (each[0], f"{each[1]} w{k}.at[e] = ((GLOBAL_MEM const {kind} *)(p{k} + a{k}))[e]; }}")
            places[k] = f"w{k}.at[e]" if layout.contiguous[k] else f"w{k}"
        kept = list(enumerate(self.job.kept_dtypes, count))
        yield from (f"{vector_type(dtype, width)} w{k};" for k, dtype in kept)
        yield from (f"{total.type} s{total.number}[{width}];" for total in self.totals)
        yield from each
        yield from (
            f"  {declare(f'x{k}', self.dtypes[k], c_loaded(place, self.dtypes[k]))}" for k, place in places.items()
        )
        statements, results = self.job.program.emit([CValue(f"x{k}", self.dtypes[k]) for k in places], "t")
        yield from (f"  {statement}" for statement in statements)
        yield from (f"  {store(f'w{k}.at[e]', results[k - count], dtype)}" for k, dtype in kept)
        for total, result in zip(self.totals, results[len(kept) :], strict=True):
            yield f"  s{total.number}[e] = {c_cast(result, total.dtype)};"
        yield "}"
        for k, dtype in kept:
            if wide:
                yield f"*(GLOBAL_MEM {vector_type(dtype, width)} *)(p{k} + a{k}) = w{k};"
            else:
                yield each[0]
                yield f"{each[1]} ((GLOBAL_MEM {memory_type(dtype)} *)(p{k} + a{k}))[e] = w{k}.at[e]; }}"
        for total in self.totals:
            s, h = f"s{total.number}", width // 2
            while h:
                yield from (f"{s}[{e}] = {total.joined(f'{s}[{e}]', f'{s}[{e + h}]')};" for e in range(h))
                h //= 2
            yield f"part{total.number} = {total.joined(f'part{total.number}', f'{s}[0]')};"

    def _start(self, indent: str) -> Iterator[str]:
        for total in self.totals:
            yield f"{indent}{total.type} total{total.number} = {total.seed};"
            if total.compensates:
                yield f"{indent}{total.type} lost{total.number} = 0;"

    def _join(self, indent: str, at: str) -> Iterator[str]:
        for t in self.totals:
            yield indent + t.join(f"total{t.number}{at}", f"lost{t.number}{at}", f"part{t.number}{at}")

    def _tree(self, lanes: int, step: int) -> Iterator[str]:
        """Join the totals of work-items: those of a warp are handed over, others go through local memory.

        Both join the same pairs. Totals in local memory are joined some at a time: many would not fit into it together.
        """
        warp = self._warp
        if lanes > warp:
            yield from self._shared_tree(lanes, step, warp)
        if warp > 1:
            yield f"if (lane < {min(lanes, warp)}) {{"
            yield "#pragma unroll"
            yield f"  for (int h = {min(lanes, warp) // 2}; h > 0; h /= 2) {{"
            for t in self.totals:
                k = t.number
                yield f"    const {t.type} u{k} = total{k}, w{k} = theano_shuffle(total{k}, h);"
                yield f"    total{k} = {t.joined(f'u{k}', f'w{k}')};"
            yield "  }"
            yield "}"

    def _shared_tree(self, lanes: int, step: int, least: int) -> Iterator[str]:
        """Join totals by trees in local memory until `least` of each result are left."""
        names = {t.number: name for t, name in zip(self.totals, self._shared, strict=True)}
        for first in range(0, len(self.totals), MOST_TREES):
            totals = self.totals[first : first + MOST_TREES]
            if first:
                yield "local_barrier();"
            for t in totals:
                yield f"{names[t.number]}[LID_0] = total{t.number};"
            yield f"for (int h = {lanes // 2}; h >= {least}; h /= 2) {{"
            yield "  local_barrier();"
            yield "  if (lane < h) {"
            for t in totals:
                here, other = f"{names[t.number]}[LID_0]", f"{names[t.number]}[LID_0 + h * {step}]"
                yield f"    const {t.type} u{t.number} = {here}, w{t.number} = {other};"
                yield f"    {here} = {t.joined(f'u{t.number}', f'w{t.number}')};"
            yield "  }"
            yield "}"
            for t in totals:
                yield f"total{t.number} = {names[t.number]}[LID_0];"

    def _positions(self, indent: str, flat: str) -> Iterator[str]:
        yield from (f"{indent}{self.layout.index} z{k} = 0;" for k in self.places)
        moves = [(f"z{k}", self.result_steps(k)) for k in self.places]
        yield from self.moved(flat, self.kept, moves, indent)

    def _range(self) -> Iterator[str]:
        """Give the statements that say which elements of each result a group on a CPU takes."""
        index = self.layout.index
        yield f"const {index} begin = ({index})GID_1 * chunk;"
        yield f"const {index} end = begin + chunk < m ? begin + chunk : m;"

    def cpu_rows(self) -> Iterator[str]:
        """Give the statements for a CPU where the innermost dimension is reduced."""
        layout, index, unsigned, count = self.layout, self.layout.index, self.layout.unsigned, len(self.dtypes)
        lanes, last = layout.lanes, self.reduced[-1] if self.reduced else "1"
        yield from self._range()
        yield f"for ({index} g = GID_0; g < n; g += GDIM_0) {{"
        yield from (f"  {index} {o} = 0;" for o in self.offsets("o"))
        yield from self.moved(f"({unsigned})g", self.kept, [(f"o{k}", self.kept_steps(k)) for k in range(count)], "  ")
        yield from self._start("  ")
        yield f"  for ({index} r = begin; r < end;) {{"
        yield f"    const {unsigned} row = ({unsigned})r / ({unsigned}){last};"
        yield f"    const {index} j = r - ({index})row * {last};"
        yield f"    {index} run = {last} - j < end - r ? {last} - j : end - r;"
        yield f"    run = run < {BLOCK * lanes} ? run : {BLOCK * lanes};"
        yield from (f"    {index} {a} = {o};" for a, o in zip(self.offsets("a"), self.offsets("o"), strict=True))
        moves = [(f"a{k}", self.reduced_steps(k)[:-1]) for k in range(count)]
        yield from self.moved("row", self.reduced[:-1], moves, "    ")
        if self.reduced:
            yield from (f"    a{k} += j * {self.reduced_steps(k)[-1]};" for k in range(count))
        for t in self.totals:
            yield f"    {t.type} parts{t.number}[{lanes}];"
            yield f"    for (int l = 0; l < {lanes}; l++) parts{t.number}[l] = {t.seed};"
        yield f"    {index} i = 0;"
        yield f"    for (; i + {lanes} <= run; i += {lanes}) {{"
        yield f"      for (int l = 0; l < {lanes}; l++) {{"
        for line in self.element(self._places("(i + l)"), [f"parts{t.number}[l]" for t in self.totals]):
            yield "        " + line
        yield "      }"
        yield "    }"
        yield "    for (; i < run; i++) {"
        for line in self.element(self._places("i"), [f"parts{t.number}[0]" for t in self.totals]):
            yield "      " + line
        yield "    }"
        for t in self.totals:
            name = f"parts{t.number}"
            yield f"    for (int h = {lanes // 2}; h > 0; h /= 2)"
            yield f"      for (int l = 0; l < h; l++) {name}[l] = {t.joined(f'{name}[l]', f'{name}[l + h]')};"
            yield f"    const {t.type} part{t.number} = {name}[0];"
        yield from self._join("    ", "")
        yield "    r += run;"
        yield "  }"
        yield from self._positions("  ", f"({unsigned})g")
        yield from self.finish("  ", [f"total{t.number}" for t in self.totals], [f"z{k}" for k in self.places])
        yield "}"

    def _places(self, i: str) -> list[str]:
        """Give the addresses of element i along the innermost dimension."""
        places = []
        for k, dtype in enumerate(self.dtypes):
            steps = self.reduced_steps(k) if self.layout.inner else self.kept_steps(k)
            step = f"(int){_size(dtype)}" if self.layout.contiguous[k] else steps[-1] if steps else "0"
            places.append(f"p{k} + a{k} + {i} * {step}")
        return places

    def cpu_columns(self) -> Iterator[str]:
        """Give the statements for a CPU where the innermost dimension is kept: some results are reduced at once."""
        layout, index, unsigned, count = self.layout, self.layout.index, self.layout.unsigned, len(self.dtypes)
        columns, last = layout.columns, self.kept[-1]
        yield from self._range()
        yield f"const {index} pieces = ({last} + {columns - 1}) / {columns};"
        yield f"for ({index} unit = GID_0; unit < n / {last} * pieces; unit += GDIM_0) {{"
        yield f"  const {unsigned} row = ({unsigned})unit / ({unsigned})pieces;"
        yield f"  const {index} first = (unit - ({index})row * pieces) * {columns};"
        yield f"  const int width = {last} - first < {columns} ? (int)({last} - first) : {columns};"
        yield from (f"  {index} o{k} = first * {self.kept_steps(k)[-1]};" for k in range(count))
        moves = [(f"o{k}", self.kept_steps(k)[:-1]) for k in range(count)]
        yield from self.moved("row", self.kept[:-1], moves, "  ")
        for t in self.totals:
            yield f"  {t.type} total{t.number}[{columns}], part{t.number}[{columns}];"
            yield f"  for (int l = 0; l < {columns}; l++) total{t.number}[l] = {t.seed};"
            if t.compensates:
                yield f"  {t.type} lost{t.number}[{columns}];"
                yield f"  for (int l = 0; l < {columns}; l++) lost{t.number}[l] = 0;"
        yield f"  for ({index} r = begin; r < end;) {{"
        for t in self.totals:
            yield f"    for (int l = 0; l < {columns}; l++) part{t.number}[l] = {t.seed};"
        yield f"    for (int b = 0; b < {BLOCK} && r < end; b++, r++) {{"
        yield from (f"      {index} {a} = {o};" for a, o in zip(self.offsets("a"), self.offsets("o"), strict=True))
        moves = [(f"a{k}", self.reduced_steps(k)) for k in range(count)]
        yield from self.moved(f"({unsigned})r", self.reduced, moves, "      ")
        yield "      for (int l = 0; l < width; l++) {"
        for line in self.element(self._places("l"), [f"part{t.number}[l]" for t in self.totals]):
            yield "        " + line
        yield "      }"
        yield "    }"
        yield "    for (int l = 0; l < width; l++) {"
        yield from self._join("      ", "[l]")
        yield "    }"
        yield "  }"
        yield from (f"  {index} z{k} = first * {self.result_steps(k)[-1]};" for k in self.places)
        moves = [(f"z{k}", self.result_steps(k)[:-1]) for k in self.places]
        yield from self.moved("row", self.kept[:-1], moves, "  ")
        yield "  for (int l = 0; l < width; l++) {"
        names = [f"total{t.number}[l]" for t in self.totals]
        where = [f"z{k} + l * {self.result_steps(k)[-1]}" for k in self.places]
        yield from self.finish("    ", names, where)
        yield "  }"
        yield "}"


def _size(dtype: str) -> str:
    return f"sizeof({memory_type(dtype)})"


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
    lines = body.gpu() if not layout.cpu else body.cpu_rows() if layout.inner else body.cpu_columns()
    programs = [job.program] if body.update is None else [job.program, body.update.program]
    preamble = dict.fromkeys(part for program in programs for part in program.preamble)
    return kernel_text("reduction", body.signature(), list(lines), preamble, single_item=layout.cpu, light=True)
