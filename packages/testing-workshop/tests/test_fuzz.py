"""Tests of the fuzzer: right programs pass, and a fault is found, shrunk and printed as a program."""

from __future__ import annotations

import contextlib
import io
import os
import unittest
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

import theano_scan
import theano_tensor as tt
from theano_graph import Apply, Op
from theano_linker_c import Mode
from theano_optimize import WalkRewriter, node_rewriter
from theano_tensor.builders import OpFromGraph
from theano_tensor.elemwise import Elemwise
from theano_testing.tensor import OpRecord
from theano_testing.tiers import slow
from theano_testing_workshop.exported import Exported
from theano_testing_workshop.fuzz import (
    CAPTURED,
    EXPORTED,
    NATIVE,
    PLAIN,
    VARIANTS,
    VECTORIZED,
    Configuration,
    Draw,
    Failure,
    Grammar,
    Leaf,
    Node,
    NoOperands,
    Operation,
    Perturbed,
    Program,
    Tally,
    Unbuildable,
    as_source,
    build,
    check,
    compare_batch,
    evaluate,
    fuzz,
    generate,
    judge,
    shrink,
)
from theano_testing_workshop.fuzz.__main__ import main

OPERATIONS = Grammar().operations


def _names(program: Program) -> list[str]:
    return [item.operation.name for item in program.items if isinstance(item, Node)]


class GeneratedPrograms(unittest.TestCase):
    def test_one_seed_gives_one_program(self) -> None:
        for seed in range(20):
            first, second = generate(seed, OPERATIONS), generate(seed, OPERATIONS)
            self.assertEqual(as_source(_plain_failure(first)), as_source(_plain_failure(second)))

    def test_every_operation_can_be_drawn(self) -> None:
        for operation in OPERATIONS:
            with self.subTest(operation=operation.name):
                self.assertTrue(any(self._drawn(operation, seed) for seed in range(200)), operation.name)

    def _drawn(self, operation: Operation, seed: int) -> bool:
        d = Draw(np.random.default_rng(seed))
        for _ in range(4):
            d.leaf(d.any_dtype(), d.any_shape())
        try:
            operands, options = operation.draw(d)
            d.add_node(operation, operands, options, lambda value: value.size > 0)
        except (NoOperands, Unbuildable):
            return False
        return True

    @slow
    def test_programs_have_all_that_graphs_have(self) -> None:
        programs = [generate(seed, OPERATIONS) for seed in range(150)]
        leaves = [item for p in programs for item in p.items if isinstance(item, Leaf)]
        self.assertEqual({leaf.kind for leaf in leaves}, {"input", "constant", "shared"})
        self.assertGreater(len({leaf.value.dtype.name for leaf in leaves}), 9)
        self.assertLessEqual({0, 1, 2, 3, 4}, {leaf.value.ndim for leaf in leaves})
        self.assertGreater(len({leaf.layout for leaf in leaves}), 3)
        self.assertTrue(any(leaf.value.size == 0 for leaf in leaves))
        self.assertTrue(any(p.gradients for p in programs))
        self.assertTrue(any(p.updates for p in programs))

    def test_narrow_positions_in_long_arrays(self) -> None:
        self.assertTrue(generate(9024800, Grammar().operations).items)

    def test_a_grammar_can_be_limited(self) -> None:
        few = Grammar().limited(["add", "exp"])
        self.assertEqual({op.name for op in few.operations}, {"add", "exp"})
        with self.assertRaisesRegex(ValueError, "no operation is called 'plus'"):
            Grammar().limited(["plus"])


def _plain_failure(program: Program) -> Failure:
    return Failure(program, NATIVE, "values", "an example")


