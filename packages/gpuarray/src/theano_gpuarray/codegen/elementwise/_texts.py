"""The text of elementwise kernels.

On a graphics card a work-item takes some elements and loads all of them before it computes: so several loads are under
way at once. Where operands lie so, each load and store is a vector of up to 16 bytes; the kernel looks at the addresses
itself, since a list of launches may be replayed with others. On a CPU a group takes a piece of a row, whose loop the
compiler vectorises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from theano_linker_c.kernels import ElementwiseKernel
from theano_linker_c.scalar import Composite, CValue, OneOp, ScalarOp, ScalarProgram, c_loaded, c_type, program_of

from .._kernel_text import KernelText
from ..text import Signature, aligned, declare, kernel_text, memory_type, store, vector_type
from ._nest import Layout, has_strides

__all__ = ["elementwise_text", "program_for", "weight", "weight_of"]

_CALL = re.compile(r"\b[a-z_]\w+\(")
#: Operations of a function such as an exponential, and of one that is no function of C.
_FUNCTION, _SPECIAL = 5, 200


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
    """Return the text of a kernel for one layout; the device form gives arguments in the order of its parameters.

    Raises
    ------
    NoNativeForm, NoDeviceForm
        If a dtype or an op has no form.
    """
    program = program_for(kernel.scalar_op, kernel.input_dtypes)
    signature = Signature(apart=layout.apart)
    names = ["n0"] if layout.ndim == 1 else [f"n{d}" for d in range(layout.ndim)]
    signature.number(layout.letter, *names)
    if layout.cpu:
        signature.number("q", "units", "pieces", "piece")
    body = ElementwiseBody(program, kernel.input_dtypes, kernel.output_dtypes, layout)
    body.declare(signature)
    lines = body.cpu_lines() if layout.cpu else body.card_lines()
    return kernel_text("elementwise", signature, list(lines), program.preamble, single_item=layout.cpu, light=True)


def weight(program: ScalarProgram | OneOp, dtypes: Sequence[str]) -> int:
    """Return about how many operations an element takes; a function counts as some, a special one as many."""
    statements, results = program.emit([CValue(f"x{k}", dtype) for k, dtype in enumerate(dtypes)], "t")
    called = _CALL.findall("\n".join([*statements, *(result.text for result in results)]))
    return len(statements) + sum(_SPECIAL if name.startswith("theano_special") else _FUNCTION for name in called)


@lru_cache(maxsize=4096)
def weight_of(kernel: ElementwiseKernel) -> int:
    """Return the weight of the program of a kernel."""
    return weight(program_for(kernel.scalar_op, kernel.input_dtypes), kernel.input_dtypes)


class ElementwiseBody:
    """The statements of a nest."""

    def __init__(
        self,
        program: ScalarProgram | OneOp,
        input_dtypes: Sequence[str],
        output_dtypes: Sequence[str],
        layout: Layout,
    ) -> None:
        self.program, self.layout = program, layout
        self.inputs, self.outputs = tuple(input_dtypes), tuple(output_dtypes)
        self.dtypes = (*self.inputs, *self.outputs)
        self.lengths = [f"n{d}" for d in range(layout.ndim)]

    def _array(self, k: int) -> str:
        return f"p{k}"

    def _steps(self, k: int) -> list[str]:
        return [f"s{k}_{d}" for d in range(self.layout.ndim)]

    def declare(self, signature: Signature) -> None:
        """Add arrays with their strides to the parameters."""
        for k, dtype in enumerate(self.dtypes):
            mode = self.layout.modes[k]
            typed = mode == "contiguous" and not self.layout.cpu
            signature.array(self._array(k), memory_type(dtype) if typed else "char", written=k >= len(self.inputs))
            if has_strides(self.layout, mode):
                signature.number(self.layout.letter, *self._steps(k))

    def _place(self, k: int, index: str, offset: str) -> str:
        """Give the text of an element, which lies at an index or a byte offset."""
        const = "" if k >= len(self.inputs) else "const "
        if self.layout.modes[k] == "contiguous":
            return f"{self._array(k)}[{index}]"
        return f"*(GLOBAL_MEM {const}{memory_type(self.dtypes[k])} *)({self._array(k)}{offset})"

    def card_lines(self) -> Iterator[str]:
        """Give the statements for a graphics card: each group takes elements side by side.

        Groups all of whose elements are there, and lie where vectors may, are apart from others: compilers would join
        loads of both kinds, and split the vectors.
        """
        layout, unroll = self.layout, self.layout.unroll
        total = " * ".join(f"({layout.unsigned}){n}" for n in self.lengths)
        yield f"const {layout.unsigned} n = {total};"
        yield f"const {layout.unsigned} base = ({layout.unsigned})GID_0 * (LDIM_0 * {unroll});"
        for k, dtype in enumerate(self.inputs):
            if layout.modes[k] == "fixed":
                yield declare(f"x{k}", dtype, c_loaded(self._place(k, "0", ""), dtype))
        if layout.vector == 1:
            yield from self._elements("base", unroll)
            return
        yield f"if (n - base >= LDIM_0 * {unroll} && {self._aligned()}) {{"
        yield from (f"  {line}" for line in self._vectors())
        yield "} else {"
        yield "#pragma unroll 1"
        yield f"  for (int c = 0; c < {unroll}; c += {layout.rest}) {{"
        yield from (f"    {line}" for line in self._elements("(base + c * LDIM_0)", layout.rest))
        yield "  }"
        yield "}"

    @property
    def _varying(self) -> list[int]:
        """Inputs that have an element of their own for each result."""
        return [k for k in range(len(self.inputs)) if self.layout.modes[k] != "fixed"]

    def _aligned(self) -> str:
        """Give the text that tells whether all vectors lie where they may."""
        layout, places = self.layout, []
        for k, (mode, dtype) in enumerate(zip(layout.modes, self.dtypes, strict=True)):
            if mode in ("contiguous", "row"):
                steps = self._steps(k)[:-1] if mode == "row" else []
                places += [(place, dtype, layout.vector) for place in (self._array(k), *steps)]
        return aligned(places)

    def _vectors(self) -> Iterator[str]:
        """Give the statements that take all elements of a work-item as vectors."""
        layout, count, width = self.layout, len(self.inputs), self.layout.vector
        kinds = {k: self._vector_kind(k) for k in self._varying}
        yield from (f"{kind} v{k}[{layout.unroll // width}];" for k, kind in kinds.items())
        head = f"for (int u = 0; u < {layout.unroll // width}; u++) {{"
        first = f"  const {layout.unsigned} i = base + (u * LDIM_0 + LID_0) * {width};"
        yield from ("#pragma unroll", head, first)
        yield from (f"  {line}" for line in self._offsets())
        for k, kind in kinds.items():
            place = f"{self._array(k)} + {'i' if layout.modes[k] == 'contiguous' else f'o{k}'}"
            yield f"  v{k}[u] = *(GLOBAL_MEM const {kind} *)({place});"
        yield from ("}", "#pragma unroll", head, first)
        outputs = list(enumerate(self.outputs, count))
        yield from (f"  {vector_type(dtype, width)} w{k};" for k, dtype in outputs)
        yield from ("#pragma unroll", f"  for (int e = 0; e < {width}; e++) {{")
        for k in kinds:
            place = f"v{k}[u]" if layout.modes[k] == "column" else f"v{k}[u].at[e]"
            yield "    " + declare(f"x{k}", self.dtypes[k], c_loaded(place, self.dtypes[k]))
        yield from (f"    {line}" for line in self._computed([f"w{k}.at[e]" for k, _ in outputs]))
        yield "  }"
        for k, dtype in outputs:
            yield f"  *(GLOBAL_MEM {vector_type(dtype, width)} *)({self._array(k)} + i) = w{k};"
        yield "}"

    def _vector_kind(self, k: int) -> str:
        if self.layout.modes[k] == "column":
            return memory_type(self.dtypes[k])
        return vector_type(self.dtypes[k], self.layout.vector)

    def _elements(self, first: str, unroll: int) -> Iterator[str]:
        """Give the statements that take elements one by one, a work-group apart, from a number on.

        Work-items beyond the last element read that one: a branch for each element would hold up the loads.
        """
        layout, count = self.layout, len(self.inputs)
        varying = self._varying
        yield from (f"{c_type(self.dtypes[k])} v{k}[{unroll}];" for k in varying)
        head = f"for (int k = 0; k < {unroll}; k++) {{"
        at = f"{first} + k * LDIM_0 + LID_0"
        yield from ("#pragma unroll", head)
        yield f"  const {layout.unsigned} at = {at}, i = at < n ? at : n - 1;"
        yield from (f"  {line}" for line in self._offsets())
        for k in varying:
            yield f"  v{k}[k] = {c_loaded(self._place(k, 'i', f' + o{k}'), self.dtypes[k])};"
        yield from ("}", "#pragma unroll", head)
        yield f"  const {layout.unsigned} i = {at};"
        yield "  if (i < n) {"
        yield from (f"    {declare(f'x{k}', self.dtypes[k], f'v{k}[k]')}" for k in varying)
        yield from (f"    {line}" for line in self._computed([self._place(count + k, "i", "") for k in self._results]))
        yield from ("  }", "}")

    @property
    def _results(self) -> range:
        return range(len(self.outputs))

    def _offsets(self) -> Iterator[str]:
        """Give the statements that find element ``i`` of operands that are not contiguous."""
        moved = [k for k, mode in enumerate(self.layout.modes) if mode not in ("contiguous", "fixed")]
        yield from (f"{self.layout.index} o{k} = 0;" for k in moved)
        yield from decode(self.layout, "i", self.lengths, [(f"o{k}", self._steps(k)) for k in moved])

    def _computed(self, places: Sequence[str]) -> Iterator[str]:
        """Give the statements that compute an element of each result, and store them."""
        statements, results = self.program.emit([CValue(f"x{k}", d) for k, d in enumerate(self.inputs)], "t")
        yield from statements
        for place, dtype, result in zip(places, self.outputs, results, strict=True):
            yield store(place, result, dtype)

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
                yield declare(f"x{k}", self.dtypes[k], c_loaded(self._row_place(k), self.dtypes[k]))

    def _row_element(self) -> Iterator[str]:
        """Give the statements that compute element ``i`` of a row."""
        count = len(self.inputs)
        for k in range(count):
            if self.layout.modes[k] != "fixed":
                yield declare(f"x{k}", self.dtypes[k], c_loaded(self._row_place(k), self.dtypes[k]))
        yield from self._computed([self._row_place(count + k) for k in self._results])

    def _row_place(self, k: int) -> str:
        const = "" if k >= len(self.inputs) else "const "
        mode, kind = self.layout.modes[k], f"GLOBAL_MEM {const}{memory_type(self.dtypes[k])} *"
        if mode == "contiguous":
            return f"q{k}[i]"
        return f"*({kind})q{k}" if mode == "fixed" else f"*({kind})(q{k} + i * {self._steps(k)[-1]})"
