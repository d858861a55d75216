"""Copies and views of a whole value, for any type."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, Op


class DeepCopyOp(Op):
    """Copy of any value; `function` puts it where an output would alias memory that is not the caller's.

    Arrays are copied in their own memory order; other values with :func:`copy.deepcopy`.
    """

    __props__: ClassVar[tuple[str, ...]] = ()

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (value,) = inputs
        # copy.deepcopy of an array goes through Python code first; order "K" keeps transposed arrays transposed.
        output_storage[0][0] = value.copy(order="K") if type(value) is np.ndarray else copy.deepcopy(value)


class ViewOp(Op):
    """The value itself, marked as an alias of the input."""

    __props__: ClassVar[tuple[str, ...]] = ()
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]


deep_copy_op = DeepCopyOp()
view_op = ViewOp()
