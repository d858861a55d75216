"""Where the parameters of a recurrent network lie in one vector, in the order of cuDNN.

First come the matrices of all layers, then their biases. A layer, or each direction of one, has for each of its gates a
matrix for the input, then for each gate one for the state. Matrices map columns: they lie row by row as (states,
inputs), so that a view of their memory, transposed, multiplies rows of inputs from the right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
