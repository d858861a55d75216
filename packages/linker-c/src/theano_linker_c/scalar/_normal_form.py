"""Scalar graphs in normal form: numbered values, equal subexpressions written once, composites inlined.

A program is plain data: it compares and hashes by value, pickles without depth; `Composite` and the kernel
generator work on. Argument numbers from 0 are inputs and then steps; ``-1 - k`` is constant ``k``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Variable, applys_between, format_error, record

from ._dtypes import CValue, NoNativeForm, c_definition, c_literal
from ._op import ScalarOp, ScalarTypeError, dtype_name, quiet
from ._type import ScalarConstant, ScalarType


@record
class ScalarStep:
    """One op applied to earlier values."""

    op: ScalarOp
    args: tuple[int, ...]
    dtype: str


@record
class Definition:
    """Variables that C text defines: the results of an op.

    Parameters
    ----------
    names : tuple of str
    value : CValue or None
        The only result, where one expression gives it.
    statements : tuple of str
        Text that defines the variables.
    """

    names: tuple[str, ...]
    value: CValue | None
    statements: tuple[str, ...]

    @classmethod
    def of(cls, op: ScalarOp, args: Sequence[CValue], names: Sequence[str]) -> Definition:
        """Return the definition of the results of an op."""
        value = op.c_value(args) if type(op).c_statements is ScalarOp.c_statements else None
        statements = op.c_statements(args, names) if value is None else [c_definition(names[0], value)]
        return cls(tuple(names), value, tuple(statements))


@record
class ScalarProgram:
    """A scalar function as a list of steps.

    Parameters
    ----------
    input_dtypes : tuple of str
    constants : tuple of (str, bytes)
        Dtype and exact bytes of each constant.
    steps : tuple of ScalarStep
    outputs : tuple of int
        Which values are the results.
    """

    input_dtypes: tuple[str, ...]
    constants: tuple[tuple[str, bytes], ...]
    steps: tuple[ScalarStep, ...]
    outputs: tuple[int, ...]

    def dtype_of(self, number: int) -> str:
        """Give the dtype of the value `number`."""
        if number < 0:
            return self.constants[-1 - number][0]
        if number < len(self.input_dtypes):
            return self.input_dtypes[number]
        return self.steps[number - len(self.input_dtypes)].dtype

    @property
    def output_dtypes(self) -> tuple[str, ...]:
        """Dtypes of the results."""
        return tuple(self.dtype_of(number) for number in self.outputs)

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return sum(step.op.cost for step in self.steps)

    def constant(self, number: int) -> Any:
        """Give the value of the constant with the argument number `number`."""
        dtype, data = self.constants[-1 - number]
        return np.frombuffer(data, dtype=dtype)[0]

    def retyped(self, dtypes: Sequence[str]) -> ScalarProgram:
        """Give the same function for other input dtypes; all dtypes inside follow the ops' rules."""
        if tuple(dtypes) == self.input_dtypes:
            return self
        builder = ProgramBuilder(dtypes)
        return builder.finish(builder.inline(self, range(len(dtypes))))

    @quiet
    def run(self, values: Sequence[Any]) -> list[Any]:
        """Compute the results from input values, arrays or NumPy scalars; a value is dropped after its last use."""
        last = {number: i for i, step in enumerate(self.steps) for number in step.args}
        needed = set(self.outputs)
        live: dict[int, Any] = dict(enumerate(map(_as_dtype, values, self.input_dtypes)))
        live.update({-1 - k: self.constant(-1 - k) for k in range(len(self.constants))})
        for i, step in enumerate(self.steps):
            live[len(self.input_dtypes) + i] = step.op.evaluate(*(live[number] for number in step.args))
            for number in set(step.args):
                if last[number] == i and number not in needed:
                    del live[number]
        return [live[number] for number in self.outputs]

    def emit(self, args: Sequence[CValue], prefix: str) -> tuple[list[str], list[CValue]]:
        """Write C statements that define one temporary for each step, and the values of the results.

        Raises
        ------
        NoNativeForm
            If a dtype or an op has no C form.
        """
        definitions, results = self.definitions(args, prefix)
        return [text for definition in definitions for text in definition.statements], results

    def definitions(self, args: Sequence[CValue], prefix: str) -> tuple[list[Definition], list[CValue]]:
        """Return the definition of one temporary for each step, and the values of the results.

        Raises
        ------
        NoNativeForm
            If a dtype or an op has no C form.
        """
        values = list(args)
        literals: list[CValue] = []
        for k, (dtype, _) in enumerate(self.constants):
            value = self.constant(-1 - k)
            literals.append(CValue(c_literal(value, dtype), dtype, value))
        definitions = []
        for i, step in enumerate(self.steps):
            arguments = [values[number] if number >= 0 else literals[-1 - number] for number in step.args]
            name = f"{prefix}{i}"
            definitions.append(Definition.of(step.op, arguments, [name]))
            from_float = "int" in step.dtype and len(arguments) == 1 and arguments[0].dtype.startswith("float")
            values.append(CValue(name, step.dtype, truncated=from_float))
        return definitions, [values[n] if n >= 0 else literals[-1 - n] for n in self.outputs]

    @property
    def preamble(self) -> tuple[str, ...]:
        """C text that the statements need at the beginning of the file."""
        return tuple(
            dict.fromkeys(
                part for step in self.steps for part in step.op.c_preamble([self.dtype_of(n) for n in step.args])
            )
        )

    def rebuild(self, inputs: Sequence[Any]) -> list[Any]:
        """Apply the ops to scalar variables and give the results."""
        values = list(inputs)
        constants = [
            ScalarType(dtype).make_constant(self.constant(-1 - k)) for k, (dtype, _) in enumerate(self.constants)
        ]
        for step in self.steps:
            values.append(step.op(*(values[n] if n >= 0 else constants[-1 - n] for n in step.args)))
        return [values[n] if n >= 0 else constants[-1 - n] for n in self.outputs]


