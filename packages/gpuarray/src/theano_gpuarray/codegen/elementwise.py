"""Elementwise kernels on devices.

On a graphics card a work-item takes some elements and loads all of them before it computes: so several loads are under
way at once. Where operands lie so, each load and store is a vector of up to 16 bytes; the kernel looks at the addresses
itself, since a list of launches may be replayed with others. On a CPU a group takes a piece of a row, whose loop the
compiler vectorises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theano_linker_c.codegen.ir import (
    Buffer,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopKind,
    Opaque,
    Region,
    Statement,
    Store,
    Value,
    value_of_text,
)
from theano_linker_c.codegen.lengths import Length
from theano_linker_c.codegen.passes import program_statements
from theano_linker_c.kernels import ElementwiseKernel, broadcast_lengths, memory_type
from theano_linker_c.scalar import CValue, NoNativeForm, OneOp, ScalarProgram, c_type, program_for

from ._form import Argument, DeviceOperand, KernelText, NoDeviceForm, Operand, Recorder, register_device_form
from ._layouts import IndexWidth, Layout, Nest, broadcast_strides, fits_narrow, has_strides, layout_of, merge, nest_of
from ._prelude import aligned, vector_type
from .text import Signature

# ---- Elementwise kernels as statements


class Indices(Protocol):
    """The indices of layouts of all kinds of kernels."""

    @property
    def index(self) -> str:
        """C type of indices and offsets."""

    @property
    def unsigned(self) -> str:
        """C type of flat indices, which are divided."""


def let(name: str, kind: str, text: str) -> Let:
    """Return the definition of a constant by C text."""
    return Let(name, kind, value_of_text(text))


def positions(layout: Indices, flat: str, lengths: Sequence[str], prefix: str) -> list[Statement]:
    """Return the statements that define the position of a flat index in C order: ``<prefix>0``, ``<prefix>1``, ...

    Parameters
    ----------
    layout : Indices
    flat : str
        The index, an unsigned number.
    lengths : sequence of str
        Of the dimensions; the first one is not needed.
    prefix : str
    """
    statements: list[Statement] = []
    for d in reversed(range(len(lengths))):
        text = flat
        if d:
            rest, length = f"{prefix}_rest{d}", f"({layout.unsigned}){lengths[d]}"
            statements.append(let(rest, layout.unsigned, f"{flat} / {length}"))
            text, flat = f"({flat} - {rest} * {length})", rest
        statements.append(let(f"{prefix}{d}", layout.index, f"({layout.index}){text}"))
    return statements


def offset(prefix: str, strides: Sequence[str], start: str = "") -> str:
    """Return the text of an offset at the position that :func:`positions` has defined."""
    return " + ".join([*([start] if start else []), *(f"{prefix}{d} * {s}" for d, s in enumerate(strides))]) or "0"


def element(address: str, dtype: str, written: bool) -> Buffer:
    """Return the element of global memory at an address as a buffer of one."""
    const = "" if written else "const "
    pointer = f"((GLOBAL_MEM {const}{memory_type(dtype)} *)({address}))"
    return Buffer(pointer, dtype, 0, "result" if written else "argument")


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
    body = _Body(program, kernel.input_dtypes, kernel.output_dtypes, layout)
    body.declare(signature)
    statements = body.for_cpu() if layout.cpu else body.for_card()
    return signature.text("elementwise", list(statements), (), program.preamble, single_item=layout.cpu, light=True)


class _Body:
    """The statements of a nest."""

    def __init__(
        self,
        program: ScalarProgram | OneOp,
        input_dtypes: Sequence[str],
        output_dtypes: Sequence[str],
        layout: Layout,
    ) -> None:
        self.program, self.layout = program, layout
        self.dtypes = (*input_dtypes, *output_dtypes)
        self.inputs = range(len(input_dtypes))
        self.outputs = range(len(input_dtypes), len(self.dtypes))
        self.lengths = [f"n{d}" for d in range(layout.ndim)]
        self.varying = [k for k in self.inputs if layout.modes[k] != "fixed"]

    def _steps(self, k: int) -> list[str]:
        return [f"s{k}_{d}" for d in range(self.layout.ndim)]

    def declare(self, signature: Signature) -> None:
        """Add arrays with their strides to the parameters."""
        for k, dtype in enumerate(self.dtypes):
            mode = self.layout.modes[k]
            typed = mode == "contiguous" and not self.layout.cpu
            signature.array(f"p{k}", memory_type(dtype) if typed else "char", written=k in self.outputs)
            if has_strides(self.layout, mode):
                signature.number(self.layout.letter, *self._steps(k))

    def _load(self, k: int, place: Load) -> Let:
        return Let(f"x{k}", c_type(self.dtypes[k]), place)

    def _fixed(self, pointer: str) -> Iterator[Statement]:
        """Give the definitions of operands of one element, each behind a pointer with its number."""
        for k in self.inputs:
            if self.layout.modes[k] == "fixed":
                yield self._load(k, Load(element(f"{pointer}{k}", self.dtypes[k], False), Index()))

    def _computed(self, places: Sequence[tuple[Buffer, Value | Index]]) -> Iterator[Statement]:
        """Give the statements that compute an element of each result, and store them."""
        operands = [CValue(f"x{k}", self.dtypes[k]) for k in self.inputs]
        statements, results = program_statements(self.program, operands, "t")
        yield from statements
        yield from (Store(*place, result) for place, result in zip(places, results, strict=True))

    # ---- graphics cards

    def for_card(self) -> Iterator[Statement]:
        """Give the statements for a graphics card: each group takes elements side by side.

        Groups all of whose elements are there, and lie where vectors may, are apart from others: compilers would join
        loads of both kinds, and split the vectors.
        """
        layout, unroll = self.layout, self.layout.unroll
        yield let("n", layout.unsigned, " * ".join(f"({layout.unsigned}){n}" for n in self.lengths))
        yield let("base", layout.unsigned, f"({layout.unsigned})GID_0 * (LDIM_0 * {unroll})")
        yield from self._fixed("p")
        if layout.vector == 1:
            yield from self._elements("base", unroll)
            return
        rest = self._elements(f"(base + c * {layout.rest} * LDIM_0)", layout.rest)
        turns = Loop(LoopKind.SERIAL, "c", Length(unroll // layout.rest), tuple(rest))
        whole = value_of_text(f"n - base >= LDIM_0 * {unroll} && {self._aligned()}", "bool")
        yield If(whole, tuple(self._vectors()), (turns,))

    def _aligned(self) -> str:
        """Give the text that tells whether all vectors lie where they may."""
        layout, places = self.layout, []
        for k, (mode, dtype) in enumerate(zip(layout.modes, self.dtypes, strict=True)):
            if mode in ("contiguous", "row"):
                steps = self._steps(k)[:-1] if mode == "row" else []
                places += [(place, dtype, layout.vector) for place in (f"p{k}", *steps)]
        return aligned(places)

    def _vectors(self) -> Iterator[Statement]:
        """Give the statements that take all elements of a work-item as vectors."""
        layout, width = self.layout, self.layout.vector
        count = layout.unroll // width
        kinds = {k: self._vector_kind(k) for k in self.varying}
        first = let("i", layout.unsigned, f"base + (u * LDIM_0 + LID_0) * {width}")
        loads: list[Statement] = [first, *self._offsets()]
        for k, kind in kinds.items():
            yield Opaque((f"{kind} v{k}[{count}];",), (f"v{k}",))
            place = f"p{k} + {'i' if layout.modes[k] == 'contiguous' else f'o{k}'}"
            loads.append(Opaque((f"v{k}[u] = *(GLOBAL_MEM const {kind} *)({place});",)))
        yield Loop(LoopKind.UNROLLED, "u", Length(count), tuple(loads))
        values = []
        for k in self.varying:
            column = layout.modes[k] == "column"
            own = Buffer(f"v{k}" if column else f"v{k}[u].at", self.dtypes[k], 1, "local")
            values.append(self._load(k, Load(own, value_of_text("u" if column else "e"))))
        results = [(Buffer(f"w{k}.at", self.dtypes[k], 1, "local"), value_of_text("e")) for k in self.outputs]
        vectors = {k: vector_type(self.dtypes[k], width) for k in self.outputs}
        yield Loop(
            LoopKind.UNROLLED,
            "u",
            Length(count),
            (
                first,
                *(Opaque((f"{kind} w{k};",), (f"w{k}",)) for k, kind in vectors.items()),
                Loop(LoopKind.UNROLLED, "e", Length(width), (*values, *self._computed(results))),
                *(Opaque((f"*(GLOBAL_MEM {kind} *)(p{k} + i) = w{k};",)) for k, kind in vectors.items()),
            ),
        )

    def _vector_kind(self, k: int) -> str:
        if self.layout.modes[k] == "column":
            return memory_type(self.dtypes[k])
        return vector_type(self.dtypes[k], self.layout.vector)

    def _elements(self, first: str, unroll: int) -> Iterator[Statement]:
        """Give the statements that take elements one by one, a work-group apart, from a number on.

        Work-items beyond the last element read that one: a branch for each element would hold up the loads.
        """
        layout, modes = self.layout, self.layout.modes
        place = f"{first} + k * LDIM_0 + LID_0"
        own = {k: Buffer(f"v{k}", self.dtypes[k], 1, "numbers") for k in self.varying}
        yield from (Opaque((f"{c_type(self.dtypes[k])} v{k}[{unroll}];",), (f"v{k}",)) for k in self.varying)
        loads: list[Statement] = [
            let("place", layout.unsigned, place),
            let("i", layout.unsigned, "place < n ? place : n - 1"),
            *self._offsets(),
        ]
        for k, buffer in own.items():
            source = self._contiguous(k) if modes[k] == "contiguous" else self._moved(k)
            loads.append(Store(buffer, value_of_text("k"), Load(*source)))
        yield Loop(LoopKind.UNROLLED, "k", Length(unroll), tuple(loads))
        values = [self._load(k, Load(buffer, value_of_text("k"))) for k, buffer in own.items()]
        computed = self._computed([self._contiguous(k) for k in self.outputs])
        inside = If(value_of_text("i < n", "bool"), (*values, *computed), ())
        yield Loop(LoopKind.UNROLLED, "k", Length(unroll), (let("i", layout.unsigned, place), inside))

    def _contiguous(self, k: int) -> tuple[Buffer, Value]:
        """Return element ``i`` of an operand whose elements lie one behind the other."""
        return Buffer(f"p{k}", self.dtypes[k], 1, "result" if k in self.outputs else "argument"), value_of_text("i")

    def _moved(self, k: int) -> tuple[Buffer, Index]:
        """Return the element at the offset of an operand."""
        return element(f"p{k} + o{k}", self.dtypes[k], False), Index()

    def _offsets(self) -> Iterator[Statement]:
        """Give the statements that find element ``i`` of operands that are not contiguous."""
        moved = [k for k, mode in enumerate(self.layout.modes) if mode not in ("contiguous", "fixed")]
        if moved:
            yield from positions(self.layout, "i", self.lengths, "j")
        yield from (let(f"o{k}", self.layout.index, offset("j", self._steps(k))) for k in moved)

    # ---- CPUs

    def for_cpu(self) -> Iterator[Statement]:
        """Give the statements for a CPU: a group takes pieces of rows."""
        layout, index, last = self.layout, self.layout.index, self.lengths[-1]
        places = [self._row_place(k) for k in range(len(self.dtypes))]
        loads = [self._load(k, Load(*places[k])) for k in self.varying]
        computed = self._computed([places[k] for k in self.outputs])
        row = Region(f"for ({index} i = begin; i < end; i++)", (*loads, *computed), ("i",), ("i",))
        body: list[Statement] = [
            let("row", layout.unsigned, f"({layout.unsigned})(unit / pieces)"),
            let("begin", index, f"({index})(unit % pieces * piece)"),
            let("end", index, f"begin + piece < {last} ? ({index})(begin + piece) : {last}"),
            *positions(layout, "row", self.lengths[:-1], "j"),
        ]
        for k, dtype in enumerate(self.dtypes):
            const = "" if k in self.outputs else "const "
            kind = f"GLOBAL_MEM {const}{memory_type(dtype) if layout.modes[k] == 'contiguous' else 'char'} *"
            body.append(let(f"q{k}", kind, f"({kind})(p{k} + ({offset('j', self._steps(k)[:-1])}))"))
        yield Loop(LoopKind.GROUPS, "unit", Length(1, ("units",)), (*body, *self._fixed("q"), row))

    def _row_place(self, k: int) -> tuple[Buffer, Value | Index]:
        written, mode = k in self.outputs, self.layout.modes[k]
        if mode == "contiguous":
            return Buffer(f"q{k}", self.dtypes[k], 1, "result" if written else "argument"), value_of_text("i")
        step = "" if mode == "fixed" else f" + i * {self._steps(k)[-1]}"
        return element(f"q{k}{step}", self.dtypes[k], written), Index()


# ---- The device form

#: Work-items of a group on a graphics card.
LOCAL = 256
#: Elements of a piece of a row on a CPU, and groups for each of its cores.
PIECE = 8192
GROUPS = 4
#: Bytes of the parameters of a kernel: CUDA has 4096.
MOST_PARAMETERS = 4000


def arrays(operands: Sequence[Operand], recorder: Recorder) -> list[DeviceOperand]:
    """Return operands as arrays on the device; numbers of the host are transferred."""
    return [x if isinstance(x, DeviceOperand) else recorder.constant(_array(x)) for x in operands]


def _array(value: object) -> NDArray[Any]:
    return np.asarray(value)


def fits_parameters(operands: int, ndim: int) -> bool:
    """Tell whether the parameters of a kernel are within the bytes that devices allow, however operands lie."""
    return (operands + 1) * (16 + 8 * max(ndim, 1)) <= MOST_PARAMETERS


def _supports(kernel: ElementwiseKernel) -> bool:
    """Try the text."""
    count = len(kernel.input_dtypes) + len(kernel.output_dtypes)
    layout = Layout(1, ("contiguous",) * count, True, False, 1)
    if not fits_parameters(count, kernel.ndim):
        return False
    try:
        elementwise_text(kernel, layout)
    except (NoDeviceForm, NoNativeForm):
        return False
    return True


@register_device_form(ElementwiseKernel, supports=_supports)
def run(kernel: ElementwiseKernel, recorder: Recorder, operands: Sequence[Operand]) -> Sequence[Operand]:
    """Launch a scalar op over all elements of its inputs.

    Raises
    ------
    ValueError
        If lengths differ that do not broadcast.
    """
    inputs = arrays(operands, recorder)
    shape = broadcast_lengths([x.shape for x in inputs], kernel.broadcast, kernel.ndim)
    outputs = [recorder.empty(dtype, shape) for dtype in kernel.output_dtypes[1:]]
    outputs.insert(0, _first_output(recorder, kernel.output_dtypes[0], shape, inputs))
    nest = nest_of(shape, inputs, kernel.broadcast, outputs)
    if nest.size:
        launch(kernel, recorder, nest, [*inputs, *outputs])
    return outputs


def _first_output(
    recorder: Recorder, dtype: str, shape: tuple[int, ...], inputs: Sequence[DeviceOperand]
) -> DeviceOperand:
    """Return the memory of the first input where that may be overwritten: elements are read before they are written."""
    if inputs:
        x, others = inputs[0], inputs[1:]
        fits = (x.dtype, x.shape) == (dtype, shape) and x.contiguous
        if fits and all(y.slot != x.slot for y in others) and recorder.may_overwrite(x):
            return x
    return recorder.empty(dtype, shape)


def launch(kernel: ElementwiseKernel, recorder: Recorder, nest: Nest, operands: Sequence[DeviceOperand]) -> None:
    """Launch a kernel over a nest, on inputs and outputs."""
    properties = recorder.properties
    count = len(kernel.input_dtypes)
    apart = {x.slot for x in operands[:count]}.isdisjoint(y.slot for y in operands[count:])
    layout = layout_of(nest, [x.itemsize for x in operands], properties, kernel.scalar_op.cost, apart)
    text = elementwise_text(kernel, layout)
    arguments: list[Argument] = [*nest.shape]
    groups = [0]
    local = min(LOCAL, properties.max_local)
    if layout.cpu:
        rows, last = nest.size // nest.shape[-1], nest.shape[-1]
        pieces = -(-last // PIECE)
        arguments += [rows * pieces, pieces, PIECE]
        groups, local = [min(rows * pieces, GROUPS * properties.units)], 1
    else:
        groups = [-(-nest.size // (local * layout.unroll))]
    arguments += operand_arguments(layout, nest, operands)
    recorder.launch(text, arguments, groups, [local])


def operand_arguments(layout: Layout, nest: Nest, operands: Sequence[DeviceOperand]) -> list[Argument]:
    """Return the arguments for the arrays: memory, offset, and the strides that the text asks for."""
    arguments: list[Argument] = []
    for operand, mode, strides in zip(operands, layout.modes, nest.strides, strict=True):
        arguments += [operand, operand.offset]
        if has_strides(layout, mode):
            arguments += strides
    return arguments


__all__ = [
    "IndexWidth",
    "Layout",
    "Nest",
    "arrays",
    "broadcast_strides",
    "element",
    "fits_parameters",
    "fits_narrow",
    "let",
    "merge",
    "offset",
    "positions",
]
