"""Recurrent networks of several layers whose parameters are one vector, as cuDNN has them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from theano_gpuarray.contexts import list_contexts
from theano_gpuarray.types import GpuArrayType, host_from_gpu
from theano_graph import Variable, describe, format_error
from theano_linker_c import SharedVariable
from theano_scan import scan
from theano_tensor import Assert, as_tensor_variable, concatenate, dot, eq, maximum, sigmoid, stack, tanh
from theano_tensor.device import as_gpuarray_variable

from ._dnn_rnn_layer import GATES, LayerParts, Layout, RecurrentLayer, network_by_library

_DTYPES = ("float16", "float32", "float64")
_INPUT_MODES, _DIRECTION_MODES = ("linear", "skip"), ("unidirectional", "bidirectional")
#: One step of a layer: takes the products of the input and of the state, with biases, for each gate; and the states.
Cell = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], list[Any]]


def _simple(activation: Callable[[Any], Any]) -> Cell:
    return lambda given, kept, states: [activation(given[0] + kept[0])]


def _lstm(given: Sequence[Any], kept: Sequence[Any], states: Sequence[Any]) -> list[Any]:
    enter, forget, new, leave = (a + b for a, b in zip(given, kept, strict=True))
    cell = sigmoid(forget) * states[1] + sigmoid(enter) * tanh(new)
    return [sigmoid(leave) * tanh(cell), cell]


def _gru(given: Sequence[Any], kept: Sequence[Any], states: Sequence[Any]) -> list[Any]:
    reset, update = (sigmoid(a + b) for a, b in zip(given[:2], kept[:2], strict=True))
    new = tanh(given[2] + reset * kept[2])
    return [(1 - update) * new + update * states[0]]


_CELLS: dict[str, Cell] = {
    "rnn_relu": _simple(lambda x: maximum(x, 0)),
    "rnn_tanh": _simple(tanh),
    "lstm": _lstm,
    "gru": _gru,
}


class RNNBlock:
    """A recurrent network of several layers whose parameters are one vector.

    The order of the parameters is that of cuDNN, which computes the network in contexts that can use it. Else it is
    products of matrices and loops on the device of the operands, or on the host where none is on a device and no device
    is in use.

    Parameters
    ----------
    dtype : str
        Of all arrays: float16, float32 or float64.
    hidden_size : int
        Length of the states.
    num_layers : int
        Each takes the output of the one before.
    rnn_mode : {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'}
    input_mode : {'linear', 'skip'}
        Whether the input of the first layer is multiplied by matrices; otherwise it must be as long as the states, and
        is added for each gate.
    direction_mode : {'unidirectional', 'bidirectional'}
        Whether each layer goes from the first step to the last, or also back; results of both are concatenated.
    context_name : hashable, optional
        Where results go if no operand is on a device; where functions run by default.

    Raises
    ------
    ValueError
        If an argument cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> import theano
    >>> from theano.gpuarray.dnn import RNNBlock
    >>> block = RNNBlock("float32", 3, 1, "gru")
    >>> block.get_param_size([2, 4])
    81
    >>> w = theano.shared(np.zeros(81, "float32"), target="cpu")
    >>> len(block.split_params(w, 0, [2, 4]))
    12
    """

    def __init__(
        self,
        dtype: str,
        hidden_size: int,
        num_layers: int,
        rnn_mode: str,
        input_mode: str = "linear",
        direction_mode: str = "unidirectional",
        context_name: Hashable = None,
    ) -> None:
        self.dtype = str(np.dtype(dtype))
        for name, value, allowed in (
            ("dtype", self.dtype, _DTYPES),
            ("rnn_mode", rnn_mode, tuple(_CELLS)),
            ("input_mode", input_mode, _INPUT_MODES),
            ("direction_mode", direction_mode, _DIRECTION_MODES),
        ):
            if value not in allowed:
                raise ValueError(
                    format_error(
                        f"RNNBlock: unknown {name} {value!r}", hint="use one of " + ", ".join(map(repr, allowed))
                    )
                )
        self.hidden_size, self.num_layers = _positive("hidden_size", hidden_size), _positive("num_layers", num_layers)
        self.rnn_mode, self.input_mode, self.direction_mode = rnn_mode, input_mode, direction_mode
        self.context_name = context_name
        directions = 2 if direction_mode == "bidirectional" else 1
        self._layout = Layout(self.hidden_size, self.num_layers, len(GATES[rnn_mode]), directions, input_mode == "skip")

    def get_param_size(self, input_size: Sequence[int]) -> int:
        """Return the number of parameters of all layers.

        Parameters
        ----------
        input_size : (int, int)
            Batch size, and length of the inputs; the first does not matter.

        Raises
        ------
        ValueError
            If these are not two positive numbers, or inputs that are not multiplied are not as long as the states.
        """
        return int(self._layout.size(self._input_dim(input_size)))

    def split_params(self, w: Any, layer: int, input_size: Sequence[int]) -> list[Any]:
        """Return the matrices and biases of a layer, in turn: of each gate for the input, then of each for the state.

        Parameters
        ----------
        w : shared variable or vector
            All parameters. Of a shared variable its own memory is viewed, so that a write into a part,
            ``part[:] = value``, is written into the variable; of another vector, parts are expressions.
        layer : int
            From 0 on. Where layers have two directions each counts: those of layer k are 2 k, and 2 k + 1 backwards.
        input_size : (int, int)
            Batch size, and length of the inputs.

        Returns
        -------
        list
            Matrices of shape (inputs, states), and biases of shape (states,). Gates are, in this order: input, forget,
            newmem and output of "lstm"; reset, update and newmem of "gru". Inputs that are not multiplied have matrices
            without rows.

        Raises
        ------
        ValueError
            If there is no such layer, or the vector has another length than :meth:`get_param_size` says.
        """
        parts = list(self._layout.parts(self._input_dim(input_size)))
        if not 0 <= layer < len(parts):
            raise ValueError(
                format_error(f"RNNBlock.split_params: there is no layer {layer}", hint=f"use 0 to {len(parts) - 1}")
            )
        vector = _memory_of(w)
        size = self.get_param_size(input_size)
        typed: Any = vector.type if isinstance(vector, Variable) else vector
        shape = tuple(typed.shape)
        if len(shape) != 1 or shape[0] not in (None, size):
            raise ValueError(
                format_error(
                    f"RNNBlock.split_params: the parameters have the shape {shape}",
                    hint=f"make a vector of get_param_size(input_size) = {size} elements",
                )
            )
        found: list[Any] = []
        part, hidden = parts[layer], self.hidden_size
        for begin, bias, columns in (
            (part.input_matrices, part.input_biases, part.inputs),
            (part.state_matrices, part.state_biases, hidden),
        ):
            for gate in range(self._layout.gates):
                at = begin + gate * hidden * columns
                found.append(vector[at : at + hidden * columns].reshape((hidden, columns)).T)
                found.append(vector[bias + gate * hidden : bias + (gate + 1) * hidden])
        return found

    def apply(self, w: Any, x: Any, hx: Any, cx: Any = None) -> list[Any]:
        """Return the results of the network.

        Parameters
        ----------
        w : tensor_like
            All parameters, a vector.
        x : tensor_like
            Inputs, of shape (steps, batch, inputs).
        hx : tensor_like
            First states, of shape (layers, batch, states); with both directions of each layer one behind the other.
        cx : tensor_like, optional
            For "lstm" alone: the first cells, of the same shape.

        Returns
        -------
        list of variable
            States of the last layer at all steps, of shape (steps, batch, states of all directions); the last states of
            all layers, shaped as `hx`; and for "lstm" the last cells.

        Raises
        ------
        TypeError
            If an operand has another dtype or number of dimensions, or `cx` is missing or given in vain.
        """
        if (cx is not None) != (self.rnn_mode == "lstm"):
            raise TypeError(
                format_error(
                    f"RNNBlock.apply: {'no' if cx is None else 'a'} first cell for {self.rnn_mode!r}",
                    hint="pass cx for 'lstm', and only there",
                )
            )
        name = self._place(*(v for v in (w, x, hx, cx) if v is not None))
        weights, inputs = self._operand("w", w, 1), self._operand("x", x, 3)
        states = [self._operand("hx", hx, 3), *([] if cx is None else [self._operand("cx", cx, 3)])]
        if name is _HOST:
            return self._all_layers(weights, inputs, states)
        results = network_by_library(self._layer(), name, [weights, inputs, *states])
        return results or [as_gpuarray_variable(v, name) for v in self._all_layers(weights, inputs, states)]

    def _layer(self) -> RecurrentLayer:
        """Return the network as cuDNN has it."""
        both, skips = self.direction_mode == "bidirectional", self.input_mode == "skip"
        return RecurrentLayer(self.rnn_mode, self.hidden_size, self.num_layers, both, skips, self._all_layers)

    def _all_layers(self, weights: Any, inputs: Any, states: Sequence[Any]) -> list[Any]:
        directions, input_dim = self._layout.directions, inputs.shape[2]
        size = self._layout.size(input_dim)
        message = "RNNBlock.apply: the parameters are not as many as get_param_size says for inputs of this length"
        weights = weights[: Assert(message)(as_tensor_variable(size), eq(weights.shape[0], size))]
        last: list[list[Any]] = [[] for _ in states]
        for k, part in enumerate(self._layout.parts(input_dim)):
            if k % directions == 0:
                layer_inputs, outputs = inputs, []
            steps, ends = self._one_layer(
                weights, part, layer_inputs, [v[k] for v in states], backwards=k % directions == 1
            )
            outputs.append(steps)
            for state, end in zip(last, ends, strict=True):
                state.append(end)
            if k % directions == directions - 1:
                inputs = outputs[0] if directions == 1 else concatenate(outputs, axis=2)
        return [inputs, *(stack(kept) for kept in last)]

    def _one_layer(
        self, weights: Any, part: LayerParts, inputs: Any, states: Sequence[Any], *, backwards: bool
    ) -> tuple[Any, list[Any]]:
        """Return the states of a layer, in one direction, at all steps, and the last states and cells."""
        hidden, gates = self.hidden_size, self._layout.gates
        rows = gates * hidden

        def cut(begin: Any, columns: Any) -> Any:
            return weights[begin : begin + rows * columns].reshape((rows, columns), ndim=2).T

        bias, state_bias = (weights[b : b + rows] for b in (part.input_biases, part.state_biases))
        if isinstance(part.inputs, int) and part.inputs == 0:
            products = concatenate([inputs] * gates, axis=2) + bias
        else:
            # All steps at once: one product rather than one in each step.
            flat = inputs.reshape((inputs.shape[0] * inputs.shape[1], inputs.shape[2]), ndim=2)
            products = dot(flat, cut(part.input_matrices, part.inputs)) + bias
            products = products.reshape((inputs.shape[0], inputs.shape[1], rows), ndim=3)
        matrix, cell = cut(part.state_matrices, hidden), _CELLS[self.rnn_mode]

        def step(given: Any, *more: Any) -> list[Any]:
            *now, factor, added = more
            recurrent = dot(now[0], factor) + added
            parts = [[v[:, g * hidden : (g + 1) * hidden] for g in range(gates)] for v in (given, recurrent)]
            return cell(parts[0], parts[1], now)

        outputs, _ = scan(
            step,
            sequences=[products],
            outputs_info=list(states),
            non_sequences=[matrix, state_bias],
            go_backwards=backwards,
            name=f"RNNBlock {self.rnn_mode}",
        )
        every = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        return every[0][::-1] if backwards else every[0], [v[-1] for v in every]

    def _input_dim(self, input_size: Sequence[int]) -> int:
        if len(input_size) != 2 or any(int(n) != n or n < 1 for n in input_size):
            raise ValueError(
                format_error(f"RNNBlock: input_size={input_size!r}", hint="give batch size and length of the inputs")
            )
        length = int(input_size[1])
        if self.input_mode == "skip" and length != self.hidden_size:
            raise ValueError(
                format_error(
                    f"RNNBlock: inputs of length {length} are added to states of length {self.hidden_size}",
                    hint="make them equally long, or use input_mode='linear'",
                )
            )
        return length

    def _operand(self, name: str, value: Any, ndim: int) -> Any:
        on_device = isinstance(getattr(value, "type", None), GpuArrayType)
        variable = host_from_gpu(value) if on_device else as_tensor_variable(value)
        if variable.type.ndim != ndim or variable.type.dtype != self.dtype:
            raise TypeError(
                format_error(
                    f"RNNBlock.apply: {name} is {variable.type.dtype} with {variable.type.ndim} dimensions",
                    context=[describe(variable)],
                    hint=f"make it {self.dtype} with {ndim} dimensions",
                )
            )
        return variable

    def _place(self, *operands: Any) -> Any:
        """Return the name of the context of the results, or _HOST."""
        for v in operands:
            if isinstance(getattr(v, "type", None), GpuArrayType):
                return v.type.context_name
        return self.context_name if self.context_name in list_contexts() else _HOST


#: Stands for the host among names of contexts.
_HOST = object()


def _positive(name: str, value: Any) -> int:
    if int(value) != value or value < 1:
        raise ValueError(format_error(f"RNNBlock: {name}={value!r}", hint="give a whole number from 1 up"))
    return int(value)


def _memory_of(w: Any) -> Any:
    """Return the array of a shared variable itself, and other vectors as variables or arrays of the host."""
    if isinstance(w, SharedVariable):
        return w.get_value(borrow=True, return_internal_type=True)
    return w if isinstance(w, Variable) else np.asarray(w)