class ProgramBuilder:
    """Collects steps; an op applied twice to the same values gives one step."""

    def __init__(self, input_dtypes: Sequence[str]) -> None:
        self.input_dtypes = tuple(input_dtypes)
        self._constants: dict[tuple[str, bytes], int] = {}
        self._constant_dtypes: list[str] = []
        self._steps: list[ScalarStep] = []
        self._known: dict[tuple[ScalarOp, tuple[int, ...], tuple[str, ...]], int] = {}

    def dtype_of(self, number: int) -> str:
        """Give the dtype of the value `number`."""
        if number < 0:
            return self._constant_dtypes[-1 - number]
        if number < len(self.input_dtypes):
            return self.input_dtypes[number]
        return self._steps[number - len(self.input_dtypes)].dtype

    def constant(self, dtype: str, data: bytes) -> int:
        """Add a constant, or find it, and give its number."""
        number = self._constants.setdefault((dtype, data), -1 - len(self._constants))
        if -number > len(self._constant_dtypes):
            self._constant_dtypes.append(dtype)
        return number

    def step(self, op: ScalarOp, args: Sequence[int], dtypes: Sequence[str]) -> list[int]:
        """Add `op` on the values `args` whose dtypes are `dtypes`; gives the numbers of its results."""
        if isinstance(op, HasProgram):
            return self.inline(op.program.retyped(dtypes), args)
        if op.nout != 1:
            raise NoNativeForm(
                format_error(f"{op} has {op.nout} results", hint="put ops with one result into a Composite")
            )
        key = (op, tuple(args), tuple(dtypes))
        number = self._known.get(key)
        if number is None:
            number = len(self.input_dtypes) + len(self._steps)
            self._steps.append(ScalarStep(op, tuple(args), op.result_dtypes(*dtypes)[0]))
            self._known[key] = number
        return [number]

    def inline(self, program: ScalarProgram, args: Sequence[int]) -> list[int]:
        """Add all steps of `program` on the values `args`."""
        numbers = list(args)
        dtypes = [self.dtype_of(n) for n in numbers]
        constants = [self.constant(*constant) for constant in program.constants]
        for step in program.steps:
            arguments = [numbers[n] if n >= 0 else constants[-1 - n] for n in step.args]
            kinds = [dtypes[n] if n >= 0 else program.constants[-1 - n][0] for n in step.args]
            (number,) = self.step(step.op, arguments, kinds)
            numbers.append(number)
            dtypes.append(self._steps[number - len(self.input_dtypes)].dtype)
        return [numbers[n] if n >= 0 else constants[-1 - n] for n in program.outputs]

    def finish(self, outputs: Sequence[int]) -> ScalarProgram:
        """Give the program with the results `outputs`."""
        return ScalarProgram(self.input_dtypes, tuple(self._constants), tuple(self._steps), tuple(outputs))


