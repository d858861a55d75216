"""Elementwise operations and reductions as loops."""

from __future__ import annotations

from collections.abc import Sequence

from ..kernels import ArgmaxKernel, ElementwiseKernel, Reduction, ReductionKernel
from ..scalar import (
    Composite,
    CValue,
    OneOp,
    ScalarProgram,
    c_cast,
    c_literal,
    c_type,
    is_complex,
    is_discrete,
    program_of,
)
from ._arrays import CArray, load_text
from ._block import Block
from ._lengths import ONE, ZERO, Length, product_of
from ._nest import Nest, offset_text
from ._rules import straight_kernel
from ._special import take_special

__all__ = ["broadcast_shape", "spread_strides"]

#: Partial results that are kept side by side, so that additions need not wait for each other.
LANES = 8
#: Fewer elements than this are reduced one after the other.
_FEW = 16
#: As many elements are added up before their sum is added to a total.
_PART = 1024
#: Longer sums of rows of float32 are added up in float64.
_ROWS = 256


def broadcast_shape(block: Block, inputs: Sequence[CArray], broadcast: Sequence[Sequence[bool]]) -> tuple[Length, ...]:
    """Return the shape of what is computed from operands, of which those that do not broadcast must agree."""
    ndim = len(broadcast[0]) if broadcast else 0
    shape = []
    for axis in range(ndim):
        found: Length | None = None
        for x, pattern in zip(inputs, broadcast, strict=True):
            if pattern[axis]:
                block.same(x.shape[axis], ONE, f"an operand that broadcasts along axis {axis} has not length 1 there")
            else:
                text = f"lengths of operands differ along axis {axis}"
                found = x.shape[axis] if found is None else block.same(found, x.shape[axis], text)
        shape.append(ONE if found is None else found)
    return tuple(shape)


def spread_strides(x: CArray, pattern: Sequence[bool]) -> tuple[Length, ...]:
    """Return strides that stay in place where an operand broadcasts."""
    return tuple(ZERO if fixed else stride for fixed, stride in zip(pattern, x.strides, strict=True))


def _program(op: object, dtypes: Sequence[str]) -> ScalarProgram | OneOp:
    alone = op.nout > 1 and not isinstance(op, Composite)  # type: ignore[attr-defined]
    return OneOp(op, tuple(dtypes)) if alone else program_of(op, dtypes)  # type: ignore[arg-type]


def _elements(block: Block, program: ScalarProgram | OneOp, values: Sequence[CValue]) -> list[CValue]:
    """Write what is computed of the elements of operands."""
    named = []
    for value in values:
        if value.constant is None and not value.text.isidentifier():
            name = block.fresh("x")
            block.line(f"const {c_type(value.dtype)} {name} = {value.text};")
            value = CValue(name, value.dtype)
        named.append(value)
    statements, results = program.emit(named, block.fresh("e") + "_")
    take_special(block, [*statements, *(result.text for result in results), *program.preamble])
    for statement in statements:
        block.line(statement)
    for part in program.preamble:
        block.preamble[part] = None
    return results


