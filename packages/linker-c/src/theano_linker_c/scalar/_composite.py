"""A scalar op made of a scalar graph: the loop that fusion makes, and its printed form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, FunctionGraph, Variable, applys_between, format_error, pullback, pushforward

from ._complex import cast
from ._derivative import scalar_pullback
from ._dtypes import CValue, c_cast, c_type
from ._normal_form import (
    HasProgram,
    OneOp,
    ProgramBuilder,
    ScalarProgram,
    program_from_graph,
    program_of,
    reverse_accumulate,
)
from ._op import ScalarOp, ScalarTypeError, arraywise, for_readers
from ._type import ScalarType, as_scalar

# ---- Scalar programs as formulas: the printed form of fused functions

#: Operators that formulas have between or before their operands; all else is written as a function.
_SYMBOLS = MappingProxyType(
    {"add": "+", "sub": "-", "neg": "-", "mul": "*", "true_div": "/", "int_div": "//", "mod": "%", "pow": "**"}
)
#: How other ops are called in formulas where that is not their name.
_CALLED = MappingProxyType(
    {
        **{name: name.strip("_").upper() for name in ("and_", "eq", "ge", "gt", "le", "lt", "neq", "or_", "xor")},
        "abs": "Abs",
        "invert": "Invert",
        "isinf": "IsInf",
        "isnan": "IsNan",
        "switch": "Switch",
        "sigmoid": "scalar_sigmoid",
        "softplus": "scalar_softplus",
        "round_half_to_even": "RoundHalfToEven",
        "round_half_away_from_zero": "RoundHalfAwayFromZero",
    }
)
#: Characters from which on the values that are used several times are named instead of being written again.
_LONG = 400


def _formulas(program: ScalarProgram) -> list[str]:
    """Write the results as formulas; where they are long, values that are used several times are named ``t0``, ..."""
    written = _written(program, ())
    if written is not None:
        return written
    uses: dict[int, int] = {}
    for number in [*(n for step in program.steps for n in step.args), *program.outputs]:
        uses[number] = uses.get(number, 0) + 1
    repeated = {number for number, count in uses.items() if count > 1}
    return _written(program, repeated) or []


def _written(program: ScalarProgram, repeated: Collection[int]) -> list[str] | None:
    """Write the results, those of `repeated` once; return None where nothing may be named and the text is long."""
    count = len(program.input_dtypes)
    texts = [f"i{i}" for i in range(count)]
    shared: list[str] = []
    for number, step in enumerate(program.steps, count):
        text = _call(step.op, [texts[n] if n >= 0 else _constant(program, n) for n in step.args])
        if len(text) > _LONG and not repeated:
            return None
        if (number in repeated or len(text) > _LONG) and number not in program.outputs:
            shared.append(f"t{len(shared)} = {text}")
            text = f"t{len(shared) - 1}"
        texts.append(text)
    return [*shared, *(texts[n] if n >= 0 else _constant(program, n) for n in program.outputs)]


def _call(op: Any, arguments: Sequence[str]) -> str:
    text = str(op)
    symbol = _SYMBOLS.get(text)
    if symbol is None:
        return f"{_CALLED.get(text, text)}({', '.join(arguments)})"
    return f"({f' {symbol} '.join(arguments)})" if len(arguments) > 1 else f"({symbol}{arguments[0]})"


def _constant(program: ScalarProgram, number: int) -> str:
    return f"Constant{{{program.constant(number)}}}"


# ---- A scalar op made of a scalar graph: the loop that fusion makes


class Composite(HasProgram):
    """The function of `inputs` that gives `outputs`, as one op.

    Parameters
    ----------
    inputs : sequence of ScalarVariable
        Variables without owner, or cut points inside a larger graph.
    outputs : sequence of ScalarVariable
        Results. Composites inside are dissolved, equal subexpressions are computed once.

    Raises
    ------
    TypeError
        If the graph holds something that is no scalar, or depends on a variable that is not among `inputs`.

    Notes
    -----
    Two composites are equal when their normal forms are: names of variables do not matter.

    Examples
    --------
    >>> from theano_linker_c.scalar import ScalarType, tanh
    >>> x = ScalarType("float64")("x")
    >>> float(Composite([x], [tanh(x) * 2]).impl(0.0))
    0.0
    """

    __props__: ClassVar[tuple[str, ...] | None] = ("program",)

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        self._set_program(program_from_graph(inputs, outputs))

    @classmethod
    def from_program(cls, program: ScalarProgram) -> Composite:
        """Make the op of a program."""
        op = cls.__new__(cls)
        op._set_program(program)
        return op

    def _set_program(self, program: ScalarProgram) -> None:
        self.program = program
        self.nin = len(program.input_dtypes)
        self.nout = len(program.outputs)
        self.cost = program.cost
        self._hash = hash((type(self), program))
        self._graph: tuple[list[Any], list[Any]] | None = None
        self._name: str | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Composite) and self._hash == other._hash and self.program == other.program

    def __reduce__(self) -> tuple[Any, ...]:
        return (Composite.from_program, (self.program,))

    @property
    def graph(self) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs of a scalar graph equal to the op; made on first use."""
        if self._graph is None:
            inputs = [ScalarType(dtype)(f"i{i}") for i, dtype in enumerate(self.program.input_dtypes)]
            self._graph = (inputs, self.program.rebuild(inputs))
        return self._graph

    @property
    def inputs(self) -> list[Any]:
        """Input variables of `graph`."""
        return self.graph[0]

    @property
    def outputs(self) -> list[Any]:
        """Output variables of `graph`."""
        return self.graph[1]

    @property
    def name(self) -> str:  # type: ignore[override]
        """``Composite{...}`` with the formula."""
        if self._name is None:
            self._name = "Composite{" + ", ".join(_formulas(self.program)) + "}"
        return self._name

    def __str__(self) -> str:
        return self.name

    @property
    def fgraph(self) -> FunctionGraph:
        """The scalar graph, as a graph of its own; made anew each time."""
        inputs = [ScalarType(dtype)(f"i{i}") for i, dtype in enumerate(self.program.input_dtypes)]
        return FunctionGraph(inputs, self.program.rebuild(inputs), clone=False)

    @property
    def inputs_type(self) -> tuple[ScalarType, ...]:
        """Types of the inputs that the op was made for."""
        return tuple(map(ScalarType, self.program.input_dtypes))

    @property
    def outputs_type(self) -> tuple[ScalarType, ...]:
        """Types of the outputs for these inputs."""
        return tuple(map(ScalarType, self.program.output_dtypes))

    def clone_float32(self) -> Composite:
        """Return the op that computes in float32 instead of float16."""
        return Composite.from_program(_without_float16(self.program))

    def make_new_inplace(self, output_types_preference: Any = None, name: str | None = None) -> Composite:
        """Return a copy with another name."""
        copy = Composite.from_program(self.program)
        copy._name = name or self.name
        return copy

    def output_types(self, types: Sequence[ScalarType]) -> list[ScalarType]:
        """Return the types of the outputs for inputs of `types`."""
        return [ScalarType(dtype) for dtype in self.result_dtypes(*(t.dtype for t in types))]

    def result_dtypes(self, *dtypes: str) -> tuple[str, ...]:
        """Follow the ops' rules from the inputs to the outputs."""
        self.check_count(len(dtypes))
        return self.program.retyped(dtypes).output_dtypes

    @arraywise
    def impl(self, *values: Any) -> Any:
        """Run the ops one by one."""
        results = self.program.run(values)
        return results[0] if self.nout == 1 else tuple(results)

    def c_expression(self, args: Sequence[CValue], result: str) -> str:
        """Give a statement expression; loops use `c_statements`."""
        if self.nout != 1:
            raise ScalarTypeError(format_error(f"{self} has {self.nout} results", hint="use c_statements"))
        named = [CValue(f"a{i}", arg.dtype) for i, arg in enumerate(args)]
        statements, (value,) = self.program.retyped([arg.dtype for arg in args]).emit(named, "c")
        copies = [f"const {c_type(a.dtype)} {n.text} = {a.text};" for a, n in zip(args, named, strict=True)]
        return "({ " + " ".join([*copies, *statements]) + f" {c_cast(value, result)}; }})"

    @for_readers
    def c_code(self, node: Apply, name: str, inputs: Sequence[str], outputs: Sequence[str], sub: Any) -> str:
        """Give a block of C statements that set the variables `outputs` from `inputs`."""
        args = [CValue(text, x.type.dtype) for text, x in zip(inputs, node.inputs, strict=True)]
        names = [f"{name}_{i}" for i in range(self.nout)]
        statements = [f"{output} = {text};" for output, text in zip(outputs, names, strict=True)]
        return "\n".join(["{", *self.c_statements(args, names), *statements, "}"])

    def c_statements(self, args: Sequence[CValue], names: Sequence[str]) -> list[str]:
        """Give C statements that define temporaries, and then a variable for each result."""
        program = self.program.retyped([arg.dtype for arg in args])
        statements, results = program.emit(args, f"{names[0]}_")
        for name, value in zip(names, results, strict=True):
            statements.append(f"const {c_type(value.dtype)} {name} = {value.text};")
        return statements


