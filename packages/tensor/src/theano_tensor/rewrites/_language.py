"""Looking at tensor expressions and building new ones, for rewrites; the list of all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict, TypeVar, Unpack, overload

import numpy as np

from theano_graph import Apply, Constant, FunctionGraph, Op, Variable, record
from theano_linker_c import scalar
from theano_linker_c.scalar import ScalarOp
from theano_optimize import (
    Exactness,
    GroupDatabase,
    NodeRewriter,
    Phase,
    RewriteDatabase,
    constant_folding,
    final_constant_folding,
    node_rewriter,
)

from .._core._convert import constant
from .._core._dtypes import TensorLike
from .._core._type import Tensor, TensorType
from ..elemwise import DimShuffle, Elemwise, dimshuffle

# ---- Looking at tensor expressions and building new ones, for rewrites

FLOATS = frozenset({"float16", "float32", "float64"})


def lift(op: ScalarOp) -> Elemwise:
    """Return the tensor op that applies a scalar op to each element; one instance for each scalar op."""
    name = _LIFTED.get(op)
    if name is None:
        name = _LIFTED[op] = Elemwise(op)
    return name


_LIFTED: dict[ScalarOp, Elemwise] = {}


def call(op: ScalarOp, *inputs: Tensor) -> Tensor:
    """Apply a scalar op with one result to tensors."""
    return lift(op).make_node(*inputs).outputs[0]


def operands(variable: Variable, *ops: ScalarOp) -> list[Tensor] | None:
    """Return the operands of one of the scalar `ops` that makes `variable`, or None if it is made otherwise."""
    node = variable.owner
    if node is None or not isinstance(node.op, Elemwise):
        return None
    own = node.op.scalar_op
    kind = type(own)
    for op in ops:
        # Equality of ops is a call; that of classes is not, and settles nearly all questions.
        if own is op or (kind is type(op) and own == op):
            inputs: list[Tensor] = node.inputs
            return inputs
    return None


def kind_of(variable: Variable) -> type[ScalarOp] | None:
    """Return the class of the scalar op that is applied to each element to make `variable`, or None."""
    node = variable.owner
    return type(node.op.scalar_op) if node is not None and isinstance(node.op, Elemwise) else None


def number(variable: Variable) -> Any:
    """Return the single number that a constant holds, also one with inserted dimensions; None for all else."""
    while True:
        node = variable.owner
        if node is None:
            if not isinstance(variable, Constant):
                return None
            data = variable.data
            return data.item() if isinstance(data, np.ndarray) and data.size == 1 else None
        if not isinstance(node.op, DimShuffle):
            return None
        variable = node.inputs[0]


def scalar_constant(value: TensorLike, dtype: str, ndim: int) -> Tensor:
    """Return a constant with `ndim` dimensions of length 1."""
    return constant(np.full((1,) * ndim, value, dtype=dtype))


def cast_to(variable: Tensor, dtype: str) -> Tensor:
    """Return `variable` with another dtype."""
    return variable if variable.type.dtype == dtype else call(scalar.cast(dtype), variable)


def can_replace(old: Variable, new: Variable) -> bool:
    """Tell whether `new` has the type of `old` or a more precise one, and the same dimensions to broadcast."""
    pattern = getattr(old.type, "broadcastable", None)
    return old.type.is_super(new.type) and pattern == getattr(new.type, "broadcastable", None)


def fitted(node: Apply[Any, Tensor], new: Tensor, donors: Sequence[Variable] | None = None) -> list[Variable] | None:
    """Return `new` as the replacement for the only output of an elementwise node, or None if it cannot be made to fit.

    Parameters
    ----------
    node : Apply
    new : Tensor
        With as many dimensions as the output. It is converted to the dtype of the output, and filled into its shape.
    donors : sequence of Variable, optional
        Where a shape may be taken from; the inputs of the node by default.
    """
    old: TensorType = node.outputs[0].type
    new = cast_to(new, old.dtype)
    if can_replace(node.outputs[0], new):
        return [new]
    if new.type.ndim != old.ndim:
        return None
    for donor in node.inputs if donors is None else donors:
        if isinstance(donor, Tensor) and donor.type.ndim == old.ndim:
            filled = call(scalar.second, donor, new)
            if can_replace(node.outputs[0], filled):
                return [filled]
    return None


def is_float(variable: Variable) -> bool:
    """Tell whether a tensor holds real floating-point numbers."""
    return getattr(variable.type, "dtype", None) in FLOATS


def is_broadcast(variable: Tensor) -> bool:
    """Tell whether all dimensions of a tensor have static length 1: it holds one number."""
    return all(variable.type.broadcastable)


def negated(variable: Variable) -> Tensor | None:
    """Return x if `variable` is ``-x`` for real floating-point x; the negative of an unsigned integer wraps around."""
    inner = operands(variable, scalar.neg)
    return inner[0] if inner is not None and is_float(inner[0]) else None


def maker(variable: Tensor) -> Apply[Any, Tensor]:
    """Return the node that makes a variable which is known to be made by one."""
    node = variable.owner
    assert node is not None
    return node


def sole_client(fgraph: FunctionGraph, variable: Variable) -> Apply[Any, Tensor] | None:
    """Return the node that is the only user of `variable`, or None."""
    return fgraph.sole_client(variable)


#: So many users of a variable are looked at to find something that is there already.
MAX_CLIENTS = 64


def remade(fgraph: FunctionGraph, op: Op, *inputs: Variable) -> Tensor:
    """Return the result of an op on some inputs: the one that the graph has, or a new one.

    Two places that are rewritten one after the other then have the same variables, and their common factors can
    cancel before equal nodes are merged.
    """
    clients = fgraph.clients(inputs[0]) if inputs[0] in fgraph.variables else []
    for node, _ in clients[:MAX_CLIENTS]:
        if isinstance(node, Apply) and node.op == op and len(node.inputs) == len(inputs):
            if all(map(_is_same, node.inputs, inputs)):
                there: Tensor = node.outputs[0]
                return there
    node_copy: Tensor = op.make_node(*inputs).outputs[0]
    return node_copy


def shuffled(fgraph: FunctionGraph, variable: Tensor, order: Sequence[int | str]) -> Tensor:
    """Return `variable` with its dimensions in another order: the one that the graph has, or a new one."""
    view = dimshuffle(variable, list(order))
    node = view.owner
    return (
        remade(fgraph, node.op, variable)
        if node is not None and view is not variable and variable is node.inputs[0]
        else view
    )


def _is_same(a: Variable, b: Variable) -> bool:
    if a is b:
        return True
    return isinstance(a, Constant) and isinstance(b, Constant) and a.type == b.type and a.signature() == b.signature()


# ---- The list of all rewrite rules of the tensor language, and the decorator that puts a rule on it

#: Levels of rewriting that contain FAST_RUN's rules.
_RUN_TAGS = ("fast_run", "o3", "o4", "unsafe")

Tracked = ScalarOp | Op | type[Op]
OpT = TypeVar("OpT", bound=Op)


class RuleNames(TypedDict, total=False):
    """The reach and the name of a rule; see :func:`rule`."""

    reach: int
    key: str | None
    names: Iterable[str]


class RuleOptions(RuleNames, total=False):
    """Where a rule is registered as well."""

    phases: Sequence[Phase]
    exactness: Exactness
    tags: Iterable[str]
    reference: str | None


@record
class Entry:
    """A rule, its phases and tags, the key that it is registered by, and other documented names for it."""

    rewriter: NodeRewriter
    phases: tuple[Phase, ...]
    tags: tuple[str, ...]
    key: str
    names: tuple[str, ...] = ()


#: All rules, in order of definition.
RULES: list[Entry] = []


# A function of nodes of one class of ops is checked to take these; one of several classes, to take nodes.
@overload
def rule(
    track: type[OpT], /, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply[OpT]], object]], NodeRewriter]: ...
@overload
def rule(
    *tracks: ScalarOp | Elemwise, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply[Elemwise]], object]], NodeRewriter]: ...
@overload
def rule(
    *tracks: Tracked, **options: Unpack[RuleOptions]
) -> Callable[[Callable[[FunctionGraph, Apply], object]], NodeRewriter]: ...
def rule(
    *tracks: Tracked,
    phases: Sequence[Phase] = (Phase.CANONICALIZE,),
    exactness: Exactness = Exactness.EXACT,
    tags: Iterable[str] = ("fast_run", "fast_compile"),
    reference: str | None = None,
    reach: int = 1,
    key: str | None = None,
    names: Iterable[str] = (),
) -> Callable[..., NodeRewriter]:
    """Return a decorator that makes a rule of ``fn(fgraph, node)`` and lists it.

    Parameters
    ----------
    *tracks : ScalarOp, Op or class of ops
        A scalar op stands for its elementwise application.
    phases, tags
        Where and for which modes it is registered.
    exactness, reference, reach
        See :class:`theano_optimize.NodeRewriter`. `reach` is 0 if only the node's own op and inputs matter.
    key : str, optional
        Documented name by which modes include and exclude the rule; its own name is a tag then.
    names : iterable of str
        Further documented names; those of rewrites that several rules make up together are given to each.
    """
    ops = [lift(t) if isinstance(t, ScalarOp) else t for t in tracks]

    def decorate(function: Callable[..., object]) -> NodeRewriter:
        make = node_rewriter(ops, phase=phases[0], exactness=exactness, reference=reference, reach=reach)
        rewriter = make(function)  # type: ignore[arg-type]  # the engine checks the result of a rule
        rewriter.label = key
        RULES.append(
            Entry(
                rewriter, tuple(phases), (*tags, *([rewriter.name] if key else [])), key or rewriter.name, tuple(names)
            )
        )
        return rewriter

    return decorate


@overload
def stabilizing(
    *tracks: ScalarOp | Elemwise, **options: Unpack[RuleNames]
) -> Callable[[Callable[[FunctionGraph, Apply[Elemwise]], object]], NodeRewriter]: ...
@overload
def stabilizing(
    *tracks: Tracked, **options: Unpack[RuleNames]
) -> Callable[[Callable[[FunctionGraph, Apply], object]], NodeRewriter]: ...
def stabilizing(
    *tracks: Tracked, reach: int = 1, key: str | None = None, names: Iterable[str] = ()
) -> Callable[..., NodeRewriter]:
    """Return the decorator of a rule that gives right numbers where the form before it does not, for all modes."""
    return rule(
        *tracks,
        phases=(Phase.STABILIZE,),
        exactness=Exactness.STABILIZING,
        tags=("fast_run", "fast_compile", "stabilize"),
        reach=reach,
        key=key,
        names=names,
    )


def register_rules(database: RewriteDatabase[NodeRewriter] | object, first: int = 0) -> None:
    """Register all rules with the databases of their phases in `database`.

    Packages that are imported on demand list their rules here too, and register those from the number `first` on.

    Rules that make expressions stable also run where only canonicalisation does (FAST_COMPILE): there a wrong number
    would surprise as much. They go by their keys alone there: names that the manual lists for other levels only are not
    among the names of this one.
    """
    if not first:
        for phase, folding in ((Phase.STABILIZE, constant_folding), (Phase.SPECIALIZE, final_constant_folding)):
            _register(database, phase, folding.name, folding, (*_RUN_TAGS, "fast_compile"))
    for entry in RULES[first:]:
        for phase in entry.phases:
            tags = (*entry.tags, *_RUN_TAGS) if "fast_run" in entry.tags else entry.tags
            _register(database, phase, entry.key, entry.rewriter, tags, entry.names)
        phases = set(entry.phases)
        if Phase.CANONICALIZE not in phases and Phase.STABILIZE in phases and "fast_compile" in entry.tags:
            _register(database, Phase.CANONICALIZE, entry.key, entry.rewriter, ("fast_compile",))


def constants_first() -> GroupDatabase:
    """Return the steps that work out constants and give them their dtypes, under the names of these rules."""
    database = GroupDatabase("constants_first")
    database.register(constant_folding.name, constant_folding, *_RUN_TAGS, "fast_compile")
    # Constants wait to be folded before they get other dtypes, after which sums would fold them.
    for key in ("local_constants_unfolded", "local_upcast_elemwise_constant_inputs"):
        entry = next(entry for entry in RULES if entry.key == key)
        database.register(key, entry.rewriter, *entry.tags, *_RUN_TAGS, aliases=entry.names)
    return database


def _register(
    database: object,
    phase: Phase,
    key: str,
    rewriter: NodeRewriter,
    tags: tuple[str, ...],
    names: tuple[str, ...] = (),
) -> None:
    phases: Any = database
    phases[phase.tag].register(key, rewriter, *tags, aliases=names)


# ---- Conditions under which equations about tensors hold; the parameters are the names of wildcards


def gives_floats(fgraph: FunctionGraph, node: Apply[Any, Tensor]) -> bool:
    """The result is real and floating-point."""
    return getattr(node.outputs[0].type, "dtype", None) in FLOATS


def has_sign(a: Tensor) -> bool:
    """The tensor `a` holds no truth values."""
    return bool(a.type.dtype != "bool")


def is_no_float(a: Variable) -> bool:
    """The tensor `a` holds no floating-point numbers."""
    return not is_float(a)


def is_as_precise(node: Apply[Any, Tensor], x: Tensor) -> bool:
    """The tensor `x` has the dtype of the result."""
    return bool(x.type.dtype == node.outputs[0].type.dtype)


def gives_truth(node: Apply[Any, Tensor]) -> bool:
    """The result holds truth values."""
    return bool(node.outputs[0].type.dtype == "bool")


def is_true(k: Any) -> bool:
    """The number `k` is not 0."""
    return bool(k)


def is_false(k: Any) -> bool:
    """The number `k` is 0."""
    return not k


def is_not_positive(k: Any) -> bool:
    """The number `k` is 0 or negative."""
    return isinstance(k, (int, float)) and k <= 0


def is_negative(k: Any) -> bool:
    """The number `k` is negative."""
    return isinstance(k, (int, float)) and k < 0


def is_no_positive_integer(k: Any) -> bool:
    """The number `k` is an integer, and 0 or negative."""
    return isinstance(k, int) and k <= 0