@slow
class GraphsOfFixedSeeds(unittest.TestCase):
    """Graphs of the whole language agree on both machines and with NumPy."""

    def _agree(self, seeds: range, configurations: list[Configuration]) -> None:
        tally = Tally()
        failures = compare_batch([generate(seed, OPERATIONS) for seed in seeds], configurations, tally)
        self.assertEqual([as_source(f) for f in failures], [])
        self.assertEqual(tally.counts["graphs"], len(seeds))
        self.assertGreater(tally.counts["compared"], 4 * len(seeds))

    def test_native_code(self) -> None:
        for start in range(0, 240, 80):
            self._agree(range(start, start + 80), [NATIVE])

    def test_captured_kernel_calls(self) -> None:
        for start in range(400, 560, 80):
            self._agree(range(start, start + 80), [CAPTURED])

    def test_a_failure_of_captured_calls_names_the_capture(self) -> None:
        program = next(program for seed in range(50) if (program := generate(seed, OPERATIONS)).outputs)
        source = as_source(Failure(program, CAPTURED, "error", "an example"))
        self.assertIn("with capture_after(0):\n    ", source)
        exec(compile(source, "<failure>", "exec"), {})

    def test_batches(self) -> None:
        tally = Tally()
        programs = [replace(generate(seed, OPERATIONS), updates=()) for seed in range(2000, 2060)]
        failures = compare_batch(programs, [VECTORIZED], tally, reference=False)
        self.assertEqual([as_source(f) for f in failures], [])
        self.assertGreater(tally.counts["graphs, vectorized"], 30)

    def test_variants(self) -> None:
        for number, variant in enumerate(VARIANTS):
            self._agree(range(1000 + 8 * number, 1008 + 8 * number), [variant])


def _wrong_reference() -> Operation:
    return Operation(
        "wrong_tanh",
        tt.tanh,
        lambda x: np.tanh(x) + 1e-3,
        lambda d: ([d.pick(("float64",))], {}),
        text=lambda names, _: f"tt.tanh({names[0]})",
        weight=20.0,
    )


@node_rewriter([tt.tanh])
def tanh_is_nearly_the_identity(fgraph: Any, node: Apply) -> Any:
    (x,) = node.inputs
    return [tt.mul(x, 0.999)] if x.type.dtype == "float64" else None


@node_rewriter([tt.tanh])
def tanh_cannot_be_rewritten(fgraph: Any, node: Apply) -> Any:
    raise ZeroDivisionError("a rule with a mistake")


def _with_rule(rule: Any) -> Configuration:
    return Configuration("broken", lambda: Mode("py", WalkRewriter(rule)), "broken()")


class WrongThings(unittest.TestCase):
    """A fault is found, made small, and printed as a program that fails in the same way."""

    def _first_failure(self, operations: list[Operation], configuration: Configuration) -> Failure:
        for start in range(0, 400, 20):
            programs = [generate(seed, operations, nodes=8) for seed in range(start, start + 20)]
            configurations = [] if configuration is PLAIN else [configuration]
            failures = compare_batch(programs, configurations, Tally())
            expected = [f for f in failures if f.configuration is configuration]
            if expected:
                return max(expected, key=lambda f: len(f.program))
        raise AssertionError("nothing was found")

    def _names_run(self, failure: Failure, error: type[Exception], **names: Any) -> None:
        with self.assertRaises(error):
            exec(as_source(failure), names)

    @slow
    def test_an_op_that_is_wrong(self) -> None:
        some = Grammar().limited(["add", "mul", "exp", "sum", "transpose"]).operations
        result = self._first_failure([*some, _wrong_reference()], PLAIN)
        self.assertEqual(result.kind, "reference")
        small = shrink(result)
        self.assertEqual(_names(small.program), ["wrong_tanh"])
        (leaf,) = (item for item in small.program.items if isinstance(item, Leaf))
        self.assertLessEqual(leaf.value.size, 1)
        self._names_run(small, AssertionError)

    def test_a_rule_that_is_wrong(self) -> None:
        some = Grammar().limited(["add", "mul", "tanh", "sum", "transpose", "concatenate"]).operations
        configuration = _with_rule(tanh_is_nearly_the_identity)
        small = shrink(self._first_failure(some, configuration))
        self.assertEqual(small.kind, "values")
        self.assertEqual(_names(small.program), ["tanh"])
        self._names_run(small, AssertionError, broken=configuration.make)

    def test_a_rule_that_raises(self) -> None:
        some = Grammar().limited(["add", "tanh", "sum"]).operations
        configuration = _with_rule(tanh_cannot_be_rewritten)
        small = shrink(self._first_failure(some, configuration))
        self.assertEqual(small.kind, "error")
        self.assertEqual(_names(small.program), ["tanh"])
        self.assertIn("a rule with a mistake", small.what)
        self._names_run(small, Exception, broken=configuration.make)

    @slow
    def test_what_is_right_runs_as_a_program(self) -> None:
        # Extreme conditions aside, which the tolerance of a printed program does not know about.
        names = ["add", "tanh", "sum", "dimshuffle", "getitem", "concatenate", "reshape", "inc_subtensor"]
        some = Grammar().limited(names).operations
        for seed in range(25):
            program = generate(seed, some, nodes=12)
            for configuration, kind in ((NATIVE, "values"), (PLAIN, "reference")):
                source = as_source(Failure(program, configuration, kind, "nothing"))
                with self.subTest(seed=seed, kind=kind), np.errstate(all="ignore"):
                    exec(source, {})
            self.assertIsNone(check(program, NATIVE))


