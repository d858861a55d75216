"""Scalar programs as statements, and passes over statements before they are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ..scalar import CValue, OneOp, ScalarProgram, c_literal, c_type
from .ir import (
    Accumulate,
    Assign,
    Body,
    Buffer,
    Expression,
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
    Total,
    Value,
    operand_value,
    value_of_text,
)
from .lengths import ONE, Length
from .print import expression_value

# ---- Scalar programs as statements: the innermost part of every loop over elements


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


# ---- Variables and memory that statements read and write


def walk(body: Iterable[Statement]) -> Iterator[Statement]:
    """Go through statements, and those inside of them, in the order of their text."""
    waiting = [iter(body)]
    while waiting:
        for statement in waiting[-1]:
            yield statement
            bodies = statement.bodies()
            if bodies:
                waiting += [iter(inner) for inner in reversed(bodies)]
                break
        else:
            waiting.pop()


def named_in(body: Iterable[Statement]) -> set[str]:
    """Return all names that statements read or write, functions among them."""
    names: set[str] = set()
    for statement in walk(body):
        names.update(statement.reads())
        names.update(statement.writes())
    return names


def written_in(body: Iterable[Statement]) -> set[str]:
    """Return the variables that statements define, or to which they give values."""
    names: set[str] = set()
    for statement in walk(body):
        names.update(statement.defines(), statement.writes(), statement.own())
    return names


# ---- Loop-invariant code: statements that can stand before the braces of a loop or a branch


def hoisted(
    body: Sequence[Statement], is_fixed: Callable[[str], bool]
) -> tuple[list[Statement], list[Statement], set[str]]:
    """Part the statements of a body into statements that can stand before it, and others.

    Parameters
    ----------
    body : sequence of Statement
    is_fixed : callable
        Tells of a variable that the body does not define whether it is known before the braces, where it has the
        value that it has inside.

    Returns
    -------
    before, after : list of Statement
    names : set of str
        Variables that `before` defines.
    """
    inside = written_in(body)
    before: list[Statement] = []
    after: list[Statement] = []
    names: set[str] = set()
    for statement in body:
        if statement.total and all(name in names if name in inside else is_fixed(name) for name in statement.reads()):
            before.append(statement)
            names.update(statement.defines())
        else:
            after.append(statement)
    return before, after, names


# ---- Dead code: variables whose values nothing reads


def without_unread(body: Sequence[Statement]) -> Body:
    """Leave out definitions of variables, and new values of them, that nothing reads.

    Parameters
    ----------
    body : sequence of Statement
        Of a whole function.
    """
    statements = list(walk(body))
    defined = {name for statement in statements for name in statement.defines()}
    reads: list[set[str]] = []
    readers: dict[str, int] = {}
    setters: dict[str, list[int]] = {}
    sets: list[set[str]] = []
    for i, statement in enumerate(statements):
        read = set(statement.reads())
        names = set() if statement.effect else {*statement.defines(), *statement.writes()}
        if not names <= defined:
            names = set()
        reads.append(read)
        sets.append(names)
        for name in names:
            setters.setdefault(name, []).append(i)
        for name in read if names else read | set(statement.writes()):
            readers[name] = readers.get(name, 0) + 1
    dropped = _dropped(statements, reads, sets, readers, setters)
    return _left(body, {id(statements[i]) for i in dropped}) if dropped else tuple(body)


def _moves(statement: Statement) -> bool:
    return isinstance(statement, Let) and statement.moves


def _dropped(
    statements: Sequence[Statement],
    reads: Sequence[set[str]],
    sets: Sequence[set[str]],
    readers: dict[str, int],
    setters: dict[str, list[int]],
) -> set[int]:
    """Return the numbers of statements that only set variables which nothing reads, or only such statements."""
    dropped: set[int] = set()
    waiting = [name for name in setters if not readers.get(name)]
    while waiting:
        for i in setters[waiting.pop()]:
            if i in dropped or any(readers.get(name) for name in sets[i]):
                continue
            dropped.add(i)
            for name in () if _moves(statements[i]) else reads[i]:
                readers[name] -= 1
                if not readers[name] and name in setters:
                    waiting.append(name)
    return dropped


def _left(body: Sequence[Statement], dropped: set[int]) -> Body:
    """Return statements without some, by their identities."""
    left: list[Statement] = []
    for statement in body:
        bodies = statement.bodies()
        if id(statement) not in dropped:
            left.append(statement.with_bodies([_left(inner, dropped) for inner in bodies]) if bodies else statement)
        elif isinstance(statement, Let) and statement.moves and statement.value is not None:
            left.append(Opaque((f"(void)({expression_value(statement.value).text});",)))
    return tuple(left)


# ---- Accumulations as loops, each by its scheme

#: Returns a name that has not been used, with a prefix.
Fresh = Callable[[str], str]


def without_accumulations(body: Sequence[Statement], fresh: Fresh) -> Body:
    """Write accumulations out as loops.

    Parameters
    ----------
    body : sequence of Statement
    fresh : callable
        Returns a name that has not been used, with a prefix.
    """
    statements: list[Statement] = []
    for statement in body:
        bodies = statement.bodies()
        if bodies:
            statement = statement.with_bodies([without_accumulations(inner, fresh) for inner in bodies])
        if isinstance(statement, Accumulate):
            statements += _written_out(statement, fresh)
        else:
            statements.append(statement)
    return tuple(statements)


def _written_out(node: Accumulate, fresh: Fresh) -> list[Statement]:
    starts = [Let(t.name, c_type(t.dtype), _number(t.seed, t.dtype), False) for t in node.totals]
    if node.scheme.lanes == 1:
        body: Body = (*node.body, *_joined_to_totals(node.totals, node.values))
        return [*starts, *_loops(node.indices, node.lengths, body)]
    return [*starts, *_Lanes(node, fresh).written()]


def _loops(indices: Sequence[str], lengths: Sequence[Length], body: Body) -> Body:
    for index, length in zip(reversed(indices), reversed(lengths), strict=True):
        body = (Loop(LoopKind.SERIAL, index, length, body),)
    return body


def _number(number: object, dtype: str) -> Value:
    return Value(CValue(c_literal(number, dtype), dtype, number), ())


def _variable(name: str, dtype: str) -> Value:
    return Value(CValue(name, dtype), (name,))


def _joined_to_totals(totals: Sequence[Total], values: Sequence[Expression]) -> list[Statement]:
    return [
        Assign(t.name, Joined(t.op, _variable(t.name, t.dtype), value, t.dtype))
        for t, value in zip(totals, values, strict=True)
    ]


class _Lanes:
    """Partial totals that lie side by side in arrays, and take up the elements of the innermost loop in turn."""

    def __init__(self, node: Accumulate, fresh: Fresh) -> None:
        self.node, self.fresh = node, fresh
        self.width, self.part = node.scheme.lanes, node.scheme.part
        self.length, self.inner = node.lengths[-1], node.indices[-1]
        self.lanes = [Buffer(fresh("lanes"), t.part_dtype, 1, "numbers") for t in node.totals]
        self.lane, self.index = fresh("k"), fresh("i")

    def written(self) -> list[Statement]:
        """Return the loops."""
        node, index, width, length = self.node, self.index, self.width, self.length
        arrays: list[Statement] = []
        for buffer, total in zip(self.lanes, node.totals, strict=True):
            seeds = ", ".join([c_literal(total.seed, total.part_dtype)] * width)
            text = f"{c_type(total.part_dtype)} {buffer.pointer}[{width}] = {{{seeds}}};"
            arrays.append(Opaque((text,), (buffer.pointer,)))
        row: list[Statement] = [Let(index, "int64_t", value_of_text("0"), False)]
        if length.known and length.factor <= self.part:
            row += [self._sets(length.atom), self._taken()]
        else:
            end, left = self.fresh("n"), self.fresh("n")
            upto = f"{index} + ({left} < {self.part} ? {left} : {self.part})"
            body: Body = (
                Let(left, "int64_t", value_of_text(f"{length.atom} - {index}")),
                Let(end, "int64_t", value_of_text(upto)),
                self._sets(end),
                self._taken(),
            )
            row.append(Region(f"while ({index} + {width} <= {length.atom})", body))
        if not (length.known and length.factor % width == 0):
            values = [_replaced(value, self.inner, (index,)) for value in node.values]
            body = (*_moved(node.body, self.inner, (index,)), *_joined_to_totals(node.totals, values))
            row.append(Region(f"for (; {index} < {length}; {index}++)", body, (), (index,)))
        return [*arrays, *_loops(node.indices[:-1], node.lengths[:-1], tuple(row))]

    def _each_lane(self, lane: str, body: Body) -> Region:
        return Region(f"for (int {lane} = 0; {lane} < {self.width}; {lane}++)", body, (lane,), (lane,))

    def _sets(self, end: str) -> Region:
        """Return the loop over whole sets of lanes."""
        node, index, position = self.node, self.index, (self.index, self.lane)
        at = Index.of([self.lane], [ONE])
        body = list(_moved(node.body, self.inner, position))
        for buffer, total, value in zip(self.lanes, node.totals, node.values, strict=True):
            joined = Joined(total.op, Load(buffer, at), _replaced(value, self.inner, position), total.part_dtype)
            body.append(Store(buffer, at, joined))
        head = f"for (; {index} + {self.width} <= {end}; {index} += {self.width})"
        return Region(head, (self._each_lane(self.lane, tuple(body)),), (), (index,))

    def _taken(self) -> Region:
        """Return how the totals take up the lanes, which begin anew, so that long sums are made of short ones."""
        lane = self.fresh("k")
        at = Index.of([lane], [ONE])
        body: list[Statement] = []
        for buffer, total in zip(self.lanes, self.node.totals, strict=True):
            body += _joined_to_totals([total], [Load(buffer, at)])
            body.append(Store(buffer, at, _number(total.seed, total.part_dtype)))
        return self._each_lane(lane, tuple(body))


# ---- other names for an index


def _moved(body: Body, index: str, names: tuple[str, ...]) -> Body:
    """Return statements in which an index is the sum of other variables."""
    statements: list[Statement] = []
    for statement in body:
        if isinstance(statement, Let) and statement.value is not None:
            statement = replace(statement, value=_replaced(statement.value, index, names))
        elif isinstance(statement, Store):
            value = _replaced(statement.value, index, names)
            statement = Store(statement.buffer, _position(statement.position, index, names), value)
        elif isinstance(statement, Move):
            source = _replaced(statement.source, index, names)
            assert isinstance(source, Load)
            statement = Move(statement.buffer, _position(statement.position, index, names), source)
        statements.append(statement)
    return tuple(statements)


def _replaced(expression: Expression, index: str, names: tuple[str, ...]) -> Expression:
    if isinstance(expression, Load):
        return Load(expression.buffer, _position(expression.position, index, names))
    if isinstance(expression, Joined):
        left, right = (_replaced(side, index, names) for side in (expression.left, expression.right))
        return Joined(expression.op, left, right, expression.dtype)
    return expression


def _position(position: Position, index: str, names: tuple[str, ...]) -> Position:
    if isinstance(position, Index):
        return position.replaced(index, names)
    return Load(position.buffer, _position(position.position, index, names)) if isinstance(position, Load) else position


__all__ = ["program_statements", "named_in", "walk", "written_in", "hoisted", "without_unread", "without_accumulations"]
