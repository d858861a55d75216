"""Elementwise kernels, and their C text.

There is one vectorised loop, over whole vectors of contiguous operands. Other strides, and remainders, are
served by a plain loop where an element is cheap; where it is not, the runtime copies blocks of the operands together
and runs the vectorised loop on the copies. So an element has the same value for all strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from theano_graph import record

from ..scalar import Composite, CValue, OneOp, ScalarOp, ScalarProgram, program_for
from ._description._kernel import (
    Donors,
    Encoded,
    Kernel,
    LoadedKernel,
    Overwriting,
    Site,
    c_text,
    check_broadcast,
    donors_like,
    padded_donors,
    type_number,
)
from ._description._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, vector_layouts

__all__ = ["EXPENSIVE", "ElementwiseKernel", "is_expensive"]

#: Elements whose cost is at least this many cycles are worth computing once rather than again in every consumer.
EXPENSIVE = 8
PARAMETERS = "int64_t n, char *const *data, const int64_t *strides"


@record
class ElementwiseKernel(Kernel):
    """A scalar op over all elements of its broadcast inputs.

    Parameters
    ----------
    scalar_op : ScalarOp
        The formula; a `Composite` for fused nodes.
    input_dtypes, output_dtypes : tuple of str
    broadcast : tuple of tuple of bool
        For each input, which dimensions are broadcast: their static length is 1.
    ndim : int
        Number of dimensions of the outputs, and of every input.
    cost : int, optional
        Rough number of cycles for one element; taken from the op by default.
    """

    needs_code: ClassVar[bool] = True
    overwriting: ClassVar[Overwriting | None] = Overwriting.ELEMENTWISE
    scalar_op: ScalarOp
    input_dtypes: tuple[str, ...]
    output_dtypes: tuple[str, ...]
    broadcast: tuple[tuple[bool, ...], ...]
    ndim: int
    cost: int = -1

    def __post_init__(self) -> None:
        check_broadcast("elementwise kernel", self.input_dtypes, self.broadcast, self.ndim)
        if self.cost < 0:
            object.__setattr__(self, "cost", self.scalar_op.cost)

    @property
    def expensive(self) -> bool:
        """Whether one element costs enough that computing it twice would show."""
        return is_expensive(self.scalar_op)

    def encode(self, site: Site, code: LoadedKernel | None) -> Encoded | None:
        """Return the payload."""
        if code is None:
            return None
        types = tuple(type_number(dtype) for dtype in self.input_dtypes + self.output_dtypes)
        # An operand that the op declares overwritten is named twice.
        destroy_map = site.node.op.destroy_map
        given = padded_donors(site, len(self.output_dtypes))
        donors = tuple(
            (destroy_map[k][0],) * 2 if k in destroy_map else () if destroy_map else row for k, row in enumerate(given)
        )
        return "elementwise", (code.address, self.ndim, types, self.broadcast, float(max(self.cost, 1)), donors)

    def donors(self, site: Site) -> Donors:
        """Return the inputs whose memory the one result may take."""
        dtypes = self.output_dtypes if len(self.output_dtypes) == 1 else ()
        return donors_like(site, self.input_dtypes, self.broadcast, dtypes)


def is_expensive(op: ScalarOp) -> bool:
    """Say whether an element of `op` costs enough that fusion must not compute it more than once."""
    if isinstance(op, Composite):
        return any(step.op.cost >= EXPENSIVE for step in op.program.steps)
    return op.cost >= EXPENSIVE


@record
class LoopNest:
    """A scalar program over operands: inputs come first, results go to the written operands."""

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
        """Elements that a vectorised loop takes at a time, for all vectors of machines and types of operands."""
        return max(x.lanes for x in self.operands)


@c_text.register(ElementwiseKernel)
def elementwise_source(kernel: ElementwiseKernel) -> KernelSource:
    """Generate ``void NAME(n, data, strides)`` for `kernel`.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    nest = nest_of(kernel)
    return KernelSource(loop_nest_functions(nest, ""), nest.program.preamble)


def nest_of(kernel: ElementwiseKernel) -> LoopNest:
    """Define the loops of a kernel, and their operands."""
    inputs = [Operand(i, dtype) for i, dtype in enumerate(kernel.input_dtypes)]
    count = len(inputs)
    outputs = [Operand(count + i, dtype, read=False, written=True) for i, dtype in enumerate(kernel.output_dtypes)]
    written = (False,) * len(outputs)
    layouts = tuple((*fixed, *written) for fixed in vector_layouts(kernel.broadcast)) if kernel.ndim else ()
    return LoopNest(program_for(kernel.scalar_op, kernel.input_dtypes), (*inputs, *outputs), layouts)


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
    # Whole vectors only: the compiler is spared the loops for remainders, which the caller sees to.
    writer.line(f"const int64_t whole = n & -{nest.lanes};")
    # An output may be the very memory of an input: element i is then read before it is written, in each lane. So the
    # loop has no dependence between elements, although the pointers are not `restrict`.
    writer.vector_loop(lambda store: _loop(writer, nest, values, "contiguous", "int64_t i = 0; i < whole", store))
    return CFunction(suffix, "int64_t n, char *const *data", tuple(writer.lines))


def _loop(
    writer: CWriter, nest: LoopNest, values: Sequence[CValue | None], mode: str, head: str, store: bool = True
) -> None:
    with writer.block(f"for ({head}; i++)"):
        loaded = [v if v is not None else x.load(writer, mode) for v, x in zip(values, nest.inputs, strict=True)]
        statements, results = nest.program.emit(loaded, "t")
        for statement in statements:
            writer.line(statement)
        for operand, result in zip(nest.outputs if store else (), results if store else (), strict=True):
            operand.store(writer, mode, result)
