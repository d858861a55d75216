"""Errors of a running program: the node, its operands and where it was built; checks of the results of ops' code."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from theano_graph import Apply, Generic, Origin, Type, Variable, cell_of, config, debugprint, describe, format_error

from .._perform import OwnThunk, ResultError, replaced_cell
from ..cop import CThunk
from ..scalar import ScalarType
from ._instructions import ArraySpec, Instruction, Program, array_spec_of

# ---- Details of errors of a running program beyond the failing node, for exception_verbosity=high

_MOST_VALUES = 30
_MOST_LINES = 60
_DEPTH = 12


def details(program: Program, index: int, values: Sequence[Any]) -> list[str]:
    """Return the tree above an instruction, and stored values: its operands, shared values and constants.

    Parameters
    ----------
    program : Program
    index : int
        The instruction that failed.
    values : sequence
        The values of its inputs.

    Returns
    -------
    list of str
        The largest values come first. Long trees and long lists are cut.
    """
    node = program.instructions[index].node
    tree = str(debugprint(node, depth=_DEPTH, print_type=True, file="str")).splitlines()
    lines = ["  Debugprint of the apply node:", *(f"    {line}" for line in tree[:_MOST_LINES])]
    if len(tree) > _MOST_LINES:
        lines.append("    ...")
    stored = sorted(_stored(program, index, values), key=lambda item: -item[2])
    total = sum(size for _, _, size in stored)
    lines.append(f"  Storage map ({total} bytes in operands, shared values and constants):")
    lines.extend(f"    {name}: {text}" for name, text, _ in itertools.islice(stored, _MOST_VALUES))
    if len(stored) > _MOST_VALUES:
        lines.append(f"    and {len(stored) - _MOST_VALUES} more")
    return lines


def _stored(program: Program, index: int, values: Sequence[Any]) -> Iterator[tuple[str, str, int]]:
    """Yield name, text and size in bytes of each value, once."""
    variables: dict[int, Variable] = {}
    for instruction in program.instructions:
        variables.update(zip(instruction.inputs, instruction.node.inputs, strict=True))
    shared, constants = dict(program.cells), dict(program.constants)
    values_stored: dict[int, tuple[str, Any]] = {}
    for register, value in zip(program.instructions[index].inputs, values, strict=True):
        kind = "shared" if register in shared else "constant" if register in constants else "operand"
        values_stored[register] = (kind, value)
    for register, cell in shared.items():
        values_stored.setdefault(register, ("shared", cell[0]))
    for register, value in constants.items():
        values_stored.setdefault(register, ("constant", value))
    for register, (kind, value) in values_stored.items():
        variable = variables.get(register)
        name = "an unnamed value" if variable is None else f"`{variable}`"
        if isinstance(value, np.ndarray) or (hasattr(value, "nbytes") and hasattr(value, "dtype")):
            yield f"{name} ({kind})", f"{value.dtype} of shape {value.shape}, {value.nbytes} bytes", value.nbytes
        else:
            yield f"{name} ({kind})", type(value).__name__, 0


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


# ---- The results of ops' code: checked before anything reads them

#: The criteria of a machine for a result: a number of a dtype with a static shape (-1: not known), or one of these.
Check = tuple[int, tuple[int, ...]]
_ANYTHING: Check = (-1, ())
#: A value of a class that has been right once is right again.
_BY_CLASS: Check = (-2, ())
_BY_VALUE: Check = (-3, ())


class ChecksValues(Protocol):
    """A type that wants each result looked at, since values of one class may have the wrong dtype.

    Attributes
    ----------
    checks_each_value : bool
    """

    checks_each_value: bool


def checks_of(node: Apply) -> tuple[Check, ...]:
    """Return the criteria for the results of a node.

    Parameters
    ----------
    node : Apply
    """
    return tuple(_check_of(variable) for variable in node.outputs)


def _check_of(variable: Variable) -> Check:
    spec = array_spec_of(variable)
    if spec is not None:
        return np.dtype(spec.dtype).num, tuple(-1 if n is None else n for n in spec.shape)
    kind = variable.type
    if isinstance(kind, Generic) or type(kind).filter is Type.filter:
        return _ANYTHING
    return _BY_VALUE if getattr(kind, "checks_each_value", False) else _BY_CLASS


def accept_results(instruction: Instruction, values: Sequence[Any]) -> list[Any]:
    """Return the results of an instruction as registers hold them; see :func:`accept_result`."""
    outputs = instruction.node.outputs
    if len(values) != len(outputs):
        raise ResultError(
            format_error(
                f"{instruction.node.op}: its code gave {len(values)} results for {len(outputs)} outputs",
                hint="give one for each output that `make_node` makes.",
            )
        )
    return [accept_result(instruction, k, value) for k, value in enumerate(values)]


def accept_result(instruction: Instruction, k: int, value: Any, replaced: bool = False) -> Any:
    """Return a result as registers hold it: an array has native byte order, is aligned, and is no NumPy scalar.

    Parameters
    ----------
    instruction : Instruction
    k : int
        Which output it is.
    value : object
    replaced : bool
        Whether the code put something into the place of the cell instead of filling it.

    Raises
    ------
    ResultError
        If it is not of the type of the output. A result that nothing reads may be missing.
    """
    variable = instruction.node.outputs[k]
    if replaced:
        raise replaced_cell(instruction.node, k)
    spec = array_spec_of(variable)
    if value is None and instruction.outputs[k] in instruction.unread:
        return None
    if spec is None:
        if _is_right(variable, value):
            return value
        raise _error(instruction, k, _described(value))
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        raise _error(instruction, k, _described(value))
    fault = _fault(spec, value)
    if fault:
        raise _error(instruction, k, fault)
    if value.flags.aligned and value.dtype.isnative and value.dtype.num == np.dtype(spec.dtype).num:
        return value
    return np.array(value, dtype=spec.dtype, order="K")


def _is_right(variable: Variable, value: Any) -> bool:
    kind = variable.type
    if isinstance(kind, ScalarType):
        return isinstance(value, (np.generic, np.ndarray)) and value.dtype == kind.dtype and not value.ndim
    return _check_of(variable) == _ANYTHING or kind.is_valid_value(value)


def _fault(spec: ArraySpec, array: np.ndarray[Any, Any]) -> str:
    if array.dtype != spec.dtype and array.dtype.newbyteorder("=") != spec.dtype:
        return f"an array of {array.dtype}"
    if array.ndim != len(spec.shape):
        return f"an array of {array.ndim} dimensions"
    if any(n is not None and n != have for n, have in zip(spec.shape, array.shape, strict=True)):
        return f"an array of shape {array.shape}"
    return ""


def _described(value: Any) -> str:
    if value is None:
        return ""
    name = type(value).__name__
    return f"an object of type {name}" if name not in {"list", "tuple", "float", "int", "bool"} else f"a Python {name}"


def _error(instruction: Instruction, k: int, got: str) -> ResultError:
    node = instruction.node
    form = instruction.form
    code = "C code" if isinstance(form, CThunk) else "thunk" if isinstance(form, OwnThunk) else "`perform`"
    variable = node.outputs[k]
    what = f"{node.op}: its {code} stored {got or 'nothing'} for output {k}, which is {variable.type.describe()}"
    return ResultError(
        format_error(what, context=[f"output {k}: {describe(variable)}"], hint=_hint(instruction, k, got))
    )


def _hint(instruction: Instruction, k: int, got: str) -> str:
    if isinstance(instruction.form, CThunk):
        store = "let the C code make an array of the type's dtype and number of dimensions"
    elif array_spec_of(instruction.node.outputs[k]) is None:
        store = f"store a value of the type in `output_storage[{k}][0]`"
    elif not got:
        store = f"assign the result to `output_storage[{k}][0]`"
    else:
        store = f"store `numpy.asarray(result, dtype=node.outputs[{k}].dtype)`, with as many dimensions as the type has"
    return f"{store}, or let `make_node` make an output of another type."
