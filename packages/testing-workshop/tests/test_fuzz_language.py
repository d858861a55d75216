"""Programs of the fuzzer have loops, graphs as ops, convolutions, sparse matrices and all indices, and these agree."""

from __future__ import annotations

import unittest
from dataclasses import replace
from typing import Any

import numpy as np

import theano_scan
import theano_tensor as tt
from theano_testing.tiers import slow
from theano_testing_workshop.fuzz import (
    NATIVE,
    Failure,
    Grammar,
    Leaf,
    Node,
    Operation,
    Program,
    Tally,
    as_source,
    compare_batch,
    generate,
    loop,
)

OPERATIONS = {op.name: op for op in Grammar().operations}
PARTS = {
    "loops": ["loop", "loop_of_loops"],
    "graphs": ["graph_op", "chosen_pair", "ifelse"],
    "images": [name for name in OPERATIONS if name.startswith(("conv", "pool_", "images"))],
    "sparse": [name for name in OPERATIONS if name.startswith("sparse_")],
    "places": ["read_at", "set_at", "inc_at"],
}


def of(part: str) -> list[Operation]:
    """Return the operations of a part, and some that join their results."""
    plain = [OPERATIONS[name] for name in ("add", "mul", "tanh", "sum", "concatenate")]
    return [*plain, *(replace(OPERATIONS[name], weight=4.0) for name in PARTS[part])]


def programs_of(part: str, count: int, nodes: int = 3) -> list[Program]:
    return [generate(seed, of(part), nodes=nodes) for seed in range(count)]


class Parts(unittest.TestCase):
    @slow
    def test_all_agree(self) -> None:
        for part, names in PARTS.items():
            with self.subTest(part=part):
                programs = programs_of(part, 30)
                results = {item.operation.name for p in programs for item in p.items if isinstance(item, Node)}
                self.assertGreater(len(results & set(names)), min(4, len(names) - 1))
                failures = compare_batch(programs, [NATIVE], Tally())
                self.assertEqual([(f.program.seed, f.what) for f in failures], [])

    def test_they_run_as_programs(self) -> None:
        for part in PARTS:
            for program in programs_of(part, 3, 2):
                source = as_source(Failure(program, NATIVE, "error", "none"))
                exec(compile(source, f"<{part}, seed {program.seed}>", "exec"), {})

    def test_loops_are_of_all_kinds(self) -> None:
        programs = programs_of("loops", 150, 2)
        options: list[Any] = [
            item.options
            for p in programs
            for item in p.items
            if isinstance(item, Node) and item.operation.name == "loop"
        ]
        self.assertTrue(any(o.get("until") for o in options))
        self.assertTrue(any(o.get("backwards") for o in options))
        self.assertEqual({type(o.get("steps")) for o in options}, {type(None), int, str})
        taps = {t for o in options for t in o["states"]}
        self.assertGreaterEqual(taps, {None, (-1,), (-2, -1), (-3, -2, -1)})
        self.assertTrue(any(min(t) < 0 < max(t) for o in options for t in o["sequences"]))
        self.assertTrue(any(p.gradients for p in programs))
        dtypes = {x.value.dtype.name for p in programs for x in p.items if isinstance(x, Leaf)}
        self.assertGreaterEqual(dtypes, {"float64", "float32", "float16", "int64", "bool"})


class WrongLoops(unittest.TestCase):
    """A faulty loop is found."""

    @slow
    def test_a_tap(self) -> None:
        def wrong(*operands: Any, **options: Any) -> Any:
            states = tuple((-1, -2) if taps == (-2, -1) else taps for taps in options.pop("states"))
            return loop(*operands, states=states, **options)

        programs = []
        for seed in range(12):
            values = np.random.default_rng(seed).normal(size=(2, 3))
            options = {"sequences": (), "states": ((-2, -1),), "step": ("a[0] - 0.5 * a[1]",), "result": "o[0]"}
            node = Node(replace(OPERATIONS["loop"], build=wrong), (0,), {**options, "steps": 3})
            programs.append(Program((Leaf(values, (None, None)), node), (1,), (), (), seed))
        failures = compare_batch(programs, [NATIVE], Tally())
        self.assertEqual([f.kind for f in failures], ["reference"] * 12)

    def test_the_reference_is_not_the_loop(self) -> None:
        x = np.arange(12.0).reshape(6, 2)
        options = {"sequences": ((-1, 1),), "states": ((-1,),), "step": ("a[0] * a[1] + 0.5 * a[2]",), "result": "o[0]"}
        result = OPERATIONS["loop"].reference(x, np.ones(2), **options, backwards=True)
        expected, state = [], np.ones(2)
        for t in (4, 3, 2, 1):
            state = x[t - 1] * x[t + 1] + 0.5 * state
            expected.append(state)
        np.testing.assert_allclose(result, expected)
        ours, _ = theano_scan.scan(
            lambda a, b, s: a * b + 0.5 * s, {"input": x, "taps": [-1, 1]}, np.ones(2), go_backwards=True
        )
        np.testing.assert_allclose(ours.eval(), expected)


