"""Ops that overwrite, choose, or hold on to their inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import theano_tensor as T
from theano_graph import Apply, Op, Variable, generic
from theano_linker_c.program import Branch, lazy_form


class Spoil(Op):
    """Overwrite the input with -99 and return it."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x: Any) -> Apply:
        x = T.as_tensor_variable(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        inputs[0][...] = -99
        output_storage[0][0] = inputs[0]


class Wrap(Op):
    """Put a reversed view of a vector into a tuple; an honest one says so in its view map."""

    __props__ = ("honest",)

    def __init__(self, honest: bool) -> None:
        self.honest = honest
        if honest:
            self.view_map = {0: [0]}

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [generic()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = (inputs[0][::-1],)


class Take(Op):
    """Add the element of a tuple to a vector."""

    __props__ = ()

    def make_node(self, wrapped: Variable, x: Variable) -> Apply:
        return Apply(self, [wrapped, x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0][0] + inputs[1]


class Choose(Op):
    """Be the second input or the third one, as the first one says."""

    __props__ = ()
    view_map = {0: [1, 2]}

    def make_node(self, condition: Variable, chosen: Variable, otherwise: Variable) -> Apply:
        return Apply(self, [condition, chosen, otherwise], [chosen.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[1] if inputs[0] else inputs[2]


@lazy_form.register(Choose)
def _choose_lazy(node: Apply) -> Branch:
    return Branch(0, (1,), (2,))
