"""One dimension of a batch is added to a graph: each node is replaced by nodes that compute all entries at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theano_graph import Apply, Unstacked, Variable, batch_rule, describe, format_error, origin_from, toposort
from theano_linker_c.scalar import ScalarType

from .._core._type import TensorType
from .._errors import BatchError
from .._protocols._methods import operation
from ..shape import patternbroadcast
from ._loop import announce, loop_over_batch

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
