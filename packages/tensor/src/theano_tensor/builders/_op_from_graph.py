"""An op that holds a graph, and computes it; overrides for its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    clone_replace,
    describe,
    format_error,
    graph_inputs,
)
from theano_linker_c import Function, SharedVariable
from theano_linker_c.modes import optdb
from theano_optimize import WalkRewriter, node_rewriter

from .._core._dtypes import TensorLike
from .._graph_op import GraphOp
from ..gradient import DisconnectedType, NullType

# ---- Overrides for derivatives of ops made of graphs

#: "default", an op made of a graph, a callable, or a variable that says that there is no derivative.
Override: TypeAlias = "str | Op | Callable[..., Any] | Variable"


def as_overrides(overrides: Any, what: str, count: int) -> Override | list[Override]:
    """Check overrides: one for all, or a list of `count`.

    Raises
    ------
    TypeError
        If one is of the wrong kind.
    ValueError
        If a list has another length.
    """
    if not isinstance(overrides, (list, tuple)):
        return _checked(overrides, what)
    if len(overrides) != count:
        raise ValueError(
            format_error(
                f"OpFromGraph: {what} has {len(overrides)} items instead of {count}", hint="give 'default' for some"
            )
        )
    return [_checked(item, what) for item in overrides]


def _checked(item: Any, what: str) -> Override:
    if isinstance(item, str) and item == "default":
        return item
    if isinstance(item, Variable):
        if isinstance(item.type, (NullType, DisconnectedType)):
            return item
    elif callable(item):
        return item  # type: ignore[no-any-return]  # any callable will do; ops are callable too
    raise TypeError(
        format_error(
            f"OpFromGraph: {what} cannot be {item!r}",
            hint="give 'default', an OpFromGraph, a function, NullType()(), DisconnectedType()(), or a list of these",
        )
    )


def is_disconnected_override(override: Override) -> bool:
    """Tell whether an override says that the input does not matter."""
    return isinstance(override, Variable) and isinstance(override.type, DisconnectedType)


def is_absent(override: Override) -> bool:
    """Tell whether an override says that there is no derivative."""
    return isinstance(override, Variable)


# ---- An op that holds a graph, and computes it


class OpFromGraph(GraphOp):
    """An op that computes some variables from others.

    The graph inside is compiled once, as a function of its own, wherever the op is used; rewriting does not cross its
    border. Shared variables in the graph are inputs of each node without being passed.

    Parameters
    ----------
    inputs : list of Variable
        May be unused.
    outputs : list of Variable
    inline : bool
        Whether the graph takes the place of the op when a function is compiled (with rewriting): slower to compile,
        faster to run, since everything is rewritten together.
    lop_overrides, grad_overrides : 'default', OpFromGraph, callable, Variable, or list of these
        The gradient, in place of that of the graph; one of the two at most. A callable gets lists of variables,
        ``(inputs, outputs, output_grads)`` for `lop_overrides` and ``(inputs, output_grads)`` for `grad_overrides`, and
        returns a list with one gradient for each input; an OpFromGraph takes the same variables one after the other. A
        variable of type NullType or DisconnectedType says that there is no gradient, or no connection. A list has one
        item for each input, and each item returns one variable. Callables are called once, when a gradient is first
        wanted.
    rop_overrides : 'default', OpFromGraph, callable, Variable, or list of these
        The R-op; a callable gets ``(inputs, eval_points)`` and returns one variable for each output.
    connection_pattern : list of list of bool, optional
        For each input, which outputs depend on it: for overrides of the gradient that know more, or less, than the
        graph. Variables of type DisconnectedType among the results of overrides mean the same for one input.
    name : str, optional
        For printing.
    **kwargs
        Passed to :func:`theano_linker_c.function`, for instance `mode`; `updates` and `givens` are not possible.

    Attributes
    ----------
    inputs, outputs : list of Variable
        As given.
    shared_inputs : list of SharedVariable
        The shared variables of the graph, which are inputs of each node after the caller's.
    fgraph : FunctionGraph
        The graph inside, a copy.

    Raises
    ------
    TypeError
        If something is of the wrong kind, or both kinds of overrides of the gradient are given.
    ValueError
        If a list of overrides has another length than it should.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> x, y, z = T.dscalars("x", "y", "z")
    >>> op = theano.OpFromGraph([x, y, z], [x + y * z])
    >>> (op(x, y, z) + op(z, y, x)).eval({x: 1.0, y: 2.0, z: 3.0})
    array(12.)
    """

    inputs: list[Variable]
    outputs: list[Variable]

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        inline: bool = False,
        lop_overrides: Any = "default",
        grad_overrides: Any = "default",
        rop_overrides: Any = "default",
        connection_pattern: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        self.inputs, self.outputs = _variables(inputs, "inputs"), _variables(outputs, "outputs")
        _check(self.inputs, self.outputs, kwargs)
        if lop_overrides != "default" and grad_overrides != "default":
            raise TypeError(
                format_error(
                    "OpFromGraph: both lop_overrides and grad_overrides are given", hint="override one of them"
                )
            )
        self.inline = bool(inline)
        self.given_pattern = _checked_pattern(connection_pattern, len(self.inputs), len(self.outputs))
        self.name = name
        self.shared_inputs = [v for v in graph_inputs(self.outputs, self.inputs) if isinstance(v, SharedVariable)]
        plain = {v: v.type.make_variable(v.name) for v in self.shared_inputs}
        super().__init__([*self.inputs, *plain.values()], clone_replace(self.outputs, plain), kwargs)
        self.itypes = [v.type for v in self.inputs]
        self.otypes = [v.type for v in self.outputs]
        self.uses_outputs = grad_overrides == "default"
        overrides = lop_overrides if self.uses_outputs else grad_overrides
        what = "lop_overrides" if self.uses_outputs else "grad_overrides"
        self.gradient: Override | list[Override] = as_overrides(overrides, what, len(self.inputs))
        self.tangent: Override | list[Override] = as_overrides(rop_overrides, "rop_overrides", len(self.outputs))
        #: Derivatives that have been built: under "pullback", or the positions of the tangents that are given.
        self.derivatives: dict[Any, Any] = {}

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments for the function inside."""
        return self.options

    @property
    def fn(self) -> Function:
        """The function inside, compiled on first use."""
        return self.compiled()

    def make_node(self, *inputs: TensorLike) -> Apply[Self]:
        """Apply to one variable for each input; shared variables come along by themselves.

        Raises
        ------
        TypeError
            If the number or a type is another one.
        """
        count = len(self.inputs)
        operands = inputs if len(inputs) == count + len(self.shared_inputs) else (*inputs, *self.shared_inputs)
        if len(operands) != len(self.fgraph.inputs):
            raise TypeError(
                format_error(
                    f"{self} takes {count} inputs, not {len(inputs)}",
                    context=[describe(v) for v in self.inputs],
                    hint="pass one for each of the inputs that it was made with",
                )
            )
        converted = [self._converted(i, x) for i, x in enumerate(operands)]
        return Apply(self, converted, [v.type.make_variable() for v in self.outputs])

    def _converted(self, index: int, operands: TensorLike) -> Variable:
        inner = self.fgraph.inputs[index]
        try:
            converted: Variable = inner.type.narrow_variable(operands)
        except TypeError as error:
            raise TypeError(
                format_error(
                    f"{self}: input {index} has to be of type {inner.type.describe()}",
                    context=[describe(operands) if isinstance(operands, Variable) else repr(operands)],
                    hint="cast it, or make the op of inputs of that type",
                )
            ) from error
        return converted

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Call the function inside."""
        for storage, value in zip(output_storage, self.runner()(list(inputs)), strict=True):
            storage[0] = value

    def connection_pattern(self, node: Apply | None) -> list[list[bool]]:
        """Tell which outputs depend on which inputs: as in the graph, where the gradient is not overridden."""
        if self.given_pattern is not None:
            shared = self.inner_pattern()[len(self.inputs) :]
            return [*(list(row) for row in self.given_pattern), *shared]
        pattern = self.inner_pattern()
        overrides = self.gradient if isinstance(self.gradient, list) else [self.gradient] * len(self.inputs)
        for row, override in zip(pattern, overrides, strict=False):
            if override != "default":
                row[:] = [not is_disconnected_override(override)] * len(row)
        return pattern

    def __str__(self) -> str:
        return self.name or f"{type(self).__name__}{{inline={self.inline}}}"


def _variables(variables: Any, what: str) -> list[Variable]:
    if not isinstance(variables, (list, tuple)) or not all(isinstance(v, Variable) for v in variables):
        raise TypeError(
            format_error(f"OpFromGraph: {what} {variables!r} are no list of variables", hint="pass a list of variables")
        )
    return list(variables)


def _checked_pattern(pattern: Any, inputs: int, outputs: int) -> list[list[bool]] | None:
    """Return a pattern of connections, checked.

    Raises
    ------
    ValueError
        If it has other numbers of rows or columns.
    """
    if pattern is None:
        return None
    rows = [[bool(connected) for connected in row] for row in pattern]
    if len(rows) != inputs or any(len(row) != outputs for row in rows):
        raise ValueError(
            format_error(
                f"OpFromGraph: the connection_pattern is {pattern!r}",
                hint=f"give a list of {outputs} truth values for each of the {inputs} inputs",
            )
        )
    return rows


def _check(inputs: Sequence[Variable], outputs: Sequence[Variable], kwargs: dict[str, Any]) -> None:
    for name in ("updates", "givens"):
        if name in kwargs:
            raise TypeError(
                format_error(
                    f"OpFromGraph takes no {name}",
                    hint="return new values as outputs, and update with them where the op is used"
                    if name == "updates"
                    else "substitute before: clone_replace(outputs, givens)",
                )
            )
    wrong = next((v for v in inputs if isinstance(v, (Constant, SharedVariable))), None)
    if wrong is not None:
        raise TypeError(
            format_error(
                "OpFromGraph: an input is a constant or a shared variable",
                context=[describe(wrong)],
                hint="leave it out of the inputs: the op finds shared variables by itself",
            )
        )
    if len(set(inputs)) != len(inputs):
        raise ValueError(
            format_error(
                "OpFromGraph: an input is given twice", context=[describe(v) for v in inputs], hint="give each once"
            )
        )
    loose = [v for v in graph_inputs(outputs, inputs) if v not in set(inputs)]
    missing = [v for v in loose if not isinstance(v, (Constant, SharedVariable))]
    if missing:
        raise TypeError(
            format_error(
                f"OpFromGraph: the outputs need `{missing[0]}`, which is not among the inputs",
                context=[describe(v) for v in missing],
                hint="add it to the inputs",
            )
        )


# ---- The rewrite that puts graphs in the place of the ops that hold them


@node_rewriter([OpFromGraph], name="inline_ofg_expansion")
def inline_ofg_expansion(fgraph: FunctionGraph, node: Apply[OpFromGraph]) -> list[Variable] | None:
    """An op that was made with ``inline=True`` gives way to its graph."""
    return node.op.inlined(node.inputs) if node.op.inline else None


#: Before the first merge, so that the nodes inside are rewritten together with those around.
optdb.register(
    "inline_ofg_expansion",
    WalkRewriter(inline_ofg_expansion, order="out_to_in", visit_new=True),
    *("fast_run", "fast_compile", "o1", "o2", "o3", "o4", "unsafe"),
    position=-0.01,
)
