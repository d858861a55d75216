"""Shapes of the variables of a graph, and shapes computed without the tensors they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np

from theano_graph import (
    AlreadyThere,
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    Variable,
    call_with_graph,
    config,
    describe,
    format_error,
    shape_rule,
    shape_rule as shape_rules,
    warn_user,
)
from theano_linker_c import function
from theano_linker_c.debugmode import set_shapes_of
from theano_optimize import Fit, GraphRewriter, Phase, RewriteProfile, RewriteWarning, count_report

from .._core._convert import as_tensor_variable, constant
from .._core._dtypes import TensorLike
from .._core._type import Tensor, TensorType
from .._errors import ShapeError
from ..elemwise import DimShuffle, dimshuffle
from ..gradient import GradientGate
from ..shape import MakeVector, ShapeI, ShapeOf, shape_i
from ._language import rule
from .equations import Anything, Equations, applied, equations

# ---- The shapes that rules tell for given values: DebugMode compares them with those of the results


def told_shapes(node: Apply, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[tuple[int, ...] | None]:
    """Return for each output the shape that the op tells from the shapes of its inputs, None where it tells none.

    Parameters
    ----------
    node : Apply
    operands, results : sequence of object
        Values of the inputs and outputs of the node.
    """
    rule: Any = shape_rules.get(node.op) or getattr(node.op, "infer_shape", None)
    nothing: list[tuple[int, ...] | None] = [None] * len(results)
    if rule is None:
        return nothing
    shapes = [_lengths(value) for value in operands]
    try:
        told = call_with_graph(rule, node.fgraph, node, shapes)
        return [_known(node, operands, shape, result) for shape, result in zip(told, results, strict=True)]
    except Exception:  # noqa: BLE001  # rules of users raise anything; one that fails tells nothing
        return nothing


def _lengths(value: Any) -> tuple[Variable, ...] | None:
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(constant(np.asarray(n, dtype="int64")) for n in shape)


def _known(node: Apply, operands: Sequence[Any], shape: Any, result: Any) -> tuple[int, ...] | None:
    """Return lengths as numbers; lengths that a rule reads off the result are the result's."""
    if shape is None:
        return None
    lengths = [n if isinstance(n, Variable) else constant(np.asarray(m if n is None else n, dtype="int64"))
               for n, m in zip(shape, result.shape, strict=True)]  # fmt: skip
    given = {v: value for v, value in zip(node.inputs, operands, strict=True) if not isinstance(v, Constant)}
    f = function(list(given), lengths, mode="FAST_COMPILE", on_unused_input="ignore")
    return tuple(int(n) for n in f(*given.values()))


set_shapes_of(told_shapes)


# ---- Lengths that rewriting has worked out already, so that no length is traced back to the inputs twice

Key = tuple[Variable, int]


class KnownLengths(Feature):
    """For variables of one graph, the variables that hold the lengths of their dimensions.

    A replacement of such a variable holds the length from then on. Without this table a chain in which each link asks
    for a length would take a number of steps that grows with the square of its own length.
    """

    only_remembers = True

    def __init__(self) -> None:
        self._length: dict[Key, Variable] = {}
        self._keys: dict[Variable, list[Key]] = {}
        self._attached = False

    def on_attach(self, fgraph: FunctionGraph) -> None:
        """Refuse a second graph: the variables belong to the first."""
        if self._attached:
            raise AlreadyThere("these lengths belong to another graph")
        self._attached = True

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        """Follow a replacement."""
        keys = self._keys.pop(old, None)
        if keys is not None:
            self._keys.setdefault(new, []).extend(keys)
            for key in keys:
                self._length[key] = new

    def note(self, variable: Variable, i: int, length: Variable) -> None:
        """Remember that `length` holds the length of dimension `i` of `variable`."""
        old = self._length.get((variable, i))
        if old is not None:
            self._keys[old].remove((variable, i))
        self._length[variable, i] = length
        self._keys.setdefault(length, []).append((variable, i))

    def length(self, fgraph: FunctionGraph, variable: Variable, i: int) -> Variable:
        """Return a variable for the length of dimension `i`: a known one that is in the graph, or a new one."""
        length_known = self._length.get((variable, i))
        if length_known is not None and length_known in fgraph.variables:
            return length_known
        return shape_i(variable, i)


def known_lengths(fgraph: FunctionGraph) -> KnownLengths:
    """Return the table of a graph, attached if there is none."""
    for feature in fgraph.features:
        if isinstance(feature, KnownLengths):
            return feature
    table = KnownLengths()
    fgraph.attach_feature(table)
    return table


