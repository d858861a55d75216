"""Loops as loops of C: the program of a step is written once, between the braces of a ``for``.

States lie in two buffers that change places after each step, so that a new state may be read from any old one; where
all of them are kept, the rows of the result are these buffers. Rows of results are written where the program of a step
can, and copied otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from theano_graph import Apply
from theano_linker_c.kernels import memory_type
from theano_linker_c.program import Program
from theano_linker_c.scalar import CValue, c_type
from theano_linker_c.straight import (
    ONE,
    ZERO,
    Block,
    CArray,
    Length,
    LoopBody,
    Place,
    Root,
    RowPlace,
    Wanted,
    contiguous_strides,
    emit_inner,
    function_program,
    product_of,
    stand_in,
    straight_op,
)

from ._loop._ops import Loop, Scan
from ._loop._plan import LAST, STACK, SUM

__all__: list[str] = []


@straight_op.register(Loop)
def _loop(node: Apply[Loop], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    return _Writer(node.op, block, inputs, True).write()


@straight_op.register(Scan)
def _scan(node: Apply[Scan], block: Block, inputs: Sequence[CArray]) -> list[CArray]:
    """Run the loop with the rows of all steps, and put them behind the first rows of the buffers."""
    op: Scan = node.op

    def start(buffer: CArray, place: int, depth: int) -> CArray:
        block.at_least(buffer.shape[0], depth, f"the first {depth} rows of a state are missing")
        offset = Length(place) * buffer.strides[0]
        return block.view(buffer, buffer.shape[1:], buffer.strides[1:], str(offset))

    found = _Writer(op.whole_loop, block, op.loop_inputs(list(inputs), start), False).write()
    results, place = [], 0
    given = list(inputs)
    for k, (buffer, depth) in enumerate(
        zip([*op.outer_mitsot(given), *op.outer_sitsot(given)], op.depths, strict=True)
    ):
        rows = found[place]
        shape = (block.sum([Length(depth), rows.shape[0]]), *rows.shape[1:])
        made = block.result(k, rows.dtype, shape)
        first = block.view(buffer, (Length(depth), *rows.shape[1:]), buffer.strides)
        block.copy(first, block.view(made, first.shape, made.strides))
        behind = str(Length(depth) * product_of(rows.shape[1:]))
        block.copy(rows, block.view(made, rows.shape, contiguous_strides(rows.shape), behind))
        results.append(made)
        place += depth if k < op.n_mit_sot else 1
    shared = found[place : place + op.n_shared_outs]
    place += op.n_shared_outs
    return [*results, *found[place : place + op.n_nit_sot], *shared]


class _State:
    """A state: where a step reads it, and where it writes the new one.

    Parameters
    ----------
    block : Block
    start : CArray
        What it is before the first step.
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
            block.line(f"{self.kind} {self.now} = {start.element('0')};")
            block.line(f"{self.kind} {self.next};")
        elif stacked:
            held = start if start.contiguous else self._copied(block.allocate(start.dtype, start.shape))
            block.line(f"const {self.kind} *{self.now} = {held.pointer};")
        else:
            both = block.allocate(start.dtype, (Length(2), *start.shape))
            self.root, self.buffers = both.root, both.pointer
            self._copied(block.view(both, start.shape, self.strides))
            block.line(f"{self.kind} *{self.now} = {both.pointer};")
            block.line(f"{self.kind} *{self.next} = {both.pointer} + {start.size};")

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
        """Write, at the end of the step, what puts the new one where it belongs; return it there."""
        block, start = self.block, self.start
        for axis, (a, b) in enumerate(zip(start.shape, value.shape, strict=True)):
            block.same(a, b, f"state {k} of a loop changes its length along axis {axis}")
        place = self.place(row)
        made = CArray(start.dtype, start.shape, self.strides, place.pointer, place.root)
        if value.pointer != made.pointer:
            block.copy(value, made)
        return made

    def move(self, row: RowPlace | None) -> None:
        """Make the new state that of the next step."""
        block = self.block
        if not self.start.shape:
            block.line(f"{self.now} = {self.next};")
        elif row is not None:
            block.line(f"{self.now} = {row.pointer};")
        else:
            block.line(f"{self.now} = {self.next};")
            size = self.start.size
            block.line(f"{self.next} = {self.next} == {self.buffers} ? {self.buffers} + {size} : {self.buffers};")

    def result(self) -> CArray:
        """Return the last state, after the loop."""
        start = self.start
        if not start.shape:
            return CArray(start.dtype, (), (), f"&{self.now}", Root("local", self.now, start.dtype, ONE))
        assert self.root is not None
        return CArray(start.dtype, start.shape, self.strides, self.now, self.root)


