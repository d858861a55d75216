"""A loop as one file of C, for arrays of certain shapes: the statements are those of exported functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theano_graph import format_error, record

from ..kernels import memory_type
from ..program import LoopSpec, ResultKind
from ..runtime._instructions import Program
from ..straight import (
    Block,
    CArray,
    Length,
    NoStraightForm,
    Root,
    contiguous_strides,
    emit_loop,
    emit_program,
    product_of,
)
from ._body import finished
from ._files import definition_lines, memory_types

#: Name of the function.
ENTRY = "theano_loop"
#: Temporary memory of more bytes than this is taken from the heap.
_ON_STACK = 32768
#: Products of more multiplications take so long that the overhead of the machine does not count.
_LARGEST_PRODUCT = 1 << 16
_ARGUMENTS = (
    "const int64_t steps, const void *const *const given, const int64_t *const strides, void *const *const results, "
    "int64_t *const done, const theano_look look, void *const context"
)
_HEAD = """\
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef int64_t (*theano_look)(void *);
"""
#: At the beginning of each step: now and then, somebody is asked whether to go on.
_LOOK = "if (--left == 0 && (left = look(context)) < 0) return -1;"


@record
class ArrayForm:
    """An array that a loop reads or writes.

    Attributes
    ----------
    moves : bool
        Whether it has a row for each step.
    dtype : str
    shape : tuple of int
        Of a row, or of the array.
    """

    moves: bool
    dtype: str
    shape: tuple[int, ...]


@record
class LoopText:
    """A loop as C.

    Attributes
    ----------
    text : str
        The file.
    operands, results : tuple of ArrayForm
    """

    text: str
    operands: tuple[ArrayForm, ...]
    results: tuple[ArrayForm, ...]


@record
class _ResultPlace:
    """Memory of the caller for a result."""

    pointer: str
    root: Root
    dtype: str

    def takes(self, dtype: str, shape: tuple[Length, ...]) -> bool:
        """Tell whether a value can be put there: the caller knows how long rows are."""
        return dtype == self.dtype and all(length.known for length in shape[1:])


def write_loop(
    program: Program, loop_spec: LoopSpec, operands: Sequence[ArrayForm], sums: Sequence[tuple[int, ...] | None]
) -> LoopText:
    """Write a loop as C.

    Parameters
    ----------
    program : Program
        Of one step, made for :data:`~theano_linker_c.straight.STRAIGHT`.
    loop_spec : LoopSpec
    operands : sequence of ArrayForm
        Sequences, first states, and arrays that stay the same.
    sums : sequence of (tuple of int) or None
        For each result that is a sum, its shape.

    Raises
    ------
    NoStraightForm
        If a node has no form in C, or rows have lengths that follow from values.
    """
    return _Writer(program, loop_spec, operands).write(sums)


def write_function(program: Program, operands: Sequence[ArrayForm]) -> LoopText:
    """Write a function as C: a loop of one step, whose results are those of the step.

    Parameters
    ----------
    program : Program
        Made for :data:`~theano_linker_c.straight.STRAIGHT`.
    operands : sequence of ArrayForm
        Arguments and shared variables.

    Raises
    ------
    NoStraightForm
        If a node has no form in C, or results have lengths that follow from values.
    """
    return _Writer(program, LoopSpec(0, 0, (ResultKind.LAST,) * len(program.outputs)), operands).write_once()


class _Writer:
    def __init__(self, program: Program, loop_spec: LoopSpec, operands: Sequence[ArrayForm]) -> None:
        if program.updates:
            raise _no_form("shared variables are updated")
        self.program, self.loop_spec, self.operands = program, loop_spec, tuple(operands)
        self.block = Block(look=_LOOK)
        self.n = Length(1, ("steps",))

    def write(self, sums: Sequence[tuple[int, ...] | None]) -> LoopText:
        """Write everything."""
        block, loop_spec = self.block, self.loop_spec
        arrays = [self._argument(i, form) for i, form in enumerate(self.operands)]
        shapes: list[tuple[Length, ...] | None] = []
        for k in range(len(loop_spec.kinds)):
            shape = self.operands[loop_spec.rows + k].shape if k < loop_spec.states else sums[k]
            shapes.append(None if shape is None else tuple(map(Length, shape)))
        places = [self._place(k) for k in range(len(shapes))]
        values, done = emit_loop(block, self.program, loop_spec, self.n, arrays, shapes, whole=False, places=places)
        return self._finished(values, done, places)

    def write_once(self) -> LoopText:
        """Write one step."""
        program = self.program
        registers = [
            *(parameter.register for parameter in program.inputs),
            *(register for register, _ in program.cells),
        ]
        arrays = {register: self._argument(i, self.operands[i]) for i, register in enumerate(registers)}
        places = [self._place(k) for k in range(len(program.outputs))]
        emit_program(self.block, program, arrays, dict(zip(program.outputs, places, strict=True)))
        return self._finished([arrays[register] for register in program.outputs], self.n, places)

    def _finished(self, values: Sequence[CArray], done: Length, places: Sequence[_ResultPlace]) -> LoopText:
        block, loop_spec = self.block, self.loop_spec
        if block.largest_product > _LARGEST_PRODUCT:
            raise _no_form("a product is large, and BLAS is faster")
        forms = []
        for k, (value, target) in enumerate(zip(values, places, strict=True)):
            forms.append(self._form(value, loop_spec.kinds[k] == ResultKind.STACK))
            if value.root is not target.root:
                strides = contiguous_strides(value.shape)
                pointer = target.pointer
                if forms[-1].moves and loop_spec.until and loop_spec.backwards:
                    rows = product_of(value.shape[1:]).atom
                    pointer = f"({target.pointer} + (steps - {done}) * {rows})"
                block.copy(value, CArray(value.dtype, value.shape, strides, pointer, target.root))
        if loop_spec.until:
            block.line(f"*done = {done};")
        return LoopText(self._file(), self.operands, tuple(forms))

    def _argument(self, i: int, form: ArrayForm) -> CArray:
        block, kind = self.block, memory_type(form.dtype)
        name = block.fresh("a")
        if not form.shape and not form.moves:
            block.let(kind, name, f"*(const {kind} *)given[{i}]")
            return CArray(form.dtype, (), (), f"&{name}", Root("argument", name, form.dtype, Length(1)))
        block.let(f"const {kind} *", name, f"(const {kind} *)given[{i}]")
        shape = tuple(map(Length, form.shape))
        strides = contiguous_strides(shape)
        if form.moves:
            shape, strides = (self.n, *shape), (block.length(f"strides[{i}]"), *strides)
        return CArray(form.dtype, shape, strides, name, Root("argument", name, form.dtype, product_of(shape)))

    def _place(self, k: int) -> _ResultPlace:
        dtype = self._dtype(self.program.outputs[k])
        name = self.block.fresh("r")
        self.block.let(f"{memory_type(dtype)} *", name, f"({memory_type(dtype)} *)results[{k}]")
        return _ResultPlace(name, Root("result", name, dtype, Length(1)), dtype)

    def _dtype(self, register: int) -> str:
        program = self.program
        variables = {parameter.register: parameter.variable for parameter in program.inputs}
        for instruction in program.instructions:
            variables.update(zip(instruction.outputs, instruction.node.outputs, strict=True))
        of = variables[register].type if register in variables else dict(program.constants)[register]
        dtype = getattr(of, "dtype", None)
        if dtype is None:
            raise _no_form("a result is no array")
        return str(dtype)

    def _form(self, value: CArray, moves: bool) -> ArrayForm:
        shape = value.shape[1:] if moves else value.shape
        if not all(length.known for length in shape):
            raise _no_form("lengths of results follow from values")
        return ArrayForm(moves, value.dtype, tuple(length.factor for length in shape))

    def _file(self) -> str:
        block = self.block
        inner = finished(block)
        size = sum(count * np.dtype(_dtype_of(kind)).itemsize for kind, count in inner.arenas.items())
        fields = [f"    {kind} arena_{kind}[{count}];" for kind, count in inner.arenas.items()]
        memory = ["    theano_memory memory;"] if inner.takes_memory else []
        state = ["typedef struct {", *(fields + memory or ["    char nothing;"]), "} theano_state;"]
        heap = size > _ON_STACK
        call = "theano_steps(state, steps, given, strides, results, done, look, context)"
        lines = [
            _HEAD,
            *([memory_types()] if inner.takes_memory else []),
            *state,
            *definition_lines(inner),
            f"static int theano_steps(theano_state *const state, {_ARGUMENTS}) {{",
            "    int64_t left = 1;",
            *inner.lines,
            "    (void)state, (void)steps, (void)given, (void)strides, (void)results, (void)done, (void)left;",
            "    (void)look, (void)context;",
            "    return 0;",
            "}",
            f'__attribute__((visibility("default"))) int {ENTRY}({_ARGUMENTS}) {{',
            *(["    theano_state own, *const state = &own;"] if not heap else []),
            *(["    theano_state *const state = malloc(sizeof *state);"] if heap else []),
            *(["    if (state == NULL) return 1;"] if heap else []),
            *(["    state->memory.first = state->memory.now = NULL;"] if inner.takes_memory else []),
            f"    const int status = {call};",
        ]
        if inner.takes_memory:
            lines += [
                "    for (theano_chunk *chunk = state->memory.first, *next; chunk != NULL; chunk = next) {",
                "        next = chunk->next;",
                "        free(chunk);",
                "    }",
            ]
        lines += [*(["    free(state);"] if heap else []), "    return status;", "}", ""]
        return "\n".join(lines)


def _dtype_of(kind: str) -> str:
    """Return a dtype whose elements are as long as those of an arena."""
    return {"float": "float32", "double": "float64"}.get(kind, kind.removesuffix("_t"))


def _no_form(what: str) -> NoStraightForm:
    return NoStraightForm(format_error(f"{what}: it is no function of C", hint="leave it to the machine"))


__all__ = ["ENTRY", "ArrayForm", "LoopText", "write_function", "write_loop"]