class Judgement(unittest.TestCase):
    """Values that count as the same."""

    def _judge(self, result: Any, expected: Any, *, rounding: Any = (), special: Any = (), **options: Any) -> Any:
        samples = {"rounding": rounding, "special": special}
        self.tally = Tally()
        return judge(np.asarray(result), np.asarray(expected), lambda kind: samples[kind], self.tally, **options)

    def test_equal_values(self) -> None:
        for value in (np.array([1.0, np.nan, np.inf, -0.0]), np.arange(3), np.array([True]), np.array(1 + 2j)):
            self.assertIsNone(self._judge(value, value))

    def test_types_and_shapes(self) -> None:
        self.assertIn("dtype float32", str(self._judge(np.float32(1), np.float64(1))))
        self.assertIn("shape (2,)", str(self._judge(np.ones(2), np.ones(3))))

    def test_a_difference_needs_a_reason(self) -> None:
        self.assertIn(
            "instead of",
            str(self._judge([1.0, 2.0], [1.0, 2.1]))
            .replace("np.float64(2.0)", "2.0")
            .replace("np.float64(2.1)", "2.1"),
        )
        self.assertIsNone(self._judge([1.0, 2.0], [1.0, 2.1], rounding=[np.array([1.0, 2.05])]))
        self.assertEqual(self.tally.counts["rounding"], 1)

    def test_integers_are_exact(self) -> None:
        self.assertIsNotNone(self._judge([1], [2]))
        self.assertIsNone(self._judge([1], [2], rounding=[np.array([3])]))

    def test_numbers_in_place_of_nan(self) -> None:
        self.assertIsNone(self._judge([1.0], [np.nan]))
        self.assertEqual(self.tally.counts["finite"], 1)
        self.assertIsNotNone(self._judge([1.0], [np.nan], lenient=False))
        self.assertIsNotNone(self._judge([np.nan], [1.0]))
        self.assertIsNotNone(self._judge([np.inf], [np.nan]))

    def test_what_depends_on_special_values_is_not_judged(self) -> None:
        self.assertIsNone(self._judge([True], [False], special=[np.array([True])]))
        self.assertEqual(self.tally.counts["unjudged"], 1)

    def test_perturbed_graphs_show_how_roundings_grow(self) -> None:
        x = tt.dvector("x")
        graph = Perturbed([(x + 1e8) - 1e8, x * 2, x > 1, tt.log(x - x)], np.random.default_rng(1))
        values = {x: np.array([1.0, 3.0])}
        cancelled, doubled, larger, _ = graph.sample(values, "rounding")
        self.assertGreater(np.abs(cancelled - [1.0, 3.0]).max(), 1e-9)
        self.assertLess(np.abs(doubled - [2.0, 6.0]).max(), 1e-13)
        self.assertEqual(larger.tolist(), [False, True])
        self.assertTrue(np.isfinite(graph.sample(values, "special")[3]).all())

    def test_roundings_inside_of_ops_with_graphs_show(self) -> None:
        x, row = tt.dvector("x"), tt.dvector("row")
        op = OpFromGraph([row], [(row + 1e8) - 1e8])
        loop, _ = theano_scan.scan(lambda z: tt.cast(tt.exp(tt.cast(z, "float32")), "float64"), x)
        state, _ = theano_scan.scan(lambda z, before: before + (z + 1e8) - 1e8, x, tt.zeros((), "float64"))
        graph = Perturbed([op(x), loop, state], np.random.default_rng(1))
        samples = [graph.sample({x: np.array([1.0, 3.0])}, "rounding") for _ in range(4)]
        for expected, k, least, most in (
            ([1, 3], 0, 1e-9, 1e3),
            (np.exp([1, 3]), 1, 1e-8, 1e-4),
            ([1, 4], 2, 1e-9, 1e3),
        ):
            moved = max(float(np.abs(sample[k] - expected).max()) for sample in samples)
            self.assertTrue(least < moved < most, (k, moved))

    def test_moduli_of_complex_numbers_are_rounded(self) -> None:
        x, z = tt.TensorType("complex64", (None,))("x"), tt.fvector("z")
        graph = Perturbed([abs(x), abs(z)], np.random.default_rng(1))
        values = {x: np.array([1.4 + 3.3j], "complex64"), z: np.array([1.5], "float32")}
        samples = [graph.sample(values, "rounding") for _ in range(8)]
        self.assertGreater(len({float(modulus[0]) for modulus, _ in samples}), 1)
        self.assertEqual({float(size[0]) for _, size in samples}, {1.5})

    def test_equal_numbers_may_have_no_variance(self) -> None:
        x = tt.dvector("x")
        graph = Perturbed([tt.var(x) // -2.0], np.random.default_rng(1))
        samples = [graph.sample({x: np.full(18, np.pi / 2)}, "rounding")[0] for _ in range(16)]
        self.assertEqual({round(float(s)) for s in samples}, {0, -1})

    def test_sums_of_integers_have_the_roundings_of_their_order(self) -> None:
        i = tt.lmatrix("i")
        graph = Perturbed([tt.mean(i), i.sum(0, dtype="float64"), i.sum()], np.random.default_rng(1))
        large = {i: np.array([[2**63 - 1, -(2**63)], [3, -3]])}
        samples = [graph.sample(large, "rounding") for _ in range(8)]
        self.assertGreater(max(abs(mean) for mean, _, _ in samples), 100)
        self.assertEqual({int(total) for _, _, total in samples}, {-1})
        for mean, columns, total in [graph.sample({i: np.array([[5, -3], [2, 1]])}, "rounding") for _ in range(8)]:
            np.testing.assert_allclose(mean, 1.25, rtol=1e-14)
            np.testing.assert_allclose(columns, [7, -2], rtol=1e-14)
            self.assertEqual(total, 5)


class Records(unittest.TestCase):
    @slow
    def test_authors_of_ops_add_their_records(self) -> None:
        grammar = Grammar().limited(["add", "sum"])
        op = Elemwise(tt.sin.scalar_op)
        grammar.add(OpRecord("my_sine", op, np.sin, domain=[(-3.0, 3.0)]), weight=9.0, text="tt.sin")
        programs = [generate(seed, grammar.operations) for seed in range(20)]
        self.assertTrue(any("my_sine" in _names(p) for p in programs))
        self.assertEqual(compare_batch(programs, [NATIVE], Tally()), [])
        self.assertTrue(any("= tt.sin(v" in as_source(_plain_failure(p)) for p in programs))

    def test_records_with_cases(self) -> None:
        record = OpRecord("shifted", lambda x: x + 1, lambda x: x + 1, cases=[[np.arange(3.0)], [np.ones((2, 1))]])
        grammar = Grammar([])
        grammar.add(record)
        programs = [generate(seed, grammar.operations) for seed in range(5)]
        self.assertEqual(compare_batch(programs, [NATIVE], Tally()), [])
        self.assertEqual(evaluate(build(programs[0]))[-1].dtype, np.dtype("float64"))


class Deadly(Op):
    """An op that ends the process."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        os._exit(3)


def deadly_grammar() -> Grammar:
    operation = Operation("deadly", Deadly(), np.array, lambda d: ([d.pick(("float64",), 1)], {}), weight=5.0)
    return Grammar([*Grammar().limited(["add", "exp", "sum", "mul", "tanh"]).operations, operation])


def raising_grammar() -> Grammar:
    def draw(d: Any) -> Any:
        raise OverflowError("out of bounds")

    return Grammar([Operation("raising", Deadly(), np.array, draw)])


class ExportedPrograms(unittest.TestCase):
    @slow
    def test_graphs_agree_with_their_exported_c(self) -> None:
        tally = Tally()
        programs = [generate(seed, OPERATIONS, nodes=5) for seed in range(8)]
        self.assertEqual(compare_batch(programs, [EXPORTED], tally, reference=False), [])
        refused = sum(count for name, count in tally.counts.items() if name.startswith("refused: "))
        self.assertEqual(tally.counts["graphs, exported"] + refused, len(programs))
        self.assertGreater(tally.counts["graphs, exported"], 3)

    def test_wrong_c_is_a_finding(self) -> None:
        exp = next(operation for operation in OPERATIONS if operation.name == "exp")
        program = Program((Leaf(np.arange(3.0), (None,)), Node(exp, (0,))), (1,))
        self.assertEqual(compare_batch([program], [EXPORTED], Tally(), reference=False), [])
        with mock.patch.object(Exported, "__call__", lambda _, x: [np.exp(x) + 1]):
            (result,) = compare_batch([program], [EXPORTED], Tally(), reference=False)
        self.assertEqual((result.kind, result.configuration), ("values", EXPORTED))


@slow
class Processes(unittest.TestCase):
    def test_a_process_counts_what_it_compares(self) -> None:
        report = fuzz(20, seed=5, batch=10, processes=2)
        self.assertEqual(report.findings, [])
        self.assertEqual(report.counts["graphs"], 20)
        self.assertEqual(report.counts["graphs, FAST_RUN"], 10)
        self.assertEqual(report.counts["graphs, FAST_RUN, captured"], 10)

    def test_a_process_that_dies_is_a_finding(self) -> None:
        report = fuzz(8, batch=8, nodes=3, grammar=deadly_grammar)
        self.assertEqual(report.counts["graphs"], 8)
        self.assertGreater(len(report.findings), 0)
        self.assertEqual({item.kind for item in report.findings}, {"crash"})
        self.assertTrue(all("deadly" in element.operations for element in report.findings))

    def test_a_graph_that_is_not_made_is_a_finding(self) -> None:
        report = fuzz(2, batch=2, nodes=3, grammar=raising_grammar)
        self.assertEqual(report.counts["graphs"], 2)
        self.assertEqual(sorted((f.seed, f.kind) for f in report.findings), [(0, "generator"), (1, "generator")])
        self.assertIn("OverflowError: out of bounds", report.findings[0].what)
        self.assertIn("in draw", report.findings[0].source)

    def test_the_program_reports(self) -> None:
        for arguments, text in (
            (["--graphs", "12", "--seed", "3", "--refusals"], "12 graphs in"),
            (["--replay", "3"], "graph 3: no differences"),
        ):
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                self.assertEqual(main(arguments), 0)
            self.assertIn(text, shown.getvalue())


if __name__ == "__main__":
    unittest.main()
