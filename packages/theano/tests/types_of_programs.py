"""What type checkers find out about a program; `tools/check_types.py` has mypy and pyright read it."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import theano
import theano.tensor as T
from theano.tensor.shared_randomstreams import RandomStateSharedVariable
from theano.tensor.sharedvar import TensorSharedVariable
from theano_graph import ChangedFlags
from theano_tensor import Tensor

x, v = T.dmatrix("x"), T.dvector("v")
cost = x.sum()


def expressions() -> None:
    """Functions and operators of tensors give tensors."""
    for found in (x + 1, 1 - x, x @ x, x.T, x[0], -x, x.sum(axis=0), T.exp(x), T.dot(x, v), T.stack([v, v]), x.shape):
        assert_type(found, Tensor)
    assert_type(x.dtype, str)
    assert_type(x.ndim, int)
    assert_type(x.name, str | None)


def shared_variables() -> None:
    """What kind of shared variable is made follows from the value."""
    weights = theano.shared(np.zeros(3), name="w")
    assert_type(weights, TensorSharedVariable)
    assert_type(theano.shared(0.0), TensorSharedVariable)
    assert_type(theano.shared(np.float32(1)), TensorSharedVariable)
    assert_type(theano.shared(np.random.default_rng(0)), RandomStateSharedVariable)
    assert_type(theano.shared({"step": 0}), theano.compile.SharedVariable)
    assert_type(weights.get_value(), NDArray[Any])
    assert_type(weights * 2, Tensor)


def gradients() -> None:
    """Gradients come in the form of what they are with respect to."""
    for grad in (theano.grad, T.grad):
        assert_type(grad(cost, x), Tensor)
    assert_type(T.grad(cost, [x, v]), list[Tensor])
    assert_type(T.grad(cost, (x, v)), tuple[Tensor, ...])


def compiled() -> None:
    """A function knows what its calls return."""
    assert_type(theano.function([x], cost), "theano.Function[NDArray[Any]]")
    assert_type(theano.function([x], cost)(np.eye(2)), NDArray[Any])
    assert_type(theano.function([x], [cost, x])(np.eye(2)), list[NDArray[Any]])
    assert_type(theano.function([x], {"cost": cost})(np.eye(2)), dict[str, NDArray[Any]])
    assert_type(theano.function([x], theano.Out(cost, borrow=True))(np.eye(2)), Any)
    assert_type(theano.function([x], name="nothing")(np.eye(2)), list[Any])


def flags() -> None:
    """Each flag has the type of its values."""
    assert_type(theano.config.floatX, str)
    assert_type(theano.config.openmp, bool)
    assert_type(theano.config.openmp_elemwise_minsize, int)
    assert_type(theano.config.optdb.max_use_ratio, float)
    assert_type(theano.config.gcc.cxxflags, str)
    assert_type(theano.config.DebugMode.patience, int)
    assert_type(theano.config.change_flags(floatX="float32"), ChangedFlags)
