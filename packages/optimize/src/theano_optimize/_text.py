"""Text of expressions, to a limited depth."""

from __future__ import annotations

from collections.abc import Sequence

from theano_graph import Variable, debugprint

#: More inputs than this are cut short.
SHOWN_INPUTS = 8


def expression_text(variable: Variable, depth: int) -> str:
    """Return an expression on one line: nested calls to `depth` levels, dots below.

    Examples
    --------
    >>> from theano_graph import Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> neg, x = Neg(), Generic()("x")
    >>> expression_text(neg(neg(neg(x))), 2)
    'Neg(Neg(...))'
    """
    node = variable.owner
    if node is None:
        return str(variable)
    if depth <= 0:
        return "..."
    parts = [expression_text(v, depth - 1) for v in node.inputs[:SHOWN_INPUTS]]
    if len(node.inputs) > SHOWN_INPUTS:
        parts.append(f"{len(node.inputs) - SHOWN_INPUTS} more")
    index = f".{variable.index}" if len(node.outputs) > 1 else ""
    return f"{node.op}({', '.join(parts)}){index}"


def tree_lines(variables: Sequence[Variable], depth: int) -> list[str]:
    """Return the lines of the indented tree of some expressions, with types, to `depth` levels."""
    return str(debugprint(list(variables), depth=depth, print_type=True, file="str")).rstrip().split("\n")
