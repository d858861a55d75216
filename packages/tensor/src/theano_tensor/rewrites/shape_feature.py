"""Shapes of the variables of a graph, for rewrites that ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from theano_graph import (
    AlreadyThere,
    Apply,
    Feature,
    FunctionGraph,
    Variable,
    call_with_graph,
    describe,
    format_error,
    shape_rule as shape_rules,
)
from theano_optimize import GraphRewriter, RewriteProfile

from .._core._convert import constant
from .._core._dtypes import TensorLike
from .._core._type import Tensor
from .._errors import ShapeError
from ..shape import shape_i

Shape = tuple[Any, ...]


class ShapeTable(dict[Variable, Any]):
    """Variables and their shapes, each worked out when it is first asked for; None for a value without shape."""

    def __init__(self, feature: ShapeFeature) -> None:
        super().__init__()
        self._feature = feature

    def __missing__(self, variable: Variable) -> Shape | None:
        self._feature.init_r(variable)
        return cast("Shape | None", self[variable])

    def __contains__(self, variable: object) -> bool:
        return super().__contains__(variable) or isinstance(variable, Variable)


class ShapeFeature(Feature):
    """The shapes of the variables of a graph, as scalar variables, in terms of the shapes of its inputs.

    While it is attached, the graph has it as the attribute ``shape_feature``. Shapes come from the shape rules of ops;
    where an op has none, the length is read off the value.

    Attributes
    ----------
    shape_of : dict
        Variable -> tuple with one scalar variable of dtype int64 for each dimension; None for a value without shape.
        Entries are made when they are asked for.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> graph = theano.FunctionGraph([x], [T.tanh(x).T], features=[T.opt.ShapeFeature()], clone=False)
    >>> graph.shape_feature.get_shape(graph.outputs[0], 0)
    Shape_i{1}.0
    """

    def __init__(self) -> None:
        self.shape_of: dict[Variable, Any] = ShapeTable(self)
        self.fgraph: FunctionGraph | None = None

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second graph, and a second feature."""
        if self.fgraph is not None or any(isinstance(f, ShapeFeature) and f is not self for f in fgraph.features):
            raise AlreadyThere("shapes of this graph are known already, or these belong to another graph")
        self.fgraph = fgraph
        cast(Any, fgraph).shape_feature = self

    def on_detach(self, fgraph: FunctionGraph) -> None:
        """Forget the shapes."""
        self.fgraph = None
        self.shape_of.clear()
        if getattr(fgraph, "shape_feature", None) is self:
            del cast(Any, fgraph).shape_feature

    def on_change_input(
        self, fgraph: FunctionGraph, node: Any, i: int, old: Variable, new: Variable, reason: object = None
    ) -> None:
        """Let a replacement have the shape of its original, where its own is not known."""
        if self._knows(old) and not self._knows(new):
            shape = self.shape_of[old]
            if shape is None or len(shape) == getattr(new.type, "ndim", -1):
                self.shape_of[new] = shape

    # ---- asking

    def get_shape(self, var: Variable, idx: int) -> Variable:
        """Return the length of dimension `idx` of `var`."""
        return cast(Variable, self.shape_of[var][idx])

    def same_shape(self, x: Variable, y: Variable, dim_x: int | None = None, dim_y: int | None = None) -> bool:
        """Tell whether two variables are known to have the same shape, or the same length of one dimension each."""
        a, b = self.shape_of[x], self.shape_of[y]
        if a is None or b is None:
            return False
        if dim_x is not None or dim_y is not None:
            a, b = [a[dim_x or 0]], [b[dim_y or 0]]
        return len(a) == len(b) and all(map(_equal, a, b))

    def shape_ir(self, i: int, r: Variable) -> Variable:
        """Return the length of dimension `i` of `r`, read off its value or its type."""
        length = cast(Any, r.type).shape[i]
        return constant(np.asarray(length, dtype="int64")) if length is not None else shape_i(r, i)

    def shape_tuple(self, r: Variable) -> Shape | None:
        """Return the lengths of the dimensions of `r`, read off its value or its type; None if it has none."""
        ndim = getattr(r.type, "ndim", None)
        return None if ndim is None or not hasattr(r.type, "shape") else tuple(self.shape_ir(i, r) for i in range(ndim))

    def default_infer_shape(self, node: Apply, i_shapes: Sequence[Any]) -> list[Shape | None]:
        """Return the shapes of the outputs of a node whose op has no rule."""
        return [self.shape_tuple(output) for output in node.outputs]

    # ---- changing

    def init_r(self, r: Variable) -> None:
        """Put the shape of `r`, and of its ancestors, in the table."""
        pending = [r]
        while pending:
            variable = pending[-1]
            node = variable.owner
            if self._knows(variable):
                pending.pop()
            elif node is None:
                self.shape_of[variable] = self.shape_tuple(variable)
            elif unknown := [v for v in node.inputs if not self._knows(v)]:
                pending.extend(unknown)
            else:
                self._infer(node)

    def _knows(self, variable: Variable) -> bool:
        return dict.__contains__(self.shape_of, variable)

    def _infer(self, node: Apply) -> None:
        rule: Any = shape_rules.get(node.op) or getattr(node.op, "infer_shape", None)
        shapes: Sequence[Any] | None = None
        if rule is not None:
            try:
                shapes = call_with_graph(rule, node.fgraph, node, [self.shape_of[v] for v in node.inputs])
            except ShapeError:
                shapes = None
        for output, shape in zip(node.outputs, shapes or self.default_infer_shape(node, []), strict=True):
            if not self._knows(output):
                # A rule has None for a length that only the value tells.
                lengths = shape and [self.shape_ir(i, output) if n is None else n for i, n in enumerate(shape)]
                self.set_shape(output, lengths)

    def set_shape(self, r: Variable, s: Sequence[Any] | None, override: bool = False) -> None:
        """Note the shape of a variable.

        Parameters
        ----------
        r : Variable
        s : sequence of int or scalar variable, or None
        override : bool
            Whether `r` may have one already.

        Raises
        ------
        ShapeError
            If the number of lengths is not that of the dimensions, or `r` has a shape and `override` is False.
        """
        if self._knows(r) and not override:
            raise ShapeError(
                format_error(
                    "a variable has a shape already", context=[describe(r)], hint="pass override=True to change it"
                )
            )
        if s is None:
            self.shape_of[r] = None
            return
        ndim = cast(Any, r.type).ndim
        if len(s) != ndim:
            raise ShapeError(
                format_error(
                    f"{len(s)} lengths are no shape of {ndim} dimensions", context=[describe(r)], hint="give one each"
                )
            )
        static = cast(Any, r.type).shape
        self.shape_of[r] = tuple(
            self.unpack(n if length is None else length, r) for n, length in zip(s, static, strict=True)
        )

    def set_shape_i(self, r: Variable, i: int, s_i: Any) -> None:
        """Replace the length of dimension `i` of `r`."""
        shape = list(self.shape_of[r])
        shape[i] = self.unpack(s_i, r)
        self.shape_of[r] = tuple(shape)

    def update_shape(self, r: Variable, other_r: Variable) -> None:
        """Give `r` the shape of `other_r`, except for lengths that are only read off the value of `other_r`."""
        shape, other = self.shape_of[r], self.shape_of[other_r]
        if other is None:
            return
        if shape is None:
            self.shape_of[r] = other
            return
        self.shape_of[r] = tuple(
            a if b.owner is not None and b.owner.inputs[0] is other_r else b for a, b in zip(shape, other, strict=True)
        )

    def unpack(self, s_i: TensorLike, var: Variable) -> Variable:
        """Return a length as a scalar variable of dtype int64.

        Raises
        ------
        ShapeError
            If it is no integer, or negative; the message tells of `var`.
        """
        if isinstance(s_i, Variable):
            length = cast(Tensor, s_i)
            if length.type.ndim == 0 and ("int" in length.type.dtype or length.type.dtype == "bool"):
                return length if length.type.dtype == "int64" else cast(Variable, cast(Any, length).astype("int64"))
        elif isinstance(s_i, (int, np.integer)) or (isinstance(s_i, np.ndarray) and s_i.ndim == 0):
            if int(s_i) == s_i and s_i >= 0:
                return constant(np.asarray(int(s_i), dtype="int64"))
        raise ShapeError(
            format_error(
                f"{s_i!r} is no length of a dimension", context=[describe(var)], hint="lengths are integers from 0 up"
            )
        )


