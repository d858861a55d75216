"""The text of elementwise kernels.

On a graphics card a work-item takes some elements, a work-group apart, and loads all of them before it computes: so
several loads are under way at once. On a CPU a group takes a piece of a row, whose loop the compiler vectorises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from theano_linker_c.kernels import ElementwiseKernel
from theano_linker_c.scalar import Composite, CValue, OneOp, ScalarOp, ScalarProgram, c_type, program_of

from .._form import KernelText
from ..text import Signature, declare, kernel_text, load, memory_type, store
from ._nest import Layout

__all__ = ["elementwise_text", "program_for"]


class Indices(Protocol):
    """What layouts of all kinds of kernels say of indices."""

    @property
    def index(self) -> str:
        """C type of indices and offsets."""

    @property
    def unsigned(self) -> str:
        """C type of flat indices, which are divided."""


def program_for(op: ScalarOp, dtypes: Sequence[str]) -> ScalarProgram | OneOp:
    """Return what a kernel computes for each element."""
    alone = op.nout > 1 and not isinstance(op, Composite)
    return OneOp(op, tuple(dtypes)) if alone else program_of(op, dtypes)


def decode(
    layout: Indices, flat: str, lengths: Sequence[str], moves: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[str]:
    """Give statements that move offsets to the position of a flat index in C order.

    Parameters
    ----------
    layout : Layout
    flat : str
        The index, an unsigned number.
    lengths : sequence of str
        Of the dimensions; the first one is not needed.
    moves : sequence of (str, sequence of str)
        Each offset, which is added to, and the strides.
    """
    if not moves or not lengths:
        return
    rest = flat
    for d in reversed(range(len(lengths))):
        at = f"j{d}"
        if d:
            yield f"const {layout.unsigned} r{d} = {rest} / ({layout.unsigned}){lengths[d]};"
            yield f"const {layout.index} {at} = ({layout.index})({rest} - r{d} * ({layout.unsigned}){lengths[d]});"
            rest = f"r{d}"
        else:
            yield f"const {layout.index} {at} = ({layout.index}){rest};"
        for offset, strides in moves:
            yield f"{offset} += {at} * {strides[d]};"


@lru_cache(maxsize=1024)
def elementwise_text(kernel: ElementwiseKernel, layout: Layout) -> KernelText:
    """Return the text of a kernel for one layout; parameters as :func:`elementwise_arguments` gives them.

    Raises
    ------
    NoNativeForm, NoDeviceForm
        If a dtype or an op has no form.
    """
    program = program_for(kernel.scalar_op, kernel.input_dtypes)
    signature = Signature()
    names = ["n0"] if layout.ndim == 1 else [f"n{d}" for d in range(layout.ndim)]
    signature.number(layout.letter, *names)
    if layout.cpu:
        signature.number("q", "units", "pieces", "piece")
    body = ElementwiseBody(program, kernel.input_dtypes, kernel.output_dtypes, layout)
    body.declare(signature)
    lines = body.cpu_lines() if layout.cpu else body.lines("GID_0")
    return kernel_text("elementwise", signature, list(lines), program.preamble, layout.cpu)


class ElementwiseBody:
    """The statements of one nest; `tag` keeps names of several nests in one kernel apart."""

    def __init__(
        self,
        program: ScalarProgram | OneOp,
        input_dtypes: Sequence[str],
        output_dtypes: Sequence[str],
        layout: Layout,
        tag: str = "",
    ) -> None:
        self.program, self.layout, self.tag = program, layout, tag
        self.inputs, self.outputs = tuple(input_dtypes), tuple(output_dtypes)
        self.dtypes = (*self.inputs, *self.outputs)
        self.lengths = [f"n{tag}{d}" for d in range(layout.ndim)]

    def _array(self, k: int) -> str:
        return f"p{self.tag}{k}"

    def _steps(self, k: int) -> list[str]:
        return [f"s{self.tag}{k}_{d}" for d in range(self.layout.ndim)]

    def declare(self, signature: Signature) -> None:
        """Add arrays with their strides to the parameters."""
        for k, dtype in enumerate(self.dtypes):
            mode = self.layout.modes[k]
            typed = mode == "contiguous" and not self.layout.cpu
            signature.array(self._array(k), memory_type(dtype) if typed else "char", written=k >= len(self.inputs))
            if mode == "strided" or (self.layout.cpu and self.layout.ndim > 1):
                signature.number(self.layout.letter, *self._steps(k))

    def _place(self, k: int, index: str, offset: str) -> str:
        """Give the text of an element, which lies at an index or a byte offset."""
        const = "" if k >= len(self.inputs) else "const "
        if self.layout.modes[k] == "contiguous":
            return f"{self._array(k)}[{index}]"
        return f"*(GLOBAL_MEM {const}{memory_type(self.dtypes[k])} *)({self._array(k)}{offset})"

    def lines(self, group: str) -> Iterator[str]:
        """Give the statements for a graphics card: the group with this number takes its elements."""
        layout, count = self.layout, len(self.inputs)
        index, unroll = layout.index, layout.unroll
        total = " * ".join(f"({layout.unsigned}){n}" for n in self.lengths)
        yield f"const {layout.unsigned} n = {total};"
        yield f"const {layout.unsigned} first = ({layout.unsigned}){group} * (LDIM_0 * {unroll}) + LID_0;"
        strided = [k for k, mode in enumerate(layout.modes) if mode == "strided"]
        fixed = [k for k in range(count) if layout.modes[k] == "fixed"]
        for k in fixed:
            yield declare(f"x{k}", self.dtypes[k], load(self._place(k, "0", ""), self.dtypes[k]))
        varying = [k for k in range(count) if k not in fixed]
        for k in varying:
            yield f"{c_type(self.dtypes[k])} v{k}[{unroll}];"
        head = f"for (int k = 0; k < {unroll}; k++) {{"
        yield "#pragma unroll"
        yield head
        yield f"  const {layout.unsigned} i = first + k * LDIM_0;"
        yield "  if (i < n) {"
        for k in strided:
            yield f"    {index} o{k} = 0;"
        moves = [(f"o{k}", self._steps(k)) for k in strided]
        for line in decode(layout, "i", self.lengths, moves):
            yield "    " + line
        for k in varying:
            yield f"    v{k}[k] = {load(self._place(k, 'i', f' + o{k}'), self.dtypes[k])};"
        yield "  }"
        yield "}"
        yield "#pragma unroll"
        yield head
        yield f"  const {layout.unsigned} i = first + k * LDIM_0;"
        yield "  if (i < n) {"
        for k in varying:
            yield "    " + declare(f"x{k}", self.dtypes[k], f"v{k}[k]")
        yield from self._computed("    ", "i")
        yield "  }"
        yield "}"

    def _computed(self, indent: str, index: str) -> Iterator[str]:
        """Give the statements that compute and store one element."""
        count = len(self.inputs)
        statements, results = self.program.emit([CValue(f"x{k}", d) for k, d in enumerate(self.inputs)], "t")
        for statement in statements:
            yield indent + statement
        for k, (dtype, result) in enumerate(zip(self.outputs, results, strict=True), count):
            yield indent + store(self._place(k, index, ""), result, dtype)

    def cpu_lines(self) -> Iterator[str]:
        """Give the statements for a CPU: a group takes pieces of rows."""
        layout, last = self.layout, self.lengths[-1]
        yield "for (int64_t unit = GID_0; unit < units; unit += GDIM_0) {"
        yield f"  const {layout.unsigned} row = ({layout.unsigned})(unit / pieces);"
        yield f"  const {layout.index} begin = ({layout.index})(unit % pieces * piece);"
        yield f"  const {layout.index} end = begin + piece < {last} ? ({layout.index})(begin + piece) : {last};"
        yield from (f"  {line}" for line in self._row_starts())
        yield f"  for ({layout.index} i = begin; i < end; i++) {{"
        yield from (f"    {line}" for line in self._row_element())
        yield "  }"
        yield "}"

    def _row_starts(self) -> Iterator[str]:
        """Give the statements that find a row, and load what is the same along it."""
        layout, count = self.layout, len(self.inputs)
        yield from (f"{layout.index} o{k} = 0;" for k in range(len(self.dtypes)))
        if layout.ndim > 1:
            moves = [(f"o{k}", self._steps(k)[:-1]) for k in range(len(self.dtypes))]
            yield from decode(layout, "row", self.lengths[:-1], moves)
        for k, dtype in enumerate(self.dtypes):
            const = "" if k >= count else "const "
            typed = memory_type(dtype) if layout.modes[k] == "contiguous" else "char"
            kind = f"GLOBAL_MEM {const}{typed} *"
            yield f"{kind}const q{k} = ({kind})({self._array(k)} + o{k});"
        for k in range(count):
            if layout.modes[k] == "fixed":
                yield declare(f"x{k}", self.dtypes[k], load(self._row_place(k), self.dtypes[k]))

    def _row_element(self) -> Iterator[str]:
        """Give the statements that compute element ``i`` of a row."""
        count = len(self.inputs)
        for k in range(count):
            if self.layout.modes[k] != "fixed":
                yield declare(f"x{k}", self.dtypes[k], load(self._row_place(k), self.dtypes[k]))
        statements, results = self.program.emit([CValue(f"x{k}", d) for k, d in enumerate(self.inputs)], "t")
        yield from statements
        for k, (dtype, result) in enumerate(zip(self.outputs, results, strict=True), count):
            yield store(self._row_place(k), result, dtype)

    def _row_place(self, k: int) -> str:
        const = "" if k >= len(self.inputs) else "const "
        mode, kind = self.layout.modes[k], f"GLOBAL_MEM {const}{memory_type(self.dtypes[k])} *"
        if mode == "contiguous":
            return f"q{k}[i]"
        return f"*({kind})q{k}" if mode == "fixed" else f"*({kind})(q{k} + i * {self._steps(k)[-1]})"
