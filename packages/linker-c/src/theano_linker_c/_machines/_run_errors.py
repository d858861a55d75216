"""The text of an error of a running program: the node, its operands and where it was built."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from theano_graph import Apply, Origin, Variable, cell_of, config, describe

from .._instructions._data import Instruction, Program
from ._error_details import details

#: Exceptions whose text is more than their one argument would be shown by changing it.
_PLAIN_STR = BaseException.__str__
_MOST_OPERANDS = 12
#: Arrays of so many elements at most are shown, not only described.
_MOST_SHOWN = 5
#: The innermost frames say which line it was; those above them, for whom.
_MOST_FRAMES = 4
_ADVICE = "\n  Hint:"


class NodeError(Exception):
    """Raised by a runner of several nodes as one instruction: which of them has failed, and why.

    Parameters
    ----------
    node : Apply
    values : sequence
        Facts about its inputs: values, or anything with a dtype, a shape and strides.
    error : Exception
        The exception for the caller.
    """

    def __init__(self, node: Apply, values: Sequence[Any], error: Exception) -> None:
        super().__init__(node, values, error)
        self.node = node
        self.values = values
        self.error = error


def annotate(error: BaseException, program: Program, index: int, values: Sequence[Any]) -> BaseException:
    """Add to an exception the instruction that raised it, its operands, and where its node was made.

    Exceptions with one text as their argument get a longer text, others a note. Interrupts are left alone. The flag
    ``exception_verbosity`` sets the detail.

    Parameters
    ----------
    error : BaseException
    program : Program
    index : int
        The instruction that failed.
    values : sequence
        The values of its inputs.

    Returns
    -------
    BaseException
        `error` itself; of a :class:`NodeError` the one that it holds, which names the node inside.
    """
    if isinstance(error, NodeError):
        return annotate_node(error.error, error.node, error.values)
    instructions = program.instructions
    position = [
        f"  Apply node that caused the error: {instructions[index].node}",
        f"  Toposort index: {program.position_of(index)}, of {len(instructions)} node{'s' * (len(instructions) != 1)}",
    ]
    return _annotate(error, program, index, values, position)


def _annotate(
    error: BaseException, program: Program, index: int, values: Sequence[Any], position: list[str]
) -> BaseException:
    if not isinstance(error, Exception):
        return error
    text = "\n".join([*_lines(program, index, values), *position, *_hints()])
    with contextlib.suppress(AttributeError):
        # The name that Theano 1.0 gave it: programs that hand graphs to us find their own node by it.
        error.__op_instance__ = program.instructions[index].node  # type: ignore[attr-defined]
    args = error.args
    if len(args) == 1 and isinstance(args[0], str) and type(error).__str__ is _PLAIN_STR:
        # The place goes before the advice.
        what, advice, hint = args[0].partition(_ADVICE)
        error.args = (f"{what}\n{text}{advice}{hint}",)
    else:
        error.add_note(text)
    return error


def annotate_node(error: BaseException, node: Apply, values: Sequence[Any] = ()) -> BaseException:
    """Add to an exception which node raised it, as :func:`annotate` does for an instruction.

    Parameters
    ----------
    error : BaseException
    node : Apply
    values : sequence
        The values of its inputs, if they are known.

    Returns
    -------
    BaseException
        `error` itself.
    """
    count = len(node.inputs)
    alone = Instruction(node, tuple(range(count)), tuple(range(count, count + len(node.outputs))), ())
    operands = list(values) if len(values) == count else [None] * count
    return _annotate(error, Program((alone,), count + len(node.outputs), (), (), (), (), ()), 0, operands, [])


def mismatch(node: Apply, values: Sequence[Any]) -> BaseException:
    """Return the error for operands that a native kernel refused: the one that the op's own Python code raises."""
    try:
        node.op.perform(node, list(values), [[None] for _ in node.outputs])
    except Exception as error:  # noqa: BLE001  (any error of the op is handed on)
        return error
    shapes = ", ".join(str(getattr(value, "shape", "?")) for value in values)
    return ValueError(f"{node.op}: operands of shapes {shapes} do not fit the types that the node was built with")


def _lines(program: Program, index: int, values: Sequence[Any]) -> list[str]:
    node = program.instructions[index].node
    origin = getattr(node, "origin", None)
    lines = [f"  in `{node.op}`" + (f", called at {origin}" if origin is not None else "")]
    pairs = list(zip(node.inputs, values, strict=True))
    lines.extend(
        f"    input {i}: {_operand(variable, value)}" for i, (variable, value) in enumerate(pairs[:_MOST_OPERANDS])
    )
    if len(pairs) > _MOST_OPERANDS:
        lines.append(f"    and {len(pairs) - _MOST_OPERANDS} more inputs")
    if origin is not None:
        lines.extend(_backtrace(origin))
    if config.exception_verbosity == "high":
        lines.extend(details(program, index, values))
    return lines


def _backtrace(origin: Origin) -> list[str]:
    """Return the lines of the user's program that made a node, outermost first, with their text if it can be read."""
    lines = ["  Backtrace when the node is created:"]
    for filename, lineno, function, text in origin.entries()[-_MOST_FRAMES:]:
        cell = cell_of(filename)
        location = f'File "{filename}"' if cell is None else f"Cell {cell}"
        lines.append(f"    {location}, line {lineno}, in {function}")
        if text:
            lines.append(f"      {text}")
    return lines


def _hints() -> list[str]:
    """Return which flags tell more."""
    hints = []
    if config.optimizer not in ("fast_compile", "None"):
        hints.append(
            "  HINT: with the flag optimizer=fast_compile, or optimizer=None, most nodes are lines of the program."
        )
    if config.exception_verbosity != "high":
        hints.append("  HINT: the flag exception_verbosity=high shows the graph above the node, and stored values.")
    return hints


def _operand(variable: Variable, value: Any) -> str:
    if value is None:  # not known, or the only one of its type
        return describe(variable)
    if isinstance(value, np.ndarray):
        text = f"{describe(variable)}; got {value.dtype} of shape {value.shape}, strides {value.strides}"
        return f"{text}, values {value.tolist()}" if 0 < value.size <= _MOST_SHOWN else text
    if hasattr(value, "strides") and hasattr(value, "dtype"):  # an array on a device
        return f"{describe(variable)}; got {value.dtype} of shape {value.shape}, strides {value.strides}"
    return f"{describe(variable)}; got {type(value).__name__}"