class HasProgram(ScalarOp):
    """A scalar op that is made of other ops."""

    program: ScalarProgram


def program_from_graph(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> ScalarProgram:
    """Turn a scalar graph into a program.

    Raises
    ------
    TypeError
        If the graph holds something that is no scalar, or needs a variable that is not among `inputs`.
    """
    builder = ProgramBuilder([_scalar_dtype(variable) for variable in inputs])
    numbers: dict[Variable, int] = {variable: i for i, variable in enumerate(inputs)}

    def number_of(variable: Variable) -> int:
        if variable not in numbers:
            if not isinstance(variable, ScalarConstant):
                raise ScalarTypeError(
                    format_error(
                        f"the scalar graph needs {variable}, which is not among its inputs", hint="add it to inputs"
                    )
                )
            numbers[variable] = builder.constant(variable.dtype, np.asarray(variable.data).tobytes())
        return numbers[variable]

    for node in applys_between(inputs, outputs):
        if not isinstance(node.op, ScalarOp):
            raise ScalarTypeError(
                format_error(f"{node.op} is no scalar op", hint="build composites of scalar ops only")
            )
        args = [number_of(variable) for variable in node.inputs]
        results = builder.step(node.op, args, [_scalar_dtype(variable) for variable in node.inputs])
        numbers.update(zip(node.outputs, results, strict=True))
    return builder.finish([number_of(variable) for variable in outputs])


def program_of(op: ScalarOp, dtypes: Sequence[str]) -> ScalarProgram:
    """Give the program of any scalar op for inputs of `dtypes`."""
    if isinstance(op, HasProgram):
        return op.program.retyped(dtypes)
    builder = ProgramBuilder(dtypes)
    return builder.finish(builder.step(op, range(len(dtypes)), dtypes))


@record
class OneOp:
    """An op with several results in a kernel: it stands alone, since programs hold ops with one.

    Parameters
    ----------
    op : ScalarOp
    input_dtypes : tuple of str
    """

    op: ScalarOp
    input_dtypes: tuple[str, ...]

    @property
    def cost(self) -> int:
        """Rough number of cycles for one element."""
        return self.op.cost

    @property
    def preamble(self) -> tuple[str, ...]:
        """C text that the statements need at the beginning of the file."""
        return self.op.c_preamble(self.input_dtypes)

    def emit(self, args: Sequence[CValue], prefix: str) -> tuple[list[str], list[CValue]]:
        """Write the op's statements, and the values of its results."""
        (definition,), values = self.definitions(args, prefix)
        return list(definition.statements), values

    def definitions(self, args: Sequence[CValue], prefix: str) -> tuple[list[Definition], list[CValue]]:
        """Return the definition of the results, and their values."""
        dtypes = self.op.result_dtypes(*self.input_dtypes)
        names = [f"{prefix}{i}" for i in range(len(dtypes))]
        values = [CValue(name, dtype) for name, dtype in zip(names, dtypes, strict=True)]
        return [Definition.of(self.op, args, names)], values


def reverse_accumulate(
    nodes: Sequence[Apply], seeds: dict[Variable, Any], rule_of: Callable[[Any], Callable[[Apply, list[Any]], Any]]
) -> dict[Variable, Any]:
    """Carry cotangents from the results of `nodes` (in topological order) back to all their inputs."""
    cotangents = dict(seeds)
    for node in reversed(nodes):
        cotangent = cotangents.get(node.outputs[0])
        if cotangent is None:
            continue
        for variable, part in zip(node.inputs, rule_of(node.op)(node, [cotangent]), strict=True):
            if part is not None:
                total = cotangents.get(variable)
                if total is None or not isinstance(part.type, ScalarType):
                    cotangents[variable] = part
                elif isinstance(total.type, ScalarType):
                    cotangents[variable] = total + part
    return cotangents


def _scalar_dtype(variable: Variable) -> str:
    if not isinstance(variable.type, ScalarType):
        raise ScalarTypeError(
            format_error(f"{variable} of type {variable.type} is no scalar", hint="use variables of ScalarType(dtype)")
        )
    return variable.type.dtype


def _as_dtype(value: Any, dtype: str) -> Any:
    return value if dtype_name(value) == dtype else np.asarray(value).astype(dtype)[()]
