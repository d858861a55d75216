"""Programs that run many times in one call."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings, strategies as st
from support import ArrayType, Elementwise, Product, Python, Reduce, Shuffle, array, machines

from theano_linker_c.program import LoopSpec, ResultKind, loop_runner
from theano_linker_c.scalar import Composite, ScalarType, add, gt, mul, tanh
from theano_testing.tiers import examples

STACK, SUM, LAST = ResultKind.STACK, ResultKind.SUM, ResultKind.LAST


def shape_error(k: int, row: int, got: Sequence[int], expected: Sequence[int]) -> Exception:
    return ValueError(f"result {k}, row {row}: {got} instead of {expected}")


def run_loop(machine: Any, loop_spec: LoopSpec, runs: int, values: Sequence[Any]) -> tuple[int, list[Any]]:
    run = loop_runner(machine, loop_spec)
    assert run is not None, "the machine is native"
    return run(runs, values, shape_error)


def by_hand(machine: Any, how: LoopSpec, runs: int, values: Sequence[Any]) -> tuple[int, list[Any]]:
    """Do the same with one call of the machine a run."""
    states = list(values[how.rows : how.rows + how.states])
    others, taken, places = list(values[how.rows + how.states :]), [], []
    for i in range(runs - 1, -1, -1) if how.backwards else range(runs):
        result = machine.run([*(v[i] for v in values[: how.rows]), *states, *others])
        states = result[: how.states]
        taken.append(result)
        places.append(i)
        if how.until and result[-1]:
            break
    results: list[Any] = []
    for k, kind in enumerate(how.kinds):
        column = [item[k] for item in taken]
        if kind == STACK:
            full = np.zeros((runs, *column[0].shape), column[0].dtype)
            full[places] = column
            results.append(full)
        else:
            results.append(sum(column[1:], column[0]) if kind == SUM else column[-1])
    return len(taken), results


class TestRepeat(unittest.TestCase):
    @settings(deadline=None, max_examples=examples(60))
    @given(
        st.integers(1, 5),
        st.integers(0, 4),
        st.booleans(),
        st.booleans(),
        st.tuples(*[st.sampled_from(list(ResultKind))] * 3),
        st.sampled_from(["float32", "float64", "int32", "int64", "complex64", "complex128"]),
    )
    def test_against_single_runs(
        self, runs: int, length: int, backwards: bool, until: bool, kinds: tuple[Any, ...], dtype: str
    ) -> None:
        row, a, b, fixed, limit = (array(dtype, None), array(dtype, None), array(dtype, None), array(dtype, None), None)
        plus, times = Elementwise(add), Elementwise(mul)
        outputs = [plus(times(a, row), b), times(b, fixed), plus(plus(a, row), fixed)]
        inputs = [row, a, b, fixed]
        values = [
            np.arange(1, runs * length + 1).reshape(runs, length) % 5,
            *[np.arange(length) + k for k in (1, 2, 3)],
        ]
        given_values: list[Any] = [v.astype(dtype) for v in values]
        if until:
            limit, count, one = array("int64"), array("int64"), array("int64")
            new = plus(count, one)
            how = LoopSpec(1, 3, (*kinds[:2], LAST, kinds[2]), until, backwards)
            inputs = [row, a, b, count, fixed, one, limit]
            outputs = [*outputs[:2], new, outputs[2], Elementwise(gt)(new, limit)]
            numbers = [np.array(v) for v in (0, 1, 2)]
            given_values = [*given_values[:3], numbers[0], given_values[3], *numbers[1:]]
        else:
            how = LoopSpec(1, 2, kinds, until, backwards)
        native, plain = machines(inputs, outputs)
        for _ in range(3):
            done, result = run_loop(native, how, runs, given_values)
            expected_done, expected = by_hand(plain, how, runs, given_values)
            self.assertEqual(done, expected_done)
            part = slice(runs - done, None) if backwards else slice(done)
            for kind, x, y in zip(how.kinds, result, expected, strict=True):
                x, y = (v[part] if kind == STACK else v for v in (x, y))
                self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape))
                np.testing.assert_array_equal(x, y)

    @settings(deadline=None, max_examples=examples(60))
    @given(
        st.integers(1, 6),
        st.tuples(st.integers(0, 3), st.integers(1, 3)),
        st.booleans(),
        st.sampled_from([STACK, SUM, LAST]),
        st.sampled_from(["plain", "turned", "strided", "repeated", "swapped"]),
        st.sampled_from(["float32", "float64", "int64"]),
        st.booleans(),
    )
    def test_one_kernel(
        self, runs: int, shape: tuple[int, ...], backwards: bool, kind: ResultKind, layout: str, dtype: str, state: bool
    ) -> None:
        x, h, one = array(dtype, None, None), array(dtype, None, None), array(dtype, 1, 1)
        d, e, f = (ScalarType(dtype).make_variable() for _ in range(3))
        op: Any = Composite([d, e, f], [add(mul(d, f), e)])
        kind = LAST if kind == SUM and state else kind
        how = LoopSpec(1, int(state), (kind,), False, backwards)
        native, plain = machines([x, h, one], [Elementwise(op)(x, h, one)])
        values = (np.arange(runs * shape[0] * shape[1]).reshape(runs, *shape) % 7).astype(dtype)
        rows = {
            "plain": values,
            "turned": np.asfortranarray(values),
            "strided": np.repeat(values, 2, axis=2)[:, :, ::2],
            "repeated": np.broadcast_to(values[:1], values.shape),
            "swapped": values.astype(values.dtype.newbyteorder()),
        }[layout]
        start = np.ones(shape, dtype)
        for _ in range(2):
            given_values = [rows, start, np.full((1, 1), 2, dtype)]
            done, (result,) = run_loop(native, how, runs, given_values)
            expected_done, (expected,) = by_hand(plain, how, runs, given_values)
            self.assertEqual((done, result.dtype), (expected_done, expected.dtype))
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(start, np.ones(shape))

    def test_products_reductions_and_views(self) -> None:
        x, h, w = (array("float64", None, None) for _ in range(3))
        product = Elementwise(tanh)(Elementwise(add)(x, Product("gemm")(h, w)))
        outputs = [product, Reduce(add, [0], 0)(product), Shuffle([1, 0])(product)]
        how = LoopSpec(1, 1, (STACK, SUM, LAST))
        native, plain = machines([x, h, w], outputs)
        rng = np.random.default_rng(0)
        values = [rng.normal(size=(6, 3, 4)), rng.normal(size=(3, 4)), rng.normal(size=(4, 4))]
        for sequence in (values[0], values[0][:, ::-1], np.asfortranarray(values[0]), values[0].astype(">f8")):
            _, result = run_loop(native, how, 6, [sequence, *values[1:]])
            _, expected = by_hand(plain, how, 6, [sequence, *values[1:]])
            for a, b in zip(result, expected, strict=True):
                np.testing.assert_allclose(a, b)

    def test_results_are_computed_in_their_rows(self) -> None:
        x, h = array("float64", None), array("float64", None)
        seen: list[Any] = []

        def look(value: Any) -> Any:
            seen.append(value)
            return value + 0

        total = Elementwise(add)(x, h)
        native, _ = machines([x, h], [total, Python(look, ArrayType("float64", [None]))(total)])
        _, (stack, _) = run_loop(native, LoopSpec(1, 1, (STACK, LAST)), 4, [np.ones((4, 3)), np.zeros(3)])
        self.assertTrue(all(np.shares_memory(value, stack[i]) for i, value in enumerate(seen)))
        np.testing.assert_array_equal(seen, stack)

    def test_memory_is_used_again_when_nobody_has_it(self) -> None:
        x, h = array("float64", None), array("float64", None)
        native, _ = machines([x, h], [Elementwise(add)(x, h)])
        how, values = LoopSpec(1, 1, (STACK,)), [np.ones((4, 3)), np.zeros(3)]
        (first,) = run_loop(native, how, 4, values)[1]
        copy, (second,) = first.copy(), run_loop(native, how, 4, [2 * values[0], values[1]])[1]
        self.assertFalse(np.shares_memory(first, second))
        np.testing.assert_array_equal(first, copy)
        address = second.ctypes.data
        del first, second
        self.assertEqual(run_loop(native, how, 4, values)[1][0].ctypes.data, address)
        native.clear()

    def test_errors(self) -> None:
        x, h = array("float64", None), array("float64", None)
        native, plain = machines([x, h], [Elementwise(add)(x, h)])
        how = LoopSpec(1, 1, (STACK,))
        self.assertIsNone(loop_runner(plain, how))
        cases: list[tuple[type[Exception], str, LoopSpec, int, list[Any]]] = [
            (ValueError, "a row for each run", how, 3, [np.ones((2, 3)), np.zeros(3)]),
            (ValueError, "a row for each run", how, 3, [np.float64(1), np.zeros(3)]),
            (ValueError, "other inputs or outputs", how, 3, [np.ones((3, 3))]),
            (ValueError, "other inputs or outputs", how, 0, [np.ones((3, 3)), np.zeros(3)]),
            (ValueError, "other inputs or outputs", LoopSpec(1, 1, ()), 3, [np.ones((3, 3)), np.zeros(3)]),
            (ValueError, "lengths", how, 3, [np.ones((3, 3)), np.zeros(2)]),
            (TypeError, "dimensions are wanted", how, 3, [np.ones((3, 3)), np.zeros((2, 2))]),
        ]
        for kind, words, loop_spec, runs, values in cases:
            with self.assertRaisesRegex(kind, words):
                run_loop(native, loop_spec, runs, values)
            self.assertEqual(run_loop(native, how, 2, [np.ones((2, 1)), np.zeros(1)])[1][0].tolist(), [[1.0], [2.0]])

    def test_shapes_that_change(self) -> None:
        x, h = array("float64", None), array("float64", None)
        grow = Python(lambda v: np.concatenate([v, v]), ArrayType("float64", [None]))
        shrink = Python(lambda v: v[: int(v[0])], ArrayType("float64", [None]))
        native, _ = machines([x, h], [grow(h)])
        with self.assertRaisesRegex(ValueError, r"result 0, row 0: \(6,\) instead of \(3,\)"):
            run_loop(native, LoopSpec(1, 1, (STACK,)), 2, [np.ones((2, 3)), np.zeros(3)])
        native, _ = machines([x, h], [Elementwise(add)(x, h), shrink(x)])
        for kind in (STACK, SUM):
            with self.assertRaisesRegex(ValueError, r"result 1, row 0: \(1,\) instead of \(2,\)") as caught:
                rows = np.array([[1.0, 1, 1], [2.0, 1, 1]])
                run_loop(native, LoopSpec(1, 1, (STACK, kind), False, True), 2, [rows, np.zeros(3)])
            self.assertEqual(caught.exception.__notes__, ["  in step 1 of a loop of 2, counted from 0"])

    def test_updates_are_stored_by_each_run(self) -> None:
        x, total = array("float64"), array("float64")
        cell = [np.array(1.0)]
        native, _ = machines(
            [x, total],
            [total, Elementwise(add)(x, total)],
            arguments=[0],
            cells={1: cell},
            updates=[(1, cell)],
            n_outputs=1,
        )
        _, (before,) = run_loop(native, LoopSpec(1, 0, (STACK,)), 4, [np.arange(4.0)])
        self.assertEqual((before.tolist(), float(cell[0])), ([1.0, 1.0, 2.0, 4.0], 7.0))

    def test_a_profile_counts_each_run(self) -> None:
        x, h = array("float64", None), array("float64", None)
        native, _ = machines([x, h], [Elementwise(add)(x, h)])
        native.start_profile(0, None)
        run_loop(native, LoopSpec(1, 1, (LAST,)), 5, [np.ones((5, 2)), np.zeros(2)])
        reading = native.read_profile()
        assert reading is not None
        self.assertEqual((reading[0], list(reading[4])), (5, [5]))
