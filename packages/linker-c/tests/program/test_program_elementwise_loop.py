"""Loops whose step is one elementwise kernel, done by code for all steps: the values are those of single steps."""

from __future__ import annotations

import threading
import unittest
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from support import ArrayType, hooks_of, program_of

from theano_graph import Apply, Op, Variable
from theano_linker_c.kernels import ElementwiseKernel, Kernel, native_kernel
from theano_linker_c.program import LoopSpec, Machine, ResultKind, loop_runner, lowered_for_loop, native_machine
from theano_linker_c.scalar import Composite, ScalarType, add, exp, mul, tanh, true_div

STACK, SUM, LAST = ResultKind.STACK, ResultKind.SUM, ResultKind.LAST
DTYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")


class Step(Op):
    """A composite with one result or several."""

    def __init__(self, composite: Composite) -> None:
        self.composite = composite

    def make_node(self, *inputs: Any) -> Apply:
        shape = [1 if all(x.type.shape[d] == 1 for x in inputs) else None for d in range(len(inputs[0].type.shape))]
        dtypes = self.composite.result_dtypes(*(x.type.dtype for x in inputs))
        return Apply(self, list(inputs), [ArrayType(dtype, shape).make_variable() for dtype in dtypes])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        raise AssertionError("the kernel runs")


@native_kernel.register(Step)
def _step(node: Apply) -> Kernel:
    op: Any = node.op
    types = [x.type for x in node.inputs]
    broadcast = tuple(tuple(n == 1 for n in t.shape) for t in types)
    dtypes = tuple(v.type.dtype for v in node.outputs)
    return ElementwiseKernel(op.composite, tuple(t.dtype for t in types), dtypes, broadcast, len(types[0].shape))


def both(inputs: Sequence[Variable], outputs: Sequence[Variable], how: LoopSpec) -> tuple[Machine, Machine]:
    """Return machines with code for all steps, and without."""
    with lowered_for_loop(how):
        program = program_of(inputs, outputs)
    assert list(program.loops) == [how], "there is code for all steps"
    plain = replace(program, loops={})
    return native_machine(program, hooks_of(program)), native_machine(plain, hooks_of(plain))


def shape_error(k: int, row: int, got: Sequence[int], expected: Sequence[int]) -> Exception:
    return ValueError(f"result {k}, row {row}: {got} instead of {expected}")


def run_loop(machine: Machine, how: LoopSpec, runs: int, values: Sequence[Any]) -> list[Any]:
    run = loop_runner(machine, how)
    assert run is not None, "the machine is native"
    done, result = run(runs, values, shape_error)
    assert done == runs, "nothing ends the loop"
    return result


def step_of(dtype: str, *, expensive: bool = False) -> Composite:
    """Return a step that makes two states of each other, of a row and of fixed values, and a further result."""
    row, s, t, fixed, factor = (ScalarType(dtype).make_variable() for _ in range(5))
    first = add(mul(t, factor), row)
    first = tanh(first) if expensive else first
    return Composite([row, s, t, fixed, factor], [first, add(s, fixed), mul(row, s)])


def sample(rng: np.random.Generator, dtype: str, *shape: int) -> Any:
    if dtype.startswith("float"):
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