def program_for(op: ScalarOp, dtypes: Sequence[str]) -> ScalarProgram | OneOp:
    """Return the program that a kernel runs for each element of inputs of some dtypes."""
    alone = op.nout > 1 and not isinstance(op, Composite)
    return OneOp(op, tuple(dtypes)) if alone else program_of(op, dtypes)


def _without_float16(program: ScalarProgram) -> ScalarProgram:
    """Write a program with float32 in place of float16."""
    builder = ProgramBuilder([_WIDER.get(dtype, dtype) for dtype in program.input_dtypes])
    numbers = list(range(len(program.input_dtypes)))
    constants = []
    for k, (dtype, data) in enumerate(program.constants):
        wider = _WIDER.get(dtype)
        value = data if wider is None else np.asarray(program.constant(-1 - k)).astype(wider).tobytes()
        constants.append(builder.constant(wider or dtype, value))
    for step in program.steps:
        op = cast("float32") if step.op == cast("float16") else step.op
        arguments = [numbers[n] if n >= 0 else constants[-1 - n] for n in step.args]
        numbers.extend(builder.step(op, arguments, [builder.dtype_of(n) for n in arguments]))
    return builder.finish([numbers[n] if n >= 0 else constants[-1 - n] for n in program.outputs])


_WIDER = {"float16": "float32"}


