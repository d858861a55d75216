"""Derivatives and shapes of ops made of graphs; parts of graphs of which the gradient keeps nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from theano_graph import (
    Apply,
    Constant,
    Op,
    Unstacked,
    Variable,
    batch_rule,
    clone_replace,
    config,
    format_error,
    graph_inputs,
    pullback,
    pushforward,
    record,
    shape_rule,
)
from theano_linker_c import SharedVariable
from theano_linker_c.program import call_form

from .._core._type import tensor_type
from .._graph_op import Runner
from .._protocols._methods import call
from ..gradient import DisconnectedType, NullType, Rop
from ..gradient._grad import differentiate, known_gradient
from ._op_from_graph import OpFromGraph, Override, is_absent

# ---- Derivatives and shapes of ops made of graphs; the derivatives are such ops again

Found = Variable | None


@record(frozen=False)
class _Derivative:
    """How derivatives are computed: some by an op, the others are not there and have a variable that says so."""

    op: Op | None
    #: Which of the arguments the op needs, and which of the derivatives it computes.
    needs: tuple[int, ...]
    places: tuple[int, ...]
    fixed: dict[int, Variable]
    count: int

    def apply(self, arguments: Sequence[Any]) -> list[Variable]:
        """Return all derivatives for the arguments."""
        results: dict[int, Variable] = dict(self.fixed)
        if self.op is not None:
            result: Any = self.op(*(arguments[i] for i in self.needs))
            listed = result if isinstance(result, (list, tuple)) else [result]
            results.update(zip(self.places, listed, strict=True))
        return [results[i] for i in range(self.count)]


@pullback.register(OpFromGraph)
def _pullback(node: Apply[OpFromGraph], cotangents: list[Variable]) -> list[Found]:
    op = node.op
    derivative = op.derivatives.get("pullback")
    if derivative is None:
        # Inside there are no test values; those of the result are computed by the op.
        with config.change_flags(compute_test_value="off"):
            derivative = op.derivatives["pullback"] = _backward(op)
    pairs = zip(node.outputs, cotangents, strict=True)
    cotangents_known = [_zeros(v) if isinstance(c.type, DisconnectedType) else c for v, c in pairs]
    return list(derivative.apply([*node.inputs, *node.outputs, *cotangents_known]))


def _zeros(variable: Variable) -> Variable:
    return cast(Variable, cast(Any, variable).zeros_like(dtype=_float(variable)))


def _float(variable: Variable) -> str:
    dtype = str(cast(Any, variable.type).dtype)
    return dtype if dtype.startswith(("float", "complex")) else "float64"


def _like(variable: Variable) -> Variable:
    """Return a new variable for a derivative of `variable`."""
    like: Variable = _zeros(variable).type.make_variable()
    return like


def _backward(op: OpFromGraph) -> _Derivative:
    """Build the gradient: its op takes the inputs, the outputs and the gradients of the outputs."""
    graph = op.fgraph
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    stand_ins = [v.type.make_variable() for v in outputs]
    cotangents = [_like(v) for v in outputs]
    arguments = [*inputs, *stand_ins, *cotangents]
    n = len(op.inputs)

    def call(override: Any, count: int | None) -> list[Variable]:
        lists = (inputs[:n], stand_ins, cotangents) if op.uses_outputs else (inputs[:n], cotangents)
        return _called(override, lists, count, f"the gradient of {op}")

    def default(places: Sequence[int]) -> list[Variable]:
        # An output may be an input, or an ancestor of another output: cotangents from there are added.
        gradients = differentiate(
            None,
            _known(outputs, cotangents),
            [inputs[i] for i in places],
            None,
            "ignore",
            return_disconnected="Disconnected",
            null_gradients="return",
            additive=True,
        )
        return [clone_replace(v, dict(zip(outputs, stand_ins, strict=True))) for v in gradients]

    overrides = [*_spread(op.gradient, n), *["default"] * (len(inputs) - n)]
    single = op.gradient if not isinstance(op.gradient, list) else None
    return _assemble(op, overrides, single, arguments, default, call)


def _known(outputs: Sequence[Variable], cotangents: Sequence[Variable]) -> dict[Variable, Variable]:
    known_grads: dict[Variable, Any] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        gradient = known_gradient(output, cotangent)
        known_grads[output] = known_grads[output] + gradient if output in known_grads else gradient
    return known_grads


def _spread(overrides: Override | list[Override], count: int) -> list[Override]:
    return overrides if isinstance(overrides, list) else [overrides] * count


def _assemble(
    op: OpFromGraph,
    overrides: Sequence[Override],
    single: Override | None,
    arguments: Sequence[Variable],
    default: Callable[[Sequence[int]], list[Variable]],
    call: Callable[[Any, int | None], list[Variable]],
) -> _Derivative:
    """Put derivatives together: those of the graph, overrides, and missing ones."""
    fixed: dict[int, Variable] = {}
    computed: dict[int, Variable] = {}
    defaults = [i for i, override in enumerate(overrides) if isinstance(override, str)]
    for i, override in enumerate(overrides):
        if is_absent(override):
            fixed[i] = cast(Variable, override)
    if callable(single):
        # One override for all of the inputs that were passed, or all outputs.
        places = [i for i in range(len(overrides)) if i not in defaults]
        computed.update(zip(places, call(single, len(places)), strict=True))
    else:
        for i, override in enumerate(overrides):
            if i not in defaults and i not in fixed:
                (computed[i],) = call(override, None)
    for i, gradient in zip(defaults, default(defaults) if defaults else [], strict=True):
        (fixed if isinstance(gradient.type, (NullType, DisconnectedType)) else computed)[i] = gradient
    for i, gradient in list(computed.items()):
        if isinstance(gradient.type, (NullType, DisconnectedType)):
            fixed[i] = computed.pop(i)
    if not computed:
        return _Derivative(None, (), (), fixed, len(overrides))
    outputs = list(computed.values())
    used = set(graph_inputs(outputs, arguments))
    needs = tuple(i for i, v in enumerate(arguments) if v in used)
    name = f"{op.name}_derivative" if op.name else None
    derivative = type(op)([arguments[i] for i in needs], outputs, inline=op.inline, name=name, **op.kwargs)
    return _Derivative(derivative, needs, tuple(computed), fixed, len(overrides))


def _called(override: Any, lists: Sequence[list[Variable]], count: int | None, what: str) -> list[Variable]:
    """Ask an override for `count` derivatives, or for one where that is None."""
    if isinstance(override, OpFromGraph):
        result = override(*(v for variables in lists for v in variables))
    else:
        result = override(*lists)
    listed = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(listed) != (1 if count is None else count) or not all(isinstance(v, Variable) for v in listed):
        count_text = "one variable" if count is None else f"a list of {count} variables"
        raise ValueError(
            format_error(f"the override for {what} returned {result!r}", hint=f"let it return {count_text}")
        )
    return listed


@pushforward.register(OpFromGraph)
def _pushforward(node: Apply[OpFromGraph], tangents: list[Found]) -> list[Found]:
    op = node.op
    positions = tuple(i for i, tangent in enumerate(tangents) if tangent is not None)
    derivative = op.derivatives.get(positions)
    if derivative is None:
        with config.change_flags(compute_test_value="off"):
            derivative = op.derivatives[positions] = _forward(op, positions)
    results = derivative.apply([*node.inputs, *(tangents[i] for i in positions)])
    # There is no disconnected R-op: it counts as zero, which "none" stands for.
    return [None if isinstance(v.type, DisconnectedType) else v for v in results]


def _forward(op: OpFromGraph, positions: Sequence[int]) -> _Derivative:
    """Build the R-op for tangents of some inputs: its op takes all inputs and these tangents."""
    graph = op.fgraph
    inputs, outputs = list(graph.inputs), list(graph.outputs)
    points = {i: _like(inputs[i]) for i in positions}
    n = len(op.inputs)

    def call(override: Any, count: int | None) -> list[Variable]:
        full = [points[i] if i in points else _zeros(inputs[i]) for i in range(n)]
        return _called(override, (inputs[:n], full), count, f"the R-op of {op}")

    def default(places: Sequence[int]) -> list[Variable]:
        tangents_of_outputs: list[Variable] = Rop(
            [outputs[i] for i in places],
            [inputs[i] for i in positions],
            list(points.values()),
            disconnected_outputs="ignore",
            return_disconnected="Disconnected",
        )
        return tangents_of_outputs

    single = op.tangent if not isinstance(op.tangent, list) else None
    return _assemble(op, _spread(op.tangent, len(outputs)), single, [*inputs, *points.values()], default, call)


@batch_rule.register(OpFromGraph)
def _batch(node: Apply[OpFromGraph], inputs: list[Any], stacked: Sequence[bool]) -> list[Variable | Unstacked] | None:
    """The graph inside is applied to the batch; an op with overrides runs in a loop, for they take one entry."""
    op = node.op
    overridden = [op.gradient, op.tangent, *_listed(op.gradient), *_listed(op.tangent)]
    if any(not isinstance(override, list) and override != "default" for override in overridden):
        return None
    graph = op.fgraph
    inner_inputs: list[Any] = list(graph.inputs)
    stand_ins = [
        tensor_type(x.type.dtype, (x.type.shape[0], *inner.type.shape)).make_variable(inner.name) if flag else inner
        for x, inner, flag in zip(inputs, inner_inputs, stacked, strict=True)
    ]
    sources = dict(zip(inner_inputs, zip(stand_ins, stacked, strict=True), strict=True))
    entries = call("batch_entries", list(graph.outputs), sources)
    batched = OpFromGraph(stand_ins, [v for v, _ in entries], inline=op.inline, name=op.name, **op.kwargs)
    outputs: list[Variable] = batched(*inputs, return_list=True)
    return [v if flag else Unstacked(v) for v, (_, flag) in zip(outputs, entries, strict=True)]


def _listed(overrides: Any) -> list[Any]:
    return overrides if isinstance(overrides, list) else []


@shape_rule.register(OpFromGraph)
def _shape(node: Apply[OpFromGraph], input_shapes: list[Any]) -> list[Any]:
    """Lengths as the graph computes them; rewriting then traces them back to the inputs."""
    shapes: list[Any] = node.op.inner_shapes(node.inputs)
    return shapes


@call_form.register(OpFromGraph)
def _call(node: Apply[OpFromGraph]) -> Callable[[list[Any]], Sequence[Any]]:
    return node.op.runner()


# ---- Parts of a graph of which the gradient keeps nothing: it computes them again


class Checkpoint(OpFromGraph):
    """An op made of a graph that holds no memory between calls, and whose gradient starts from its inputs.

    The gradient is an op of this class, so only inputs, outputs and their gradients live between the two.
    """

    def runner(self) -> Runner:
        """Return a function that computes output values, and drops everything else."""
        function = self.compiled()
        run, free = function.machine.run, function.free

        def run_and_free(values: list[Any]) -> Sequence[Any]:
            try:
                results: Sequence[Any] = run(values)
            finally:
                free()
            return results

        return run_and_free


def checkpoint(outputs: Any, inputs: Sequence[Variable] = (), name: str | None = None) -> Any:
    """Return expressions as they are, of which the gradient keeps no intermediate result.

    The gradient computes them again from where the part begins, so memory is exchanged for a second computation: a
    chain of n steps, cut into parts of sqrt(n), needs memory for some 2 sqrt(n) results instead of n (T. Chen et al.,
    "Training deep nets with sublinear memory cost", 2016).

    Parameters
    ----------
    outputs : Variable, or list or tuple of Variable
    inputs : sequence of Variable
        Where the part begins; it ends there, with any ancestors. All other nodes that the outputs need are part of
        it, back to the inputs of the whole graph, shared variables and constants.
    name : str, optional
        For printing.

    Returns
    -------
    Variable or list of Variable
        As `outputs`, of the same types and values.

    Raises
    ------
    TypeError
        If something is no variable.

    Examples
    --------
    >>> from theano_tensor import dvector, grad, tanh
    >>> x = dvector("x")
    >>> h = x
    >>> for part in range(4):
    ...     start = h
    ...     for step in range(4):
    ...         h = tanh(h)
    ...     h = checkpoint(h, [start])
    >>> grad(h.sum(), x).type
    TensorType(float64, vector)
    """
    several = isinstance(outputs, (list, tuple))
    variables = list(outputs) if several else [outputs]
    wrong = next((v for v in (*variables, *inputs) if not isinstance(v, Variable)), None)
    if wrong is not None:
        raise TypeError(
            format_error(
                f"checkpoint: {wrong!r} is no variable", hint="pass the variables that the part ends and begins with"
            )
        )
    needed = dict.fromkeys(inputs)
    needed.update(dict.fromkeys(graph_inputs(variables, list(inputs))))
    begin = [v for v in needed if not isinstance(v, (Constant, SharedVariable))]
    results: list[Any] = Checkpoint(begin, variables, name=name or "checkpoint")(*begin, return_list=True)
    return results if several else results[0]