class TestElementwiseLoops(unittest.TestCase):
    def agree(
        self, machines: tuple[Machine, Machine], how: LoopSpec, runs: int, values: Sequence[Any], what: object
    ) -> list[Any]:
        references = [np.array(v) for v in values]
        full, single = (run_loop(machine, how, runs, values) for machine in machines)
        for x, y in zip(full, single, strict=True):
            self.assertEqual((x.dtype, x.shape, x.tobytes()), (y.dtype, y.shape, y.tobytes()), what)
        for value, before in zip(values, references, strict=True):
            self.assertEqual(value.tobytes(), before.tobytes(), what)
        return full

    def check(self, dtype: str, kinds: tuple[ResultKind, ...], *, backwards: bool, expensive: bool = False) -> None:
        rng = np.random.default_rng(0)
        inputs: list[Variable] = [ArrayType(dtype, (None,)).make_variable() for _ in range(4)]
        inputs.append(ArrayType(dtype, (1,)).make_variable())
        how = LoopSpec(1, 2, kinds, False, backwards)
        machines = both(inputs, Step(step_of(dtype, expensive=expensive))(*inputs), how)
        for runs, n in [*product((1, 2, 3, 4, 70), (1, 10, 16)), (5, 0), (5, 3), (5, 64), (5, 67), (5, 130), (4, 300)]:
            values = [sample(rng, dtype, *shape) for shape in ((runs, n), (n,), (n,), (n,), (1,))]
            self.agree(machines, how, runs, values, (dtype, kinds, runs, n))

    def test_every_dtype(self) -> None:
        kinds = [(STACK, LAST, STACK), (LAST, STACK, LAST), (LAST, LAST, STACK), (STACK, STACK, STACK)]
        for k, dtype in enumerate((*DTYPES, *FLOATS)):
            self.check(dtype, kinds[k % 4], backwards=k % 3 == 0)

    def test_costly_steps(self) -> None:
        self.check("float64", (LAST, STACK, STACK), backwards=False, expensive=True)
        self.check("float32", (STACK, LAST, LAST), backwards=True, expensive=True)

    def test_numbers(self) -> None:
        for dtype, shape in (("float64", ()), ("float32", (1,)), ("int64", ()), ("float16", ())):
            a, x, b = (ArrayType(dtype, shape).make_variable() for _ in range(3))
            p, q, r = (ScalarType(dtype).make_variable() for _ in range(3))
            for kind, backwards in ((STACK, False), (LAST, True)):
                how = LoopSpec(1, 1, (kind,), False, backwards)
                machines = both([a, x, b], [Step(Composite([p, q, r], [add(mul(p, q), r)]))(a, x, b)], how)
                for runs in (1, 2, 3, 1000):
                    values = [sample(np.random.default_rng(1), dtype, *s) for s in ((runs, *shape), shape, shape)]
                    self.agree(machines, how, runs, values, (dtype, kind, runs))

    def test_rows_that_are_numbers_and_strided_sequences(self) -> None:
        row, x = ArrayType("float64", (1, 1)).make_variable(), ArrayType("float64", (None, None)).make_variable()
        p, q = (ScalarType("float64").make_variable() for _ in range(2))
        rng = np.random.default_rng(2)
        for kind, backwards in ((STACK, True), (LAST, False)):
            how = LoopSpec(1, 1, (kind,), False, backwards)
            machines = both([row, x], [Step(Composite([p, q], [true_div(add(p, q), q)]))(row, x)], how)
            for rows in (
                rng.normal(size=(9, 1, 1)),
                rng.normal(size=(18, 1, 1))[::2],
                rng.normal(size=(9, 1, 1))[::-1],
            ):
                for start in (rng.normal(size=(3, 5)), rng.normal(size=(5, 3)).T, rng.normal(size=(3, 10))[:, ::2]):
                    self.agree(machines, how, 9, [rows, start], kind)

    def test_values_that_overflow(self) -> None:
        x, a, b = (ArrayType("float64", (None,)).make_variable() for _ in range(3))
        p, q, r = (ScalarType("float64").make_variable() for _ in range(3))
        how = LoopSpec(0, 1, (STACK,))
        machines = both([x, a, b], [Step(Composite([p, q, r], [add(mul(p, p), mul(q, r))]))(x, a, b)], how)
        values = [np.array([1e200, np.nan, -np.inf, 1.5, 5e-324, 0.0, -0.0])] + [np.linspace(-1, 1, 7)] * 2
        (result,) = self.agree(machines, how, 40, values, "overflow")
        self.assertTrue(np.isinf(result[-1, 0]) and np.isnan(result[-1, 1]) and np.isinf(result[-1, 3]))
        y = ArrayType("int8", (None,)).make_variable()
        p = ScalarType("int8").make_variable()
        machines = both([y], [Step(Composite([p], [add(mul(p, p), p)]))(y)], how)
        self.agree(machines, how, 40, [np.arange(-100, 100, 7, dtype="int8")], "int8")

    def test_without_states(self) -> None:
        row, fixed = (ArrayType("float32", (None,)).make_variable() for _ in range(2))
        p, q = (ScalarType("float32").make_variable() for _ in range(2))
        rng = np.random.default_rng(3)
        for kinds in ((STACK, LAST), (LAST, STACK)):
            how = LoopSpec(1, 0, kinds)
            machines = both([row, fixed], Step(Composite([p, q], [exp(mul(p, q)), add(p, q)]))(row, fixed), how)
            for n in (1, 7, 33):
                values = [sample(rng, "float32", 6, n), sample(rng, "float32", n)]
                self.agree(machines, how, 6, values, (kinds, n))

    def test_many_steps_in_two_threads(self) -> None:
        x, a = (ArrayType("float64", (None,)).make_variable() for _ in range(2))
        p, q = (ScalarType("float64").make_variable() for _ in range(2))
        how = LoopSpec(0, 1, (LAST,))
        machines = both([x, a], [Step(Composite([p, q], [add(mul(p, q), q)]))(x, a)], how)
        values = [np.linspace(0, 1, 12), np.linspace(0.5, 0.9, 12)]
        (expected,) = self.agree(machines, how, 200_001, values, "many")
        results: list[Any] = []

        def work() -> None:
            results.append(run_loop(machines[0], how, 200_001, values)[0])

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for value in results:
            np.testing.assert_array_equal(value, expected)
        self.assertEqual(len(results), 2)

    def test_where_there_is_more_to_do_nothing_is_made(self) -> None:
        row, x = (ArrayType("float64", (None,)).make_variable() for _ in range(2))
        p, q = (ScalarType("float64").make_variable() for _ in range(2))
        step = Step(Composite([p, q], [add(p, q)]))
        node = step(row, x)
        cases = [
            ([row, x], [node], LoopSpec(1, 1, (SUM,))),
            ([row, x], [node], LoopSpec(1, 0, (STACK,), True)),
            ([row, x], [step(node, x)], LoopSpec(1, 1, (STACK,))),
            ([row, x], [x, node], LoopSpec(1, 1, (LAST, STACK))),
            ([row, x], [node], LoopSpec(2, 1, (STACK,))),
            ([row, x], [node], LoopSpec(1, 1, (STACK, STACK))),
        ]
        for inputs, outputs, how in cases:
            with lowered_for_loop(how):
                self.assertEqual(dict(program_of(inputs, outputs).loops), {})
        self.assertEqual(dict(program_of([row, x], [node]).loops), {})
        z = ArrayType("complex64", (None,)).make_variable()
        c = ScalarType("complex64").make_variable()
        with lowered_for_loop(LoopSpec(0, 1, (LAST,))):
            self.assertEqual(dict(program_of([z], [Step(Composite([c], [mul(c, c)]))(z)]).loops), {})
