"""Loops as loops of C: the program of a step is written once, between the braces of a ``for``.

States lie in two buffers that change places after each step, so that a new state may be read from any old one; where
all of them are kept, the rows of the result are these buffers. Rows of results are written where the program of a step
can, and copied otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TypeAlias

from theano_graph import Variable

from ..codegen.ir import Joined, Let, Statement, value_of_text
from ..kernels import memory_type
from ..program import LoopSpec, ResultKind
from ..runtime._instructions import Program, array_spec_of
from ..scalar import CValue, add
from ._arrays import ONE, ZERO, CArray, Length, Root, contiguous_strides, product_of
from ._block import Block, Place, takes_memory
from ._branches import Body, RowPlace
from ._emit import Wanted, emit_inner, stand_in

__all__ = ["emit_loop"]

#: Loops of no more steps than this are not looked at.
_SHORT = 64

Shape: TypeAlias = "tuple[Length, ...] | None"


def emit_loop(
    block: Block,
    program: Program,
    spec: LoopSpec,
    n: Length,
    operands: Sequence[CArray],
    shapes: Sequence[Shape],
    *,
    counted: bool = False,
    whole: bool = True,
    places: Sequence[Place] = (),
) -> tuple[list[CArray], Length]:
    """Write a loop, and return its results and the number of steps that are done.

    Parameters
    ----------
    block : Block
    program : Program
        Of one step: from rows of sequences, states and constant values to new states and other values.
    spec : LoopSpec
    n : Length
        How many steps there are; the code must have found out that it is not negative.
    operands : sequence of CArray
        Sequences, first states, and constant values.
    shapes : sequence of (tuple of Length) or None
        Of a value of each output, where that is known before the loop; those of sums are.
    counted : bool
        Whether the first input of the program is the number of the step.
    whole : bool
        Whether the results are those of the present instruction, one after the other.
    places : sequence of Place, optional
        Where the results should be put, as far as they are arrays there.
    """
    return _Writer(block, program, spec, n, operands, shapes, counted, whole, places).write()


class _State:
    """A state: where a step reads it, and where it writes the new one.

    Parameters
    ----------
    block : Block
    start : CArray
        Its value before the first step.
    stacked : bool
        Whether all new states are rows of a result.
    """

    def __init__(self, block: Block, start: CArray, stacked: bool) -> None:
        self.block, self.start, self.stacked = block, start, stacked
        self.kind = memory_type(start.dtype)
        self.now, self.next, self.buffers = block.fresh("s"), block.fresh("s"), ""
        self.root: Root | None = None
        self.strides = contiguous_strides(start.shape)
        if not start.shape:
            block.variable(self.kind, self.now, start.element("0"))
            block.variable(self.kind, self.next)
        elif stacked:
            held = start if start.contiguous else self._copied(block.allocate(start.dtype, start.shape))
            block.variable(f"const {self.kind} *", self.now, held.pointer)
        else:
            both = block.allocate(start.dtype, (Length(2), *start.shape))
            self.root, self.buffers = both.root, both.pointer
            self._copied(block.view(both, start.shape, self.strides))
            block.variable(f"{self.kind} *", self.now, both.pointer)
            block.variable(f"{self.kind} *", self.next, f"{both.pointer} + {start.size}")

    def _copied(self, held: CArray) -> CArray:
        self.block.copy(self.start, held)
        return held

    def array(self) -> CArray:
        """Return it as the step reads it."""
        start = self.start
        root = Root("argument", self.now, start.dtype, start.size)
        pointer = self.now if start.shape else f"&{self.now}"
        return CArray(start.dtype, start.shape, self.strides, pointer, root)

    def place(self, row: RowPlace | None) -> Place:
        """Return where the step should put the new one."""
        start = self.start
        if not start.shape:
            root = Root("result", self.next, start.dtype, ONE)
            return Wanted(f"&{self.next}", start.dtype, (), root)
        if row is not None:
            return Wanted(row.pointer, start.dtype, start.shape, row.root)
        return Wanted(self.next, start.dtype, start.shape, Root("result", self.next, start.dtype, start.size))

    def store(self, value: CArray, row: RowPlace | None, k: int) -> CArray:
        """Write, at the end of the step, the copy of the new one to its memory; return it there."""
        block, start = self.block, self.start
        for axis, (a, b) in enumerate(zip(start.shape, value.shape, strict=True)):
            block.same(a, b, f"state {k} of a loop changes its length along axis {axis}")
        target = self.place(row)
        made = CArray(start.dtype, start.shape, self.strides, target.pointer, target.root)
        if value.pointer != made.pointer:
            block.copy(value, made)
        return made

    def move(self, row: RowPlace | None) -> None:
        """Make the new state that of the next step."""
        block = self.block
        if self.start.shape and row is not None:
            block.assign(self.now, row.pointer)
            return
        block.assign(self.now, self.next)
        if self.start.shape:
            size = self.start.size
            block.assign(self.next, f"{self.next} == {self.buffers} ? {self.buffers} + {size} : {self.buffers}")

    def result(self) -> CArray:
        """Return the last state, after the loop."""
        start = self.start
        if not start.shape:
            return CArray(start.dtype, (), (), f"&{self.now}", Root("local", self.now, start.dtype, ONE))
        assert self.root is not None
        return CArray(start.dtype, start.shape, self.strides, self.now, self.root)


class _Output:
    """The rows of a result, or the last value of a result that is no state.

    Parameters
    ----------
    writer : _Writer
    k : int
        Which output of the loop.
    dtype : str
    """

    def __init__(self, writer: _Writer, k: int, dtype: str) -> None:
        self.writer, self.k, self.dtype = writer, k, dtype
        self.kind = memory_type(dtype)
        self.stacks = writer.spec.kinds[k] == ResultKind.STACK
        self.known = writer.shapes[k]
        self.row = RowPlace(writer.body, dtype, self.known)
        self.shape: tuple[Length, ...] = ()
        #: Whether the first step tells the shape, and takes memory for the rows of all steps.
        self.late = False
        self.pointer = ""
        self.root: Root | None = None
        self.text = f"steps of a loop give values of different shapes (output {k})"

    def store(self, value: CArray) -> None:
        """Write, at the end of the step, the copy of a value into its row."""
        block, body = self.writer.block, self.writer.body
        self.shape = value.shape if self.known is None else self.known
        self.late = not body.is_outside(self.shape)
        for a, b in zip(self.shape, value.shape, strict=True):
            block.same(a, b, self.text)
        if self.late:
            self._take(value.shape)
        if value.pointer != self.row.pointer:
            strides = contiguous_strides(value.shape)
            block.copy(value, CArray(self.dtype, value.shape, strides, self.row.pointer, self.row.root))

    def _take(self, shape: tuple[Length, ...]) -> None:
        """Write the allocation in the first step, and the check in the others that the shape is the same."""
        block, writer = self.writer.block, self.writer
        self.pointer = block.fresh("v")
        self.shape = tuple(x if x.known else Length(1, (block.fresh("n"),)) for x in shape)
        pairs = [(mine, x) for mine, x in zip(self.shape, shape, strict=True) if not x.known]
        with block.block(f"if ({writer.step} == 0)"):
            for mine, x in pairs:
                block.assign(str(mine), str(x))
            block.take(self.pointer, self.dtype, product_of(self._whole()))
            block.assign(writer.memory, block.call("theano_remember", "memory"))
        for mine, x in pairs:
            block.check(f"{mine} == {x.atom}", self.text)
        block.add(self._row())
        block.takes_memory = True

    def _whole(self) -> tuple[Length, ...]:
        return (self.writer.n, *self.shape) if self.stacks else self.shape

    def _row(self) -> Statement:
        offset = f" + {self.writer.place} * {product_of(self.shape).atom}" if self.stacks else ""
        return Let(self.row.pointer, f"{self.kind} *", value_of_text(f"{self.pointer}{offset}"))

    def allocate(self) -> list[Statement]:
        """Write, before the loop, the allocations; return the beginning of the body."""
        writer, block = self.writer, self.writer.block
        whole = self._whole()
        if self.late:
            block.variable(f"{self.kind} *", self.pointer, "NULL")
            for length in self.shape:
                if not length.known:
                    block.variable("int64_t", str(length), "0")
            self.root = Root("temporary", self.pointer, self.dtype, product_of(whole))
            return []
        memory = writer.memory_of(self.k, self.dtype, whole, self.stacks) if whole else block.local(self.dtype, "0")
        if memory.root.kind == "temporary":
            memory.root.begin = writer.body.time
        self.pointer, self.root = memory.pointer, memory.root
        return [self._row()]

    def result(self) -> CArray:
        """Return it, after the loop."""
        assert self.root is not None
        shape, writer = self._whole(), self.writer
        strides = contiguous_strides(shape)
        array = CArray(self.dtype, shape, strides, self.pointer, self.root)
        if not self.stacks or not writer.spec.until:
            return array
        done = (writer.done, *self.shape)
        offset = "0"
        if writer.spec.backwards:
            offset = f"({writer.n} - {writer.done}) * {product_of(self.shape).atom}"
        return writer.block.view(array, done, contiguous_strides(done), offset)


class _Sum:
    """The sum of the values of an output.

    Parameters
    ----------
    writer : _Writer
    k : int
        Which output of the loop.
    dtype : str
    """

    def __init__(self, writer: _Writer, k: int, dtype: str) -> None:
        self.block = block = writer.block
        shape = writer.shapes[k]
        assert shape is not None
        memory = writer.memory_of(k, dtype, shape) if shape else block.allocate(dtype, shape)
        self.total = memory
        with block.places(block.nest(shape, (self.total,))) as (at,):
            block.store(self.total, at, CValue("0", dtype, 0))

    def store(self, value: CArray) -> None:
        """Write, at the end of the step, the sum with a value."""
        block, total = self.block, self.total
        for a, b in zip(total.shape, value.shape, strict=True):
            block.same(a, b, "steps of a loop give values of different shapes, which are added")
        with block.places(block.nest(total.shape, (total, value))) as (at, target):
            block.store(total, at, Joined(add, total.read(at), value.read(target), total.dtype))

    def allocate(self) -> list[Statement]:
        """Return nothing: there is memory already."""
        return []

    def result(self) -> CArray:
        """Return it, after the loop."""
        return self.total


class _Writer:
    """One loop; the parameters are those of :func:`emit_loop`."""

    def __init__(
        self,
        block: Block,
        program: Program,
        spec: LoopSpec,
        n: Length,
        given: Sequence[CArray],
        shapes: Sequence[Shape],
        counted: bool,
        whole: bool,
        places: Sequence[Place],
    ) -> None:
        self.places = places
        self.block, self.program, self.spec, self.n = block, program, spec, n
        self.shapes, self.counted, self.whole = shapes, counted, whole
        first = spec.rows
        last = first + spec.states
        self.sequences, self.starts, self.constants = given[:first], given[first:last], given[last:]
        for k, x in enumerate(self.sequences):
            self._check(x.shape[0], f"sequence {k} of a loop has too few elements for its steps")
        self.body = Body(block)
        self.step, self.memory, self.ended = block.fresh("i"), block.fresh("m"), block.fresh("u")
        self.done = Length(1, (block.fresh("n"),)) if spec.until else n
        self.place = f"({n} - 1 - {self.step})" if spec.backwards else self.step

    def _check(self, length: Length, text: str) -> None:
        if self.n.known:
            self.block.at_least(length, self.n.factor, text)
        elif length != self.n:
            self.block.check(f"{length.atom} >= {self.n.atom}", text)

    def memory_of(self, k: int, dtype: str, shape: tuple[Length, ...], stacks: bool = False) -> CArray:
        """Return memory for a result: where it is wanted, as far as that is possible."""
        if self.places and self.places[k].takes(dtype, shape):
            memory = self.places[k]
            return CArray(dtype, shape, contiguous_strides(shape), memory.pointer, memory.root)
        if self.whole and not (stacks and self.spec.until):
            return self.block.result(k, dtype, shape)
        return self.block.allocate(dtype, shape)

    def write(self) -> tuple[list[CArray], Length]:
        """Write everything."""
        block, spec, body = self.block, self.spec, self.body
        if spec.until:
            block.variable("int64_t", str(self.done), "0")
        stacked = [kind == ResultKind.STACK for kind in spec.kinds]
        states = [_State(block, x, array) for x, array in zip(self.starts, stacked, strict=False)]
        outputs = [self._output(k) for k in range(len(spec.kinds))]
        body.begin()
        self._step(states, outputs)
        takes = takes_memory(body.statements)
        if takes:
            block.line(f"{block.call('theano_give_back', 'memory', self.memory)};")
        if spec.until:
            block.line(f"if ({self.ended}) break;")
        body.pause()
        block.statements += body.take_before()
        heads = [statement for output in outputs if output is not None for statement in output.allocate()]
        if takes:
            block.variable("theano_mark", self.memory, block.call("theano_remember", "memory"))
        with block.loop(self.step, self.n):
            if self._is_long():
                block.line(block.look)
            block.statements += [*heads, *body.statements]
        results = [s.result() if o is None else o.result() for s, o in zip_longest(states, outputs)]
        roots = {id(x.root) for x in results}
        for root in block.roots[body.roots :]:
            if root.end < 0 and id(root) not in roots:
                root.end = block.time
        return results, self.done

    def _is_long(self) -> bool:
        return bool(self.block.look) and not (self.n.known and self.n.factor <= _SHORT)

    def _output(self, k: int) -> _Output | _Sum | None:
        kind = self.spec.kinds[k]
        if k < len(self.starts) and kind == ResultKind.LAST:
            return None
        dtype = self.starts[k].dtype if k < len(self.starts) else self._dtype(k)
        return _Sum(self, k, dtype) if kind == ResultKind.SUM else _Output(self, k, dtype)

    def _dtype(self, k: int) -> str:
        spec = array_spec_of(self._variable(self.program.outputs[k]))
        assert spec is not None
        return spec.dtype

    def _variable(self, register: int) -> Variable:
        program = self.program
        variables = {parameter.register: parameter.variable for parameter in program.inputs}
        for instruction in program.instructions:
            variables.update(zip(instruction.inputs, instruction.node.inputs, strict=True))
            variables.update(zip(instruction.outputs, instruction.node.outputs, strict=True))
        return variables[register]

    def _step(self, states: Sequence[_State], outputs: Sequence[_Output | _Sum | None]) -> None:
        """Write the body."""
        block = self.block
        arguments = [self._number()] if self.counted else []
        arguments += [self._row(x) for x in self.sequences]
        arguments += [state.array() for state in states]
        arguments += [stand_in(x) for x in self.constants]
        places = self._places(states, outputs)
        targets: dict[int, Place] = {}
        for register, target in zip(self.program.outputs, places, strict=False):
            if target is not None:
                targets.setdefault(register, target)
        values = emit_inner(block, self.program, arguments, targets)
        for k, value in enumerate(values[: len(outputs)]):
            output = outputs[k]
            if k < len(states):
                value = states[k].store(value, output.row if isinstance(output, _Output) else None, k)
            if output is not None:
                output.store(value)
        if self.spec.until:
            block.let("int", self.ended, f"{values[-1].load('0').text} != 0")
            block.assign(str(self.done), f"{self.step} + 1")
        for k, state in enumerate(states):
            output = outputs[k]
            state.move(output.row if isinstance(output, _Output) else None)

    def _places(self, states: Sequence[_State], outputs: Sequence[_Output | _Sum | None]) -> list[Place | None]:
        rows = [output.row if isinstance(output, _Output) else None for output in outputs]
        mine: list[Place | None] = [state.place(row) for state, row in zip(states, rows, strict=False)]
        return mine + rows[len(states) :]

    def _row(self, x: CArray) -> CArray:
        """Return the row of a sequence that a step reads."""
        name, kind = self.block.fresh("p"), memory_type(x.dtype)
        offset = f" + {self.place} * {x.strides[0].atom}" if x.strides[0] != ZERO else ""
        self.block.let(f"const {kind} *", name, f"{x.pointer}{offset}")
        shape, root = x.shape[1:], Root("argument", name, x.dtype, product_of(x.shape[1:]))
        return CArray(x.dtype, shape, x.strides[1:], name, root)

    def _number(self) -> CArray:
        """Return the number of the step."""
        name = self.block.fresh("t")
        self.block.variable("int64_t", name, self.step)
        index = (Length(1, (self.step,)),)
        return CArray("int64", (), (), f"&{name}", Root("argument", name, "int64", ONE), None, index)
