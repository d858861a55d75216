"""The loop IR as text: as C99 and C of devices for compilers, and as it is for readers and tests."""

from __future__ import annotations

from collections.abc import Sequence

from ..scalar import CValue, c_cast, c_loaded, c_stored, c_type
from .ir import (
    Accumulate,
    Assign,
    Buffer,
    Check,
    Expression,
    If,
    Index,
    Joined,
    Let,
    Load,
    Loop,
    LoopKind,
    Move,
    Opaque,
    Position,
    Region,
    Statement,
    Store,
    Value,
)

# ---- Elements of memory and expressions as C text


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


# ---- Statements as lines of C, whose dialect a printer says


class StatementWriter:
    """Collects the lines of statements.

    Attributes
    ----------
    indent : str
        Stands before the lines of one more body.
    lines : list of str
    """

    indent = "    "

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> str:
        """Return C text in the dialect."""
        return text

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        """Return lines that stand before a loop, and its head."""
        raise NotImplementedError

    def failed(self, check: Check, condition: str) -> str:
        """Return the statement that ends a call unless a condition holds."""
        raise NotImplementedError

    def write(self, body: Sequence[Statement], depth: int) -> None:
        """Add the lines of statements."""
        lines, indent = self.lines, self.indent * depth
        for statement in body:
            bodies = statement.bodies()
            if not bodies:
                lines += [f"{indent}{self.line(line)}" for line in self._lines_of(statement)]
                continue
            before, head = self._head(statement)
            lines += before
            lines.append(f"{indent}{head} {{" if head else f"{indent}{{")
            self.write(bodies[0], depth + 1)
            lines.append(f"{indent}}}")
            if len(bodies) > 1 and bodies[1]:
                lines.append(f"{indent}else {{")
                self.write(bodies[1], depth + 1)
                lines.append(f"{indent}}}")

    def _lines_of(self, statement: Statement) -> Sequence[str]:
        if isinstance(statement, Opaque):
            return statement.lines
        if isinstance(statement, Let):
            return [_definition(statement)]
        if isinstance(statement, Store):
            buffer, value = statement.buffer, statement.value
            numbers = buffer.space == "numbers"
            text = _text(value) if numbers else c_stored(expression_value(value), buffer.dtype)
            return [f"{element_text(buffer, statement.position)} = {text};"]
        if isinstance(statement, Move):
            source = element_text(statement.source.buffer, statement.source.position)
            return [f"{element_text(statement.buffer, statement.position)} = {source};"]
        if isinstance(statement, Assign):
            return [f"{statement.name} = {_text(statement.value)};"]
        assert isinstance(statement, Check), f"{type(statement).__name__} has no form in C"
        return [self.failed(statement, "" if statement.condition is None else _text(statement.condition))]

    def _head(self, statement: Statement) -> tuple[list[str], str]:
        if isinstance(statement, Loop):
            return self.loop(statement)
        if isinstance(statement, If):
            return [], f"if ({_text(statement.condition)})"
        assert isinstance(statement, Region), f"{type(statement).__name__} has no form in C"
        return [], self.line(statement.head)


def _text(expression: Expression) -> str:
    """Return an expression that stands alone."""
    if isinstance(expression, Joined):
        return joined_text(expression, expression_value(expression.left), expression_value(expression.right))
    return expression_value(expression).text


def _definition(statement: Let) -> str:
    kind, constant = statement.kind, statement.constant
    if kind.endswith("*"):
        named = f"{kind}const {statement.name}" if constant else f"{kind}{statement.name}"
    else:
        named = f"const {kind} {statement.name}" if constant else f"{kind} {statement.name}"
    return f"{named};" if statement.value is None else f"{named} = {_text(statement.value)};"


# ---- Statements as portable C99

#: Stands before loops whose turns may run at the same time.
_INDEPENDENT = "THEANO_INDEPENDENT"
_SPECIAL_VALUES = {
    '__builtin_nanf("")': "NAN",
    '__builtin_nan("")': "((double)NAN)",
    "__builtin_inff()": "INFINITY",
    "__builtin_inf()": "((double)INFINITY)",
    "__builtin_": "",
}


def portable(text: str) -> str:
    """Return C99 text for text with calls that only gcc and clang know.

    Examples
    --------
    >>> portable("__builtin_fabs(x) < __builtin_inf()")
    'fabs(x) < ((double)INFINITY)'
    """
    if "__builtin_" in text:
        for special, standard in _SPECIAL_VALUES.items():
            text = text.replace(special, standard)
    return text


def c99_lines(body: Sequence[Statement], fail: str, depth: int = 1) -> list[str]:
    """Return the lines of statements.

    Parameters
    ----------
    body : sequence of Statement
        Accumulations have been written out as loops.
    fail : str
        Text of a failed check, with ``{}`` for the status code.
    depth : int
        How far the lines are indented.
    """
    writer = _C99(fail)
    writer.write(body, depth)
    return writer.lines


class _C99(StatementWriter):
    def __init__(self, fail: str) -> None:
        super().__init__()
        self._fail = fail

    def line(self, text: str) -> str:
        return portable(text)

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        index = loop.index
        before = [_INDEPENDENT] if loop.kind == LoopKind.VECTOR else []
        return before, f"for (int64_t {index} = 0; {index} < {loop.length}; {index}++)"

    def failed(self, check: Check, condition: str) -> str:
        failure = self._fail.format(check.code)
        return f"if (!({condition})) {failure}" if condition else failure


