"""The fuzzer is not blind: faults of many kinds, put into an operation, are found in most graphs that have it."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import theano_tensor as tt
from theano_graph import Apply, Op
from theano_linker_c import Mode
from theano_optimize import WalkRewriter, node_rewriter
from theano_testing.tiers import slow
from theano_testing_workshop.fuzz import (
    NATIVE,
    Configuration,
    Grammar,
    Leaf,
    Node,
    Operation,
    Perturbed,
    Program,
    Tally,
    build,
    compare_batch,
    evaluate,
    generate,
)

#: Functions are called twice.
CALLS = 2
OPERATIONS = Grammar().operations
#: Every third graph has some of these additions or products.
GRAPHS = 400


class Faulty(Op):
    """An op in place of another, whose results a fault has changed."""

    def __init__(self, op: Any, fault: Callable[[Any], Any]) -> None:
        self.op = op
        self.fault = fault

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, list(inputs), [self.op(*inputs).type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        inner = self.op.make_node(*node.inputs)
        self.op.perform(inner, inputs, output_storage)
        output_storage[0][0] = self.fault(output_storage[0][0])


def faulty(op: Any, fault: Callable[[Any], Any], kinds: str) -> Configuration:
    """Return a machine on which results of an operation are wrong, if their dtype is of one of some kinds."""

    @node_rewriter([op])
    def replaced(fgraph: Any, node: Apply) -> Any:
        if np.dtype(node.outputs[0].type.dtype).kind not in kinds:
            return None
        return [Faulty(node.op, fault)(*node.inputs)]

    return Configuration("faulty", lambda: Mode("py", WalkRewriter(replaced)), "faulty()")


def _last_changed(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def fault(value: Any) -> Any:
        value = np.array(value)
        if value.size:
            value.reshape(-1)[-1] = change(value.reshape(-1)[-1])
        return value

    return fault


def _shown(program: Program, name: str, kinds: str) -> bool:
    """Tell whether results of an operation, with elements and of some kinds of dtype, are outputs of a program."""
    values = evaluate(build(program))
    return any(
        isinstance(item := program.items[i], Node)
        and item.operation.name == name
        and values[i].dtype.kind in kinds
        and values[i].size > 0
        and bool(np.isfinite(values[i].reshape(-1)[-1]))
        for i in program.outputs
    )


@slow
class FaultsOfOperations(unittest.TestCase):
    """Each fault is found in most graphs of the whole language that show it."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.programs = [generate(seed, OPERATIONS) for seed in range(50_000, 50_000 + GRAPHS)]

    programs: list[Program]

    def _share(self, name: str, fault: Callable[[Any], Any], kinds: str) -> None:
        shown = [p for p in self.programs if _shown(p, name, kinds)]
        self.assertGreater(len(shown), 3)
        tally = Tally()
        failures = compare_batch(shown, [faulty(getattr(tt, name), fault, kinds)], tally, reference=False)
        results = {f.program.seed for f in failures}
        # The rest are comparisons of numbers that roundings bring together, mostly.
        self.assertGreaterEqual(len(results) / len(shown), 0.75)

    def test_a_result_that_is_not_exact(self) -> None:
        def fault(value: Any) -> Any:
            return np.asarray(value * (1 + 1e3 * np.finfo(value.dtype).eps), dtype=value.dtype)

        self._share("add", fault, "f")
        self._share("mul", fault, "f")

    def test_one_element(self) -> None:
        self._share("add", _last_changed(lambda x: x + np.asarray(0.01, x.dtype)), "f")

    def test_an_integer(self) -> None:
        self._share("add", _last_changed(lambda n: n + 1 if n < 100 else n - 1), "iu")

    def test_a_truth_value(self) -> None:
        self._share("lt", _last_changed(lambda n: not n), "b")

    def test_not_a_number(self) -> None:
        self._share("add", _last_changed(lambda x: np.nan), "f")
        self._share("mul", _last_changed(lambda x: np.inf), "f")

    def test_a_dtype(self) -> None:
        self._share("add", lambda value: np.sign(value).astype(bool), "f")

    def test_a_shape(self) -> None:
        self._share("mul", lambda value: np.concatenate([value.reshape(-1)] * 2), "f")


class OtherFaults(unittest.TestCase):
    def test_a_gradient(self) -> None:
        scaled = Operation(
            "scaled", lambda x: tt.grad_scale(x, 1.01), np.array, lambda d: ([d.pick(("float64",))], {}), weight=9.0
        )
        operations = [*Grammar().limited(["add", "mul", "exp", "sum"]).operations, scaled]
        programs = [generate(seed, operations, nodes=5) for seed in range(120)]
        failures = compare_batch(programs, [], Tally())
        self.assertEqual({f.kind for f in failures}, {"gradient"})
        self.assertGreater(len(failures), 5)

    @slow
    def test_a_state(self) -> None:
        operations = Grammar().limited(["add", "mul"]).operations
        programs = [p for p in (generate(seed, operations, nodes=4) for seed in range(400)) if p.updates]
        wrong = faulty(tt.add, _last_changed(lambda x: x + 1), "f")
        failures = compare_batch([replace(p, outputs=p.outputs[:1]) for p in programs], [wrong], Tally())
        self.assertIn("state", {f.kind for f in failures})

    @slow
    def test_an_error(self) -> None:
        def fault(value: Any) -> Any:
            raise IndexError("a wrong index")

        operations = Grammar().limited(["add", "exp"]).operations
        programs = [p for p in (generate(seed, operations, nodes=4) for seed in range(40)) if _shown(p, "add", "f")]
        failures = compare_batch(programs, [faulty(tt.add, fault, "f")], Tally())
        self.assertEqual(len(failures), len(programs))
        self.assertTrue(all("a wrong index" in f.what for f in failures))