@pullback.register(Composite)
def _pullback(node: Apply, cotangents: list[Any]) -> list[Any]:
    inputs = [as_scalar(x) for x in node.inputs]
    fresh = [x.type() for x in inputs]
    outputs = node.op.program.retyped([x.dtype for x in inputs]).rebuild(fresh)
    nodes = applys_between(fresh, outputs)
    seeds: dict[Variable, Any] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        if cotangent is not None:
            seeds[output] = cotangent if output not in seeds else seeds[output] + cotangent
    found = reverse_accumulate(nodes, seeds, scalar_pullback)
    gradients = [found.get(x) for x in fresh]
    present = [w for w in gradients if w is not None]
    on_inputs = iter(_substitute(present, fresh, inputs))
    return [None if w is None else next(on_inputs) for w in gradients]


@pushforward.register(Composite)
def _pushforward(node: Apply, tangents: list[Any]) -> list[Any]:
    inputs = [as_scalar(x) for x in node.inputs]
    fresh = [x.type() for x in inputs]
    outputs = node.op.program.retyped([x.dtype for x in inputs]).rebuild(fresh)
    tangent_of: dict[Variable, Any] = {x: t for x, t in zip(fresh, tangents, strict=True) if t is not None}
    for inner in applys_between(fresh, outputs):
        tangents_of_inputs = [tangent_of.get(x) for x in inner.inputs]
        if any(t is not None for t in tangents_of_inputs):
            (result,) = pushforward.lookup(inner.op)(inner, tangents_of_inputs)
            if result is not None:
                tangent_of[inner.outputs[0]] = result
    tangents_of_outputs = [tangent_of.get(x) for x in outputs]
    on_inputs = iter(_substitute([w for w in tangents_of_outputs if w is not None], fresh, inputs))
    return [None if w is None else next(on_inputs) for w in tangents_of_outputs]


def _substitute(outputs: Sequence[Any], old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Rebuild `outputs` with `old` variables replaced; seeds that do not depend on `old` stay as they are."""
    replaced: dict[Any, Any] = dict(zip(old, new, strict=True))
    for node in applys_between([], outputs):
        if any(x in replaced for x in node.inputs):
            copy = node.clone_with_new_inputs([replaced.get(x, x) for x in node.inputs])
            replaced.update(zip(node.outputs, copy.outputs, strict=True))
    return [replaced.get(x, x) for x in outputs]
