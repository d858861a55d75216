"""Elementwise operations and reductions as loops; special functions that they call, and copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theano_graph import Apply

from ..codegen import named
from ..codegen.ir import Accumulate, Expression, Index, Joined, Scheme, Total, Value
from ..codegen.passes import named_in, program_statements
from ..codegen.print import expression_value
from ..kernels import ArgmaxKernel, ElementwiseKernel, Reduction, ReductionKernel
from ..ops import DeepCopyOp, PdbBreakpoint, Print, ViewOp
from ..scalar import (
    CValue,
    OneOp,
    ScalarProgram,
    c_literal,
    c_type,
    is_complex,
    is_discrete,
    program_for,
    special_functions,
)
from ._arrays import ONE, ZERO, CArray, Length, Nest, product_of, straight_kernel, straight_op
from ._block import Block

# ---- Special functions that scalar code calls: those of the library are put into the file, others are refused


def take_special(block: Block, names: Iterable[str]) -> None:
    """Put the special functions among some names into the file.

    Raises
    ------
    NoStraightForm
        If there is none in C.
    """
    for name in sorted(names):
        if name == "_Complex" or name.endswith(("_complex64", "_complex128")):
            raise block.refuse("complex numbers have no form in C", "compute with real and imaginary parts")
        if name.startswith("theano_special_"):
            if name not in special_functions():
                function = name.removeprefix("theano_special_")
                raise block.refuse(f"the function {function} has no form in C", "leave this operation to Python")
            block.routines.add(name)


# ---- Elementwise operations and reductions as loops

#: Partial results that are kept side by side, so that additions need not wait for each other.
LANES = 8
#: Fewer elements than this are reduced one after the other.
_FEW = 16
#: As many elements are added up before their sum is added to a total.
_PART = 1024
#: Longer sums of rows of float32 are added up in float64.
_ROWS = 256


def broadcast_shape(block: Block, inputs: Sequence[CArray], broadcast: Sequence[Sequence[bool]]) -> tuple[Length, ...]:
    """Return the shape of a result computed from operands, whose lengths other than 1 must agree."""
    ndim = len(broadcast[0]) if broadcast else 0
    shape = []
    for axis in range(ndim):
        length: Length | None = None
        for x, pattern in zip(inputs, broadcast, strict=True):
            if pattern[axis]:
                block.same(x.shape[axis], ONE, f"an operand that broadcasts along axis {axis} has not length 1 there")
            else:
                text = f"lengths of operands differ along axis {axis}"
                length = x.shape[axis] if length is None else block.same(length, x.shape[axis], text)
        shape.append(ONE if length is None else length)
    return tuple(shape)


def spread_strides(x: CArray, pattern: Sequence[bool]) -> tuple[Length, ...]:
    """Return strides that stay in place where an operand broadcasts."""
    return tuple(ZERO if fixed else stride for fixed, stride in zip(pattern, x.strides, strict=True))


def _elements(block: Block, program: ScalarProgram | OneOp, values: Sequence[Expression]) -> list[Value]:
    """Add the computation on the elements of operands."""
    operands = []
    for value in values:
        operand = expression_value(value)
        if operand.constant is None and not operand.text.isidentifier():
            name = block.fresh("x")
            block.let(c_type(operand.dtype), name, value)
            operand = CValue(name, operand.dtype)
        operands.append(operand)
    statements, results = program_statements(program, operands, block.fresh("e") + "_")
    names = {name for result in results for name in result.reads()}
    take_special(block, names.union(named_in(statements), *map(named, program.preamble)))
    for statement in statements:
        block.add(statement)
    for part in program.preamble:
        block.preamble[part] = None
    return results


@straight_kernel.register(ElementwiseKernel)
def _elementwise(kernel: ElementwiseKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    shape = broadcast_shape(block, inputs, kernel.broadcast)
    donors = [i for i, pattern in enumerate(kernel.broadcast) if not any(pattern)]
    single = len(kernel.output_dtypes) == 1
    outputs = [block.result(k, dtype, shape, donors if single else ()) for k, dtype in enumerate(kernel.output_dtypes)]
    program = program_for(kernel.scalar_op, kernel.input_dtypes)
    strides = [spread_strides(x, pattern) for x, pattern in zip(inputs, kernel.broadcast, strict=True)]
    strides += [x.strides for x in outputs]
    nest = block.nest(shape, (), strides)
    with block.scope(not nest.shape), block.places(nest) as places:
        values = [x.read(at) for x, at in zip(inputs, places, strict=False)]
        results = _elements(block, program, values)
        for x, at, value in zip(outputs, places[len(inputs) :], results, strict=True):
            block.store(x, at, value)
    return outputs


@straight_kernel.register(ReductionKernel)
def _reduction(kernel: ReductionKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    shape = broadcast_shape(block, inputs, kernel.broadcast)
    kept_axes = [axis for axis in range(kernel.ndim) if axis not in kernel.axes]
    if any(reduction.identity is None for reduction in kernel.reductions):
        for axis in kernel.axes:
            block.at_least(shape[axis], 1, "there is no element to reduce, and no result for none")
    stored = [block.result(k, dtype, shape) for k, dtype in enumerate(kernel.kept_dtypes)]
    small = [shape[axis] for axis in kept_axes]
    totals = [
        block.result(len(stored) + k, reduction.output_dtype, small) for k, reduction in enumerate(kernel.reductions)
    ]
    writer = _Reducer(kernel, block, inputs, stored, totals, shape)
    if kept_axes and kernel.axes and max(kept_axes) > max(kernel.axes):
        writer.across(kept_axes)
    else:
        writer.along(kept_axes)
    return [*stored, *totals]


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
        self.program = program_for(kernel.scalar_op, kernel.input_dtypes)
        self.strides = [spread_strides(x, pattern) for x, pattern in zip(inputs, kernel.broadcast, strict=True)]
        self.strides += [x.strides for x in kept]

    def elements(self, places: Sequence[Index]) -> list[Value]:
        """Add the computation on an element, store the kept values, and return the reduced ones."""
        values = [x.read(at) for x, at in zip(self.inputs, places, strict=False)]
        results = _elements(self.block, self.program, values)
        for x, at, value in zip(self.kept, places[len(self.inputs) :], results, strict=False):
            self.block.store(x, at, value)
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
        with block.scope(not lengths), block.places(block.nest(lengths, (), [*outer, *small]), independent=False) as at:
            totals = self._accumulated(inner, at[: len(self.strides)])
            for x, target, total in zip(self.totals, at[len(self.strides) :], totals, strict=True):
                block.store(x, target, CValue(total.name, total.dtype))

    def _accumulated(self, nest: Nest, starts: Sequence[Index]) -> tuple[Total, ...]:
        """Add the reduction of the elements of one result, and return the totals."""
        block, reductions = self.block, self.kernel.reductions
        totals = tuple(Total(block.fresh("r"), r.combine, _wide(r), r.acc_dtype, r.seed) for r in reductions)
        last = nest.shape[-1] if nest.shape else ONE
        apart = nest.shape and not (last.known and last.factor < _FEW) and all(map(_has_lanes, reductions))
        indices = tuple(block.fresh("i") for _ in nest.shape)
        with block.inside() as body:
            rows = (Index.of(indices, row) for row in nest.strides)
            values = self.elements([start + row for start, row in zip(starts, rows, strict=True)])
        scheme = Scheme(LANES, _PART) if apart else Scheme()
        block.add(Accumulate(totals, indices, nest.shape, tuple(body), tuple(values), scheme))
        return totals

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
            with block.places(block.nest(x.shape, (x,))) as (at,):
                block.store(x, at, CValue(c_literal(reduction.seed, x.dtype), x.dtype, reduction.seed))
        positions = {axis: k for k, axis in enumerate(kept_axes)}
        spread = [
            [x.strides[positions[axis]] if axis in positions else ZERO for axis in range(len(self.shape))] for x in sums
        ]
        nest = block.nest(self.shape, (), [*self.strides, *spread])
        with block.places(nest) as places:
            values = self.elements(places)
            for x, at, reduction, value in zip(sums, places[len(self.strides) :], reductions, values, strict=True):
                block.store(x, at, Joined(reduction.combine, x.read(at), value, x.dtype))
        for x, total in zip(sums, self.totals, strict=True):
            if x is not total:
                with block.places(block.nest(x.shape, (x, total))) as (a, b):
                    block.store(total, b, x.read(a))


def _has_lanes(reduction: Reduction) -> bool:
    """Tell whether elements may be joined in any order."""
    return reduction.combine.name in ("add", "mul", "maximum", "minimum", "and_", "or_", "xor") and not is_complex(
        reduction.acc_dtype
    )


def _wide(reduction: Reduction) -> str:
    """Return the dtype of a total of all elements: sums of float32 are added up in float64."""
    return "float64" if reduction.combine.name == "add" and reduction.acc_dtype == "float32" else reduction.acc_dtype


@straight_kernel.register(ArgmaxKernel)
def _argmax(kernel: ArgmaxKernel, block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    (x,) = inputs
    outer_axes = [axis for axis in range(kernel.ndim) if axis not in kernel.axes]
    for axis in kernel.axes:
        block.at_least(x.shape[axis], 1, "there is no largest or smallest of no elements")
    result = block.result(0, "int64", [x.shape[axis] for axis in outer_axes])
    outer = block.nest(result.shape, (), [[x.strides[axis] for axis in outer_axes], result.strides])
    inner = block.nest([x.shape[axis] for axis in kernel.axes], (), [[x.strides[axis] for axis in kernel.axes]])
    better, scalar = ">" if kernel.largest else "<", c_type(kernel.dtype)
    with block.scope(not outer_axes), block.places(outer, independent=False) as (start, at):
        best, position, count = block.fresh("best"), block.fresh("place"), block.fresh("count")
        block.variable(scalar, best, x.read(start))
        for name in (position, count):
            block.variable("int64_t", name, "0")
        with block.places(inner, independent=False) as (offset,):
            value = block.fresh("x")
            block.let(scalar, value, x.read(start + offset))
            nan = "" if is_discrete(kernel.dtype) else f" || ({value} != {value} && {best} == {best})"
            alive = "" if is_discrete(kernel.dtype) else f"{best} == {best} && "
            with block.block(f"if (({alive}{value} {better} {best}){nan})"):
                block.assign(best, value)
                block.assign(position, count)
            block.line(f"{count}++;", changes=(count,))
        block.store(result, at, CValue(position, "int64"))
    return [result]


# ---- Ops that return their operand: nothing is copied, since no statement changes a value that another one reads
#
# A print hands its value on and prints nothing: exported code has no place to print to. A breakpoint is refused.

__all__: list[str] = []


@straight_op.register(DeepCopyOp, ViewOp, Print)
def _same(node: Apply, block: Block, inputs: Sequence[CArray]) -> Sequence[CArray]:
    return inputs[:1]


@straight_op.register(PdbBreakpoint)
def _breakpoint(node: Apply, block: Block, inputs: Sequence[CArray]) -> Sequence[CArray]:
    raise block.refuse("there is no debugger in exported code", "take the breakpoint out of the expression")


__all__ = ["take_special", "broadcast_shape", "spread_strides"]
