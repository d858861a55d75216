"""Loops for batches: each step is done for all entries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Unstacked, Variable, batch_rule, describe, format_error, toposort
from theano_tensor import AllocEmpty, BatchError, TensorType, as_tensor_variable
from theano_tensor.batching import batch_entries, batch_length, batch_of_expression, stack_of

from ._loop._derivatives import loop_of, places_in_loop
from ._loop._ops import Loop, Scan
from ._loop._plan import STACK, SUM, Plan, without_test_values


@batch_rule.register(Scan)
def _batch_scan(node: Apply[Scan], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """Return the outputs of the loop, in the form that runs, for the batch."""
    op: Scan = node.op
    with without_test_values():
        loop, numbers = loop_of(node, op.whole_loop, _row_of), places_in_loop(op)
        buffers = [*op.outer_mitsot(node), *op.outer_sitsot(node)]
        outputs = [loop[k] for k in numbers]
        for k, (buffer, depth) in enumerate(zip(buffers, op.depths, strict=True)):
            outputs[k] = T.join(0, as_tensor_variable(buffer)[:depth], outputs[k])
        return batch_of_expression(node, inputs, stacked, outputs)


def _row_of(buffer: Any, row: int, depth: int) -> Any:
    """Return a row of the buffer that the node reads; the batch knows nothing of the variables before it."""
    return as_tensor_variable(buffer)[row]


@batch_rule.register(Loop)
def _batch_loop(node: Apply[Loop], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked]:
    """Rows of sequences hold all entries, and so does each state that depends on something stacked.

    Raises
    ------
    BatchError
        If entries do other numbers of steps.
    """
    if stacked[0]:
        raise _other_steps(node, "the number of steps", node.inputs[0])
    with without_test_values():
        return _Batch(node, inputs, stacked).outputs()


class _Batch:
    """A loop in the making, whose steps are done for all entries."""

    def __init__(self, node: Apply, inputs: list[Any], stacked: Sequence[bool]) -> None:
        self.node, self.op, self.n = node, node.op, inputs[0]
        self.plan: Plan = node.op.plan
        self.length = batch_length(inputs, stacked)
        self.inner: list[Any] = [v.type.make_variable(v.name) for v in node.op.fgraph.inputs]
        self.results: list[Any] = self.op.inlined(self.inner)
        self.flags = _stacked_inside(self.plan, self.inner, self.results, stacked[1:])
        self.outer = [
            self._outside(k, x, flag) for k, (x, flag) in enumerate(zip(inputs[1:], stacked[1:], strict=True))
        ]
        self.stand_ins = [self._batch_of(v) if flag else v for v, flag in zip(self.inner, self.flags, strict=True)]

    def _batch_of(self, variable: Any) -> Any:
        static = self.length if isinstance(self.length, int) else None
        return TensorType(variable.type.dtype, shape=(static, *variable.type.shape)).make_variable(variable.name)

    def _outside(self, k: int, x: Any, is_stacked: bool) -> Any:
        if k < self.plan.sequences:
            return x.dimshuffle(1, 0, *range(2, x.type.ndim)) if is_stacked else x
        return stack_of(x, self.length) if self.flags[k] and not is_stacked else x

    def outputs(self) -> list[Variable | Unstacked]:
        """Return the outputs of the loop, with the dimension of the batch in front where entries differ."""
        plan, op = self.plan, self.op
        sources = {v: (new, True) for v, new, flag in zip(self.inner, self.stand_ins, self.flags, strict=True) if flag}
        entries = batch_entries(self.results, sources)
        if plan.until and entries[-1][1]:
            raise _other_steps(self.node, "the condition that ends the loop", self.node.outputs[-1])
        results, flags = self._states(entries)
        likes, forms = self._likes(flags)
        batched = Loop(
            [*self.stand_ins, *(v for v, _ in forms)],
            results,
            replace(plan, likes=tuple(likes)),
            op.name,
            op.options,
            op.memory,
        )
        results_of_loop = batched(self.n, *self.outer, *(x for _, x in forms), return_list=True)
        outputs: list[Variable | Unstacked] = []
        for kind, flag, output in zip(plan.kinds, flags, results_of_loop, strict=False):
            result: Any = output
            if flag and kind == STACK:
                result = result.dimshuffle(1, 0, *range(2, result.type.ndim))
            outputs.append(result if flag else Unstacked(result))
        return outputs + [Unstacked(v) for v in results_of_loop[len(outputs) :]]

    def _states(self, entries: list[tuple[Any, bool]]) -> tuple[list[Any], list[bool]]:
        """Return the results of a step, new states of the types of the states, and whether they are stacked."""
        results, flags = [v for v, _ in entries], [flag for _, flag in entries]
        first = self.plan.sequences
        for k in range(self.plan.states):
            if self.flags[first + k]:
                state = self.stand_ins[first + k]
                # The length of the batch is a variable outside of the loop: inside, the state has it.
                new = results[k] if flags[k] else stack_of(results[k], batch_length([state], [True]))
                results[k], flags[k] = state.type.narrow_variable(new), True
        return results, flags

    def _likes(self, flags: Sequence[bool]) -> tuple[list[int], list[tuple[Any, Any]]]:
        """Return for each sum the input of its shape, and constants that tell the other shapes.

        A sum may be stacked where the input of its shape is not, and the other way round.
        """
        likes = list(self.plan.likes)
        forms: list[tuple[Any, Any]] = []
        for k, (kind, like, flag) in enumerate(zip(self.plan.kinds, likes, flags, strict=False)):
            if kind != SUM or self.flags[like] == flag:
                continue
            x: Any = self.outer[like]
            shape = [x.shape[i] for i in range(x.type.ndim)][(like < self.plan.sequences) + self.flags[like] :]
            form = AllocEmpty(x.type.dtype)(*([self.length] if flag else []), *shape)
            likes[k] = len(self.inner) + len(forms)
            forms.append((form.type.make_variable(), form))
        return likes, forms


def _stacked_inside(plan: Plan, inner: list[Any], results: list[Any], stacked: Sequence[bool]) -> list[bool]:
    """Return for each inner input whether it is stacked: a state is where a step makes it depend on a stacked input.

    States of random streams, which are no arrays, are the same for all entries.
    """
    flags = list(stacked)
    nodes = toposort(inner, results)
    while True:
        reached = {v for v, flag in zip(inner, flags, strict=True) if flag}
        for node in nodes:
            if any(v in reached for v in node.inputs):
                reached.update(node.outputs)
        more = [
            plan.sequences + k
            for k, new in enumerate(results[: plan.states])
            if new in reached and not flags[plan.sequences + k] and isinstance(new.type, TensorType)
        ]
        if not more:
            return flags
        for k in more:
            flags[k] = True


def _other_steps(node: Apply, what: str, variable: Variable) -> BatchError:
    return BatchError(
        format_error(
            f"{node.op}: {what} may not differ between the entries of a batch",
            context=[describe(variable)],
            hint="do the same number of steps for all entries, and select the values with T.switch",
        )
    )