def _program(values: list[Any], nodes: list[tuple[str, tuple[int, ...], dict[str, Any]]], seed: int) -> Program:
    """Return the program of nodes, called by name, over arguments; the last is its output."""
    named = {op.name: op for op in OPERATIONS}
    leaves = [Leaf(np.array(value), (None,) * np.ndim(value)) for value in values]
    items: tuple[Leaf | Node, ...] = (
        *leaves,
        *(Node(named[name], operands, options) for name, operands, options in nodes),
    )
    return Program(items, (len(items) - 1,), (), (), seed)


class RoundingsThatDecide(unittest.TestCase):
    """Comparisons with the same number after roundings, for any seed."""

    def _unjudged(self, values: list[Any], nodes: list[tuple[str, tuple[int, ...], dict[str, Any]]]) -> Tally:
        tally = Tally()
        programs = [_program(values, nodes, seed) for seed in range(25)]
        self.assertEqual([f.what for f in compare_batch(programs, [NATIVE], tally)], [])
        return tally

    def test_equality(self) -> None:
        small = [-0.003124242105282171, 0.001, 1.0, 1e-5]
        tally = self._unjudged([small], [("exp", (0,), {}), ("log", (1,), {}), ("neq", (0, 2), {})])
        self.assertGreater(tally.counts["elements, rounding"], 0)

    def test_what_is_zero(self) -> None:
        x, y = tt.fvectors("x", "y")
        values = {x: np.array([1.0, 1.0], "float32"), y: np.array([1.0 - 2.0**-24, 1.5], "float32")}
        for seed in range(25):
            z = tt.log(1 + (y - x))
            graph = Perturbed([tt.cast(z, "bool"), tt.where(z, 1, 0)], np.random.default_rng(seed))
            samples = [graph.sample(values, "rounding") for _ in range(16)]
            for k in range(2):
                self.assertEqual({bool(s[k][0]) for s in samples}, {False, True}, seed)
                self.assertEqual({bool(s[k][1]) for s in samples}, {True}, seed)

    def test_sums_that_cancel(self) -> None:
        x, y = tt.fvector("x"), tt.fmatrix("y")
        values = {
            x: np.array([1.0, 0.1, -1.1], "float32"),
            y: np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]], "float32"),
        }
        for seed in range(25):
            graph = Perturbed([1 / x.sum(), 1 / tt.dot(x, y)], np.random.default_rng(seed))
            samples = [graph.sample(values, "rounding") for _ in range(16)]
            self.assertTrue(any(np.isinf(s[0]) for s in samples), seed)
            self.assertTrue(any(np.isinf(s[1][0]) for s in samples), seed)
            self.assertFalse(any(np.isinf(s[1][1]) for s in samples), seed)

    def test_an_index(self) -> None:
        one_or_less: list[Any] = [
            ("exp", (0,), {}),
            ("log", (1,), {}),
            ("truediv", (2, 0), {}),
            ("cast_uint8", (3,), {}),
        ]
        x = next(x for x in np.arange(0.1, 1.0, 0.01) if np.log(np.exp(x)) / x < 1)
        tally = self._unjudged([[x]], [*one_or_less, ("take", (0, 4), {"axis": 0})])
        self.assertEqual(tally.counts["errors unjudged"], 25)


class Updates(unittest.TestCase):
    def test_shapes_stay_what_they_are_in_the_second_call(self) -> None:
        self.assertEqual(compare_batch([generate(3309647, OPERATIONS)], [NATIVE], Tally()), [])

    def test_positions_that_leave_an_empty_array(self) -> None:
        """An update makes positions too large for the second call, of an array without elements."""
        tally = Tally()
        self.assertEqual(compare_batch([generate(1389, OPERATIONS)], [NATIVE], tally), [])
        take = next(op for op in OPERATIONS if op.name == "take")
        with self.assertRaises(IndexError):
            take.reference(np.zeros((0, 3)), np.array([3]), axis=1)


class SpecialValues(unittest.TestCase):
    """Replacements of a value that is not finite lie on both sides of zero and there, for any seed."""

    def test_a_quotient_that_cancels(self) -> None:
        x, y = tt.dvectors("x", "y")
        outputs = [tt.lt(y, x / y * y), tt.gt(y, x / y * y), tt.eq(y, x / y * y), tt.eq(x, x)]
        values = {x: np.array([0.05, 0.05]), y: np.array([0.0, -0.0])}
        for seed in range(60):
            graph = Perturbed(outputs, np.random.default_rng(seed))
            samples = [graph.sample(values, "special") for _ in range(8)]
            less, greater, equal, same = (np.array([sample[k] for sample in samples]) for k in range(4))
            for item in (less, greater, equal):
                self.assertTrue(item.any(0).all(), seed)
            self.assertTrue(same.all())

    def test_what_it_decides_is_not_judged(self) -> None:
        x, y = (Leaf(np.array(value), (None,)) for value in ([0.05, 1.0, 2.0], [0.0, -0.0, 3.0]))
        named = {op.name: op for op in OPERATIONS}
        nodes = [Node(named[name], k, {}) for name, k in (("truediv", (0, 1)), ("mul", (2, 1)), ("lt", (1, 3)))]
        items: tuple[Leaf | Node, ...] = (x, y, *nodes)
        tally = Tally()
        programs = [Program(items, (4,), (), (), seed) for seed in range(40)]
        self.assertEqual([f.what for f in compare_batch(programs, [NATIVE], tally)], [])
        self.assertEqual(tally.counts["elements, unjudged"], 40 * 2 * CALLS)


if __name__ == "__main__":
    unittest.main()
