"""Jacobians of functions that are exported for programs which differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Variable
from theano_linker_c import Function, function
from theano_linker_c.export import Jacobian, set_jacobian_maker

from .._core._convert import constant
from ..gradient import grad
from ..joining import stack

__all__ = ["jacobian_function"]


def jacobian_function(fn: Function, sizes: Sequence[int]) -> Jacobian:
    """Compile the derivatives of the outputs of a function with respect to its inputs.

    Parameters
    ----------
    fn : Function
        Of float64, without updates. Its shared variables are taken for constants.
    sizes : sequence of int
        Number of elements of each output.

    Returns
    -------
    Jacobian
    """
    with fn.maker.decisions.withdrawn():
        graph = fn.maker.source.build()
    fixed, inputs = {}, []
    for variable, item, box in zip(graph.inputs, fn.maker.inputs, fn.input_storage, strict=True):
        if item.implicit or item.shared:
            fixed[variable] = constant(box.value)
        else:
            inputs.append(variable)
    blocks, outputs = [], []
    for k, (output, size) in enumerate(zip(graph.outputs, sizes, strict=False)):
        for i, block in enumerate(_rows(output.T.flatten(), size, inputs)):
            if block is not None:
                blocks.append((k, i))
                outputs.append(block.T.flatten())
    compiled = function(inputs, outputs, givens=fixed, mode=fn.maker.mode, on_unused_input="ignore")
    return Jacobian(compiled, tuple(blocks))


def _rows(vector: Any, size: int, inputs: Sequence[Variable]) -> list[Any]:
    """Return the matrix of derivatives with respect to each input; None where there are none.

    Elements are differentiated one by one, without a loop: rewriting merges their common parts.
    """
    first = grad(vector.sum(), inputs, disconnected_inputs="ignore", return_disconnected="None")
    connected = [x for x, value in zip(inputs, first, strict=True) if value is not None]
    rows: dict[Variable, list[Any]] = {x: [] for x in connected}
    for k in range(size):
        for x, row in zip(connected, grad(vector[k], connected, disconnected_inputs="ignore"), strict=True):
            rows[x].append(row.T.flatten())
    return [stack(rows[x]) if x in rows else None for x in inputs]


set_jacobian_maker(jacobian_function)
