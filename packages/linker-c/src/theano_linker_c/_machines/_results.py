"""The results of ops' code: checked before anything reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from theano_graph import Apply, Generic, Type, Variable, describe, format_error

from .._instructions._data import ArraySpec, Instruction, array_spec_of
from .._perform import OwnThunk, ResultError, replaced_cell
from ..cop import CThunk
from ..scalar import ScalarType

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
