"""Programs of the fuzzer overwrite, overlap and share memory; faults in that are found."""

from __future__ import annotations

import unittest
from dataclasses import replace
from unittest import mock

import numpy as np

from theano_linker_c.program import HAS_RUNTIME
from theano_testing.tiers import slow
from theano_testing_workshop.fuzz import (
    NATIVE,
    Failure,
    Grammar,
    Leaf,
    Memory,
    Node,
    Program,
    Tally,
    as_source,
    compare_batch,
    generate,
)

OPERATIONS = {op.name: op for op in Grammar().operations}
NAMES = [
    "add",
    "mul",
    "exp",
    "transpose",
    "set_subtensor",
    "inc_subtensor",
    "inc_rows",
    "gemm",
    "gemv",
    "bump",
    "spoil",
]
FEW = [OPERATIONS[name] for name in NAMES]


class Memories(unittest.TestCase):
    def test_programs_have_all_kinds(self) -> None:
        programs = [generate(seed, FEW, nodes=6) for seed in range(150)]
        results = {how for p in programs for _, _, how in p.memory.overlaps}
        self.assertEqual(results, {"same", "head", "tail", "flipped", "transposed"})
        layouts = {item.layout for p in programs for item in p.items if isinstance(item, Leaf)}
        self.assertGreaterEqual(layouts, {"c", "fixed", "swapped", "broadcast", "flipped", "stepped"})
        self.assertEqual({p.memory.borrowed for p in programs}, {True, False})
        self.assertGreater(sum(bool(p.memory.donated) for p in programs), 80)
        self.assertGreater(sum(len(p.updates) > 1 for p in programs), 10)
        names = {x.operation.name for p in programs for x in p.items if isinstance(x, Node)}
        self.assertGreaterEqual(names, {"bump", "spoil", "inc_subtensor", "gemm"})

    @slow
    def test_native_code(self) -> None:
        failures = compare_batch([generate(seed, FEW, nodes=5) for seed in range(1000, 1060)], [NATIVE], Tally())
        self.assertEqual([(f.program.seed, f.what) for f in failures], [])

    def test_items_that_go_take_their_memory_along(self) -> None:
        leaves = [Leaf(np.arange(3.0), (None,)) for _ in range(3)]
        program = Program((*leaves, Node(OPERATIONS["exp"], (2,))), (3,), memory=Memory((0, 2), ((1, 0, "same"),)))
        self.assertEqual(program.pruned().memory, Memory((0,)))

    @slow
    @unittest.skipUnless(HAS_RUNTIME, "the Python machine lets no write wait")
    def test_operands_that_are_overwritten_too_early(self) -> None:
        programs = [generate(seed, FEW, nodes=3) for seed in range(300)]
        spoilt = [p for p in programs if p.updates and any(_is(x, "spoil") or _is(x, "bump") for x in p.items)]
        with mock.patch("theano_linker_c.runtime._buffer_donation._destroyed", return_value=()):
            failures = compare_batch(spoilt, [NATIVE], Tally())
        self.assertIn("state", {f.kind for f in failures})

    def test_they_run_as_programs(self) -> None:
        for seed in range(30):
            program = generate(seed, FEW, nodes=4)
            if program.memory.overlaps:
                exec(compile(as_source(Failure(program, NATIVE, "error", "none")), f"<seed {seed}>", "exec"), {})
                self.assertEqual(replace(program).memory, program.memory)


def _is(item: Leaf | Node, name: str) -> bool:
    return isinstance(item, Node) and item.operation.name == name


if __name__ == "__main__":
    unittest.main()
