"""Scalar programs as statements: the innermost part of every loop over elements."""

from __future__ import annotations

from collections.abc import Sequence

from ..scalar import CValue, OneOp, ScalarProgram, c_type
from .ir import Let, Opaque, Statement, Value, operand_value

__all__ = ["program_statements"]


def program_statements(
    program: ScalarProgram | OneOp, operands: Sequence[CValue], prefix: str
) -> tuple[list[Statement], list[Value]]:
    """Return the statements that compute a program, and its results.

    Parameters
    ----------
    program : ScalarProgram or OneOp
    operands : sequence of CValue
    prefix : str
        Names of variables begin with it, and go on with numbers.
    """
    definitions, results = program.definitions(operands, prefix)
    statements: list[Statement] = []
    for definition in definitions:
        if definition.value is None:
            statements.append(Opaque(definition.statements, definition.names))
        else:
            (name,) = definition.names
            statements.append(Let(name, c_type(definition.value.dtype), operand_value(definition.value)))
    return statements, [operand_value(result) for result in results]