class TheReference(unittest.TestCase):
    """NumPy's values mean the same as the language's."""

    def test_numbers_out_of_bounds_beside_an_empty_mask(self) -> None:
        x, mask, numbers = np.ones((2, 3)), np.zeros(2, bool), np.array([3])
        for name, more in (("read_at", ()), ("set_at", (0.0,)), ("inc_at", (0.0,))):
            with self.assertRaisesRegex(IndexError, "3 is out of bounds"):
                OPERATIONS[name].reference(x, mask, numbers, *more, index=("mask", "array"))
            result = OPERATIONS[name].reference(x, mask, numbers - 1, *more, index=("mask", "array"))
            self.assertEqual(result.shape, (0,) if name == "read_at" else (2, 3))

    def test_halves_of_narrow_floats(self) -> None:
        # 0.5 is a constant of float32 beside float16, and NumPy's 0.5 has no dtype of its own.
        for dtype in ("float16", "float32", "float64", "complex64"):
            x = np.array([[1.4140625, -0.1]], dtype)
            built = OPERATIONS["graph_op"].build
            options = {"results": ("half(a[0])",), "joined": "m.sqrt(o[0])"}
            variable = tt.TensorType(dtype, (None, None))("x")
            result = built(variable, **options).eval({variable: x})
            expected = np.asarray(OPERATIONS["graph_op"].reference(x, **options))
            with self.subTest(dtype=dtype):
                self.assertEqual(expected.dtype, result.dtype)
                np.testing.assert_allclose(result, expected, rtol=1e-6)

    def test_numbers_that_choose(self) -> None:
        # Zero chooses the other operand there, and nowhere beside it.
        values = np.array([1.5, 0.0])
        node = Node(OPERATIONS["where"], (0, 0, 1), {})
        program = Program((Leaf(values, (None,)), Leaf(np.array([0, 0]), (None,)), node), (2,), ((2, (0,)),), (), 0)
        self.assertEqual(compare_batch([program], [], Tally()), [])

    def test_bounds_that_are_met(self) -> None:
        # At a bound the gradient is 1; where both bounds are one number, the function is constant all the same.
        values = np.array([1.5, 0.5])
        node = Node(OPERATIONS["clip"], (0, 1, 1), {})
        program = Program((Leaf(values, (None,)), Leaf(values, (None,)), node), (2,), ((2, (0,)),), (), 0)
        self.assertEqual(compare_batch([program], [], Tally()), [])

    def test_sums_of_sparse_matrices_that_cancel(self) -> None:
        # An element that cancels is no element of the sum, and has no gradient; NumPy's differences have one.
        values = np.array([[1.5, -0.25]])
        options = {"form": "sub", "formats": ("csc", "csc")}
        for other in (values, 2 * values):
            leaves = (Leaf(values, (None, None)), Leaf(other, (None, None)))
            node = Node(OPERATIONS["sparse_sub"], (0, 1), options)
            program = Program((*leaves, node), (2,), ((2, (0,)),), (), 0)
            self.assertEqual(compare_batch([program], [], Tally()), [])


class TestReferences(unittest.TestCase):
    def test_take_looks_at_indices_of_empty_results(self) -> None:
        take = OPERATIONS["take"].reference
        np.testing.assert_array_equal(take(np.arange(6).reshape(2, 3), np.array([2, -3]), axis=1), [[2, 0], [5, 3]])
        with self.assertRaises(IndexError):
            take(np.zeros((0, 1)), np.array([2]), axis=1)


if __name__ == "__main__":
    unittest.main()
