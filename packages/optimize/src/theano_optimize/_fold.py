"""Computing what depends on constants only."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    NoParams,
    PureOp,
    Variable,
    call_with_graph,
    is_library_module,
)

from ._aliasing import is_destroyed
from ._info import Phase, RewriteInfo
from ._rules._node_rewriter import NodeRewriter, TransformResult


class ConstantFolding(NodeRewriter):
    """Replace a node whose inputs are all constants by constants.

    The node is computed by the op's ``perform`` into fresh storage. Nothing happens where the op says no
    (``do_constant_folding(node)``), where the op overwrites an input or an output is overwritten later, and where
    computing fails: the error then appears when the compiled function runs, with the place in the user's program.

    Attributes
    ----------
    postponed : list of callable
        Nothing happens either where one of these, ``postponed(fgraph, node)``, is true: rules that need the expression,
        and not its value, have not been asked yet.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> from theano_optimize import WalkRewriter, constant_folding
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    ...     def perform(self, node, inputs, output_storage, params=None):
    ...         output_storage[0][0] = -inputs[0]
    >>> fgraph = FunctionGraph([], [Neg()(Generic().make_constant(3))])
    >>> WalkRewriter(constant_folding).rewrite(fgraph).changes
    1
    >>> fgraph.outputs[0].data
    -3
    """

    def __init__(self) -> None:
        super().__init__(info=RewriteInfo("constant_folding", Phase.CANONICALIZE), reach=0)
        self.postponed: list[Callable[[FunctionGraph, Apply], bool]] = []

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        for variable in node.inputs:
            if variable.owner is not None or not isinstance(variable, Constant):
                return None
        op = node.op
        if op.destroy_map or not call_with_graph(op.do_constant_folding, fgraph, node):
            return None
        if any(is_destroyed(fgraph, output) for output in node.outputs):
            return None
        if any(is_needed(fgraph, node) for is_needed in self.postponed):
            return None
        values = computed_outputs(node)
        if values is None:
            return None
        return [_as_constant(output, value) for output, value in zip(node.outputs, values, strict=True)]


class _Foldings:
    """How many nodes with code of the user's have been computed in this process while graphs were rewritten."""

    count = 0


def number_of_user_foldings() -> int:
    """Return how many times code of the user's has been run on constants in this process, to fold them."""
    return _Foldings.count


def _is_of_user(op: object, depth: int = 2) -> bool:
    """Tell whether an op runs code of the user's: its own, or that of an op or a function that it holds."""
    if isinstance(op, FunctionType):
        return not is_library_module(op.__module__)
    if not is_library_module(type(op).__module__):
        return True
    return depth > 0 and any(
        _is_of_user(value, depth - 1)
        for value in getattr(op, "__dict__", {}).values()
        if isinstance(value, (PureOp, FunctionType))
    )


def computed_outputs(node: Apply) -> list[Any] | None:
    """Return the values of the outputs of a node on constants, or None if they cannot be computed."""
    if _is_of_user(node.op):
        _Foldings.count += 1
    cells: list[list[Any]] = [[None] for _ in node.outputs]
    storage = list(cells)
    inputs = [variable.data for variable in node.inputs]
    try:
        params = node.run_params()
        node.op.perform(node, inputs, storage, *(() if params is NoParams else (params,)))
    except Exception:  # noqa: BLE001  # fails again, with its place in the program, at run time
        return None
    found = [cell[0] if len(cell) == 1 else None for cell in cells]
    in_place = len(storage) == len(cells) and all(map(operator.is_, storage, cells))
    # A result that is none of the type is no constant: the machine that runs the node says what is wrong with it.
    return found if in_place and all(map(_fits, node.outputs, found)) else None


def _fits(variable: Variable, value: Any) -> bool:
    dtype, shape = getattr(variable.type, "dtype", None), getattr(variable.type, "shape", None)
    if not isinstance(dtype, str):
        return True
    given = getattr(value, "shape", shape)
    if str(getattr(value, "dtype", None)) != dtype:
        return False
    if not (isinstance(shape, tuple) and isinstance(given, tuple)):
        return True
    return len(shape) == len(given) and all(n in (None, have) for n, have in zip(shape, given, strict=True))


def _as_constant(output: Variable, value: Any) -> Variable:
    constant: Variable = output.type.make_constant(value, name=output.name)
    return constant


#: The instance for the phases up to stabilization; register it with a database.
constant_folding = ConstantFolding()
#: The one for later phases, which postpones nothing.
final_constant_folding = ConstantFolding()
