"""Graphs are applied to batches: variables are replaced by ones with more dimensions in front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Variable, clone_replace, describe, format_error, graph_inputs
from theano_linker_c.scalar import ScalarType

from .._core._convert import as_tensor_variable
from .._core._type import StaticShape, Tensor, TensorType, tensor_type
from .._errors import BatchError
from .._protocols._methods import operation
from ..creation import alloc
from ..elemwise import dimshuffle
from ..shape import lengths_of, shape_i, unbroadcast
from ._pass import Entry, batch_entries


@operation("vectorize_graph")
def vectorize_graph(outputs: Any, replace: Mapping[Any, Any]) -> Any:
    """Return expressions for all entries of a batch at once.

    Parameters
    ----------
    outputs : Variable, or list or tuple of Variable
    replace : mapping
        Tensor variable -> the batch of its values: a tensor of the same dtype with more dimensions in front, those of
        the batch. The dimensions of several batches broadcast as in NumPy, from the right, where a declared length of
        1 broadcasts.

    Returns
    -------
    Variable, or list of Variable
        As `outputs`. Each tensor has the dimensions of the batches that it depends on in front. An output that depends
        on none of the variables is returned as it is; states of random generators are the same for all entries.

    Raises
    ------
    BatchError
        If a batch does not fit its variable, or an op cannot be applied to batches.

    Warns
    -----
    UserWarning
        If an op has no rule for batches and runs in a loop over the entries; once for each class of ops.

    See Also
    --------
    vectorize, vmap

    Notes
    -----
    The result is an expression as any other: it can be differentiated, and vectorized again.

    Examples
    --------
    >>> import theano.tensor as T
    >>> x, xs = T.dvector("x"), T.dmatrix("xs")
    >>> sums = T.vectorize_graph(x.sum() ** 2, {x: xs})
    >>> sums.eval({xs: [[1.0, 2.0], [3.0, 4.0]]}).tolist()
    [9.0, 49.0]
    """
    single = isinstance(outputs, Variable)
    values: list[Any] = [outputs] if single else list(outputs)
    batches = {x: _fitting(x, batch) for x, batch in replace.items()}
    extra = {x: batch.type.ndim - x.type.ndim for x, batch in batches.items()}
    # New variables, for a batch may be computed from the variable that it replaces.
    current: dict[Any, Any] = {x: entry_of(batch, x.type, x.name) for x, batch in batches.items() if extra[x]}
    values = clone_replace(values, {x: current.get(x, batch) for x, batch in batches.items()})
    for level in range(1, max(extra.values(), default=0) + 1):
        sources: dict[Variable, Entry] = {}
        for x, batch in batches.items():
            if extra[x] < level:
                continue
            stack = batch
            if extra[x] > level:
                shape = batch.type.shape[extra[x] - level :]
                stack = entry_of(batch, tensor_type(batch.type.dtype, shape), x.name)
            broadcasts = stack.type.broadcastable[0]
            sources[current[x]] = (
                dimshuffle(stack, range(1, stack.type.ndim)) if broadcasts else stack,
                not broadcasts,
            )
            current[x] = stack
        values = _with_dimension(values, sources)
    return values[0] if single else values


def entry_of(batch: Tensor, kind: TensorType, name: str | None = None) -> Tensor:
    """Return a variable for an entry of a batch; its test value is that of the first one."""
    entry: Tensor = kind.make_variable(batch.name if name is None else name)
    value = getattr(batch.tag, "test_value", None) if batch.has_tag() else getattr(batch, "data", None)
    if value is not None and value.size:
        entry.tag.test_value = value[(0,) * (batch.type.ndim - kind.ndim)]
    return entry


def _with_dimension(values: Sequence[Any], sources: Mapping[Variable, Entry]) -> list[Any]:
    """Return `values` with one more dimension in front of each that depends on the sources."""
    results = []
    for value, (variable, is_stacked) in zip(values, batch_entries(values, sources), strict=True):
        if is_stacked:
            results.append(variable)
            continue
        read = set(graph_inputs([value], list(sources))) & sources.keys()
        if not read:
            results.append(value)
            continue
        if not isinstance(variable.type, (TensorType, ScalarType)):
            # The state of a random generator, for instance, is one for all entries.
            results.append(variable)
            continue
        tensor = as_tensor_variable(variable)
        stacks = [stack for stack, flag in (sources[x] for x in sources if x in read) if flag]
        results.append(repeated(tensor, stacks) if stacks else dimshuffle(tensor, ("x", *range(tensor.type.ndim))))
    return results


def repeated(value: Tensor, stacks: Sequence[Any]) -> Tensor:
    """Return `value` for each entry of a batch, which is as long as some stacks."""
    static = [stack.type.shape[0] for stack in stacks if stack.type.shape[0] is not None]
    return alloc(value, static[0] if static else shape_i(stacks[0], 0), *lengths_of(value))


def _fitting(x: Any, batch: Any) -> Tensor:
    """Return a batch such that each of its entries is a value of the type of `x`.

    Raises
    ------
    BatchError
        If it cannot be one.
    """
    if not isinstance(x, Variable) or not isinstance(x.type, TensorType):
        raise BatchError(
            format_error(
                f"{x!r} is no tensor variable, so that there is no batch of it",
                context=[describe(x)] if isinstance(x, Variable) else [],
                hint="replace dense tensors",
            )
        )
    stack = as_tensor_variable(batch)
    kind = x.type
    extra = stack.type.ndim - kind.ndim
    if extra < 0:
        raise BatchError(
            format_error(
                f"a batch of `{x}` has at least {kind.ndim} dimensions, not {stack.type.ndim}",
                context=[describe(x), describe(stack)],
                hint="add dimensions in front of those of the variable",
            )
        )
    shape: StaticShape = stack.type.shape[:extra] + kind.shape
    try:
        fitting: Any = tensor_type(kind.dtype, shape).narrow_variable(stack)
    except TypeError as error:
        raise BatchError(
            format_error(
                f"a tensor of type {stack.type} is no batch of `{x}`, which has type {kind}",
                context=[describe(x), describe(stack)],
                hint=f"cast it: T.cast(batch, '{kind.dtype}')"
                if stack.type.dtype != kind.dtype
                else "give it the lengths of the variable in its last dimensions",
            )
        ) from error
    # A length that is declared of the batch alone does not broadcast in the expression either.
    wide = [extra + i for i, n in enumerate(kind.shape) if n != 1 and fitting.type.shape[extra + i] == 1]
    result: Tensor = unbroadcast(fitting, *wide) if wide else fitting
    return result
