"""What the ops of loops check, and what they find out about their inner graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from theano_graph import Constant, MissingInputError, config, describe, format_error, graph_inputs, toposort
from theano_tensor import TensorType, as_tensor_variable


def without_test_values() -> contextlib.AbstractContextManager[Any]:
    """Let graphs of steps, whose variables stand for no value, be built without test values."""
    if config.compute_test_value == "off":
        return contextlib.nullcontext()
    switched: contextlib.AbstractContextManager[Any] = config.change_flags(compute_test_value="off")
    return switched


def number_of_steps(n: Any) -> Any:
    steps = as_tensor_variable(n)
    if steps.type.ndim or not steps.type.dtype.startswith(("int", "uint")):
        raise TypeError(
            format_error(
                "the number of steps is no integer", context=[describe(steps)], hint="pass a length, such as x.shape[0]"
            )
        )
    return steps


def stack_of(row: Any, x: Any) -> Any:
    """Return `x` as an array whose rows have the type of a variable."""
    stack: Any = as_tensor_variable(x)
    kind = row.type
    fits = stack.type.ndim == kind.ndim + 1 and kind.is_super(TensorType(stack.type.dtype, stack.type.shape[1:]))
    return stack if fits else TensorType(kind.dtype, (None, *kind.shape)).narrow_variable(stack)


def check_inner_graph(op: Any) -> None:
    if op.n_mit_mot:
        raise ValueError(
            format_error(
                f"{op}: an output that is written at several steps (mitmot) has no form that runs",
                hint="write it at one step: gradients of loops are loops with a sum or a state here",
            )
        )
    known = set(op.inputs)
    for root in graph_inputs(op.outputs):
        if root not in known and not isinstance(root, Constant):
            raise MissingInputError(
                format_error(
                    f"{op} is missing an input: {root}", context=[describe(root)], hint="add it to the inner inputs"
                )
            )


def draws(results: Sequence[Any], changing: set[Any]) -> list[Any]:
    """Return the arrays that come of states which are no arrays: gradients need those of each step."""
    if all(isinstance(v.type, TensorType) for v in changing):
        return []
    found = []
    for node in toposort(list(changing), list(results)):
        if any(not isinstance(v.type, TensorType) for v in node.inputs if not isinstance(v, Constant)):
            found += [v for v in node.outputs if isinstance(v.type, TensorType)]
    return [v for v in dict.fromkeys(found) if v not in results]
