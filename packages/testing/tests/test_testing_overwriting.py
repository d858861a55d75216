"""The check of programs says no where a decision is wrong, and yes where it is right."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Op, Variable
from theano_linker_c import In, function, shared
from theano_linker_c.program import HAS_RUNTIME, Instruction, Program, on_lowered
from theano_testing.overwriting import OverwritingError, check_program, every_program


class Spoiling(Op):
    """Overwrite the input with zeros."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        inputs[0][...] = 0
        output_storage[0][0] = inputs[0]


def program_of(*args: Any, **kwargs: Any) -> Program:
    kwargs["mode"] = "FAST_RUN"
    compiled: Any = function(*args, **kwargs)
    program: Program = compiled.fn.program
    check_program(program)
    return program


def changed(program: Program, i: int, **fields: Any) -> Program:
    """Return the program with other decisions about one instruction."""
    instructions: list[Instruction] = list(program.instructions)
    instructions[i] = replace(instructions[i], **fields)
    return replace(program, instructions=tuple(instructions))


def first(program: Program, name: str) -> int:
    return next(i for i, x in enumerate(program.instructions) if type(x.node.op).__name__ == name)


@unittest.skipUnless(HAS_RUNTIME, "only the native machine overwrites by itself")
class TestCheckProgram(unittest.TestCase):
    def setUp(self) -> None:
        self.x, self.w = T.dmatrix("x"), shared(np.zeros((4, 4)))

    def refused(self, program: Program, word: str) -> None:
        with self.assertRaisesRegex(OverwritingError, word):
            check_program(program)

    def test_a_donation_while_a_view_is_read(self) -> None:
        program = program_of([In(self.x, mutable=True)], (self.x + self.x.T) / 2)
        i = first(program, "Elemwise")
        for position, register in enumerate(program.instructions[i].inputs):
            if register == program.inputs[0].register:
                self.refused(changed(program, i, donors=((position,),)), "puts its result into")

    def test_a_donation_while_the_operand_is_read_later(self) -> None:
        y = T.exp(self.x)
        program = program_of([self.x], [T.dot(y, y), T.inc_subtensor(y[:1], 1.0)])
        result = program.instructions[first(program, "Elemwise")].outputs[0]
        early = next(i for i, x in enumerate(program.instructions) if result in x.inputs)
        self.refused(changed(program, early, donors=((0,),)), "puts its result into")

    def test_a_constant(self) -> None:
        program = program_of([self.x], self.x * np.arange(16.0).reshape(4, 4))
        i = first(program, "Elemwise")
        constant = program.constants[0][0]
        position = program.instructions[i].inputs.index(constant)
        self.refused(changed(program, i, donors=((position,),)), "constant")

    def test_a_release_too_early(self) -> None:
        y = T.exp(self.x)
        program = program_of([self.x], [T.dot(y, y), T.inc_subtensor(y[:1], 1.0)])
        result = program.instructions[first(program, "Elemwise")].outputs[0]
        readers = [i for i, x in enumerate(program.instructions) if result in x.inputs]
        release = program.instructions[readers[0]].release
        self.refused(changed(program, readers[0], release=(*release, result)), "lets go")
        self.refused(changed(program, readers[-1], release=(*release, program.outputs[0])), "result")

    def test_a_write_that_waits(self) -> None:
        def waiting(*outputs: Variable) -> tuple[Program, int]:
            new = T.inc_subtensor(self.w[:2], self.x[:2])
            program = program_of([self.x], list(outputs), updates=[(self.w, new)])
            return program, first(program, "IncSubtensor")

        program, i = waiting()
        self.assertEqual(program.instructions[i].waits, 0)
        self.refused(replace(program, outputs=program.instructions[i].outputs), "result is read")
        self.refused(replace(program, cells=()), "storage")
        operand = T.exp(self.x)
        new = T.inc_subtensor(self.w[:2], operand[:2])
        program = program_of([self.x], Spoiling()(operand), updates=[(self.w, new)], accept_inplace=True)
        i = first(program, "IncSubtensor")
        self.assertIsNone(program.instructions[i].waits)
        self.refused(changed(program, i, waits=0, donors=()), "overwrites")

    def test_every_program(self) -> None:
        before = list(on_lowered)
        with every_program():
            self.assertEqual(on_lowered, [*before, check_program])
            function([self.x], T.exp(self.x))
        self.assertEqual(on_lowered, before)
