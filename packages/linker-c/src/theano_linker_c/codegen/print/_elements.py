"""Elements of memory and expressions as C text."""

from __future__ import annotations

from ...scalar import CValue, c_cast, c_loaded, c_type
from ..ir import Buffer, Expression, Index, Joined, Load, Position, Value

__all__ = ["element_text", "expression_value", "joined_text", "position_text"]


def position_text(position: Position) -> str:
    """Return how many elements behind the first one a place is."""
    if isinstance(position, Index):
        return str(position)
    return element_text(position.buffer, position.position) if isinstance(position, Load) else position.operand.text


def element_text(buffer: Buffer, position: Position) -> str:
    """Return an element, as it is in memory."""
    pointer = buffer.pointer
    return pointer[1:] if pointer[0] == "&" else f"{pointer}[{position_text(position)}]"


def expression_value(expression: Expression) -> CValue:
    """Return an expression as an operand of scalar code."""
    if isinstance(expression, Value):
        return expression.operand
    if isinstance(expression, Load):
        buffer = expression.buffer
        element = element_text(buffer, expression.position)
        return CValue(element if buffer.space == "numbers" else c_loaded(element, buffer.dtype), buffer.dtype)
    left, right = expression_value(expression.left), expression_value(expression.right)
    return CValue(f"({joined_text(expression, left, right)})", expression.dtype)


def joined_text(joined: Joined, left: CValue, right: CValue) -> str:
    """Return two values joined, in the dtype of the result."""
    dtype, text = joined.dtype, c_cast(right, joined.dtype)
    operands = [CValue(left.text, dtype), CValue(text if text.isidentifier() else f"({text})", dtype)]
    return f"({c_type(dtype)})({joined.op.c_expression(operands, dtype)})"
