"""Copies and views of a whole value, for any type."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from theano_graph import Apply, Variable, batch_rule, pullback, pushforward, shape_rule

from ..cop import RegisteredCodeOp, TypeCodeTable


class DeepCopyOp(RegisteredCodeOp):
    """Copy of any value; `function` puts it where an output would alias memory that is not the caller's.

    Arrays are copied in their own memory order; other values by C code that is registered for their type (see
    :func:`register_deep_copy_op_c_code`), or else with :func:`copy.deepcopy`.
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    type_code: ClassVar[TypeCodeTable] = TypeCodeTable("DeepCopyOp")

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        (value,) = inputs
        # copy.deepcopy of an array goes through Python code first; order "K" keeps transposed arrays transposed.
        output_storage[0][0] = value.copy(order="K") if type(value) is np.ndarray else copy.deepcopy(value)


class ViewOp(RegisteredCodeOp):
    """The value itself, marked as an alias of the input."""

    __props__: ClassVar[tuple[str, ...]] = ()
    type_code: ClassVar[TypeCodeTable] = TypeCodeTable("ViewOp")
    view_map: Mapping[int, Sequence[int]] = {0: [0]}

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = inputs
        return Apply(self, [x], [x.type.make_variable()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any, params: Any = None) -> None:
        output_storage[0][0] = inputs[0]


class OutputGuard(ViewOp):
    """The value itself, declared to be overwritten so that no other node may overwrite it.

    A graph that a :class:`~theano_optimize.DestroyHandler` watches needs none: its outputs are protected anyway. The op
    serves rewrites that put in-place forms in without one.
    """

    destroy_map: Mapping[int, Sequence[int]] = {0: [0]}


@pullback.register(DeepCopyOp, ViewOp)
def _pullback(node: Apply, cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(DeepCopyOp, ViewOp)
def _pushforward(node: Apply, tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


@shape_rule.register(DeepCopyOp, ViewOp)
def _shape(node: Apply, input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


deep_copy_op = DeepCopyOp()
view_op = ViewOp()


def register_deep_copy_op_c_code(typ: Any, code: str, version: Any = ()) -> None:
    """Say how values of a type are copied in C.

    Parameters
    ----------
    typ : type
        Class of the type, not an instance.
    code : str
        C code that makes ``%(oname)s`` a copy of ``%(iname)s``; ``%(fail)s`` leaves it with an exception set.
    version : int or tuple
        Version of the code; with an empty one it is compiled in every process.

    Raises
    ------
    TypeError
        If `typ` is no class of types.
    """
    DeepCopyOp.type_code.register(typ, code, version)


def register_view_op_c_code(type: Any, code: str, version: Any = ()) -> None:
    """Say how C code makes ``%(oname)s`` the same value as ``%(iname)s``; see :func:`register_deep_copy_op_c_code`."""
    ViewOp.type_code.register(type, code, version)


@batch_rule.register(DeepCopyOp, ViewOp, OutputGuard)
def _batch(
    node: Apply[DeepCopyOp | ViewOp | OutputGuard], inputs: list[Any], stacked: Sequence[bool]
) -> list[Variable]:
    return [node.op(inputs[0])]
