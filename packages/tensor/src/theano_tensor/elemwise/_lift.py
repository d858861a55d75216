"""Differentiation rules of scalar ops, turned into rules on tensors.

A scalar rule is run once per (op, dtypes) on fresh scalar variables. The scalar graph that it returns is kept as a
flat list of
instructions, which are then applied to tensors, op by op, so that rewriting sees them and shares equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from theano_graph import Constant, Variable, config, record, toposort
from theano_linker_c.scalar import NoDerivative, ScalarOp, ScalarType, scalar_pullback, scalar_pushforward

from .._core._convert import constant
from .._core._type import Tensor

Apply1 = Callable[[ScalarOp, Sequence[Tensor]], Sequence[Tensor]]


@record
class LiftedRule:
    """A scalar graph in flat form.

    Registers 0 .. n-1 hold the inputs, then come the constants, then the outputs of each instruction in turn. A
    result is a
    register, None where the rule says that nothing is connected, or a text that says why there is no derivative.
    """

    constants: tuple[Any, ...]
    instructions: tuple[tuple[ScalarOp, tuple[int, ...]], ...]
    results: tuple[int | str | None, ...]

    def apply(self, values: Sequence[Tensor], ndim: int, apply_op: Apply1) -> list[Tensor | str | None]:
        """Run the graph on tensors with `ndim` dimensions."""
        registers = list(values)
        registers.extend(constant(np.reshape(data, (1,) * ndim)) for data in self.constants)
        for op, arguments in self.instructions:
            registers.extend(apply_op(op, [registers[i] for i in arguments]))
        return [registers[i] if isinstance(i, int) else i for i in self.results]


def _flatten(inputs: Sequence[Variable], results: Sequence[Variable | None]) -> LiftedRule:
    register: dict[Variable, int] = {v: i for i, v in enumerate(inputs)}
    needed = [v for v in results if v is not None and not isinstance(v.type, NoDerivative)]
    nodes = toposort(inputs, needed)
    constants: list[Any] = []
    for variable in [v for node in nodes for v in node.inputs] + needed:
        if variable not in register and isinstance(variable, Constant):
            register[variable] = len(inputs) + len(constants)
            constants.append(variable.data)
    instructions = []
    count = len(inputs) + len(constants)
    for node in nodes:
        instructions.append((node.op, tuple(register[v] for v in node.inputs)))
        for output in node.outputs:
            register[output] = count
            count += 1
    return LiftedRule(tuple(constants), tuple(instructions), tuple(_result(v, register) for v in results))


def _result(variable: Variable | None, register: dict[Variable, int]) -> int | str | None:
    if variable is None:
        return None
    return variable.type.reason if isinstance(variable.type, NoDerivative) else register[variable]


@lru_cache(maxsize=4096)
@config.change_flags(compute_test_value="off")  # the scalar variables here have no test values
def lifted_pullback(op: ScalarOp, dtypes: tuple[str, ...], cotangent_dtypes: tuple[str, ...]) -> LiftedRule:
    """Return the pullback of `op`; its registers start with inputs, then outputs, then cotangents.

    Raises
    ------
    MissingRuleError
        If the scalar op has none.
    """
    inputs = [ScalarType(dtype).make_variable() for dtype in dtypes]
    cotangents: list[Variable] = [ScalarType(dtype).make_variable() for dtype in cotangent_dtypes]
    node = op.make_node(*inputs)
    results = scalar_pullback(op)(node, cotangents)
    return _flatten([*inputs, *node.outputs, *cotangents], list(results))


@lru_cache(maxsize=1024)
@config.change_flags(compute_test_value="off")
def lifted_pushforward(
    op: ScalarOp, dtypes: tuple[str, ...], tangent_dtypes: tuple[str | None, ...]
) -> LiftedRule | None:
    """Return the pushforward of `op`, or None if none is registered; registers.

    Inputs, outputs, tangents that are there.
    """
    rule = scalar_pushforward(op)
    if rule is None:
        return None
    inputs = [ScalarType(dtype).make_variable() for dtype in dtypes]
    tangents: list[Variable | None] = [None if d is None else ScalarType(d).make_variable() for d in tangent_dtypes]
    node = op.make_node(*inputs)
    results = rule(node, tangents)
    return _flatten([*inputs, *node.outputs, *(t for t in tangents if t is not None)], list(results))
