"""Ops without a rule for batches run in a loop over the entries; and loops over rows, for batches."""

from __future__ import annotations

from collections.abc import Sequence
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
    warn_user,
)
from theano_linker_c.scalar import ScalarType

from .._core._convert import as_tensor_variable, constant, scalar_from_tensor, tensor_from_scalar
from .._core._ops import batch_length
from .._core._type import Tensor, TensorType, tensor_type
from .._errors import BatchError
from .._graph_op import STACK, MapRows
from .._protocols._methods import call
from ..creation import AllocEmpty, alloc
from ..elemwise import dimshuffle
from ..gradient import map_rows
from ..gradient._jacobian import Opened, row_number, stand_in
from ..joining import join
from ..shape import lengths_of, patternbroadcast

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
