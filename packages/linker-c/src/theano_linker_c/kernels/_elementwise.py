"""Elementwise kernels, loops whose step is one such kernel, and their C text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from theano_graph import record

from ..scalar import Composite, CValue, OneOp, ScalarOp, ScalarProgram, is_complex, program_for
from ._kernel import (
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
from ._source import SYMBOL, CFunction, CWriter, KernelSource, Operand, memory_type, vector_layouts

# ---- Elementwise kernels, and their C text
#
# There is one vectorised loop, over whole vectors of contiguous operands. Other strides, and remainders, are
# served by a plain loop where an element is cheap; where it is not, the runtime copies blocks of the operands together
# and runs the vectorised loop on the copies. So an element has the same value for all strides.

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


# ---- Loops whose step is one elementwise kernel: the C text of all steps
#
# Elements do not meet, so that the outer loop takes a few vectors of elements and the inner one all steps. States stay
# in
# local arrays, which the compiler keeps in registers. The rest of the last vector is filled with copies of an element,
# so
# that an element is computed as by the kernel that does one step.

LOOP_PARAMETERS = "int64_t steps, int64_t n, char *const *data, const int64_t *strides, const int64_t *moves"
#: Cycles of an element from which a loop of calls costs little more than the work.
_LONG = 256
#: Lanes up to which two vectors of elements are taken at a time, so that one need not wait for the result of the other.
_MOST_LANES = 16


@record
class ElementwiseLoop(Kernel):
    """A loop of steps each of which is one elementwise kernel: a function that does some of the steps.

    Parameters
    ----------
    kernel : ElementwiseKernel
        The kernel of a step.
    feeds : tuple of int
        For each input, the output of the step before that it reads, or -1.
    rows : tuple of bool
        For each input, whether it is another row of an array in each step.
    stacked : tuple of bool
        For each output, whether all its values are kept, each in its row; of others only the last one is.
    """

    needs_code: ClassVar[bool] = True
    kernel: ElementwiseKernel
    feeds: tuple[int, ...]
    rows: tuple[bool, ...]
    stacked: tuple[bool, ...]

    @property
    def worthwhile(self) -> bool:
        """Whether calls of the kernel for one step would cost much beside the work, and states fit results.

        Products of complex numbers are left out: they differ in their last bit where the compiler joins vectors.
        """
        kernel = self.kernel
        if any(map(is_complex, (*kernel.input_dtypes, *kernel.output_dtypes))):
            return False
        vectors = kernel.ndim > 0 and not all(map(all, kernel.broadcast))
        return kernel.cost < _LONG and all(
            feed < 0
            or (kernel.input_dtypes[i] == kernel.output_dtypes[feed] and not (vectors and any(kernel.broadcast[i])))
            for i, feed in enumerate(self.feeds)
        )


@record
class _Lanes:
    """How the operands of a step lie in a block of elements.

    Attributes
    ----------
    nest : LoopNest
    fixed : tuple of bool
        For each operand, whether it is the same for all elements.
    count : int
        Elements of a block; 1 where there are no vectors.
    """

    loop: ElementwiseLoop
    nest: LoopNest
    fixed: tuple[bool, ...]
    count: int

    def feed(self, operand: Operand) -> int:
        """Return the number of the result which a state was a step before, or -1."""
        inputs = len(self.nest.inputs)
        feed = self.loop.feeds[operand.index] if operand.index < inputs else -1
        return -1 if feed < 0 else inputs + feed

    def is_row(self, operand: Operand) -> bool:
        """Tell whether an operand is another row of an array in each step."""
        inputs = len(self.nest.inputs)
        return self.loop.rows[operand.index] if operand.index < inputs else self.loop.stacked[operand.index - inputs]


@c_text.register(ElementwiseLoop)
def loop_source(loop: ElementwiseLoop) -> KernelSource:
    """Generate ``int NAME(steps, n, data, strides, moves)``, which returns 0 where operands lie in another way.

    An operand of `data` is where the first of the steps finds it, and `moves` says by how many bytes it moves from
    step to step; a state is where the step before has left it.

    Raises
    ------
    NoNativeForm
        If a dtype or an op has no C form.
    """
    nest = nest_of(loop.kernel)
    fixed = nest.layouts[0] if nest.layouts else (False,) * len(nest.operands)
    one = _Lanes(loop, nest, fixed, nest.lanes if nest.layouts else 1)
    two = _Lanes(loop, nest, fixed, 2 * nest.lanes) if nest.layouts and nest.lanes <= _MOST_LANES else None
    writer = CWriter()
    if nest.layouts:
        for operand in nest.operands:
            operand.declare_stride(writer)
        writer.line(f"if (n != 1 && !({layout_test(nest.operands, fixed)})) return 0;")
    else:
        writer.line("if (n != 1) return 0;")
    writer.line("int64_t e = 0;")
    if two is None:
        _blocks(writer, one, "e < n")
    elif nest.program.cost < EXPENSIVE:
        _blocks(writer, two, "e < n")
    else:  # the second vector takes long, too: it should have elements
        _blocks(writer, two, f"n - e > {one.count}")
        _blocks(writer, one, "e < n")
    writer.line("return 1;")
    return KernelSource((CFunction("", LOOP_PARAMETERS, tuple(writer.lines), "int"),), nest.program.preamble)


def _blocks(writer: CWriter, lanes: _Lanes, more: str) -> None:
    """Write the loop over blocks of elements, as long as some condition holds."""
    count = lanes.count
    with writer.block(f"for (; {more}; e += {count})"):
        writer.line(f"const int64_t m = n - e < {count} ? n - e : {count};")
        _block(writer, lanes)


def _block(writer: CWriter, lanes: _Lanes) -> None:
    """Write all steps for one block of elements."""
    nest = lanes.nest
    for operand in (*nest.outputs, *nest.inputs):  # a state shares the array of a result
        _declare(writer, lanes, operand)
    alike = [x for x in nest.inputs if lanes.fixed[x.index]]
    values = {x.index: x.load(writer, "fixed") for x in alike if not lanes.is_row(x)}
    with writer.block("for (int64_t step = 0; step < steps; step++)"):
        _step(writer, lanes, values | {x.index: x.load(writer, "fixed") for x in alike if lanes.is_row(x)})
    for operand in nest.outputs:
        if not lanes.is_row(operand):
            _copy(writer, lanes, f"{_outside(operand)} = a{operand.index}[i];")


def _step(writer: CWriter, lanes: _Lanes, values: Mapping[int, CValue]) -> None:
    """Write a step: rows are copied to local arrays and from there, and move on."""
    nest = lanes.nest
    rows = [operand for operand in nest.operands if lanes.is_row(operand)]
    for x in rows:
        if x.read and not lanes.fixed[x.index]:
            _copy(writer, lanes, f"a{x.index}[i] = {_outside(x)};")

    def loop(store: bool) -> None:
        with writer.block(f"for (int64_t i = 0; i < {lanes.count}; i++)"):
            loaded = [values[x.index] if x.index in values else x.load(writer, "contiguous") for x in nest.inputs]
            statements, results = nest.program.emit(loaded, "t")
            for statement in statements:
                writer.line(statement)
            for operand, result in zip(nest.outputs if store else (), results if store else (), strict=True):
                operand.store(writer, "contiguous", result)

    if lanes.count > 1:
        writer.vector_loop(loop)
    else:
        loop(True)
    for operand in rows:
        if operand.written:
            _copy(writer, lanes, f"{_outside(operand)} = a{operand.index}[i];")
        writer.line(f"{'p' if lanes.fixed[operand.index] else 'q'}{operand.index} += moves[{operand.index}];")


def _outside(operand: Operand) -> str:
    """Give the C text of an element where the operand itself lies."""
    return f"(({memory_type(operand.dtype)} *)q{operand.index})[i]"


def _declare(writer: CWriter, lanes: _Lanes, operand: Operand) -> None:
    """Declare where an operand lies, and its local array, which has the values of an input already."""
    index, feed = operand.index, lanes.feed(operand)
    if lanes.fixed[index]:
        writer.line(f"char *p{index} = data[{index}];")
        return
    name = f"a{index}" if feed < 0 else f"a{feed}"
    if feed < 0:
        writer.line(f"char *q{index} = data[{index}] + e * {operand.itemsize};")
        writer.line(f"{memory_type(operand.dtype)} {name}[{lanes.count}] __attribute__((aligned(64)));")
    if operand.read:
        value = f"(({memory_type(operand.dtype)} *)data[{index}])[e + (i < m ? i : m - 1)]"
        writer.line(f"for (int64_t i = 0; i < {lanes.count}; i++) {name}[i] = {value};")
    writer.line(f"char *const p{index} = (char *){name};")


def _copy(writer: CWriter, lanes: _Lanes, text: str) -> None:
    """Copy the elements that are there."""
    if lanes.count == 1:
        writer.line(f"{{ enum {{ i = 0 }}; {text} }}")
        return
    writer.directive("#pragma omp simd")
    writer.line(f"for (int64_t i = 0; i < {lanes.count}; i++) if (i < m) {text}")


__all__ = ["EXPENSIVE", "ElementwiseKernel", "is_expensive", "ElementwiseLoop"]
