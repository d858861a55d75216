"""Short texts that say what a variable is."""

from __future__ import annotations

from typing import Any

from .._errors import format_error
from .._expression._nodes import Apply, Variable
from .._traversal._walk import toposort
from ._printable import letters


def _as_variable(obj: Any) -> Variable:
    if isinstance(obj, Apply):
        found: Variable = obj.default_output()
        return found
    if isinstance(obj, Variable):
        return obj
    raise TypeError(format_error(f"{obj!r} is no variable", hint="pass a variable, or a node with one output"))


def min_informative_str(obj: Any, indent_level: int = 0) -> str:
    """Return as much of a graph as says what a variable is in terms of constants and named variables.

    Parameters
    ----------
    obj : Variable or Apply
    indent_level : int
        Number of tabulators before each line.

    Returns
    -------
    str
        One line for each variable, its inputs below it with one more space. Each has a letter; a variable that was
        shown before is its letter alone, in angle brackets.

    Raises
    ------
    TypeError
        If `obj` is no variable.

    Examples
    --------
    >>> from theano_graph import generic
    >>> min_informative_str(generic("x"))
    'A. x'
    """
    names: dict[Variable, str] = {}
    lines: list[str] = []
    work = [(_as_variable(obj), 0)]
    while work:
        variable, level = work.pop()
        indent = "\t" * indent_level + " " * level
        if variable in names:
            lines.append(f"{indent}<{names[variable]}>")
            continue
        names[variable] = letters(len(names))
        node = variable.owner
        if variable.name is not None or node is None:
            lines.append(f"{indent}{names[variable]}. {variable}")
            continue
        lines.append(f"{indent}{names[variable]}. {_op_text(variable, node)}")
        work.extend((x, level + 1) for x in reversed(node.inputs))
    return "\n".join(lines)


def var_descriptor(obj: Any) -> str:
    """Return one line that says fully how a variable is computed, the same in each process.

    Parameters
    ----------
    obj : Variable or Apply

    Returns
    -------
    str
        Nested calls. A part that is used again, or an input without a name, is numbered where it first stands
        (``<1>=``) and is its number afterwards.

    Raises
    ------
    TypeError
        If `obj` is no variable.

    Examples
    --------
    >>> from theano_graph import generic
    >>> var_descriptor(generic("x"))
    'x'
    """
    root = _as_variable(obj)
    uses: dict[Variable, int] = {}
    for node in toposort((), [root]):
        for x in node.inputs:
            uses[x] = uses.get(x, 0) + 1
    numbers: dict[Variable, str] = {}
    parts: list[str] = []
    work: list[str | Variable] = [root]
    while work:
        item = work.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item in numbers:
            parts.append(numbers[item])
        else:
            if uses.get(item, 0) > 1 and (item.owner is not None or item.name is None):
                numbers[item] = f"<{len(numbers) + 1}>"
                parts.append(f"{numbers[item]}=")
            if item.owner is None:
                parts.append(str(item))
            else:
                work.extend(reversed(_call(item, item.owner)))
    return "".join(parts)


def _call(variable: Variable, node: Apply) -> list[str | Variable]:
    pieces: list[str | Variable] = [f"{_op_text(variable, node)}("]
    for i, x in enumerate(node.inputs):
        if i:
            pieces.append(", ")
        pieces.append(x)
    pieces.append(")")
    return pieces


def _op_text(variable: Variable, node: Apply) -> str:
    return str(node.op) if len(node.outputs) == 1 else f"{node.op}.{variable.index}"
