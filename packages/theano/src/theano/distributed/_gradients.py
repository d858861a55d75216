"""The two functions of a training step, and batches in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from theano_graph import Variable, describe, format_error
from theano_linker_c import Function, SharedVariable, function
from theano_tensor import TensorType
from theano_tensor.gradient import grad

from ._states import States

#: From gradients and parameters to updates: Lasagne's optimizers, for example.
Rule = Callable[[list[Any], list[Any]], Mapping[Any, Any] | Iterable[tuple[Any, Any]]]


class Mean(NamedTuple):
    """Means over the rows of one part of a batch, or of several."""

    rows: int
    cost: float
    gradients: list[Any]


class Step(NamedTuple):
    """A training step in two functions.

    Attributes
    ----------
    compute : Function
        From inputs to the cost and its gradients.
    update : Function
        From gradients to new values of the parameters, and of the rule's variables.
    params : list of SharedVariable
    kept : list of SharedVariable
        Variables that `update` changes besides the parameters.
    split : list of bool
        Which inputs have a row for each example; the others, without dimensions, go to all workers.
    """

    compute: Function
    update: Function
    params: list[SharedVariable]
    kept: list[SharedVariable]
    split: list[bool]


def make_step(inputs: Sequence[Any], cost: Any, params: Sequence[Any], rule: Rule, mode: Any) -> Step:
    """Compile the functions.

    Raises
    ------
    TypeError, ValueError
        If something else than parameters is trained, nothing has rows, or the cost updates shared variables.
    """
    _check_lists(inputs, params, rule)
    inputs, params = list(inputs), list(params)
    _check_params(params)
    split = [getattr(_variable(v).type, "ndim", 0) > 0 for v in inputs]
    if not any(split):
        raise ValueError(
            format_error("data_parallel: no input has rows", hint="give arrays with a row for each example")
        )
    compute = function(inputs, [cost, *grad(cost, params)], mode=mode, name="gradients")
    stray = States([compute]).updated
    if stray:
        raise ValueError(
            format_error(
                f"data_parallel: the cost updates {', '.join(str(box.name) for box in stray)}, in each worker anew",
                hint="leave the default update out, or make it an update of the rule",
            )
        )
    symbols = [p.type(f"gradient of {p.name or i}") for i, p in enumerate(params)]
    pairs = _pairs(rule(list(symbols), list(params)))
    update = function(symbols, [], updates=pairs, mode=mode, name="update", on_unused_input="ignore")
    trained = set(params)
    frozen = [target for target, _ in pairs if target not in trained]
    return Step(compute, update, params, frozen, split)


#: The error for other arguments.
_RULE = "lambda gradients, params: [(p, p - 0.1 * g) for p, g in zip(params, gradients)]"


def _check_lists(inputs: object, params: object, rule: object) -> None:
    for name, items in (("inputs", inputs), ("params", params)):
        if isinstance(items, (Variable, str)) or not isinstance(items, Iterable):
            raise TypeError(
                format_error(
                    f"data_parallel: {name} is no list",
                    context=[describe(items) if isinstance(items, Variable) else f"{items!r:.80}"],
                    hint=f"give a list of variables, also of one: {name}=[variable]",
                )
            )
    if not callable(rule):
        raise TypeError(format_error(f"data_parallel: the rule is {rule!r:.80}", hint=f"give a function: {_RULE}"))


def _pairs(updates: Any) -> list[tuple[Any, Any]]:
    """Return the result of a rule as pairs of variables and new values."""
    if not isinstance(updates, Iterable):
        raise TypeError(
            format_error(
                f"data_parallel: the rule returned {updates!r:.80}",
                hint=f"return a list of pairs (variable, new value), or a dictionary: {_RULE}",
            )
        )
    pairs = list(updates.items() if isinstance(updates, Mapping) else updates)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                format_error(
                    f"data_parallel: the rule returned {pair!r:.80} in the place of a pair",
                    hint=f"return a list of pairs (variable, new value), or a dictionary: {_RULE}",
                )
            )
    return pairs


def _variable(given: Any) -> Any:
    return given if isinstance(given, Variable) else given.variable


def _check_params(params: Sequence[Any]) -> None:
    if not params:
        raise ValueError(
            format_error("data_parallel: there are no parameters", hint="list the shared variables to train")
        )
    for param in params:
        dense = isinstance(param, SharedVariable) and isinstance(param.type, TensorType)
        if not dense or param.type.dtype not in ("float32", "float64"):
            raise TypeError(
                format_error(
                    "data_parallel: parameters are shared arrays of float32 or float64",
                    context=[describe(param) if isinstance(param, Variable) else repr(param)],
                    hint="make them by theano.shared(array)",
                )
            )


def rows_of(batch: Sequence[Any], split: Sequence[bool]) -> int:
    """Return the number of rows of a batch.

    Raises
    ------
    TypeError, ValueError
        If there are not as many arrays as inputs, or they have different numbers of rows.
    """
    if len(batch) != len(split):
        raise TypeError(
            format_error(
                f"a step takes {len(split)} arrays, and {len(batch)} were given", hint="give one for each input"
            )
        )
    lengths = [_length(array, i) for i, (array, rows) in enumerate(zip(batch, split, strict=True)) if rows]
    if len(set(lengths)) > 1:
        raise ValueError(
            format_error(
                f"the arrays of a batch have {', '.join(map(str, lengths))} rows",
                hint="give arrays with a row for each example",
            )
        )
    return lengths[0]


def _length(array: Any, i: int) -> int:
    if np.ndim(array) == 0:
        raise ValueError(
            format_error(f"input {i} of a batch has no rows: {array!r:.40}", hint="give an array with rows")
        )
    return len(array)


def check_parts(parts: Any, split: Sequence[bool]) -> None:
    """Check that parts are tuples, or futures of tuples.

    Raises
    ------
    TypeError
        If one is something else.
    """
    form = f"[({', '.join('xyz'[: len(split)])}{',' if len(split) == 1 else ', ...' if len(split) > 3 else ''})]"
    if not isinstance(parts, Sequence):
        description = f"is given {_described(parts)}"
    else:
        wrong = [i for i, part in enumerate(parts) if not (isinstance(part, (tuple, list)) or hasattr(part, "key"))]
        if not wrong:
            return
        description = f"finds {_described(parts[wrong[0]])} as part {wrong[0]}, counted from 0"
    raise TypeError(
        format_error(
            f"step.parts {description}; it takes a list of parts, each a tuple with a value for each input",
            hint=f"step.parts({form}) for one part, step(...) for a whole batch",
        )
    )


def _described(value: Any) -> str:
    """Describe an argument in a few words."""
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r:.60}"


def cut(batch: Sequence[Any], split: Sequence[bool], count: int, only: int | None = None) -> list[tuple[Any, ...]]:
    """Cut a batch into parts whose numbers of rows differ by one at most; with `only`, return that part alone.

    Examples
    --------
    >>> [part[0].tolist() for part in cut([np.arange(5)], [True], 2)]
    [[0, 1, 2], [3, 4]]
    """
    rows = rows_of(batch, split)
    edges = [rows * i // count for i in range(count + 1)]
    edges = [rows - edge for edge in reversed(edges)]  # the longer parts come first
    arrays = [np.asarray(array) if has_rows else array for array, has_rows in zip(batch, split, strict=True)]
    return [
        tuple(a[edges[i] : edges[i + 1]] if has_rows else a for a, has_rows in zip(arrays, split, strict=True))
        for i in (range(count) if only is None else [only])
    ]


def mean_of(compute: Function, batch: Sequence[Any], split: Sequence[bool]) -> Mean:
    """Compute the cost and the gradients of a part."""
    rows = rows_of(batch, split)
    cost, *gradients = compute(*batch)
    return Mean(rows, float(cost), gradients)


def mean_of_means(means: Sequence[Mean]) -> Mean:
    """Return the mean over all rows; parts without rows do not count.

    Raises
    ------
    ValueError
        If there are no rows at all.
    """
    means = [mean for mean in means if mean.rows]
    if not means:
        raise ValueError(format_error("a batch has no rows", hint="leave empty batches out"))
    if len(means) == 1:
        return means[0]
    rows = sum(mean.rows for mean in means)
    weights = [mean.rows / rows for mean in means]
    cost = sum(weight * mean.cost for weight, mean in zip(weights, means, strict=True))
    gradients = []
    for parts in zip(*(mean.gradients for mean in means), strict=True):
        total = np.multiply(parts[0], weights[0])
        for weight, part in zip(weights[1:], parts[1:], strict=True):
            total = total + np.multiply(part, weight)
        gradients.append(np.asarray(total, dtype=parts[0].dtype))
    return Mean(rows, cost, gradients)
