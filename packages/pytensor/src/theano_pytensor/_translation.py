"""Translation of PyTensor's graphs: types and constants, the table of rules, ops without a rule, and nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.type import RandomGeneratorType
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

import theano.tensor as T
from theano import sparse, typed_list
from theano.tensor.type_other import slicetype
from theano_graph import Apply, Op, Origin, Type, UserFrame, Variable, generic, origin_from
from theano_tensor import constant_value
from theano_tensor.random import generator_type

# ---- Our types and constants for those of PyTensor


def engine_type(kind: Any) -> Type:
    """Return our type for a type of PyTensor; the type of any object where there is no counterpart.

    Parameters
    ----------
    kind : pytensor.graph.type.Type

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> engine_type(pt.TensorType("float32", shape=(3, None)))
    TensorType(float32, (3, None))
    """
    if is_sparse(kind):
        sparse_type: Type = sparse.SparseType(kind.format, kind.dtype)
        return sparse_type
    if isinstance(kind, TensorType):
        return T.TensorType(kind.dtype, shape=kind.shape)
    if isinstance(kind, ScalarType):
        return T.TensorType(kind.dtype, shape=())
    if isinstance(kind, RandomGeneratorType):
        return generator_type
    if hasattr(kind, "ttype"):
        return typed_list.TypedListType(engine_type(kind.ttype))
    return slicetype if isinstance(kind, SliceType) else generic


def is_sparse(kind: Any) -> bool:
    """Tell whether a type of PyTensor is that of sparse matrices, without an import of its module."""
    return hasattr(kind, "format") and hasattr(kind, "dtype")


def engine_constant(constant: Constant) -> Any:
    """Return our constant for one of PyTensor; None stands for itself."""
    kind, value = constant.type, constant.data
    if isinstance(kind, NoneTypeT):
        return None
    if is_sparse(kind):
        return sparse.as_sparse_variable(value)
    if isinstance(kind, TensorType | ScalarType):
        return T.constant(np.asarray(value, dtype=kind.dtype))
    return engine_type(kind).make_constant(value)


def engine_variable(variable: Any) -> Any:
    """Return a new variable of ours for an input of a graph of PyTensor."""
    return None if isinstance(variable.type, NoneTypeT) else engine_type(variable.type).make_variable(variable.name)


def as_variable(value: Any) -> Any:
    """Return a result as a variable: None becomes a constant of the type of any object."""
    return generic.make_constant(value) if value is None else value


def narrowed(result: Any, kind: Any) -> Any:
    """Return one of our variables with the dtype and the lengths of 1 that a type of PyTensor promises.

    Parameters
    ----------
    result : Variable or None
    kind : pytensor.graph.type.Type
    """
    if is_sparse(kind) or not isinstance(kind, TensorType | ScalarType):
        return result
    if result.dtype != kind.dtype and not (result.dtype.startswith("complex") and kind.dtype.startswith("float")):
        # Factors of complex matrices are complex, even where PyTensor's type of them says otherwise.
        result = T.cast(result, kind.dtype)
    if isinstance(kind, ScalarType):
        return result
    ones = [axis for axis, length in enumerate(kind.shape) if length == 1 and not result.type.broadcastable[axis]]
    return T.addbroadcast(result, *ones) if ones else result


def known_integer(variable: Any, role: str) -> int:
    """Return a number that our graph knows without being run.

    Raises
    ------
    NoRule
        If it is only known when it runs.
    """
    value = constant_value(variable)
    if value is None:
        raise NoRule(f"the {role} is computed")
    return int(value)


# ---- The table of rules: the expressions of ours that compute the same as nodes of PyTensor
#
# A rule is found by the class of the node's op, under the name of the class and the package that it comes from
# (``"tensor.Reshape"``, ``"scalar.Exp"``, ``"sparse.Dot"``): PyTensor moves classes between modules from version to
# version, and no module of it has to be imported for an op that a graph does not have.


class NoRule(Exception):
    """Raised by a rule for a node that it does not cover; the op's own ``perform`` computes such a node.

    Parameters
    ----------
    why : str
        The part that is not covered, in a few words.
    """


@dataclass(frozen=True, slots=True)
class Site:
    """A node of PyTensor that is being translated.

    Parameters
    ----------
    node : pytensor.graph.basic.Apply
    inputs : sequence
        Our variables for its inputs; None stands for itself.
    translation : Translation
        Translates graphs inside the op.
    """

    node: Any
    inputs: Sequence[Any]
    translation: Translation

    @property
    def op(self) -> Any:
        """The op of the node."""
        return self.node.op

    @property
    def outputs(self) -> Any:
        """The outputs of the node, which tell the types of the results."""
        return self.node.outputs

    @property
    def overwritten(self) -> tuple[int, ...]:
        """The inputs that the node overwrites, of those whose memory the caller of the function gives away."""
        destroyed = getattr(self.op, "destroy_map", None) or {}
        places = {place for places in destroyed.values() for place in places}
        return tuple(sorted(k for k in places if self.node.inputs[k] in self.translation.donated))


Rule: TypeAlias = Callable[[Site], Any]
"""Returns our variable for the one output of a node, or a sequence of them."""

RULES: dict[str, Rule] = {}
SCALARS: dict[str, Callable[..., Any]] = {}
"""The function of tensors for each scalar op, with the arguments of the op."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the decorated function as the rule for classes of ops.

    Parameters
    ----------
    *names : str
        Names of classes, each after the package of PyTensor that it comes from: ``"tensor.Reshape"``.

    Raises
    ------
    ValueError
        If there is a rule for one of them.

    Examples
    --------
    >>> @rule("tensor.SomeOpOfMine")
    ... def _some_op(site):
    ...     return 2 * site.inputs[0]
    """

    def register(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"there is a rule for {name} already. Hint: give the class another name.")
            RULES[name] = function
        return function

    return register


def name_of(kind: type) -> str:
    """Return the name under which the rule for a class of ops is registered.

    Examples
    --------
    >>> name_of(dict)
    'builtins.dict'
    """
    root, _, module = kind.__module__.partition(".")
    package = module.partition(".")[0] if root == "pytensor" and module else root
    return f"{package}.{kind.__name__}"


def find_rule(kind: type) -> Rule | None:
    """Return the rule for a class of ops, or for the nearest class above it that it does not compute differently from.

    A class that defines `perform` itself does not have the rule of the class that it inherits from.
    """
    return next((RULES[name_of(above)] for above in _alike(kind) if name_of(above) in RULES), None)


def find_scalar(kind: type) -> Callable[..., Any] | None:
    """Return the function of tensors that is the same as a class of scalar ops, or None."""
    return SCALARS.get(name_of(kind))


def _alike(kind: type) -> Iterable[type]:
    for above in kind.__mro__:
        yield above
        if "perform" in above.__dict__:
            return


# ---- An op that computes by the `perform` of a node of PyTensor


class Foreign(Op):
    """The function of a node of PyTensor, by its own `perform`.

    Parameters
    ----------
    source : pytensor.graph.basic.Apply
        The node. An op that overwrites its inputs gets copies of them.
    kinds : sequence of Type
        Our types of its outputs.

    Notes
    -----
    Ops are equal where they have the same node.
    """

    def __init__(self, source: Any, kinds: Sequence[Type]) -> None:
        self.source, self.kinds = source, tuple(kinds)
        self.absent = tuple(isinstance(variable.type, NoneTypeT) for variable in source.inputs)
        self.numbers = frozenset(k for k, variable in enumerate(source.inputs) if isinstance(variable.type, ScalarType))
        # Without it, ops for stacks ask the compiler for the op inside.
        source.op.prepare_node(source, None, None, "py")
        destroyed = getattr(source.op, "destroy_map", None) or {}
        self.overwritten = frozenset(index for indices in destroyed.values() for index in indices)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Foreign) and self.source is other.source

    def __hash__(self) -> int:
        return hash((type(self), id(self.source)))

    def __str__(self) -> str:
        return f"{self.source.op} (by PyTensor)"

    def make_node(self, *inputs: Variable) -> Apply[Self]:
        """Apply to our variables for the inputs of the node, those of type None left out."""
        return Apply(self, list(inputs), [kind.make_variable() for kind in self.kinds])

    def perform(
        self, node: Apply[Self], inputs: Sequence[Any], output_storage: Sequence[list[Any]], params: object = None
    ) -> None:
        """Compute by the op of PyTensor."""
        values, present = [], iter(inputs)
        for index, absent in enumerate(self.absent):
            value: Any = None if absent else next(present)
            if index in self.numbers:
                # Scalars of PyTensor are numbers of NumPy, ours arrays of dimension 0.
                value = value[()]
            values.append(_copied(value) if index in self.overwritten else value)
        cells: list[list[Any]] = [[None] for _ in output_storage]
        self.source.op.perform(self.source, values, cells)
        for target, cell, variable in zip(output_storage, cells, self.source.outputs, strict=True):
            value = cell[0]
            dense = isinstance(value, np.ndarray | np.generic | bool | int | float) and hasattr(variable.type, "dtype")
            target[0] = np.asarray(value, dtype=variable.type.dtype) if dense else value


def _copied(value: Any) -> Any:
    """Copy an input that an op of PyTensor overwrites: our variables do not say so."""
    return value.copy() if hasattr(value, "copy") else value


# ---- The translation of a graph of PyTensor, node by node

#: As many frames of the user's program are kept with a node, the innermost ones.
_MOST_FRAMES = 4


@dataclass
class Translation:
    """The translation of one graph, with all graphs inside its nodes.

    Attributes
    ----------
    translated : Counter of str
        How many nodes of each op a rule translated.
    performed : dict of str to list
        For each op whose own `perform` runs, why, one entry a node.
    nodes : dict of Origin to Apply
        The node of PyTensor that made an origin of our nodes.
    donated : frozenset
        The inputs of the function whose memory its caller gives away, each read by one node alone.
    """

    translated: Counter[str] = field(default_factory=Counter)
    performed: dict[str, list[str]] = field(default_factory=dict)
    nodes: dict[int, tuple[Origin, Any]] = field(default_factory=dict)
    donated: frozenset[Any] = frozenset()

    def graph(self, fgraph: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return our variables for the outputs of a function graph, given those for its inputs."""
        values: dict[Any, Any] = dict(zip(fgraph.inputs, inputs, strict=True))

        def value_of(variable: Any) -> Any:
            value = values.get(variable, values)
            if value is not values:
                return value
            if not isinstance(variable, Constant):
                raise TypeError(f"{variable} is neither computed nor an input of the graph of PyTensor")
            values[variable] = constant = engine_constant(variable)
            return constant

        for node in fgraph.toposort():
            results = self.node(node, [value_of(variable) for variable in node.inputs])
            values.update(zip(node.outputs, results, strict=True))
        return [value_of(variable) for variable in fgraph.outputs]

    def node(self, node: Any, inputs: Sequence[Any]) -> list[Any]:
        """Return our variables for the outputs of a node."""
        with origin_from(self._origin(node)):
            apply = find_rule(type(node.op))
            if apply is None:
                return self._perform(node, inputs, "there is no rule for it")
            try:
                results = apply(Site(node, inputs, self))
                listed = list(results) if isinstance(results, list | tuple) else [results]
                narrow = [narrowed(result, v.type) for result, v in zip(listed, node.outputs, strict=True)]
            except NoRule as error:
                return self._perform(node, inputs, str(error))
        self.translated[label(node.op)] += 1
        return narrow

    def explained(self, error: Exception) -> Exception:
        """Return an error of our function with the node of PyTensor that it comes from."""
        ours = getattr(error, "__op_instance__", None)
        entry = self.nodes.get(id(getattr(ours, "origin", None)))
        if entry is not None:
            node = entry[1]
            error.__op_instance__ = node  # type: ignore[attr-defined]  # names that PyTensor gives to any error
            error.__thunk_trace__ = getattr(node.outputs[0].tag, "trace", ())  # type: ignore[attr-defined]
            error.add_note(f"Apply node of PyTensor that caused the error: {node}")
        return error

    def _perform(self, node: Any, inputs: Sequence[Any], why: str) -> list[Any]:
        self.performed.setdefault(label(node.op), []).append(why)
        outputs = [engine_type(variable.type) for variable in node.outputs]
        results = Foreign(node, outputs)(*(value for value in inputs if value is not None), return_list=True)
        return list(results)

    def _origin(self, node: Any) -> Origin | None:
        """Return where the user's program made a node, so that our nodes and their errors tell it."""
        trace = next((part for part in getattr(node.outputs[0].tag, "trace", None) or () if part), None)
        if trace is None:
            return None
        origin = Origin(frames=tuple(UserFrame(*frame[:3]) for frame in reversed(trace[-_MOST_FRAMES:])))
        self.nodes[id(origin)] = (origin, node)
        return origin


def label(op: Any) -> str:
    """Return the name under which an op is counted: with the op inside, where it is a wrapper.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> label(pt.exp)
    'Elemwise{Exp}'
    """
    name = type(op).__name__
    inner = getattr(op, "scalar_op", None) or getattr(op, "core_op", None)
    return name if inner is None or name in ("Sum", "Prod", "Max", "Min") else f"{name}{{{type(inner).__name__}}}"
