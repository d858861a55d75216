"""Facts about matrices beyond their types: hints of users, kept beside the graph while it is rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from theano_graph import Apply, Feature, FunctionGraph, Variable, batch_rule, pullback, pushforward, shape_rule
from theano_optimize import GraphRewriter

from ..._core._convert import as_tensor_variable
from ..._core._dtypes import TensorLike
from ..._core._ops import TensorOp, on_stacks
from ..._core._type import Tensor


class Hint(TensorOp):
    """Its input, of which something is known; rewriting takes the hint out of the graph, and remembers it.

    Parameters
    ----------
    **kwargs
        The facts, such as ``symmetric=True`` or ``psd=True``.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> Hint(symmetric=True)(dmatrix("x")).type
    TensorType(float64, matrix)
    """

    __props__ = ("hints",)

    def __init__(self, **kwargs: Any) -> None:
        self.view_map = {0: [0]}
        self.hints = tuple(sorted(kwargs.items()))

    def make_node(self, x: TensorLike) -> Apply[Self, Tensor]:
        """Apply to a tensor."""
        variable = as_tensor_variable(x)
        return Apply(self, [variable], [variable.type.make_variable()])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Pass the value on."""
        output_storage[0][0] = inputs[0]


@pullback.register(Hint)
def _pullback(node: Apply[Hint, Tensor], cotangents: list[Variable]) -> list[Variable | None]:
    return [cotangents[0]]


@pushforward.register(Hint)
def _pushforward(node: Apply[Hint, Tensor], tangents: list[Variable | None]) -> list[Variable | None]:
    return [tangents[0]]


batch_rule.register(Hint)(on_stacks)


@shape_rule.register(Hint)
def _shape(node: Apply[Hint, Tensor], input_shapes: list[Any]) -> list[Any]:
    return [input_shapes[0]]


def is_hint_node(node: Apply) -> bool:
    """Tell whether a node gives a hint."""
    return isinstance(node.op, Hint)


def hints(variable: Variable) -> dict[str, Any]:
    """Return the facts about `variable` that the node which makes it gives."""
    node = variable.owner
    return dict(node.op.hints) if node is not None and is_hint_node(node) else {}


def psd(v: TensorLike) -> Tensor:
    """Return `v`, with the hint that it is symmetric and positive semi-definite.

    Equations with it, its inverse and its determinant are then computed by its Cholesky factor, so that functions
    raise LinAlgError where the hint is wrong, or an eigenvalue is 0.

    Examples
    --------
    >>> from theano_tensor import dmatrix
    >>> psd(dmatrix("k")).type
    TensorType(float64, matrix)
    """
    result: Tensor = Hint(psd=True, symmetric=True)(v)
    return result


class HintsFeature(Feature):
    """The hints of the variables of a graph; a replacement inherits them.

    Attributes
    ----------
    hints : dict
        Variable -> facts about it, by name.
    """

    #: Name on the graph -> name of the method here.
    provides: ClassVar[Mapping[str, str]] = {"hints_of": "hints_of"}

    def __init__(self) -> None:
        self.hints: dict[Variable, dict[str, Any]] = {}

    def clone(self) -> HintsFeature:
        """Return a feature for a copy of the graph."""
        return HintsFeature()

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Read the hints that stand in the graph."""
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget all hints."""
        self.hints.clear()

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        """Read the hint of a new node: it holds for the operand of the node, too."""
        if is_hint_node(node):
            for variable in (*node.inputs, *node.outputs):
                self.add_hint(variable, dict(node.op.hints))

    def on_change_input(
        self, fgraph: FunctionGraph, node: Apply | str, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Facts about a variable hold for the one that replaces it."""
        hints = self.hints.get(old)
        if hints and new is not old:
            self.add_hint(new, hints)

    def add_hint(self, variable: Variable, known: Mapping[str, Any]) -> None:
        """Remember more about a variable."""
        self.hints.setdefault(variable, {}).update(known)

    def hints_of(self, fgraph: FunctionGraph, variable: Variable) -> dict[str, Any]:
        """Return the facts about a variable; the graph lends this method."""
        return self.hints.get(variable, {})


class HintsOptimizer(GraphRewriter):
    """The graph rewriter that attaches a :class:`HintsFeature` to graphs in which hints stand."""

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature."""
        if not hasattr(fgraph, "hints_of") and any(is_hint_node(node) for node in fgraph.apply_nodes):
            fgraph.attach_feature(HintsFeature())

    def apply(self, fgraph: FunctionGraph) -> None:
        """Change nothing: the feature is all there is to it."""


def hints_of(fgraph: FunctionGraph, variable: Variable) -> dict[str, Any]:
    """Return the facts about a variable of a graph."""
    lookup = getattr(fgraph, "hints_of", None)
    hints: dict[str, Any] = {} if lookup is None else lookup(variable)
    return hints
