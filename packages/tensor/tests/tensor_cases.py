"""Helpers of the tests in this folder: run expressions in every machine, and check gradients by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import theano_tensor as T
from theano_graph import Apply, Constant, Variable, graph_inputs
from theano_linker_c import function
from theano_tensor import Tensor

#: The C machine with all rewrites, and the Python machine with hardly any.
MODES = ("FAST_RUN", "FAST_COMPILE")


def run(inputs: Sequence[Variable], outputs: Any, *values: Any, mode: str | None = None) -> Any:
    """Compile and call; without `mode`, in each mode, which must agree."""
    if mode is not None:
        return function(list(inputs), outputs, mode=mode, on_unused_input="ignore")(*values)
    results = [run(inputs, outputs, *values, mode=name) for name in MODES]
    flat = [r if isinstance(r, list) else [r] for r in results]
    for first, second in zip(*flat, strict=True):
        assert first.dtype == second.dtype and first.shape == second.shape, "machines give different types"
        np.testing.assert_allclose(first, second, rtol=1e-6, err_msg="machines differ")
    return results[0]


def compiled(*results: Variable) -> Any:
    """Compile, with all root variables as the inputs."""
    inputs = [v for v in graph_inputs(results) if not isinstance(v, Constant)]
    return function(inputs, list(results))


def node_of(variable: Variable) -> Apply:
    """Return the node that computes a variable."""
    assert variable.owner is not None, "an input has no node"
    return variable.owner


def as_numpy(ufunc: Any) -> Any:
    """Return a ufunc without its annotations, which know nothing of symbolic arguments."""
    return ufunc


def variables_for(values: Sequence[Any]) -> list[Tensor]:
    """Return one variable for each array, with nothing static but dtype and number of dimensions."""
    return [T.tensor(v.dtype.name, shape=(None,) * v.ndim, name=f"x{i}") for i, v in enumerate(values)]


def check_gradient(build: Callable[..., Tensor], *values: Any, eps: float = 1e-6, tol: float = 1e-5) -> None:
    """Compare the gradient of a weighted sum of ``build(*variables)`` with central differences, float64."""
    arrays = [np.asarray(v, dtype="float64") for v in values]
    inputs = variables_for(arrays)
    output = build(*inputs)
    shape = run(inputs, output, *arrays, mode="FAST_COMPILE").shape
    weights = np.random.default_rng(3).uniform(0.5, 1.5, size=shape)
    cost = (output * weights).sum()
    gradients = T.grad(cost, inputs)
    value = function(inputs, cost, mode="FAST_COMPILE")
    result = run(inputs, gradients, *arrays)
    for i, array in enumerate(arrays):
        expected = np.zeros_like(array)
        for index in np.ndindex(*array.shape):
            up, down = array.copy(), array.copy()
            up[index] += eps
            down[index] -= eps
            above = value(*arrays[:i], up, *arrays[i + 1 :])
            below = value(*arrays[:i], down, *arrays[i + 1 :])
            expected[index] = (above - below) / (2 * eps)
        np.testing.assert_allclose(result[i], expected, rtol=tol, atol=tol, err_msg=f"gradient of input {i}")
