"""Recurrent layers of cuDNN: the layout of their parameters, and the graphs of layers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from theano_gpuarray.codegen import LibraryCall, network_numbers
from theano_gpuarray.contexts import get_context
from theano_gpuarray.region import workspace_of
from theano_gpuarray.types import host_from_gpu, host_type
from theano_graph import Apply, format_error
from theano_tensor import Lop, as_tensor_variable, constant, zeros_like
from theano_tensor.device import as_gpuarray_variable
from theano_tensor.device.dnn import GpuDnnLayer, LayerOp, library_results

# ---- Where the parameters of a recurrent network lie in one vector, in the order of cuDNN
#
# First come the matrices of all layers, then their biases. A layer, or each direction of one, has for each of its
# gates a
# matrix for the input, then for each gate one for the state. Matrices map columns: they lie row by row as (states,
# inputs), so that a view of their memory, transposed, multiplies rows of inputs from the right.

#: Gates of each mode, in order.
GATES = {
    "rnn_relu": ("state",),
    "rnn_tanh": ("state",),
    "lstm": ("input", "forget", "newmem", "output"),
    "gru": ("reset", "update", "newmem"),
}


@dataclass(frozen=True)
class LayerParts:
    """The parts of a layer, or of a direction of one: where they begin, and how many inputs there are.

    Lengths and positions are numbers, or symbolic where the number of inputs is.

    Parameters
    ----------
    inputs : object
        Columns of the input's matrices, 0 where the input is not multiplied.
    input_matrices, state_matrices, input_biases, state_biases : object
        Where those of the first gate begin.
    """

    inputs: Any
    input_matrices: Any
    state_matrices: Any
    input_biases: Any
    state_biases: Any


@dataclass(frozen=True)
class Layout:
    """The layout of all parameters.

    Parameters
    ----------
    hidden : int
    layers : int
    gates : int
    directions : int
        1, or 2 where a layer goes through the steps in both orders.
    skips : bool
        Whether the input of the first layer is not multiplied.
    """

    hidden: int
    layers: int
    gates: int
    directions: int
    skips: bool

    def inputs_of(self, layer: int, input_dim: Any) -> Any:
        """Return how many inputs a layer multiplies."""
        if layer:
            return self.directions * self.hidden
        return 0 if self.skips else input_dim

    def size(self, input_dim: Any) -> Any:
        """Return the number of all parameters."""
        return self._biases(input_dim) + self.layers * self.directions * 2 * self.gates * self.hidden

    def _biases(self, input_dim: Any) -> Any:
        """Return where biases begin."""
        columns = sum(self.inputs_of(k, input_dim) + self.hidden for k in range(self.layers))
        return self.directions * self.gates * self.hidden * columns

    def parts(self, input_dim: Any) -> Iterator[LayerParts]:
        """Yield the parts of each layer, of both directions where there are two."""
        of_gates = self.gates * self.hidden
        matrix, bias = 0, self._biases(input_dim)
        for layer in range(self.layers):
            inputs = self.inputs_of(layer, input_dim)
            for _ in range(self.directions):
                state = matrix + of_gates * inputs
                yield LayerParts(inputs, matrix, state, bias, bias + of_gates)
                matrix, bias = state + of_gates * self.hidden, bias + 2 * of_gates


# ---- Recurrent networks as cuDNN computes them

#: The library's numbers of modes.
MODES = {"rnn_relu": 0, "rnn_tanh": 1, "lstm": 2, "gru": 3}
#: Computes a network by loops: takes parameters, inputs, and first states and cells.
Compute = Callable[[Any, Any, Sequence[Any]], list[Any]]


class _Recurrent(LayerOp):
    """The base of a network and its gradient.

    Parameters
    ----------
    mode : str
        One of MODES.
    hidden, layers : int
        Length of the states, and number of layers.
    both, skips : bool
        Whether there are two directions, and whether the input of the first layer is added as it is.
    compute : callable
        The same by loops, for derivatives that the library does not have.
    """

    __props__ = ("mode", "hidden", "layers", "both", "skips")

    def __init__(self, mode: str, hidden: int, layers: int, both: bool, skips: bool, compute: Compute) -> None:
        self.mode, self.hidden, self.layers, self.both, self.skips = mode, hidden, layers, both, skips
        self.compute = compute

    def options(self) -> tuple[int, ...]:
        """Return these as the library has them."""
        return MODES[self.mode], self.hidden, self.layers, int(self.both), int(self.skips)

    @property
    def width(self) -> int:
        """Length of the results of a layer."""
        return self.hidden * (1 + self.both)

    @property
    def count(self) -> int:
        """How many states there are: also cells in networks that have them."""
        return 2 if self.mode == "lstm" else 1

    def instead(self, inputs: Sequence[Any]) -> Callable[[Any, Sequence[Any]], Sequence[Any]]:
        """Return the check that refuses operands: loops are chosen when a graph is built."""
        return self._refuse

    def _refuse(self, recorder: Any, operands: Sequence[Any]) -> Sequence[Any]:
        w, x, *states = (tuple(v.shape) for v in operands[: 2 + self.count])
        shape = (self.layers * (1 + self.both), x[1], self.hidden)
        raise ValueError(
            format_error(
                f"RNNBlock.apply: cuDNN has no such network for parameters of shape {w} and inputs of shape {x}",
                context=[f"first states have the shape {v}, and need {shape}" for v in states],
                hint="make as many parameters as get_param_size says for inputs of this length; with dnn.enabled=False "
                "when the graph is built, layers are loops",
            )
        )


class RecurrentLayer(_Recurrent):
    """A network; operands are parameters, inputs, and first states and cells.

    Results are those of the last layer, last states and cells, and the reserve that the gradient needs.
    """

    task = "rnn"

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to variables of the host."""
        _, x, *first = inputs
        steps, batch, _ = x.type.shape
        results = [host_type(x.type.dtype, (steps, batch, self.width)), *(v.type for v in first)]
        return Apply(self, list(inputs), [v.make_variable() for v in (*results, host_type("uint8", (None,)))])

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the results, and nothing that is kept."""
        w, x, *first = inputs
        return [*self.compute(w, x, first), constant(np.zeros(0, "uint8"))]

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of results and states."""
        _, x, *first = shapes
        return [(*x[:2], as_tensor_variable(np.int64(self.width))), *first, None]

    def gradient(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any] | None:
        """Return the gradients by the library."""
        name = outputs[0].type.context_name
        *results, reserve = outputs
        gradients = [
            as_gpuarray_variable(zeros_like(host_from_gpu(v)), name) if g is None else g
            for v, g in zip(results, cotangents[:-1], strict=True)
        ]
        op = RecurrentLayerGrad(self.mode, self.hidden, self.layers, self.both, self.skips, self.compute)
        options: dict[str, Any] = {"return_list": True}
        return list(GpuDnnLayer(op)(*inputs, results[0], reserve, *gradients, **options))


