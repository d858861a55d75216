"""Graphs are applied to batches: one dimension is added to a graph, node by node, or by a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    Op,
    Unstacked,
    Variable,
    batch_rule,
    clone_replace,
    describe,
    format_error,
    graph_inputs,
    origin_from,
    toposort,
    warn_user,
)
from theano_linker_c.scalar import ScalarType

from .._core._convert import as_tensor_variable, constant, scalar_from_tensor, tensor_from_scalar
from .._core._ops import batch_length
from .._core._type import StaticShape, Tensor, TensorType, tensor_type
from .._errors import BatchError
from .._graph_op import STACK, MapRows
from .._protocols._methods import call, operation
from ..creation import AllocEmpty, alloc
from ..elemwise import dimshuffle
from ..gradient import map_rows
from ..gradient._jacobian import Opened, row_number, stand_in
from ..joining import join
from ..shape import lengths_of, patternbroadcast, shape_i, unbroadcast

# ---- Ops without a rule for batches run in a loop over the entries; and loops over rows, for batches

_announced: set[type] = set()


def announce(op: Op) -> None:
    """Warn, once for each class of ops, that an op runs in a loop over the entries of a batch."""
    op_class = type(op)
    if op_class in _announced:
        return
    _announced.add(op_class)
    name = f"{op_class.__module__}.{op_class.__qualname__}"
    warn_user(
        format_error(
            f"op {op} ({name}) has no rule in table `batch_rule`: it runs in a loop over the entries of the batch",
            hint=f"register a rule, `@theano_graph.batch_rule.register({op_class.__name__})`, or write the expression "
            "for a batch by hand",
        )
    )


def loop_over_batch(node: Apply, inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Variable]:
    """Return the outputs of a node for all entries of a batch, computed one after the other.

    Raises
    ------
    BatchError
        If an input or an output is no tensor and no number.
    """
    _check_types(node)
    rows: dict[Variable, Variable] = {}
    arguments: list[Variable] = []
    samples: list[Variable] = []
    for x, is_stacked, core in zip(inputs, stacked, node.inputs, strict=True):
        if not is_stacked:
            outside = tensor_from_scalar(x) if isinstance(x.type, ScalarType) and not isinstance(x, Constant) else x
            argument = scalar_from_tensor(outside) if outside is not x else x
            arguments.append(argument)
            samples.append(argument)
            continue
        row = stand_in(tensor_type(x.type.dtype, x.type.shape[1:]), x, True)
        rows[row] = x
        sample = _first_row(x)
        is_number = isinstance(core.type, ScalarType)
        arguments.append(scalar_from_tensor(row) if is_number else row)
        samples.append(scalar_from_tensor(sample) if is_number else sample)
    bodies = [_tensor(v) for v in _applied(node, arguments)]
    sample_outputs = [_tensor(v) for v in _applied(node, samples)]
    # Their shapes are needed where there is no entry; the arrays themselves are never written.
    likes = [AllocEmpty(y.type.dtype)(*lengths_of(y)) for y in sample_outputs]
    length = batch_length(inputs, stacked)
    return map_rows(length, row_number(), rows, bodies, [STACK] * len(bodies), likes)


def _check_types(node: Apply) -> None:
    for v in (*node.inputs, *node.outputs):
        if not isinstance(v.type, (TensorType, ScalarType)) and not isinstance(v, Constant):
            raise BatchError(
                format_error(
                    f"op {node.op} cannot be applied to a batch: `{v}` is neither a tensor nor a number",
                    context=[describe(v)],
                    hint="register a rule in `theano_graph.batch_rule`, or use dense tensors",
                )
            )


def _applied(node: Apply, inputs: Sequence[Variable]) -> list[Variable]:
    fitting = [core.type.narrow_variable(x) for core, x in zip(node.inputs, inputs, strict=True)]
    return list(node.clone_with_new_inputs(fitting).outputs)


def _tensor(variable: Variable) -> Tensor:
    tensor: Any = tensor_from_scalar(variable) if isinstance(variable.type, ScalarType) else variable
    return as_tensor_variable(tensor)


def _first_row(x: Tensor) -> Tensor:
    """Return the first entry of a batch, and zeros where there is none."""
    zeros = alloc(constant(0, dtype=x.type.dtype), 1, *lengths_of(x)[1:])
    first = join(0, x[:1], zeros)[0]
    return patternbroadcast(first, x.type.broadcastable[1:]) if x.type.ndim > 1 else first


@batch_rule.register(MapRows)
def _batch_rows(node: Apply[MapRows], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """The inner graph is applied to the batch; sequences have the rows in front of the entries then.

    Raises
    ------
    BatchError
        If the number of rows differs between the entries.
    """
    if stacked[0]:
        raise BatchError(
            format_error(
                f"{node.op}: the number of rows may not differ between the entries of a batch",
                context=[describe(node.inputs[0])],
                hint="use one number of rows for all of them",
            )
        )
    opened = Opened(node)
    length = batch_length(inputs, stacked)
    static = length if isinstance(length, int) else None
    sources: dict[Variable, tuple[Variable, bool]] = {}
    rows: dict[Variable, Variable] = {}
    outside: dict[Variable, Variable] = {}
    for k, (inner, outer, flag) in enumerate(zip(opened.inputs[1:], inputs[1:], stacked[1:], strict=True)):
        kind: Any = inner.type
        is_row = k < opened.op.sequences
        source = dimshuffle(outer, (1, 0, *range(2, outer.type.ndim))) if flag and is_row else outer
        stack = stand_in(tensor_type(kind.dtype, (static, *kind.shape)), source, is_row) if flag else inner
        if flag:
            sources[inner] = stack, True
        (rows if is_row else outside)[stack] = source
    entries = call("batch_entries", opened.outputs, sources)
    likes = []
    for like, (variable, is_stacked) in zip(opened.op.likes, entries, strict=True):
        shape = lengths_of(inputs[like])[stacked[like] + (like <= opened.op.sequences) :]
        likes.append(AllocEmpty(variable.type.dtype)(*([length] if is_stacked else []), *shape))
    bodies = clone_replace([variable for variable, _ in entries], outside)
    results = map_rows(inputs[0], opened.inputs[0], rows, bodies, opened.op.kinds, likes)
    outputs: list[Variable | Unstacked] = []
    for kind_of, (_, is_stacked), result in zip(opened.op.kinds, entries, results, strict=True):
        tensor: Any = result
        if is_stacked and kind_of == STACK:
            tensor = dimshuffle(tensor, (1, 0, *range(2, tensor.type.ndim)))
        outputs.append(tensor if is_stacked else Unstacked(tensor))
    return outputs


# ---- One dimension of a batch is added to a graph: each node is replaced by nodes that compute all entries at once

#: A variable, and whether it has the dimension of the batch in front.
Entry = tuple[Variable, bool]


@operation("batch_entries")
def batch_entries(outputs: Sequence[Variable], sources: Mapping[Variable, Entry]) -> list[Entry]:
    """Return outputs for all entries of a batch.

    Parameters
    ----------
    outputs : sequence of Variable
    sources : mapping
        Variable -> its replacement, and whether that has the dimension of the batch in front. All of these have
        one length.

    Returns
    -------
    list of (Variable, bool)
        An output that depends on none of the sources is itself.

    Raises
    ------
    BatchError
        If an op on the way cannot be applied to batches, or its rule returns something that does not fit.
    """
    entries: dict[Variable, Entry] = dict(sources)
    for node in toposort(list(sources), outputs):
        if not any(v in entries for v in node.inputs):
            continue
        pairs = [entries.get(v, (v, False)) for v in node.inputs]
        inputs, stacked = [v for v, _ in pairs], [flag for _, flag in pairs]
        with origin_from(node):
            if any(stacked):
                results = batch_node(node, inputs, stacked)
            else:
                results = [(v, False) for v in node.clone_with_new_inputs(inputs).outputs]
        entries.update(zip(node.outputs, results, strict=True))
    return [entries.get(v, (v, False)) for v in outputs]


def batch_node(node: Apply, inputs: list[Any], stacked: Sequence[bool]) -> list[Entry]:
    """Return the outputs of a node for all entries of a batch; at least one of its inputs is stacked."""
    rule = batch_rule.get(node.op)
    if rule is None:
        reason = batch_rule.absence(node.op)
        if reason is not None:
            raise BatchError(
                format_error(
                    f"op {node.op} cannot be applied to a batch: {reason}",
                    context=[describe(v) for v in node.outputs],
                    hint="compute it for each entry in a loop (theano.scan), or outside of the vectorized function",
                )
            )
        results = None
    else:
        results = rule(node, inputs, stacked)
    if results is None:
        results = loop_over_batch(node, inputs, stacked)
        if rule is None:
            announce(node.op)
    if len(results) != len(node.outputs):
        raise BatchError(
            format_error(
                f"the rule of op {node.op} in table `batch_rule` returned {len(results)} outputs for "
                f"{len(node.outputs)}",
                hint="let it return one for each",
            )
        )
    return [_checked(node, k, result) for k, result in enumerate(results)]


def _checked(node: Apply, k: int, result: Any) -> Entry:
    """Return one result of a rule with the broadcastable pattern of the output, and whether it is stacked."""
    kind = node.outputs[k].type
    if isinstance(result, Unstacked):
        return kind.narrow_variable(result.variable), False
    ndim = 0 if isinstance(kind, ScalarType) else getattr(kind, "ndim", None)
    fits = (
        isinstance(result, Variable)
        and isinstance(result.type, TensorType)
        and ndim is not None
        and result.type.ndim == ndim + 1
        and result.type.dtype == getattr(kind, "dtype", None)
    )
    if not fits:
        raise BatchError(
            format_error(
                f"the rule of op {node.op} in table `batch_rule` returned {_type_text(result)} for output {k}, a batch "
                f"of {kind}",
                context=[describe(node.outputs[k])],
                hint="return a tensor with one more dimension in front, or an Unstacked",
            )
        )
    if isinstance(kind, TensorType) and result.type.broadcastable[1:] != kind.broadcastable:
        result = patternbroadcast(result, (result.type.broadcastable[0], *kind.broadcastable))
    return result, True


def _type_text(result: Any) -> str:
    return f"a {result.type}" if isinstance(result, Variable) else repr(result)


# ---- Graphs are applied to batches: variables are replaced by ones with more dimensions in front


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
