"""Records of ops on batches: each subset of the arguments is stacked, and compared with a loop over the entries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from theano_linker_c import Mode, function
from theano_tensor import TensorType, as_tensor_variable
from theano_tensor.batching import vectorize_graph
from theano_tensor.gradient import grad

from .._values._tolerance import assert_allclose
from ._records import OpRecord

#: Subsets of the arguments of a record at most.
SUBSETS = 4


def subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Yield which arguments are stacked: all of them, then one after the other, then the others; not too many."""
    chosen = [tuple(range(count)), *((k,) for k in range(count))]
    chosen += [pair for size in range(2, count) for pair in combinations(range(count), size)]
    yield from list(dict.fromkeys(chosen))[:SUBSETS]


def check_batches(record: OpRecord, entries: int = 2, case: int = 0) -> None:
    """Compare a case of a record on batches with a loop over the entries.

    Parameters
    ----------
    record : OpRecord
    entries : int
        Length of the batch. The entries are the arguments of the case, those of numbers in other orders.
    case : int
        Which of the cases.

    Raises
    ------
    AssertionError
        If a value differs; it names the arguments that were stacked.
    """
    arguments = [np.asarray(a) for a in record.complete().cases[case]]
    for stacked in subsets(len(arguments)):
        _check(record, arguments, stacked, entries)


def _check(record: OpRecord, arguments: Sequence[Any], stacked: Sequence[int], entries: int) -> None:
    variables = [TensorType(str(a.dtype), tuple(n == 1 for n in a.shape)).make_variable() for a in arguments]
    result = record.op(*variables)
    outputs = [as_tensor_variable(v) for v in (result if isinstance(result, (list, tuple)) else [result])]
    batches = {v: _stack_of(v) for k, v in enumerate(variables) if k in stacked}
    mode = Mode("py", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batched = vectorize_graph(outputs, batches)
        run = function([batches.get(v, v) for v in variables], batched, mode=mode, on_unused_input="ignore")
        single = function(variables, outputs, mode=mode, on_unused_input="ignore")
        rows, values = _rows(single, arguments, stacked, entries)
        results = run(*values)
    for k, value in enumerate(results):
        if batched[k].type.ndim == outputs[k].type.ndim:
            expected = rows[0][k]
        else:
            expected = np.stack([row[k] for row in rows])
        message = f"{record.name}: output {k} with arguments {stacked} stacked"
        assert value.shape == expected.shape and value.dtype == expected.dtype, message
        assert_allclose(value, expected)


def check_batch_gradients(record: OpRecord, entries: int = 2) -> None:
    """Compare gradients of a record on batches with a loop over the entries, at the first point of the record.

    Both are checked: gradients of the outputs for a batch, and gradients of one entry applied to a batch.

    Parameters
    ----------
    record : OpRecord
    entries : int
        Length of the batch.

    Raises
    ------
    AssertionError
        If a gradient differs.
    """
    points = record.complete().gradient
    if not len(points):
        return
    arguments = [np.asarray(a) for a in points[0]]
    variables = [TensorType(str(a.dtype), tuple(n == 1 for n in a.shape)).make_variable() for a in arguments]
    result = record.op(*variables)
    outputs = [as_tensor_variable(v) for v in (result if isinstance(result, (list, tuple)) else [result])]
    smooth = [v for v in outputs if v.type.dtype.startswith("float")]
    wrt = [v for v in variables if v.type.dtype.startswith("float")]
    if not smooth or not wrt:
        return
    batches = {v: _stack_of(v) for v in variables}
    wrt_batches = [batches[v] for v in wrt]
    mode = Mode("py", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slopes = grad(_total(smooth), wrt, disconnected_inputs="ignore")
        of_batch = grad(_total(vectorize_graph(smooth, batches)), wrt_batches, disconnected_inputs="ignore")
        applied = vectorize_graph(slopes, batches)
        single = function(variables, slopes, mode=mode, on_unused_input="ignore")
        run = function(list(batches.values()), [*of_batch, *applied], mode=mode, on_unused_input="ignore")
        batch = [[_scaled(a, i) for a in arguments] for i in range(entries)]
        rows = [single(*entry) for entry in batch]
        results = run(*(np.stack(values) for values in zip(*batch, strict=True)))
    for k, expected in enumerate(zip(*rows, strict=True)):
        assert_allclose(results[k], np.stack(expected))
        one_for_all = results[len(wrt) + k].ndim == expected[0].ndim
        assert_allclose(results[len(wrt) + k], expected[0] if one_for_all else np.stack(expected))


def _total(outputs: Sequence[Any]) -> Any:
    return sum((v * v).sum() for v in outputs)


def _stack_of(variable: Any) -> Any:
    return TensorType(variable.type.dtype, (False, *variable.type.broadcastable)).make_variable()


def _rows(single: Any, arguments: Sequence[Any], stacked: Sequence[int], entries: int) -> tuple[list[Any], list[Any]]:
    """Return the results for each entry, and the arguments for all of them.

    Entries are the arguments in other orders; where these have no result, or one of another shape, a little smaller.
    """
    for change in (_reversed, _scaled):
        batch = [[change(a, i) if k in stacked else a for k, a in enumerate(arguments)] for i in range(entries)]
        try:
            rows = [single(*entry) for entry in batch]
        except (ValueError, ArithmeticError, IndexError, AssertionError):
            continue
        if all(a.shape == b.shape for row in rows for a, b in zip(row, rows[0], strict=True)):
            break
    values = [np.stack([e[k] for e in batch]) if k in stacked else a for k, a in enumerate(arguments)]
    return rows, values


def _reversed(argument: Any, i: int) -> Any:
    """Return the elements in reverse order, for every second entry."""
    return argument[(slice(None, None, -1),) * argument.ndim].copy() if i % 2 else argument


def _scaled(argument: Any, i: int) -> Any:
    """Return a little smaller numbers, where they are no integers."""
    return argument if argument.dtype.kind not in "fc" else argument * (1 - argument.dtype.type(i) / 64)