# ---- Statements as C of OpenCL and CUDA alike, with the words of the device layer's prelude


def device_lines(body: Sequence[Statement]) -> list[str]:
    """Return the lines of statements.

    Work-groups begin at the word ``GID_0``, of ``GDIM_0``. A loop of a known number of turns is written down once for
    each turn only if its kind says so.
    """
    writer = _Device()
    writer.write(body, 0)
    return writer.lines


class _Device(StatementWriter):
    indent = "  "

    def loop(self, loop: Loop) -> tuple[list[str], str]:
        index, length = loop.index, loop.length
        if loop.kind == LoopKind.GROUPS:
            return [], f"for (int64_t {index} = GID_0; {index} < {length}; {index} += GDIM_0)"
        kind = "int" if length.known else "int64_t"
        before = ["#pragma unroll" + " 1" * (loop.kind != LoopKind.UNROLLED)] if length.known else []
        return before, f"for ({kind} {index} = 0; {index} < {length}; {index}++)"

    def failed(self, check: Check, condition: str) -> str:
        raise AssertionError("kernels of devices tell failures by their status")


# ---- Statements in a form for readers, and for tests that compare it


def shown(body: Sequence[Statement], depth: int = 0) -> str:
    """Return statements as text, one a line, each body indented below its statement.

    Parameters
    ----------
    body : sequence of Statement
    depth : int
        How far the lines are indented.
    """
    return "".join(_lines(body, depth))


def _lines(body: Sequence[Statement], depth: int) -> list[str]:
    lines = []
    for statement in body:
        lines += [f"{'  ' * depth}{line}\n" for line in _statement(statement)]
        for k, inner in enumerate(statement.bodies()):
            if k:
                lines.append(f"{'  ' * depth}else\n")
            lines += _lines(inner, depth + 1)
        if isinstance(statement, Accumulate):
            pairs = zip(statement.totals, statement.values, strict=True)
            lines += [
                f"{'  ' * (depth + 1)}{total.name} = {total.op.name}({total.name}, {_expression(value)})\n"
                for total, value in pairs
            ]
    return lines


def _statement(statement: Statement) -> list[str]:
    if isinstance(statement, Let):
        value = "" if statement.value is None else f" = {_expression(statement.value)}"
        more = f"{' total' if statement.total else ''}{' moves' if statement.moves else ''}"
        return [f"{'let' if statement.constant else 'var'} {statement.name}: {statement.kind}{value}{more}"]
    if isinstance(statement, Assign):
        return [f"{statement.name} = {_expression(statement.value)}"]
    if isinstance(statement, Store):
        return [f"store {_element(statement.buffer, statement.position)} = {_expression(statement.value)}"]
    if isinstance(statement, Move):
        source = _element(statement.source.buffer, statement.source.position)
        return [f"move {_element(statement.buffer, statement.position)} = {source}"]
    if isinstance(statement, Check):
        condition = "never" if statement.condition is None else _expression(statement.condition)
        return [f"check {condition} else {statement.code}"]
    if isinstance(statement, Loop):
        return [f"loop {statement.index} < {statement.length} {statement.kind.value}"]
    if isinstance(statement, If):
        return [f"if {_expression(statement.condition)}"]
    if isinstance(statement, Region):
        return [f"region {statement.head}".rstrip() + _named("changes", statement.changed)]
    if isinstance(statement, Accumulate):
        loops = ", ".join(f"{i} < {n}" for i, n in zip(statement.indices, statement.lengths, strict=True))
        scheme = statement.scheme
        how = "serial" if scheme.lanes == 1 else f"lanes {scheme.lanes} part {scheme.part}"
        starts = [f"{t.name}: {t.dtype} from {t.seed}" for t in statement.totals]
        return [f"accumulate {', '.join(starts)} over {loops or 'nothing'} {how}"]
    assert isinstance(statement, Opaque), type(statement)
    ends = _named("defines", statement.defined) + _named("changes", statement.changed)
    first, *others = statement.lines
    return [f"opaque {first}{ends}{' total' if statement.total else ''}", *(f"       {line}" for line in others)]


def _named(what: str, names: Sequence[str]) -> str:
    return f" {what} {' '.join(names)}" if names else ""


def _expression(expression: Expression) -> str:
    if isinstance(expression, Load):
        return _element(expression.buffer, expression.position)
    if isinstance(expression, Joined):
        return f"{expression.op.name}({_expression(expression.left)}, {_expression(expression.right)})"
    return expression.operand.text


def _element(buffer: Buffer, position: Position) -> str:
    if buffer.variable is not None:
        return f"{buffer.variable}: {buffer.dtype}"
    return f"{buffer.space} {buffer.pointer}[{_position(position)}]: {buffer.dtype}"


def _position(position: Position) -> str:
    if isinstance(position, Index):
        return str(position)
    return _expression(position)


__all__ = [
    "element_text",
    "expression_value",
    "joined_text",
    "position_text",
    "StatementWriter",
    "c99_lines",
    "portable",
    "device_lines",
    "shown",
]