@straight_kernel.register(ElementwiseKernel)
def _elementwise(kernel: ElementwiseKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    shape = broadcast_shape(block, inputs, kernel.broadcast)
    donors = [i for i, pattern in enumerate(kernel.broadcast) if not any(pattern)]
    single = len(kernel.output_dtypes) == 1
    outputs = [block.result(k, dtype, shape, donors if single else ()) for k, dtype in enumerate(kernel.output_dtypes)]
    program = _program(kernel.scalar_op, kernel.input_dtypes)
    strides = [spread_strides(x, pattern) for x, pattern in zip(inputs, kernel.broadcast, strict=True)]
    strides += [x.strides for x in outputs]
    nest = block.nest(shape, (), strides)
    with block.scope(not nest.shape), block.loops(nest) as offsets:
        values = [x.load(at) for x, at in zip(inputs, offsets, strict=False)]
        results = _elements(block, program, values)
        for x, at, value in zip(outputs, offsets[len(inputs) :], results, strict=True):
            block.line(x.store(at, value))
    return outputs


@straight_kernel.register(ReductionKernel)
def _reduction(kernel: ReductionKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    shape = broadcast_shape(block, inputs, kernel.broadcast)
    kept_axes = [axis for axis in range(kernel.ndim) if axis not in kernel.axes]
    if any(reduction.identity is None for reduction in kernel.reductions):
        for axis in kernel.axes:
            block.at_least(shape[axis], 1, "there is no element to reduce, and no result for none")
    kept = [block.result(k, dtype, shape) for k, dtype in enumerate(kernel.kept_dtypes)]
    small = [shape[axis] for axis in kept_axes]
    totals = [
        block.result(len(kept) + k, reduction.output_dtype, small) for k, reduction in enumerate(kernel.reductions)
    ]
    writer = _Reducer(kernel, block, inputs, kept, totals, shape)
    if kept_axes and kernel.axes and max(kept_axes) > max(kernel.axes):
        writer.across(kept_axes)
    else:
        writer.along(kept_axes)
    return [*kept, *totals]


class _Reducer:
    """The loops of one reduction."""

    def __init__(
        self,
        kernel: ReductionKernel,
        block: Block,
        inputs: Sequence[CArray],
        kept: Sequence[CArray],
        totals: Sequence[CArray],
        shape: tuple[Length, ...],
    ) -> None:
        self.kernel, self.block = kernel, block
        self.inputs, self.kept, self.totals, self.shape = inputs, kept, totals, shape
        self.program = _program(kernel.scalar_op, kernel.input_dtypes)
        self.strides = [spread_strides(x, pattern) for x, pattern in zip(inputs, kernel.broadcast, strict=True)]
        self.strides += [x.strides for x in kept]

    def elements(self, offsets: Sequence[str]) -> list[CValue]:
        """Write what is computed of an element, store what is kept, and return what is reduced."""
        values = [x.load(at) for x, at in zip(self.inputs, offsets, strict=False)]
        results = _elements(self.block, self.program, values)
        for x, at, value in zip(self.kept, offsets[len(self.inputs) :], results, strict=False):
            self.block.line(x.store(at, value))
        return results[len(self.kept) :]

    def along(self, kept_axes: Sequence[int]) -> None:
        """Reduce the elements of each result before those of the next one."""
        block, axes = self.block, self.kernel.axes
        outer = [[row[axis] for axis in kept_axes] for row in self.strides]
        small = [list(x.strides) for x in self.totals]
        lengths = [self.shape[axis] for axis in kept_axes]
        inner = block.nest(
            [self.shape[axis] for axis in axes], (), [[row[axis] for axis in axes] for row in self.strides]
        )
        with block.scope(not lengths), block.loops(block.nest(lengths, (), [*outer, *small]), independent=False) as at:
            starts = at[: len(self.strides)]
            results = self._reduced(inner, starts)
            for x, place, value in zip(self.totals, at[len(self.strides) :], results, strict=True):
                block.line(x.store(place, value))

    def _reduced(self, nest: Nest, starts: Sequence[str]) -> list[CValue]:
        """Write the reduction of the elements of one result, and return the totals."""
        block, reductions = self.block, self.kernel.reductions
        names = [self._start(reduction) for reduction in reductions]
        last = nest.shape[-1] if nest.shape else ONE
        if nest.shape and not (last.known and last.factor < _FEW) and all(map(_has_lanes, reductions)):
            self._in_lanes(nest, starts, names)
            return [CValue(name, _wide(r)) for name, r in zip(names, reductions, strict=True)]
        with block.loops(nest, independent=False) as offsets:
            values = self.elements([_plus(a, b) for a, b in zip(starts, offsets, strict=True)])
            for name, reduction, value in zip(names, reductions, values, strict=True):
                wide = _wide(reduction)
                block.line(f"{name} = {_joined(reduction, name, c_cast(value, wide), wide)};")
        return [CValue(name, _wide(r)) for name, r in zip(names, reductions, strict=True)]

    def _start(self, reduction: Reduction) -> str:
        name = self.block.fresh("r")
        wide = _wide(reduction)
        self.block.line(f"{c_type(wide)} {name} = {c_literal(reduction.seed, wide)};")
        return name

    def _in_lanes(self, nest: Nest, starts: Sequence[str], names: Sequence[str]) -> None:
        """Write a loop over rows, whose elements are reduced into several totals side by side."""
        block, reductions = self.block, self.kernel.reductions
        rows = Nest(nest.shape[:-1], tuple(row[:-1] for row in nest.strides))
        length, steps = nest.shape[-1], [row[-1:] for row in nest.strides]
        lanes = [block.fresh("lanes") for _ in names]
        lane = block.fresh("k")
        for name, reduction in zip(lanes, reductions, strict=True):
            seeds = ", ".join([c_literal(reduction.seed, reduction.acc_dtype)] * LANES)
            block.line(f"{c_type(reduction.acc_dtype)} {name}[{LANES}] = {{{seeds}}};")
        with block.loops(rows, independent=False) as outer:
            begin = [_plus(a, b) for a, b in zip(starts, outer, strict=True)]
            index = block.fresh("i")
            long = not (length.known and length.factor <= _PART)
            divided = length.known and length.factor % LANES == 0
            block.line(f"int64_t {index} = 0;")
            end, last = (block.fresh("n") for _ in range(2)) if long else (length.atom, "")
            if long:
                block.line(f"while ({index} + {LANES} <= {length.atom}) {{")
                block.deeper()
                block.line(f"const int64_t {last} = {length.atom} - {index};")
                block.line(f"const int64_t {end} = {index} + ({last} < {_PART} ? {last} : {_PART});")
            whole = block.block(f"for (; {index} + {LANES} <= {end}; {index} += {LANES})")
            with whole, block.block(f"for (int {lane} = 0; {lane} < {LANES}; {lane}++)"):
                place = f"({index} + {lane})"
                values = self.elements([_plus(a, offset_text([place], s)) for a, s in zip(begin, steps, strict=True)])
                for name, reduction, value in zip(lanes, reductions, values, strict=True):
                    own = f"{name}[{lane}]"
                    block.line(f"{own} = {_joined(reduction, own, c_cast(value, reduction.acc_dtype))};")
            self._take_lanes(names, lanes)
            if long:
                block.shallower()
            if not divided:
                self._remainder(names, index, length, begin, steps)

    def _remainder(
        self, names: Sequence[str], index: str, length: Length, begin: Sequence[str], steps: Sequence[Sequence[Length]]
    ) -> None:
        """Write how the totals take up the elements behind the last whole set of lanes."""
        block = self.block
        with block.block(f"for (; {index} < {length}; {index}++)"):
            values = self.elements([_plus(a, offset_text([index], s)) for a, s in zip(begin, steps, strict=True)])
            for name, reduction, value in zip(names, self.kernel.reductions, values, strict=True):
                wide = _wide(reduction)
                block.line(f"{name} = {_joined(reduction, name, c_cast(value, wide), wide)};")

    def _take_lanes(self, names: Sequence[str], lanes: Sequence[str]) -> None:
        """Write how the totals take up the lanes, which begin anew, so that long sums are made of short ones."""
        block, lane = self.block, self.block.fresh("k")
        with block.block(f"for (int {lane} = 0; {lane} < {LANES}; {lane}++)"):
            for name, mine, reduction in zip(names, lanes, self.kernel.reductions, strict=True):
                wide = _wide(reduction)
                block.line(f"{name} = {_joined(reduction, name, f'{mine}[{lane}]', wide)};")
                block.line(f"{mine}[{lane}] = {c_literal(reduction.seed, reduction.acc_dtype)};")

    def across(self, kept_axes: Sequence[int]) -> None:
        """Add row after row to a row of totals, since rows are where memory is contiguous."""
        block, reductions = self.block, self.kernel.reductions
        rows = product_of(self.shape[axis] for axis in self.kernel.axes)
        short = rows.known and rows.factor <= _ROWS
        kinds = [r.acc_dtype if short else _wide(r) for r in reductions]
        sums = [
            x if x.dtype == kind and x.dtype != "float16" else block.allocate(kind, x.shape, local=True)
            for x, kind in zip(self.totals, kinds, strict=True)
        ]
        for x, reduction in zip(sums, reductions, strict=True):
            with block.loops(block.nest(x.shape, (x,))) as (at,):
                block.line(x.store(at, CValue(c_literal(reduction.seed, x.dtype), x.dtype, reduction.seed)))
        place = {axis: k for k, axis in enumerate(kept_axes)}
        spread = [[x.strides[place[axis]] if axis in place else ZERO for axis in range(len(self.shape))] for x in sums]
        nest = block.nest(self.shape, (), [*self.strides, *spread])
        with block.loops(nest) as offsets:
            values = self.elements(offsets)
            for x, at, reduction, value in zip(sums, offsets[len(self.strides) :], reductions, values, strict=True):
                before = load_text(x.element(at), x.dtype)
                joined = _joined(reduction, before, c_cast(value, x.dtype), x.dtype)
                block.line(x.store(at, CValue(f"({joined})", x.dtype)))
        for x, total in zip(sums, self.totals, strict=True):
            if x is not total:
                with block.loops(block.nest(x.shape, (x, total))) as (a, b):
                    block.line(total.store(b, x.load(a)))


def _has_lanes(reduction: Reduction) -> bool:
    """Tell whether elements may be joined in any order."""
    return reduction.combine.name in ("add", "mul", "maximum", "minimum", "and_", "or_", "xor") and not is_complex(
        reduction.acc_dtype
    )


def _wide(reduction: Reduction) -> str:
    """Return the dtype of a total of all elements: sums of float32 are added up in float64."""
    return "float64" if reduction.combine.name == "add" and reduction.acc_dtype == "float32" else reduction.acc_dtype


def _joined(reduction: Reduction, a: str, b: str, dtype: str | None = None) -> str:
    """Return the C text of two elements joined, in the dtype of the total."""
    dtype = reduction.acc_dtype if dtype is None else dtype
    values = [CValue(a, dtype), CValue(b if b.isidentifier() else f"({b})", dtype)]
    return f"({c_type(dtype)})({reduction.combine.c_expression(values, dtype)})"


def _plus(a: str, b: str) -> str:
    if b == "0":
        return a
    return b if a == "0" else f"{a} + {b}"


@straight_kernel.register(ArgmaxKernel)
def _argmax(kernel: ArgmaxKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    kept = [axis for axis in range(kernel.ndim) if axis not in kernel.axes]
    for axis in kernel.axes:
        block.at_least(x.shape[axis], 1, "there is no largest or smallest of no elements")
    result = block.result(0, "int64", [x.shape[axis] for axis in kept])
    outer = block.nest(result.shape, (), [[x.strides[axis] for axis in kept], result.strides])
    inner = block.nest([x.shape[axis] for axis in kernel.axes], (), [[x.strides[axis] for axis in kernel.axes]])
    better, scalar = ">" if kernel.largest else "<", c_type(kernel.dtype)
    with block.scope(not kept), block.loops(outer, independent=False) as (start, at):
        best, place, count = block.fresh("best"), block.fresh("place"), block.fresh("count")
        block.line(f"{scalar} {best} = {x.load(start).text};")
        block.line(f"int64_t {place} = 0, {count} = 0;")
        with block.loops(inner, independent=False) as (offset,):
            value = block.fresh("x")
            block.line(f"const {scalar} {value} = {x.load(_plus(start, offset)).text};")
            nan = "" if is_discrete(kernel.dtype) else f" || ({value} != {value} && {best} == {best})"
            alive = "" if is_discrete(kernel.dtype) else f"{best} == {best} && "
            with block.block(f"if (({alive}{value} {better} {best}){nan})"):
                block.line(f"{best} = {value};")
                block.line(f"{place} = {count};")
            block.line(f"{count}++;")
        block.line(result.store(at, CValue(place, "int64")))
    return [result]
