"""Parts of a graph of which the gradient keeps nothing: it computes them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Constant, Variable, format_error, graph_inputs
from theano_linker_c import SharedVariable

from .._graph_op import Runner
from ._op_from_graph import OpFromGraph


class Checkpoint(OpFromGraph):
    """An op made of a graph that holds no memory between calls, and whose gradient starts from its inputs.

    The gradient is an op of this class, so only inputs, outputs and their gradients live between the two.
    """

    def runner(self) -> Runner:
        """Return a function that computes output values, and drops everything else."""
        function = self.compiled()
        run, free = function.machine.run, function.free

        def run_and_free(values: list[Any]) -> Sequence[Any]:
            try:
                results: Sequence[Any] = run(values)
            finally:
                free()
            return results

        return run_and_free


def checkpoint(outputs: Any, inputs: Sequence[Variable] = (), name: str | None = None) -> Any:
    """Return expressions as they are, of which the gradient keeps no intermediate result.

    The gradient computes them again from where the part begins, so memory is exchanged for a second computation: a
    chain of n steps, cut into parts of sqrt(n), needs memory for some 2 sqrt(n) results instead of n (T. Chen et al.,
    "Training deep nets with sublinear memory cost", 2016).

    Parameters
    ----------
    outputs : Variable, or list or tuple of Variable
    inputs : sequence of Variable
        Where the part begins; it ends there, with any ancestors. All other nodes that the outputs need are part of
        it, back to the inputs of the whole graph, shared variables and constants.
    name : str, optional
        For printing.

    Returns
    -------
    Variable or list of Variable
        As `outputs`, of the same types and values.

    Raises
    ------
    TypeError
        If something is no variable.

    Examples
    --------
    >>> from theano_tensor import dvector, grad, tanh
    >>> x = dvector("x")
    >>> h = x
    >>> for part in range(4):
    ...     start = h
    ...     for step in range(4):
    ...         h = tanh(h)
    ...     h = checkpoint(h, [start])
    >>> grad(h.sum(), x).type
    TensorType(float64, vector)
    """
    several = isinstance(outputs, (list, tuple))
    variables = list(outputs) if several else [outputs]
    wrong = next((v for v in (*variables, *inputs) if not isinstance(v, Variable)), None)
    if wrong is not None:
        raise TypeError(
            format_error(
                f"checkpoint: {wrong!r} is no variable", hint="pass the variables that the part ends and begins with"
            )
        )
    needed = dict.fromkeys(inputs)
    needed.update(dict.fromkeys(graph_inputs(variables, list(inputs))))
    begin = [v for v in needed if not isinstance(v, (Constant, SharedVariable))]
    results: list[Any] = Checkpoint(begin, variables, name=name or "checkpoint")(*begin, return_list=True)
    return results if several else results[0]
