"""Parts that rules of batches share: the length of a batch, and inputs brought into one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Unstacked, Variable

from .._protocols._operations import call
from ._convert import as_tensor_variable
from ._variable import Tensor


def batch_length(inputs: Sequence[Any], stacked: Sequence[bool]) -> Any:
    """Return the length of a batch: an int where the type of a stacked input tells it, else a scalar variable."""
    stacks = [x for x, is_stacked in zip(inputs, stacked, strict=True) if is_stacked]
    for x in stacks:
        length = x.type.shape[0]
        if length is not None:
            return length
    return call("lengths", stacks[0])[0]


def stack_of(x: Any, length: Any) -> Tensor:
    """Return `x` for each entry of a batch of some length."""
    variable = as_tensor_variable(x)
    result: Tensor = call("alloc", variable, length, *call("lengths", variable))
    return result


def all_stacked(inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Tensor]:
    """Return the inputs with a dimension for the batch in front of each."""
    length = batch_length(inputs, stacked)
    return [x if is_stacked else stack_of(x, length) for x, is_stacked in zip(inputs, stacked, strict=True)]


def fronted(x: Any, is_stacked: bool) -> Tensor:
    """Return `x` with a dimension for the batch in front, of length 1 where it is not stacked."""
    variable = as_tensor_variable(x)
    if is_stacked:
        return variable
    result: Tensor = call("dimshuffle", variable, ("x", *range(variable.type.ndim)))
    return result


def padded(x: Any, is_stacked: bool, ndim: int) -> Tensor:
    """Return `x` with dimensions of length 1 after that of the batch, `ndim` of them without that of the batch.

    An input that is not stacked stays as it is: it broadcasts from the left.
    """
    variable = as_tensor_variable(x)
    missing = ndim + 1 - variable.type.ndim
    if not is_stacked or not missing:
        return variable
    order = (0, *["x"] * missing, *range(1, variable.type.ndim))
    result: Tensor = call("dimshuffle", variable, order)
    return result


def batch_of_expression(
    node: Any, inputs: Sequence[Any], stacked: Sequence[bool], outputs: Sequence[Any]
) -> list[Variable | Unstacked]:
    """Return expressions of a node's inputs for all entries of a batch: the rule of an op that they say the same as."""
    sources = dict(zip(node.inputs, zip(inputs, stacked, strict=True), strict=True))
    entries = call("batch_entries", list(outputs), sources)
    return [variable if is_stacked else Unstacked(variable) for variable, is_stacked in entries]


def run_in_a_loop(node: Any, inputs: Sequence[Any], stacked: Sequence[bool]) -> None:
    """Return None: the rule of an op that nothing is better for than a loop over the entries."""


def on_stacks(node: Any, inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Variable]:
    """Return the outputs of the same op: the rule of an op on the last dimensions of tensors of any number of them."""
    return list(node.op(*all_stacked(inputs, stacked), return_list=True))
