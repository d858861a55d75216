"""Loops of scalars, of which each element of tensors has its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import theano
import theano.tensor as T


def loop_results(op: Any, inputs: Sequence[Any], body: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
    """Run a ``ScalarLoop`` for all elements together; those whose loop has ended keep their values.

    Parameters
    ----------
    op : pytensor.scalar.loop.ScalarLoop
    inputs : sequence
        The number of steps, initial states, and constants.
    body : callable
        Gives the results of one step.
    """
    steps, *values = inputs
    count = len(op.outputs) - op.is_while
    states = [T.cast(x, v.type.dtype) for x, v in zip(values[:count], op.inputs, strict=False)]
    constants, zero = values[count:], reduce(T.add, [T.zeros_like(x, dtype="int8") for x in inputs])
    # States have the shape to which all operands broadcast: a step may give it to them.
    states = [T.second(zero, x) for x in states]
    going, ended = T.gt(steps, zero), T.eq(zero, 0)

    def step(k: Any, *arguments: Any) -> Any:
        before, going, ended = arguments[:count], arguments[count], arguments[count + 1]
        results = body([*before, *arguments[count + 2 : -1]])
        after = [T.switch(going, new, old) for new, old in zip(results, before, strict=False)]
        if op.is_while:
            ended = T.switch(going, T.neq(results[count], 0), ended)
            going = T.and_(going, T.eq(ended, 0))
        going = T.and_(going, T.lt(k + 1, arguments[-1]))
        return [*after, going, ended], theano.scan_module.until(T.eq(T.any(going), 0))

    starts = [*states, going, ended]
    traces, _ = theano.scan(
        step,
        sequences=[T.arange(T.max(steps))],
        outputs_info=starts,
        non_sequences=[*constants, steps],
        return_list=True,
    )
    last = [T.concatenate([x[None], trace], axis=0)[-1] for x, trace in zip(starts, traces, strict=True)]
    return [*last[:count], *last[count + 1 :][: op.is_while]]