class _Output:
    """The rows of a result, or the last value of what is no state.

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
        self.stacks = writer.plan.kinds[k] == STACK
        self.row = RowPlace(writer.body, dtype)
        self.shape: tuple[Length, ...] = ()
        #: Whether the first step tells the shape, and takes memory for the rows of all steps.
        self.late = False
        self.pointer = ""
        self.root: Root | None = None

    def store(self, value: CArray) -> None:
        """Write, at the end of the step, what puts a value into its row."""
        block, body = self.writer.block, self.writer.body
        self.shape = value.shape
        self.late = not body.is_outside(value.shape)
        if self.late:
            self._take(value.shape)
        if value.pointer != self.row.pointer:
            strides = contiguous_strides(value.shape)
            block.copy(value, CArray(self.dtype, value.shape, strides, self.row.pointer, self.row.root))

    def _take(self, shape: tuple[Length, ...]) -> None:
        """Write what takes memory in the first step, and looks in the others whether the shape is the same."""
        block, writer = self.writer.block, self.writer
        self.pointer = block.fresh("v")
        self.shape = tuple(x if x.known else Length(1, (block.fresh("n"),)) for x in shape)
        pairs = [(mine, x) for mine, x in zip(self.shape, shape, strict=True) if not x.known]
        with block.block(f"if ({writer.step} == 0)"):
            for mine, x in pairs:
                block.line(f"{mine} = {x};")
            size = f"(size_t)({product_of(self._whole())}) * sizeof({self.kind})"
            block.line(f"{self.pointer} = ({self.kind} *){block.call('theano_take', 'memory', size)};")
            block.check(f"{self.pointer} != NULL", "there is not enough memory")
            block.line(f"{writer.memory} = {block.call('theano_remember', 'memory')};")
        for mine, x in pairs:
            block.check(f"{mine} == {x.atom}", f"steps of a loop give values of different shapes (output {self.k})")
        block.line(self._row_line())
        block.takes_memory = True

    def _whole(self) -> tuple[Length, ...]:
        return (self.writer.n, *self.shape) if self.stacks else self.shape

    def _row_line(self) -> str:
        place = f" + {self.writer.place} * {product_of(self.shape).atom}" if self.stacks else ""
        return f"{self.kind} *const {self.row.pointer} = {self.pointer}{place};"

    def allocate(self) -> list[str]:
        """Write, before the loop, what gives memory; return what the body begins with."""
        writer, block = self.writer, self.writer.block
        whole = self._whole()
        if self.late:
            block.line(f"{self.kind} *{self.pointer} = NULL;")
            for length in self.shape:
                if not length.known:
                    block.line(f"int64_t {length} = 0;")
            self.root = Root("temporary", self.pointer, self.dtype, product_of(whole))
            return []
        if writer.whole and not (self.stacks and writer.plan.until) and whole:
            made = block.result(self.k, self.dtype, whole)
        else:
            made = block.allocate(self.dtype, whole) if whole else block.local(self.dtype, "0")
        if made.root.kind == "temporary":
            made.root.begin = writer.body.time
        self.pointer, self.root = made.pointer, made.root
        return [self._row_line()]

    def result(self) -> CArray:
        """Return it, after the loop."""
        assert self.root is not None
        shape, writer = self._whole(), self.writer
        strides = contiguous_strides(shape)
        made = CArray(self.dtype, shape, strides, self.pointer, self.root)
        if not self.stacks or not writer.plan.until:
            return made
        done = (writer.done, *self.shape)
        offset = "0"
        if writer.plan.backwards:
            offset = f"({writer.n} - {writer.done}) * {product_of(self.shape).atom}"
        return writer.block.view(made, done, contiguous_strides(done), offset)


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
        self.block, like = writer.block, writer.plan.likes[k]
        shape = writer.given[like].shape[1 if like < writer.plan.sequences else 0 :]
        block = self.block
        self.total = block.result(k, dtype, shape) if writer.whole and shape else block.allocate(dtype, shape)
        with block.loops(block.nest(shape, (self.total,))) as (at,):
            block.line(self.total.store(at, CValue("0", dtype, 0)))

    def store(self, value: CArray) -> None:
        """Write, at the end of the step, what adds a value."""
        block, total = self.block, self.total
        for a, b in zip(total.shape, value.shape, strict=True):
            block.same(a, b, "steps of a loop give values of different shapes, which are added")
        with block.loops(block.nest(total.shape, (total, value))) as (a, b):
            joined = "|" if total.dtype == "bool" else "+"
            text = f"({c_type(total.dtype)})({total.load(a).text} {joined} {value.load(b).text})"
            block.line(total.store(a, CValue(text, total.dtype)))

    def allocate(self) -> list[str]:
        """Return nothing: there is memory already."""
        return []

    def result(self) -> CArray:
        """Return it, after the loop."""
        return self.total


class _Writer:
    """The loop of one node.

    Parameters
    ----------
    op : Loop
    block : Block
    inputs : sequence of CArray
        The number of steps, sequences, first states, constants.
    whole : bool
        Whether the outputs of the loop are those of the present instruction.
    """

    def __init__(self, op: Loop, block: Block, inputs: Sequence[CArray], whole: bool) -> None:
        self.op, self.block, self.plan, self.whole = op, block, op.plan, whole
        self.program: Program = function_program(op.compiled())
        self.n = block.number(inputs[0])
        first = self.plan.sequences
        last = first + self.plan.states
        self.given = inputs[1:]
        self.sequences, self.starts, self.constants = self.given[:first], self.given[first:last], self.given[last:]
        self._check()
        self.body = LoopBody(block)
        self.step, self.memory = block.fresh("i"), block.fresh("m")
        self.done = Length(1, (block.fresh("n"),)) if self.plan.until else self.n
        self.place = f"({self.n} - 1 - {self.step})" if self.plan.backwards else self.step

    def _check(self) -> None:
        """Look at the number of steps, and at the lengths of sequences."""
        block, n = self.block, self.n
        block.at_least(n, 0, "the number of steps of a loop is negative")
        if LAST in self.plan.kinds:
            block.at_least(n, 1, "a loop does no step: there is no last one")
        for k, x in enumerate(self.sequences):
            length, text = x.shape[0], f"sequence {k} of a loop has too few elements for its steps"
            if n.known:
                block.at_least(length, n.factor, text)
            elif length != n:
                block.check(f"{length.atom} >= {n.atom}", text)

    def write(self) -> list[CArray]:
        """Write everything, and return the results."""
        block, plan, body = self.block, self.plan, self.body
        if plan.until:
            block.line(f"int64_t {self.done} = 0;")
        states = [_State(block, x, kind == STACK) for x, kind in zip(self.starts, plan.kinds, strict=False)]
        outputs = [self._output(k) for k in range(len(plan.kinds))]
        body.begin()
        self._step(states, outputs)
        takes = any("theano_take(" in line for line in block.lines[body.start :])
        if takes:
            block.line(f"{block.call('theano_give_back', 'memory', self.memory)};")
        if plan.until:
            block.line(f"if ({self.ended}) break;")
        before, lines = body.end()
        block.lines += before
        heads = [line for output in outputs if output is not None for line in output.allocate()]
        if takes:
            block.line(f"theano_mark {self.memory} = {block.call('theano_remember', 'memory')};")
        with block.block(f"for (int64_t {self.step} = 0; {self.step} < {self.n}; {self.step}++)"):
            for line in heads:
                block.line(line)
            block.lines += lines
        results = [s.result() if o is None else o.result() for s, o in zip_longest(states, outputs)]
        kept = {id(x.root) for x in results}
        for root in block.roots[body.roots :]:
            if root.end < 0 and id(root) not in kept:
                root.end = block.time
        return [*results, block.number_array(self.done)] if plan.until else results

    def _output(self, k: int) -> _Output | _Sum | None:
        kind, dtype = self.plan.kinds[k], self._dtype(k)
        if kind == SUM:
            return _Sum(self, k, dtype)
        return _Output(self, k, dtype) if kind == STACK or k >= self.plan.states else None

    def _dtype(self, k: int) -> str:
        if k < self.plan.states:
            return self.starts[k].dtype
        dtype: str = self.op.values[k].type.dtype
        return dtype

    def _step(self, states: Sequence[_State], outputs: Sequence[_Output | _Sum | None]) -> None:
        """Write the body."""
        block = self.block
        given = [self._row(x) for x in self.sequences]
        given += [state.array() for state in states]
        given += [stand_in(x) for x in self.constants]
        places = self._places(states, outputs)
        targets: dict[int, Place] = {}
        for register, place in zip(self.program.outputs, places, strict=False):
            if place is not None:
                targets.setdefault(register, place)
        values = emit_inner(block, self.program, given, targets)
        for k, value in enumerate(values[: len(outputs)]):
            output = outputs[k]
            if k < len(states):
                value = states[k].store(value, output.row if isinstance(output, _Output) else None, k)
            if output is not None:
                output.store(value)
        if self.plan.until:
            self.ended = block.fresh("u")
            block.line(f"const int {self.ended} = {values[-1].load('0').text} != 0;")
            block.line(f"{self.done} = {self.step} + 1;")
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
        self.block.line(f"const {kind} *const {name} = {x.pointer}{offset};")
        shape, root = x.shape[1:], Root("argument", name, x.dtype, product_of(x.shape[1:]))
        return CArray(x.dtype, shape, x.strides[1:], name, root)