class RecurrentLayerGrad(_Recurrent):
    """The gradients of a network by its operands.

    Operands are those of the network, its results and its reserve, and the gradients by results, states and cells.
    """

    task = "rnn_grad"

    def make_node(self, *inputs: Any) -> Apply[Self]:
        """Apply to variables of the host."""
        return Apply(self, list(inputs), [v.type.make_variable() for v in inputs[: 2 + self.count]])

    def expression(self, *inputs: Any) -> list[Any]:
        """Return the gradients of the loops."""
        w, x, *first = inputs[: 2 + self.count]
        dy, *last = inputs[4 + self.count :]
        # The results are computed again; the reserve is of no use here.
        return list(Lop(self.compute(w, x, first), [w, x, *first], [dy, *last]))

    def shapes(self, shapes: Sequence[Any]) -> list[Any]:
        """Return the shapes of the operands of the network."""
        return list(shapes[: 2 + self.count])


def network_by_library(op: RecurrentLayer, context_name: Hashable, operands: Sequence[Any]) -> list[Any] | None:
    """Return the results of a network as nodes that ask cuDNN; None where that has none such.

    Parameters
    ----------
    op : RecurrentLayer
    context_name : hashable
    operands : sequence of Variable
        Parameters, inputs, and first states and cells.
    """
    context, x = get_context(context_name), operands[1]
    # Where parameters lie does not depend on steps and batch. A length of inputs that is not known may be any.
    numbers = network_numbers(op.options(), 1, 1, x.type.shape[2] or op.hidden, x.type.dtype)
    call = LibraryCall("rnn_weights", x.type.dtype, numbers, of_cudnn=True)
    if workspace_of(context, call) is None:
        return None
    placed = [as_gpuarray_variable(v, context_name) for v in operands]
    results = library_results(op, context_name, *placed)
    return None if results is None else results[:-1]


__all__ = ["RecurrentLayer", "RecurrentLayerGrad", "network_by_library"]
