"""Findings of type checkers on a program; `tools/check_types.py` has mypy and pyright read it."""

from __future__ import annotations

from collections.abc import Sequence
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
    for item in (x + 1, 1 - x, x @ x, x.T, x[0], -x, x.sum(axis=0), T.exp(x), T.dot(x, v), T.stack([v, v]), x.shape):
        assert_type(item, Tensor)
    assert_type(x.dtype, str)
    assert_type(x.ndim, int)
    assert_type(x.name, str | None)


def shared_variables() -> None:
    """The kind of a shared variable follows from the value."""
    weights = theano.shared(np.zeros(3), name="w")
    assert_type(weights, TensorSharedVariable)
    assert_type(theano.shared(0.0), TensorSharedVariable)
    assert_type(theano.shared(np.float32(1)), TensorSharedVariable)
    assert_type(theano.shared(np.random.default_rng(0)), RandomStateSharedVariable)
    assert_type(theano.shared({"step": 0}), theano.compile.SharedVariable)
    assert_type(weights.get_value(), NDArray[Any])
    assert_type(weights * 2, Tensor)


def gradients() -> None:
    """Gradients come in the form of the variables that they are with respect to."""
    for grad in (theano.grad, T.grad):
        assert_type(grad(cost, x), Tensor)
    assert_type(T.grad(cost, [x, v]), list[Tensor])
    assert_type(T.grad(cost, (x, v)), tuple[Tensor, ...])


class Doubled(theano.Op):
    """An op as programs write them: with parameters of its own."""

    __props__ = ()

    def make_node(self, x: T.TensorVariable) -> theano.Apply:
        """Take one tensor."""
        return theano.Apply(self, [x], [x.type()])

    def perform(self, node: theano.Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute it."""
        output_storage[0][0] = 2 * inputs[0]


def annotated(a: T.TensorVariable) -> T.TensorVariable:
    """Every tensor fits the annotation of programs."""
    annotated(T.exp(a) + theano.shared(1.0))
    annotated(T.constant(1.0))
    return annotated(theano.shared(np.zeros(3)))


def several_or_one() -> None:
    """Calls of ops and loops give tensors, which stand for lists of them as well."""
    assert_type(Doubled()(v) + 1, Tensor)
    assert_type(Doubled()(v, return_list=True), list[Tensor])
    states, _ = theano.scan(lambda a: a + 1, outputs_info=v, n_steps=3)
    assert_type(states[-1], Tensor)
    listed: list[T.TensorVariable] = states
    first, _second = listed
    assert_type(theano.ifelse.ifelse(T.gt(cost, 0), x, first).sum(), Tensor)
    assert_type(T.jacobian(v, v).T, Tensor)


def wrong_names() -> None:
    """A name that is no flag is an error, read or set."""
    theano.config.flaotX = "float32"  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    theano.config.flaotX  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # noqa: B018


def compiled() -> None:
    """A function knows the types of its results."""
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