def is_traced_length(fgraph: FunctionGraph, owner: Apply, x: Variable, axis: int) -> bool:
    """Tell whether a node reads the length of a dimension of x, off x or off an ancestor of x."""
    if owner.inputs[0] is x and owner.op == ShapeI(axis):
        return True
    shapes: Any = getattr(fgraph, "shape_feature", None)
    traced = None if shapes is None or x not in fgraph.variables else shapes.get_shape(x, axis).owner
    return traced is not None and traced.op == owner.op and traced.inputs[0] is owner.inputs[0]


# ---- Shapes of the variables of a graph, for rewrites that ask

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


# ---- Shapes computed without the tensors they belong to, and views that do nothing

Found = list[Variable] | None
gate = applied("gradient_gate", GradientGate)
#: Not in FAST_COMPILE: reading a length off the inputs skips the computation, and with it the errors that it would
#: raise.
ONLY_RUN = ("fast_run",)


@rule(
    DimShuffle,
    key="local_dimshuffle_merge",
    names=("local_dimshuffle_lift", "local_useless_dimshuffle", "local_dimshuffle_no_inplace_at_canonicalize"),
)
def views_joined(fgraph: FunctionGraph, node: Apply[DimShuffle, Tensor]) -> Found:
    """Two dimshuffles are one, and one that changes nothing is none."""
    (x,) = node.inputs
    order: list[int | str] = list(node.op.order)
    inner = x.owner
    if inner is not None and isinstance(inner.op, DimShuffle):
        below = inner.op.order
        return [dimshuffle(inner.inputs[0], [e if isinstance(e, str) else below[e] for e in order])]
    return [x] if order == list(range(x.type.ndim)) else None


@rule(ShapeOf, tags=ONLY_RUN, reach=0, key="local_shape_to_shape_i")
def shape_as_lengths(fgraph: FunctionGraph, node: Apply[ShapeOf]) -> Found:
    """``shape(x)`` as a vector of the lengths of its dimensions."""
    (x,) = node.inputs
    if not _tells_lengths(x):
        return None
    return [MakeVector("int64")(*(shape_i(x, i) for i in range(x.type.ndim)))]


def _tells_lengths(x: Variable) -> bool:
    """Tell whether `x` is a tensor, or an array on a device, the shape of which is worked out in the same way."""
    return isinstance(x.type, TensorType) or hasattr(x.type, "context_name")


@rule(
    ShapeI,
    phases=(Phase.CANONICALIZE, Phase.SPECIALIZE),  # fills become allocations late
    tags=(*ONLY_RUN, "local_shape_to_shape_i"),
    key="local_track_shape_i",
)
def length_from_inputs(fgraph: FunctionGraph, node: Apply[ShapeI]) -> Found:
    """The length of a result, from the lengths of its inputs."""
    if not _tells_lengths(node.inputs[0]):
        return None
    x: Tensor = node.inputs[0]
    i = node.op.i
    known = x.type.shape[i]
    if known is not None:
        return [_length(known)]
    table = known_lengths(fgraph)
    shape = computed_shape(fgraph, table, x)
    if shape is None or shape[i] is None:  # None stands for a length that only the value knows
        table.note(x, i, node.outputs[0])
        return None
    length = _length(shape[i])
    table.note(x, i, length)
    return [length]


def computed_shape(fgraph: FunctionGraph, table: KnownLengths, x: Variable) -> Any:
    """Return the lengths of a result, from those of its inputs; None where they are not known."""
    owner = x.owner
    if owner is None:
        return None
    rule_of_op = shape_rule.get(owner.op, "infer_shape")
    if rule_of_op is None:
        rule_of_op = getattr(owner.op, "infer_shape", None)
    if rule_of_op is None:
        return None
    lengths = [_input_shape(fgraph, table, v) for v in owner.inputs]
    try:
        return call_with_graph(rule_of_op, fgraph, owner, lengths)[x.index or 0]
    except Exception as error:  # rules are written by anybody
        if config.on_shape_error == "raise":
            raise
        text = format_error(
            f"the shape rule of {owner.op} failed ({type(error).__name__}: {error}); the shape is taken from the value",
            context=[describe(x)],
            hint="correct the rule; on_shape_error=raise shows where it failed",
        )
        count_report()
        warn_user(text, RewriteWarning)
        return None


def _input_shape(fgraph: FunctionGraph, table: KnownLengths, v: Variable) -> Any:
    """Return the lengths of an input, or None for one that has no shape, such as a random state."""
    shape = getattr(v.type, "shape", None)
    return None if shape is None else tuple(table.length(fgraph, v, i) for i in range(len(shape)))


def _length(value: TensorLike) -> Variable:
    if isinstance(value, Variable):
        return as_tensor_variable(value).astype("int64")
    return constant(np.asarray(value, dtype="int64"))


@equations(GradientGate, phases=(Phase.CANONICALIZE,), reach=0, fit=Fit.UNCHECKED)
def gradient_gate_removed(a: Anything) -> Equations:
    """Ops that only change the propagated cotangent have done their work when a graph is compiled."""
    return [gate(a, ...) >> a]
