"""Constants in stable forms: they wait until the forms have been recognised, and are folded then.

``log(sigmoid(-1000))`` has the number that ``log(sigmoid(x))`` has for an x of -1000, and not the logarithm of 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from theano_graph import Apply, Constant, FunctionGraph, Variable, batch_rule, pullback, pushforward, shape_rule
from theano_linker_c.modes import optdb
from theano_optimize import Phase, WalkRewriter, constant_folding, node_rewriter

from .._core._ops import TensorOp, run_in_a_loop
from .._core._type import Tensor
from ..elemwise import Elemwise
from ..nnet import Softmax
from ..reduce import Prod
from ._language import is_float, number
from ._registry import rule
from .movements import is_awaited, is_steep_below

Found = list[Variable] | None


class Unfolded(TensorOp):
    """A constant whose value is not looked at until it is folded."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, x: Tensor) -> Apply[Self, Tensor]:
        """Apply to a constant."""
        return Apply(self, [x], [x.type.make_variable()])

    def do_constant_folding(self, node: Apply[Self]) -> bool:
        """Return False."""
        return False

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Return the constant."""
        output_storage[0][0] = inputs[0]


@shape_rule.register(Unfolded)
def _shape(node: Apply[Unfolded, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


for _table in (pullback, pushforward):
    _table.declare_absent(Unfolded, "it is made when functions are compiled, after gradients have been taken")

unfolded = Unfolded()
#: The op is half of a stable form as it is, if only a constant is below.
_WHOLE = (Softmax, Prod)


def is_needed_unfolded(fgraph: FunctionGraph, node: Apply) -> bool:
    """Tell whether a node on constants is one half of a stable form, and the other half is above."""
    (output, *others) = node.outputs
    if others or not is_float(output) or not isinstance(node.op, (Elemwise, *_WHOLE)):
        return False
    return (isinstance(node.op, _WHOLE) or is_steep_below(output)) and is_awaited(fgraph, output)


constant_folding.postponed.append(is_needed_unfolded)


@rule(Elemwise, *_WHOLE, phases=(Phase.CANONICALIZE, Phase.STABILIZE), reach=0, key="local_constants_unfolded")
def constants_unfolded(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> Found:
    """``log(exp(2)) -> log(exp(unfolded(2)))``: rules see a variable."""
    for variable in node.inputs:
        if variable.owner is not None or not isinstance(variable, Constant):
            return None
    if not node.inputs or not is_needed_unfolded(fgraph, node):
        return None
    units = [v for v in node.inputs if number(v) in (1, -1)] if len(node.inputs) == 2 else []
    if type(node.op) is Elemwise and node.op.scalar_op.name == "pow":
        units = node.inputs[1:]
    if len(units) == len(node.inputs):
        return None
    new: Variable = node.op.make_node(*(v if v in units else unfolded(v) for v in node.inputs)).outputs[0]
    return [new]


@node_rewriter([Unfolded])
def constants_folded(fgraph: FunctionGraph, node: Apply[Unfolded, Tensor]) -> Found:
    """Constants keep their values."""
    return [node.inputs[0]]


optdb.register(
    "constants_folded",
    WalkRewriter(constants_folded),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe", "stabilize"),
    position=Phase.STABILIZE.position + 0.05,
)


batch_rule.register(Unfolded)(run_in_a_loop)
