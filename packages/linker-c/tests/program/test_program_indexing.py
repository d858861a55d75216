"""Index instructions: views, copies of parts, writes, and writes into cells that wait for the success of the call."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
from support import ArrayType, Elementwise, Python, Shuffle, array, hooks_of, machines, program_of

from theano_graph import Apply, Op
from theano_linker_c.kernels import (
    IndexArray,
    IndexEntry,
    IndexInput,
    IndexReadKernel,
    IndexSlice,
    IndexViewKernel,
    IndexWriteKernel,
    Kernel,
    native_kernel,
)
from theano_linker_c.program import native_machine
from theano_linker_c.scalar import add

ROWS = (IndexArray(1, False, (False,)),)
ROWS_WRITTEN = (IndexArray(2, False, (False,)),)


class Index(Op):
    """Any index instruction on inputs as they come; the entries are those of the kernel."""

    def __init__(self, kind: str, entries: Sequence[IndexEntry], ndim: int) -> None:
        self.kind, self.entries, self.ndim = kind, tuple(entries), ndim

    def make_node(self, *inputs: Any) -> Apply:
        x = inputs[0].type
        out = ArrayType(x.dtype, [None] * self.ndim)
        return Apply(self, list(inputs), [x.make_variable() if self.kind in ("set", "inc") else out.make_variable()])

    def index(self, values: Sequence[Any]) -> tuple[Any, ...]:
        def number(entry: Any) -> Any:
            return int(values[entry.position]) if isinstance(entry, IndexInput) else entry

        results: list[Any] = []
        for entry in self.entries:
            if isinstance(entry, IndexSlice):
                results.append(slice(number(entry.start), number(entry.stop), number(entry.step)))
            else:
                results.append(values[entry.position] if isinstance(entry, IndexArray) else number(entry))
        return (*results, ...)

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        x, index = inputs[0], self.index(inputs)
        if self.kind in ("view", "read"):
            output_storage[0][0] = np.asarray(x[index])
            return
        if inputs[1].shape != x[index].shape:
            raise ValueError(f"a part of shape {inputs[1].shape} does not fit")
        result = x.copy()
        if self.kind == "set":
            result[index] = inputs[1]
        else:
            np.add.at(result, index, inputs[1])
        output_storage[0][0] = result


@native_kernel.register(Index)
def _index(node: Apply) -> Kernel:
    op: Any = node.op
    dtypes = tuple(v.type.dtype for v in node.inputs)
    ndims = tuple(len(v.type.shape) for v in node.inputs)
    if op.kind == "view":
        return IndexViewKernel(op.entries, dtypes, ndims)
    if op.kind == "read":
        return IndexReadKernel(op.entries, dtypes, ndims)
    part = tuple(n == 1 for n in node.inputs[1].type.shape)
    return IndexWriteKernel(op.entries, dtypes, ndims, op.kind == "set", part)


class TestReads(unittest.TestCase):
    def both(self, variables: Sequence[Any], output: Any, *values: Any) -> Any:
        native, plain = (machine(*values) for machine in machines(variables, [output]))
        self.assertEqual(native.dtype, plain.dtype)
        np.testing.assert_array_equal(native, plain)
        return native

    def test_views(self) -> None:
        x, n = array("float64", None, None), array("int32")
        value = np.arange(20.0).reshape(4, 5)
        table: list[tuple[Sequence[IndexEntry], int]] = [
            ([1], 1),
            ([-1, -5], 0),
            ([IndexSlice(1, None, 2)], 2),
            ([IndexSlice(None, None, -1), IndexSlice(-2, -9, -2)], 2),
            ([IndexSlice(9, 2)], 2),
            ([None, IndexInput(1), None], 3),
            ([IndexSlice(IndexInput(1), None, IndexInput(1))], 2),
        ]
        for entries, ndim in table:
            for number in (2, -1):
                with self.subTest(entries=str(entries), number=number):
                    self.both([x, n], Index("view", entries, ndim)(x, n), value, np.int32(number))

    def test_reads(self) -> None:
        x, i, j = array("float32", None, None, None), array("int64", None), array("uint8", None)
        mask = array("bool", None, None)
        value = np.arange(60, dtype="float32").reshape(3, 4, 5).swapaxes(0, 2)
        vector = [np.array([2, -1, 0]), np.array([0, 2, 2], dtype="uint8")]
        first, second = IndexArray(1, False, (False,)), IndexArray(2, False, (False,))
        table: list[tuple[Sequence[IndexEntry], int]] = [
            ([first], 3),
            ([IndexSlice(), first], 3),
            ([first, second], 2),
            ([first, IndexSlice(None, None, -1), second], 2),
            ([IndexSlice(), second, first], 2),
            ([0, IndexSlice(1), first], 2),
        ]
        for entries, ndim in table:
            with self.subTest(entries=str(entries)):
                self.both([x, i, j], Index("read", entries, ndim)(x, i, j), value, *vector)
        chosen = np.arange(20).reshape(5, 4) % 3 == 0
        self.both([x, mask], Index("read", [IndexArray(1, True, (False,))], 2)(x, mask), value, chosen)

    def test_errors_come_from_the_op(self) -> None:
        x, i, y = array("float64", None), array("int64", None), array("float64", None)
        for machine in machines([x, i], [Index("read", ROWS, 1)(x, i)]):
            with self.assertRaisesRegex(IndexError, "index 2 is out of bounds"):
                machine(np.zeros(2), np.array([0, 2]))
        for machine in machines([x, y, i], [Index("set", ROWS_WRITTEN, 1)(x, y, i)]):
            with self.assertRaisesRegex(ValueError, "does not fit"):
                machine(np.zeros(2), np.zeros(3), np.array([0, 1]))

    def test_writes(self) -> None:
        for dtype in ("float64", "float32", "int8", "uint64", "complex64", "bool"):
            x, y, i = array(dtype, None, None), array(dtype, None, None), array("int64", None)
            value = (np.arange(12).reshape(4, 3) % 2).astype(dtype)
            part = np.ones((3, 3), dtype=dtype)
            for kind in ("set", "inc"):
                for x_value in (value, np.asfortranarray(value)):
                    before = x_value.copy()
                    self.both(
                        [x, y, i], Index(kind, ROWS_WRITTEN, 2)(x, y, i), x_value, part[:, ::-1], np.array([3, 0, 3])
                    )
                    np.testing.assert_array_equal(x_value, before)


class TestCells(unittest.TestCase):
    """The present value of a cell is changed when the call has succeeded, if nobody else sees it."""

    def setUp(self) -> None:
        self.w, self.y, self.i = array("float64", None), array("float64", None), array("int64", None)
        self.cell = [np.arange(4.0)]

    def machine(self, outputs: Sequence[Any], extra: Sequence[Any] = ()) -> Any:
        program = program_of(
            [self.w, self.y, self.i, *extra],
            outputs,
            arguments=range(1, 3 + len(extra)),
            cells={0: self.cell},
            updates=[(len(outputs) - 1, self.cell)],
            n_outputs=len(outputs) - 1,
        )
        return native_machine(program, hooks_of(program, len(outputs) == 2))

    def write(self, x: Any, kind: str = "inc") -> Any:
        return Index(kind, ROWS_WRITTEN, 1)(x, self.y, self.i)

    def test_in_place(self) -> None:
        call = self.machine([self.write(self.w)])
        where = self.cell[0].__array_interface__["data"]
        for _ in range(3):
            call(np.ones(2), np.array([0, 0]))
        self.assertEqual(self.cell[0].__array_interface__["data"], where)
        self.assertEqual(self.cell[0].tolist(), [6, 1, 2, 3])

    def test_chains(self) -> None:
        call = self.machine([self.write(self.write(self.w), "set")])
        where = self.cell[0].__array_interface__["data"]
        call(np.array([5.0, 7.0]), np.array([1, 2]))
        self.assertEqual(self.cell[0].__array_interface__["data"], where)
        self.assertEqual(self.cell[0].tolist(), [0, 5, 7, 3])
        held = self.cell[0]
        call(np.array([1.0, 1.0]), np.array([0, 0]))
        self.assertEqual((held.tolist(), self.cell[0].tolist()), ([0, 5, 7, 3], [1, 5, 7, 3]))

    def test_holders_see_no_change(self) -> None:
        call = self.machine([self.write(self.w)])
        holders: list[Any] = [lambda a: a, lambda a: a[1:], lambda a: a.data]
        for hold in holders:
            held = hold(self.cell[0])
            before = np.array(held)
            call(np.ones(1), np.array([2]))
            np.testing.assert_array_equal(np.asarray(held), before)

    def test_readers_see_the_old_value_wherever_they_stand(self) -> None:
        late = Python(lambda w, y: w.copy() + y.sum(), ArrayType("float64", (None,)))(self.w, self.y)
        view = Shuffle([0])(self.w)
        call = self.machine([late, view, self.write(self.w)])
        late_value, view_value = call(np.ones(1), np.array([2]))
        self.assertEqual(late_value.tolist(), [1, 2, 3, 4])
        self.assertEqual(view_value.tolist(), [0, 1, 2, 3])
        self.assertEqual(self.cell[0].tolist(), [0, 1, 3, 3])

    def test_failures_leave_the_cell(self) -> None:
        def fail(y: Any) -> Any:
            if y.sum() < 0:
                raise RuntimeError("no luck")
            return y

        late = Python(fail, ArrayType("float64", (None,)))(self.y)
        call = self.machine([late, self.write(self.w)])
        array_before = self.cell[0]
        with self.assertRaisesRegex(RuntimeError, "no luck"):
            call(-np.ones(1), np.array([2]))
        with self.assertRaisesRegex(IndexError, "out of bounds"):
            call(np.ones(1), np.array([4]))
        self.assertIs(self.cell[0], array_before)
        self.assertEqual(array_before.tolist(), [0, 1, 2, 3])

    def test_the_new_value_as_an_output_too(self) -> None:
        new = self.write(self.w)
        call = self.machine([Elementwise(add)(new, new), new])
        self.assertEqual(call(np.ones(1), np.array([0])).tolist(), [2, 2, 4, 6])
        self.assertEqual(self.cell[0].tolist(), [1, 1, 2, 3])

    def test_a_part_that_is_the_cell_itself(self) -> None:
        program = program_of(
            [self.w, self.i],
            [Index("inc", ROWS_WRITTEN, 1)(self.w, self.w, self.i)],
            arguments=[1],
            cells={0: self.cell},
            updates=[(0, self.cell)],
            n_outputs=0,
        )
        native_machine(program, hooks_of(program, False))(np.array([3, 2, 1, 0]))
        self.assertEqual(self.cell[0].tolist(), [3, 3, 3, 3])

    def test_an_emptied_cell(self) -> None:
        def empty(y: Any) -> Any:
            self.cell.clear()
            return y

        call = self.machine([Python(empty, ArrayType("float64", (None,)))(self.y), self.write(self.w)])
        before = self.cell[0]
        with self.assertRaisesRegex(ValueError, "emptied"):
            call(np.ones(1), np.array([0]))
        self.assertEqual(before.tolist(), [0, 1, 2, 3])
