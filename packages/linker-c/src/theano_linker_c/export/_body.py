"""The statements of an exported function: arguments, results, state; and versions of it for wider vectors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from theano_graph import format_error, record

from .._function import Function
from .._lazy import import_straight_rules
from ..codegen import verify_if_wanted
from ..codegen.ir import Let, Opaque, Space, Statement, value_of_text
from ..codegen.passes import named_in, without_accumulations, without_unread
from ..codegen.print import c99_lines, portable
from ..kernels import memory_type
from ..program import Program, lower
from ..straight import (
    ONE,
    STRAIGHT,
    Block,
    CArray,
    Length,
    Message,
    NoStraightForm,
    Root,
    Wanted,
    arranged,
    contiguous_strides,
    emit_program,
    product_of,
)
from ._interface import Names, Parameter, fixed_shape, spec_of, state_array

# ---- The exported function, and once more for processors with wider vectors

#: The suffix of the function's name in the names of its versions.
OWN_NAMES = ("body", "wide")
_WANTED = """\
#if defined(__GNUC__) && defined(__x86_64__) && !defined(__AVX2__) && !defined(THEANO_PORTABLE)
#define THEANO_VERSIONS
#define THEANO_BODY static inline __attribute__((always_inline))
#else
#define THEANO_BODY static
#endif
"""
_ARGUMENT = re.compile(r"(\w+)(?:\[\d+\])?(?=[,)])")


def function_text(prototype: str, name: str, lines: Sequence[str]) -> list[str]:
    """Return the definition of a function; if it has loops, they are compiled for AVX2, too, and the call chooses.

    Parameters
    ----------
    prototype : str
    name : str
        That of the function.
    lines : sequence of str
        The statements, without the last one, which returns 0.
    """
    if not any("for (" in line for line in lines):
        return [f"{prototype} {{", *lines, "    return 0;", "}", ""]
    taken = prototype.removeprefix(f"int {name}")
    arguments = f"({', '.join(_ARGUMENT.findall(taken))})"
    body, wide = (f"{name}_{part}" for part in OWN_NAMES)
    return [
        _WANTED,
        f"THEANO_BODY int {body}{taken} {{",
        *lines,
        "    return 0;",
        "}",
        "",
        "#ifdef THEANO_VERSIONS",
        f'__attribute__((target("avx2"))) static int {wide}{taken} {{',
        f"    return {body}{arguments};",
        "}",
        "#endif",
        "",
        f"{prototype} {{",
        "#ifdef THEANO_VERSIONS",
        '    if (__builtin_cpu_supports("avx2"))',
        f"        return {wide}{arguments};",
        "#endif",
        f"    return {body}{arguments};",
        "}",
        "",
    ]


# ---- The statements of an exported function: arguments in, results out, and new values into the state

#: More elements than any computer has memory for.
_LARGEST = 1 << 48
_PARTS = ("state", "init", "first", "save", "load", "free", "message")


@record
class Body:
    """An exported function before it is put into files.

    Attributes
    ----------
    arguments, results, states : tuple of Parameter
    lines : tuple of str
        The statements.
    arenas : dict of str to int
        C type of elements -> how many of them temporary arrays need.
    tables : dict of str to ndarray
        Constant arrays that the statements read.
    preamble : tuple of str
        Text that users' scalar code needs before it.
    routines : frozenset of str
        Functions of the library that are called.
    messages : tuple of Message
        The meaning of status codes, counted from 1.
    takes_memory : bool
        Whether there are arrays whose sizes are known at run time only.
    """

    arguments: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    states: tuple[Parameter, ...]
    lines: tuple[str, ...]
    arenas: Mapping[str, int]
    tables: Mapping[str, Any]
    preamble: tuple[str, ...]
    routines: frozenset[str]
    messages: tuple[Message, ...]
    takes_memory: bool


def write_body(
    fn: Function, name: str, shapes: Mapping[Any, Sequence[int]], static: str | None, frozen: bool = False
) -> Body:
    """Write the statements of a compiled function.

    Parameters
    ----------
    fn : Function
    name : str
        That of the function in C.
    shapes : mapping
        Shapes of inputs, by variable or name.
    static : str, optional
        The option that asks for known lengths: it is an error that one is not.
    frozen : bool
        Whether shared variables are constants, with their present values. For functions that update none.
    """
    return _Writer(fn, name, shapes, frozen).write(static)


class _Writer:
    def __init__(self, fn: Function, name: str, shapes: Mapping[Any, Sequence[int]], frozen: bool) -> None:
        import_straight_rules()
        self.frozen = frozen
        self.fn, self.maker, self.wiring = fn, fn.maker, fn.wiring
        self.names = Names((name, *(f"{name}_{part}" for part in (*_PARTS, *OWN_NAMES))))
        self.shapes = shapes
        self.block = Block()
        self.arrays: dict[int, CArray] = {}
        self.program: Program = lower(
            self.maker.fgraph,
            arguments=self.wiring.arguments,
            cells=self.wiring.cells,
            updates=self.wiring.updates,
            n_outputs=self.wiring.n_outputs,
            target=STRAIGHT,
            lazy=False,
        )

    def write(self, static: str | None) -> Body:
        """Write everything."""
        arguments = [self._argument(i, p.register, p.variable) for i, p in enumerate(self.program.inputs)]
        cells = {id(cell): register for register, cell in self.program.cells}
        items = [item for i, item in enumerate(self.maker.inputs) if i in self.wiring.cells]
        states = {
            register: self._state(register, item, cell)
            for item, (register, cell) in zip(items, self.program.cells, strict=True)
            if not self.frozen
        }
        if self.frozen:
            for item, (register, cell) in zip(items, self.program.cells, strict=True):
                spec_of(item.variable, "shared variable")
                self.arrays[register] = self.block.constant(cell[0].copy())
        self._check_given(arguments)
        if static is not None:
            self._refuse_unknown(arguments, static)
        results = self._results(cells)
        for _, cell in self.program.updates:
            if id(cell) not in cells:
                raise NoStraightForm(
                    format_error("an input with a default value is updated", hint="use a shared variable for it")
                )
        self._store({cells[id(cell)]: register for register, cell in self.program.updates})
        return self._body(arguments, results, list(states.values()))

    def _argument(self, i: int, register: int, variable: Any) -> Parameter:
        what = "input"
        spec = spec_of(variable, what)
        item = self.maker.inputs[self.wiring.arguments[i]]
        shape = fixed_shape(item.variable, spec.shape, self.shapes, what)
        label = item.name or variable.name
        parameter = Parameter(self.names.of(label, f"input_{i}"), label or f"input {i}", spec.dtype, shape)
        lengths = [
            self.block.length(f"{parameter.name}_shape[{axis}]", total=False) if length is None else Length(length)
            for axis, length in enumerate(shape)
        ]
        pointer = parameter.name if shape else f"&{parameter.name}"
        self._enter(register, "argument", parameter, pointer, lengths)
        return parameter

    def _enter(self, register: int, kind: Space, parameter: Parameter, pointer: str, lengths: Sequence[Length]) -> None:
        root = Root(kind, parameter.name, parameter.dtype, product_of(lengths))
        shape = tuple(lengths)
        self.arrays[register] = CArray(parameter.dtype, shape, contiguous_strides(shape), pointer, root)

    def _state(self, register: int, item: Any, cell: list[Any]) -> Parameter:
        variable = item.variable
        value = state_array(variable, cell[0])
        dtype = value.dtype.name
        label = variable.name
        parameter = Parameter(
            self.names.of(label, f"shared_{register}"), label or "a shared variable", dtype, value.shape, value
        )
        self._enter(register, "state", parameter, f"state->{parameter.name}", [Length(n) for n in value.shape])
        if not value.shape:
            shared = self.arrays[register]
            self.arrays[register] = CArray(dtype, (), (), f"&state->{parameter.name}", shared.root)
        return parameter

    def _check_given(self, arguments: Sequence[Parameter]) -> None:
        variables = [self.maker.inputs[i].variable for i in self.wiring.arguments]
        known = {*variables, *(variable.name for variable in variables)}
        for key in self.shapes:
            if key not in known:
                names = ", ".join(f"`{argument.label}`" for argument in arguments)
                raise ValueError(format_error(f"shapes: `{key}` is no input", hint=f"name one of {names}"))

    def _refuse_unknown(self, arguments: Sequence[Parameter], static: str) -> None:
        unknown = [argument.described() for argument in arguments if not argument.fixed]
        if unknown:
            raise NoStraightForm(
                format_error(
                    f"{static}: the lengths of some inputs are not known",
                    context=unknown,
                    hint=f"give them by shapes={{variable: (lengths, ...)}}, or leave out {static}",
                )
            )

    def _results(self, cells: Mapping[int, int]) -> list[Parameter]:
        """Write the instructions, and the copies of their results to the caller."""
        block, names = self.block, []
        targets: dict[int, Wanted] = {}
        for k, (register, item) in enumerate(zip(self.program.outputs, self.maker.outputs, strict=True)):
            keys = self.maker.output_keys
            label = keys[k] if keys else item.variable.name
            names.append((self.names.of(label, "result" if len(self.maker.outputs) == 1 else f"result_{k}"), label))
            variable = item.variable
            dtype = spec_of(variable, "output").dtype
            targets.setdefault(register, Wanted(names[-1][0], dtype, None, Root("result", names[-1][0], dtype, ONE)))
        emit_program(block, self.program, self.arrays, targets, self._replaced(cells, targets))
        results = []
        for (name, label), register in zip(names, self.program.outputs, strict=True):
            array = self.arrays[register]
            shape = tuple(length.factor if length.known else None for length in array.shape)
            parameter = Parameter(name, label or name, array.dtype, shape)
            self._give(parameter, array)
            results.append(parameter)
        return results

    def _replaced(self, cells: Mapping[int, int], targets: Mapping[int, Wanted]) -> dict[int, Wanted]:
        """Return the memory of the state in which new values may be computed; those of results have other memory."""
        replacements = {}
        for register, cell in self.program.updates:
            state = self.arrays.get(cells.get(id(cell), -1))
            if state is not None and state.shape and register not in targets:
                replacements[register] = Wanted(state.pointer, state.dtype, state.shape, state.root)
        return replacements

    def _give(self, parameter: Parameter, array: CArray) -> None:
        block, name = self.block, parameter.name
        if parameter.fixed:
            if array.pointer != name:
                root = Root("result", name, array.dtype, array.size)
                block.copy(array, CArray(array.dtype, array.shape, contiguous_strides(array.shape), name, root))
            return
        if array.root.kind != "temporary" or not array.contiguous or array.root.size.known:
            target = block.allocate(array.dtype, array.shape)
            block.copy(array, target)
            array = target
        block.line(f"*{name} = {array.pointer};")
        for axis, length in enumerate(array.shape):
            block.line(f"{name}_shape[{axis}] = {length};")

    def _store(self, updates: Mapping[int, int]) -> None:
        """Write new values into the state, as far as they have not been computed there."""
        block, values = self.block, {}
        for target, source in updates.items():
            state, array = self.arrays[target], self.arrays[source]
            for axis, (a, b) in enumerate(zip(state.shape, array.shape, strict=True)):
                text = f"the new value of {state.root.name} has another length along axis {axis}"
                block.same(a, b, text)
            moved = array.pointer != state.pointer or array.strides != state.strides
            if array.root.kind == "state" and moved:
                made = block.allocate(array.dtype, state.shape)
                block.copy(array, made)
                array = made
            values[target] = array
        for target, array in values.items():
            state = self.arrays[target]
            if array.pointer != state.pointer:
                block.copy(array, state)

    def _body(self, arguments: list[Parameter], results: list[Parameter], states: list[Parameter]) -> Body:
        body, named = _finished(self.block)
        return replace(
            body,
            arguments=tuple(arguments),
            results=tuple(results),
            states=tuple(states),
            lines=(*_unread(["state", *_names_of(arguments, results)], named), *body.lines),
        )


def finished(block: Block) -> Body:
    """Return the statements of a block as a function without arguments, results and state."""
    return _finished(block)[0]


def _finished(block: Block) -> tuple[Body, Set[str]]:
    """Return the function, and the names in its statements."""
    pointers: list[Statement] = []
    arenas = {}
    for kind in sorted({memory_type(root.dtype) for root in block.roots}):
        mine = [root for root in block.roots if memory_type(root.dtype) == kind]
        offsets, total = arranged(mine, block.time + 1)
        arenas[kind] = total
        _check_room(total, kind)
        pointers += [
            Let(n, f"{kind} *", value_of_text(f"state->arena_{kind} + {offset}")) for n, offset in offsets.items()
        ]
    if block.takes_memory:
        start = "theano_memory *const memory = &state->memory;", "memory->now = memory->first;"
        pointers.append(Opaque((*start, "if (memory->now != NULL) memory->now->used = 0;")))
    statements = without_unread(without_accumulations([*pointers, *block.statements], block.fresh))
    verify_if_wanted(statements)
    named = named_in(statements)
    body = Body(
        arguments=(),
        results=(),
        states=(),
        lines=tuple(c99_lines(statements, block.failure)),
        arenas=arenas,
        tables={n: v for n, v in block.tables.items() if n in named},
        preamble=tuple(portable(part) for part in block.preamble),
        routines=frozenset(block.routines),
        messages=tuple(block.messages),
        takes_memory=block.takes_memory,
    )
    return body, named


def _check_room(count: int, kind: str) -> None:
    if count > _LARGEST:
        raise NoStraightForm(
            format_error(
                f"a call needs {count} elements of type {kind} for temporary arrays, more than a computer has",
                hint="give smaller shapes, or export with unknown lengths: such calls tell that there is no memory",
            )
        )


def _names_of(arguments: Sequence[Parameter], results: Sequence[Parameter]) -> list[str]:
    """Return the names of the function's parameters besides the state."""
    parts = [part for p in arguments for part in p.as_argument()] + [part for p in results for part in p.as_result()]
    return [part.partition("[")[0].rpartition("*")[2].split()[-1] for part in parts]


def _unread(names: Sequence[str], named: Set[str]) -> list[str]:
    """Return statements that tell compilers which of the parameters are not read on purpose."""
    return [f"    (void){name};" for name in names if name not in named]


__all__ = ["OWN_NAMES", "function_text", "Body", "finished", "write_body"]