def _equal(a: Variable, b: Variable) -> bool:
    if a is b:
        return True
    first, second = getattr(a, "data", None), getattr(b, "data", None)
    if first is not None and second is not None:
        return bool(first == second)
    if a.owner is None or b.owner is None:
        return False
    return bool(a.owner.op == b.owner.op and all(x is y for x, y in zip(a.owner.inputs, b.owner.inputs, strict=False)))


def known_shape_i(var: Variable, i: int, fgraph: FunctionGraph | None = None) -> Variable:
    """Length of one dimension, in terms of the inputs of a graph that knows shapes.

    Parameters
    ----------
    var : Variable
    i : int
    fgraph : FunctionGraph, optional
        The graph to ask where `var` is in none. Without a :class:`ShapeFeature` the length is read off the value.

    Returns
    -------
    Variable
        A scalar of dtype int64.

    Raises
    ------
    ShapeError
        If there is no such dimension.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x = T.dmatrix("x")
    >>> graph = theano.gof.FunctionGraph([x], [T.exp(x)], features=[T.opt.ShapeFeature()], clone=False)
    >>> theano.compile.shape_i(T.exp(x).T, 1, graph).owner.inputs
    [x]
    """
    graph = getattr(var, "fgraph", None)
    feature = getattr(fgraph if graph is None else graph, "shape_feature", None)
    shape = None if feature is None else feature.shape_of[var]
    if shape is None:
        return shape_i(var, i)
    if not -len(shape) <= i < len(shape):
        raise ShapeError(format_error(f"there is no dimension {i} of {len(shape)}", context=[describe(var)]))
    return cast(Variable, shape[i])


class ShapeOptimizer(GraphRewriter):
    """Attach a :class:`ShapeFeature` to the graph."""

    def __init__(self) -> None:
        super().__init__("ShapeOpt")

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the feature unless there is one."""
        if not any(isinstance(f, ShapeFeature) for f in fgraph.features):
            fgraph.attach_feature(ShapeFeature())

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Change nothing."""
        return RewriteProfile(self.name)


class UnShapeOptimizer(GraphRewriter):
    """Take the :class:`ShapeFeature` off the graph."""

    def __init__(self) -> None:
        super().__init__("UnShapeOpt")

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Remove the feature if there is one."""
        for feature in [f for f in fgraph.features if isinstance(f, ShapeFeature)]:
            fgraph.remove_feature(feature)
        return RewriteProfile(self.name)
