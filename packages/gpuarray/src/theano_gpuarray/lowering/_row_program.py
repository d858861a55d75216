"""Programs over the rows of matrices: one group of work-items computes all of a row.

A program is a list of nodes. A node gives a number for each row, or for each element of a row. The result of a
reduction or a pick of one element is a number for the row, known to all work-items of the group; needed elements are
computed again in each loop over the row, so that nothing between goes through memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from theano_graph import record
from theano_linker_c.kernels import Reduction
from theano_linker_c.scalar import CValue, OneOp, ScalarProgram, c_cast, c_literal, c_stored, c_type

from ..codegen import DeviceOperand
from ..codegen._kernel_writer import KernelWriter, add_refusals, element, loaded, refusal
from ..codegen._layouts import WARP
from ..region import StepRecorder


@record
class Result:
    """One of the results of a node."""

    node: int
    number: int = 0


@record
class Load:
    """An element of an array: `row` and `column` are the byte strides, 0 where it is the same for all."""

    operand: DeviceOperand
    row: int
    column: int
    per_element: bool


@record
class Map:
    """A scalar op, of elements if one of its operands is."""

    program: ScalarProgram | OneOp
    args: tuple[Result, ...]
    per_element: bool


@record
class Fixed:
    """A number converted to a dtype."""

    arg: Result
    dtype: str
    per_element: bool


@record
class Reduce:
    """The elements of a row, joined."""

    arg: Result
    reduction: Reduction


@record
class Pick:
    """The element of a row at the position that `index` gives.

    `explain` makes the error for a position that is out of bounds, of the axis, the position and the length.
    """

    arg: Result
    index: Result
    explain: Callable[[int, int, int], Exception]
    step: int


@record
class Put:
    """The elements of a row with the one at a position replaced by a number, or that added to it."""

    arg: Result
    value: Result
    index: Result
    replace: bool
    dtype: str
    explain: Callable[[int, int, int], Exception]
    step: int


Node: TypeAlias = Load | Map | Fixed | Reduce | Pick | Put


@record
class Store:
    """Where a result goes: an array with a number for each row, or for each element."""

    result: Result
    operand: DeviceOperand
    dtype: str


class RowProgram:
    """Writes and launches the kernel of a program.

    Parameters
    ----------
    nodes : sequence of Node
        Each after its needs.
    stores : sequence of Store
    rows, columns : int
    """

    def __init__(self, nodes: Sequence[Node], stores: Sequence[Store], rows: int, columns: int) -> None:
        self.nodes = tuple(nodes)
        self.stores = tuple(stores)
        self.rows, self.columns = rows, columns
        self._values: dict[Result, CValue] = {}
        self._writer = KernelWriter("rows")

    def launch(self, recorder: StepRecorder) -> None:
        """Launch the kernel: a group takes a row, then another one."""
        properties = recorder.properties
        self._local = 1 if properties.cpu else _local(self.columns, min(256, properties.max_local))
        self._warp = min(WARP, self._local) if properties.driver == "cuda" else 1
        writer = self._writer
        writer.number("rows", self.rows)
        writer.number("columns", self.columns)
        for i, node in enumerate(self.nodes):
            if isinstance(node, Map):
                writer.preamble += [part for part in node.program.preamble if part not in writer.preamble]
            if isinstance(node, Load):
                writer.array(f"p{i}", node.operand)
                writer.number(f"p{i}_row", node.row)
                if node.per_element:
                    writer.number(f"p{i}_column", node.column)
        for k, target in enumerate(self.stores):
            writer.array(f"q{k}", target.operand, written=True)
        for i, node in self._positions():
            recorder.step = node.step
            add_refusals(recorder, writer, node.explain, f"refusal{i}")
        # One for all reductions of a type, each of which ends with a barrier: local memory is small.
        types = dict.fromkeys(c_type(node.reduction.acc_dtype) for node in self.nodes if isinstance(node, Reduce))
        if self._local > self._warp:
            for kind in types:
                writer.local(kind, f"shared_{kind}", self._local)
        writer.add("for (int64_t row = GID_0; row < rows; row += GDIM_0) {")
        for i, node in enumerate(self.nodes):
            self._row_node(i, node)
        self._write()
        writer.add("}")
        groups = min(self.rows, properties.units * (4 if properties.cpu else 64))
        writer.launch(recorder, (groups,), (self._local,))

    def _positions(self) -> Iterator[tuple[int, Pick | Put]]:
        return ((i, node) for i, node in enumerate(self.nodes) if isinstance(node, (Pick, Put)))

    def _row_node(self, i: int, node: Node) -> None:
        """Write the nodes that give a number for the row, and the positions that elements are compared with."""
        if isinstance(node, Put):
            self._position(i, node.index)
        elif isinstance(node, Reduce):
            self._reduce(i, node)
        elif isinstance(node, Pick):
            self._position(i, node.index)
            values: dict[Result, CValue] = {}
            dtype = self._dtype(node.arg)
            self._writer.add(f"{c_type(dtype)} pick{i};", f"{{ const int64_t c = at{i};")
            element = self._element(node.arg, values, "c")
            self._writer.add(f"pick{i} = {element.text};", "}")
            self._values[Result(i)] = CValue(f"pick{i}", dtype)
        elif not node.per_element:
            self._define(i, node, self._values, f"r{i}_", "0")

    def _position(self, i: int, index: Result) -> None:
        """Write where the element of the row is; one that is out of bounds is refused, and the first one taken."""
        value = self._values[index].text
        self._writer.add(
            f"int64_t at{i} = (int64_t){value};",
            f"if (at{i} < 0) at{i} += columns;",
            f"if (at{i} < 0 || at{i} >= columns) {{",
            refusal("1", f"(int64_t){value}", "columns", f"refusal{i}"),
            f"at{i} = 0;",
            "}",
        )

    def _reduce(self, i: int, node: Reduce) -> None:
        reduction, writer, acc = node.reduction, self._writer, node.reduction.acc_dtype
        kind = c_type(acc)
        writer.add(
            f"{kind} sum{i} = {c_literal(reduction.seed, acc)};",
            # Several loads are under way at once.
            *(["#pragma unroll 4"] if self._local > 1 else []),
            f"for (int64_t c = LID_0; c < columns; c += {self._local}) {{",
        )
        element = self._element(node.arg, {}, "c")
        writer.add(
            f"const {kind} a = sum{i}, b = {c_cast(element, acc)};", f"sum{i} = {_joined(reduction, 'a', 'b')};", "}"
        )
        if self._local > 1:
            writer.add(*self._tree(f"sum{i}", kind, reduction))
        total = CValue(f"sum{i}", acc)
        writer.add(f"const {c_type(reduction.output_dtype)} total{i} = {c_cast(total, reduction.output_dtype)};")
        self._values[Result(i)] = CValue(f"total{i}", reduction.output_dtype)

    def _tree(self, total: str, kind: str, reduction: Reduction) -> Iterator[str]:
        """Give the statements that join the totals of all work-items; each of them knows the result."""
        shared, warp, joined = f"shared_{kind}", self._warp, _joined(reduction, "a", "b")
        if self._local > warp:
            yield from (f"{shared}[LID_0] = {total};", "local_barrier();")
            yield f"for (int width = {self._local // 2}; width >= {warp}; width /= 2) {{"
            yield f"if ((int)LID_0 < width) {{ const {kind} a = {shared}[LID_0], b = {shared}[LID_0 + width];"
            yield f"{shared}[LID_0] = {joined}; }}"
            yield from ("local_barrier();", "}")
            # Each warp joins the same values, so that none waits for another one.
            yield from (f"{total} = {shared}[LID_0 % {warp}];", "local_barrier();")
        if warp > 1:
            yield from ("#pragma unroll", f"for (int width = {warp // 2}; width > 0; width /= 2) {{")
            yield f"const {kind} other = theano_shuffle({total}, width);"
            # Operands have the order that they have in local memory.
            yield f"const {kind} a = LID_0 & width ? other : {total}, b = LID_0 & width ? {total} : other;"
            yield from (f"{total} = {joined};", "}")

    def _write(self) -> None:
        """Write the results."""
        writer = self._writer
        elements = [(k, s) for k, s in enumerate(self.stores) if self._per_element(s.result)]
        numbers = [(k, s) for k, s in enumerate(self.stores) if not self._per_element(s.result)]
        if elements:
            writer.add(f"for (int64_t c = LID_0; c < columns; c += {self._local}) {{")
            values: dict[Result, CValue] = {}
            for k, target in elements:
                found = self._element(target.result, values, "c")
                target_element = element(
                    target.dtype, f"q{k}", f"q{k}_at + (row * columns + c) * {target.operand.itemsize}"
                )
                writer.add(f"{target_element} = {c_stored(found, target.dtype)};")
            writer.add("}")
        if numbers:
            writer.add("if (LID_0 == 0) {")
            for k, target in numbers:
                target_element = element(target.dtype, f"q{k}", f"q{k}_at + row * {target.operand.itemsize}")
                writer.add(f"{target_element} = {c_stored(self._values[target.result], target.dtype)};")
            writer.add("}")

    def _element(self, result: Result, values: dict[Result, CValue], column: str) -> CValue:
        """Write the needs of an element, in the order of the nodes, and return it."""
        if not self._per_element(result):
            return self._values[result]
        for i in sorted(self._needed(result)):
            if Result(i) not in values and Result(i, 1) not in values:
                self._define(i, self.nodes[i], values, f"e{i}_", column)
        return values[result]

    def _define(self, i: int, node: Node, values: dict[Result, CValue], prefix: str, column: str) -> None:
        """Write the statements that define the results of one node."""

        def value(result: Result) -> CValue:
            return values[result] if result in values else self._values[result]

        writer = self._writer
        if isinstance(node, Load):
            offset = f"p{i}_at + row * p{i}_row" + (f" + {column} * p{i}_column" if node.per_element else "")
            found = loaded(node.operand.dtype, element(node.operand.dtype, f"p{i}", offset))
            writer.add(f"const {c_type(found.dtype)} {prefix} = {found.text};")
            values[Result(i)] = CValue(prefix, found.dtype)
        elif isinstance(node, Map):
            statements, results = node.program.emit([value(arg) for arg in node.args], prefix)
            writer.add(*statements)
            values.update({Result(i, k): outcome for k, outcome in enumerate(results)})
        elif isinstance(node, Fixed):
            writer.add(f"const {c_type(node.dtype)} {prefix} = {c_cast(value(node.arg), node.dtype)};")
            values[Result(i)] = CValue(prefix, node.dtype)
        elif isinstance(node, Put):
            old, new = value(node.arg), value(node.value)
            changed = c_cast(new, node.dtype)
            changed = changed if node.replace else f"({old.text} + {changed})"
            writer.add(f"const {c_type(node.dtype)} {prefix} = {column} == at{i} ? {changed} : {old.text};")
            values[Result(i)] = CValue(prefix, node.dtype)

    def _needed(self, result: Result) -> set[int]:
        """Return the nodes of elements that an element needs."""
        needed, waiting = set[int](), [result.node]
        while waiting:
            i = waiting.pop()
            if i not in needed and self._per_element(Result(i)):
                needed.add(i)
                waiting += [arg.node for arg in arguments_of(self.nodes[i])]
        return needed

    def _per_element(self, result: Result) -> bool:
        return per_element(self.nodes[result.node])

    def _dtype(self, result: Result) -> str:
        return dtype_of(self.nodes, result)


def dtype_of(nodes: Sequence[Node], result: Result) -> str:
    """Return the dtype of a result."""
    node = nodes[result.node]
    if isinstance(node, Load):
        return node.operand.dtype
    if isinstance(node, Map):
        program = node.program
        dtypes = (
            program.op.result_dtypes(*program.input_dtypes) if isinstance(program, OneOp) else program.output_dtypes
        )
        return str(dtypes[result.number])
    if isinstance(node, Reduce):
        return node.reduction.output_dtype
    return dtype_of(nodes, node.arg) if isinstance(node, Pick) else node.dtype


def per_element(node: Node) -> bool:
    """Tell whether a node gives a number for each element."""
    return isinstance(node, Put) or (isinstance(node, (Load, Map, Fixed)) and node.per_element)


def arguments_of(node: Node) -> tuple[Result, ...]:
    """Return the results that a node needs."""
    if isinstance(node, Load):
        return ()
    if isinstance(node, Map):
        return node.args
    if isinstance(node, Put):
        return node.arg, node.value, node.index
    return (node.arg, node.index) if isinstance(node, Pick) else (node.arg,)


def _joined(reduction: Reduction, a: str, b: str) -> str:
    acc = reduction.acc_dtype
    return reduction.combine.c_expression([CValue(a, acc), CValue(b, acc)], acc)


def _local(columns: int, most: int) -> int:
    """Return a power of two of work-items for a row."""
    local = 32
    while local < columns and 2 * local <= most:
        local *= 2
    return min(local, most)


__all__ = ["Fixed", "Load", "Map", "Node", "Pick", "Put", "Reduce", "Result", "RowProgram", "Store"]
