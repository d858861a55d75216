"""Loops whose step is one elementwise kernel: the C text of all steps.

Elements do not meet, so that the outer loop takes a few vectors of elements and the inner one all steps. States stay in
local arrays, which the compiler keeps in registers. The rest of the last vector is filled with copies of an element, so
that an element is computed as by the kernel that does one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from theano_graph import record

from ..scalar import CValue, is_complex
from ._description._kernel import Kernel, c_text
from ._description._source import CFunction, CWriter, KernelSource, Operand, memory_type
from ._elementwise import EXPENSIVE, ElementwiseKernel, LoopNest, layout_test, nest_of

__all__ = ["ElementwiseLoop"]

PARAMETERS = "int64_t steps, int64_t n, char *const *data, const int64_t *strides, const int64_t *moves"
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
    return KernelSource((CFunction("", PARAMETERS, tuple(writer.lines), "int"),), nest.program.preamble)


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
