"""Equal computations merged into one, and constant expressions computed at compile time."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Literal

from theano_graph import (
    AlreadyThere,
    Apply,
    Constant,
    Feature,
    FunctionGraph,
    NoParams,
    Op,
    PureOp,
    Variable,
    call_with_graph,
    describe,
    is_library_module,
)

from ._destroy import DestroyHandler, find_handler
from ._destroy._versions import is_destroyed
from ._engines._graph_rewriter import GraphRewriter, RewriteOptions
from ._info import Phase, RewriteInfo, expression_text
from ._profile import RewriteProfile, RewriteTrace
from ._rules._node_rewriter import NodeRewriter, TransformResult

# ---- Computation of constant expressions


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
    values = [cell[0] if len(cell) == 1 else None for cell in cells]
    in_place = len(storage) == len(cells) and all(map(operator.is_, storage, cells))
    # A result that is none of the type is no constant: the machine that runs the node reports the fault.
    return values if in_place and all(map(_fits, node.outputs, values)) else None


def _fits(variable: Variable, value: Any) -> bool:
    dtype, shape = getattr(variable.type, "dtype", None), getattr(variable.type, "shape", None)
    if not isinstance(dtype, str):
        return True
    value_shape = getattr(value, "shape", shape)
    if str(getattr(value, "dtype", None)) != dtype:
        return False
    if not (isinstance(shape, tuple) and isinstance(value_shape, tuple)):
        return True
    return len(shape) == len(value_shape) and all(n in (None, have) for n, have in zip(shape, value_shape, strict=True))


def _as_constant(output: Variable, value: Any) -> Variable:
    constant: Variable = output.type.make_constant(value, name=output.name)
    return constant


#: The instance for the phases up to stabilization; register it with a database.
constant_folding = ConstantFolding()
#: The one for later phases, which postpones nothing.
final_constant_folding = ConstantFolding()


# ---- Merging of equal computations
#
# A feature of the graph keeps a table of its nodes by op, inputs and output types, and a list of the nodes that came or
# changed since the last merge; so the first merge is one walk over the graph and each later one costs only as much as
# has changed.

#: The name of a merge in profiles and as the reason of a replacement.
MERGE_NODES = "merge_nodes"
MERGE_CONSTANTS = "merge_constants"

#: Ops that are remembered though no node has them any more, before they are looked for.
FEW_OPS = 64

#: Attributes of tags that describe a variable and do not say how it is to be treated.
NOTES = frozenset({"test_value", "trace", "values_eq_approx"})


class MergeTable(Feature):
    """The nodes and constants of one graph by their computations."""

    only_remembers = True

    def __init__(self) -> None:
        self._forget_all()

    def _forget_all(self) -> None:
        self._attached = False
        self._pending: dict[Apply, None] = {}
        self._queue: deque[Apply] = deque()
        self._node_of: dict[Hashable, Apply] = {}
        self._key_of: dict[Apply, Hashable] = {}
        self._constant_of: dict[Hashable, Constant] = {}
        self._key_of_constant: dict[Constant, Hashable] = {}
        self._left_constants: dict[Constant, None] = {}
        # The number of each op, the same for equal ones, by the identity of the op: ops are compared once.
        self._number_of: dict[int, tuple[Op, int | None]] = {}
        self._numbers: dict[Op, int] = {}
        self._next_number = 0
        self._many_ops = FEW_OPS
        self._destroyers = 0
        self._done_inside: set[FunctionGraph] = set()

    # ---- callbacks of the graph

    def on_attach(self, fgraph: FunctionGraph) -> None:
        if self._attached:
            # Copies of a graph may be offered its features; each gets a table of its own when it is merged.
            raise AlreadyThere("this table belongs to another graph")
        self._attached = True
        for node in fgraph.toposort():
            self.on_import(fgraph, node, "on_attach")

    def on_detach(self, fgraph: FunctionGraph) -> None:
        self._forget_all()

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self._destroyers += bool(node.op.destroy_map)
        self._mark(node)

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self._destroyers -= bool(node.op.destroy_map)
        self._pending.pop(node, None)
        if node in self._key_of:
            self._forget(node)
        for variable in node.inputs:
            if variable.owner is None and isinstance(variable, Constant):
                self._left_constants[variable] = None

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object = None,
    ) -> None:
        if not isinstance(node, str):
            if node in self._key_of:
                self._forget(node)
            if node not in self._pending:
                self._mark(node)
        if old.owner is None and isinstance(old, Constant):
            self._left_constants[old] = None

    def _mark(self, node: Apply) -> None:
        if node not in self._pending:
            self._pending[node] = None
            self._queue.append(node)

    def _forget(self, node: Apply) -> None:
        key = self._key_of.pop(node, None)
        if key is not None:
            del self._node_of[key]

    # ---- merging

    def merge(self, fgraph: FunctionGraph, profile: RewriteProfile, trace: RewriteTrace | None) -> None:
        """Merge all that came or changed since the last time."""
        with _overwriting_known(fgraph, bool(self._destroyers)) as handler:
            self._merge_pending(fgraph, profile, trace, handler)
        self._drop_left_constants(fgraph)
        if len(self._number_of) > self._many_ops:
            self._drop_left_ops()

    def _merge_pending(
        self,
        fgraph: FunctionGraph,
        profile: RewriteProfile,
        trace: RewriteTrace | None,
        handler: DestroyHandler | None,
    ) -> None:
        while self._queue:
            node = self._queue.popleft()
            if node not in self._pending:
                continue
            del self._pending[node]
            profile.visits += 1
            cached = self._number_of.get(id(node.op))
            number = self._meet(node.op, profile) if cached is None else cached[1]
            merged: dict[Constant, Constant] = {}
            for variable in node.inputs:
                if variable.owner is None and variable not in self._key_of_constant:
                    merged = self._merge_constants(node, profile)
                    break
            key = None if number is None else self._key(node, number, merged)
            if merged and (handler is not None or not self._goes(fgraph, node, key, merged)):
                for old, new in merged.items():
                    fgraph.replace(old, new, reason=MERGE_CONSTANTS)
                self._pending.pop(node, None)  # it is looked at now
            if key is not None:
                self._merge_node(fgraph, node, key, profile, trace, handler)

    def _goes(self, fgraph: FunctionGraph, node: Apply, key: Hashable, merged: dict[Constant, Constant]) -> bool:
        """Tell whether a node is going to be merged, and its constants with it, which then need no replacement."""
        if key is None:
            return False
        for constant in merged:
            if fgraph.sole_client(constant) is not node:
                return False
        try:
            return self._node_of.get(key, node) is not node
        except TypeError:
            return False

    def _merge_constants(self, node: Apply, profile: RewriteProfile) -> dict[Constant, Constant]:
        """Return, for each constant that a node uses and that has an equal, the one that takes its place."""
        merged: dict[Constant, Constant] = {}
        for variable in node.inputs:
            if isinstance(variable, Constant) and variable not in self._key_of_constant and variable not in merged:
                original = self._kept_constant(variable, profile)
                if original is not variable:
                    merged[variable] = original
        return merged

    def _kept_constant(self, constant: Constant, profile: RewriteProfile) -> Constant:
        """Return the constant that stands for all that are equal to one."""
        key = (constant.type, constant.signature(), _marks(constant))
        original = self._constant_of.setdefault(key, constant)
        if original is constant:
            self._key_of_constant[constant] = key
        else:
            _hand_over(constant, original)
            if original.name is None:
                original.name = constant.name
            profile.count(MERGE_CONSTANTS)
        return original

    def _drop_left_constants(self, fgraph: FunctionGraph) -> None:
        """Forget constants that the graph no longer has, so that their data can be freed."""
        variables = fgraph.variables
        for constant in self._left_constants:
            if constant not in variables:
                key = self._key_of_constant.pop(constant, None)
                if key is not None:
                    del self._constant_of[key]
        self._left_constants.clear()

    def _drop_left_ops(self) -> None:
        """Forget ops that no node of the table has any more."""
        there = {id(node.op) for node in self._key_of}
        self._number_of = {name: position for name, position in self._number_of.items() if name in there}
        used = {number for _, number in self._number_of.values()}
        self._numbers = {op: number for op, number in self._numbers.items() if number in used}
        self._many_ops = 2 * len(self._number_of) + FEW_OPS

    def _merge_inside(self, op: Op, profile: RewriteProfile) -> None:
        """Merge in the graph that an op runs inside, if it has one."""
        inside = getattr(op, "fgraph", None)
        if not isinstance(inside, FunctionGraph) or inside in self._done_inside:
            return
        self._done_inside.add(inside)
        table = MergeTable()
        inside.attach_feature(table)
        try:
            table.merge(inside, profile, None)
        finally:
            inside.remove_feature(table)

    def _meet(self, op: Op, profile: RewriteProfile) -> int | None:
        """Return the number of an op that is met for the first time; None where its nodes stay apart."""
        number: int | None = None
        if not op.destroy_map and getattr(op, "mergeable", True):
            self._merge_inside(op, profile)
            if _is_hashable(op):
                number = self._numbers.setdefault(op, self._next_number)
                self._next_number += number == self._next_number
        self._number_of[id(op)] = (op, number)
        return number

    @staticmethod
    def _key(node: Apply, number: int, merged: dict[Constant, Constant]) -> tuple[Any, ...]:
        """Return the common key of nodes that compute the same, with some constants exchanged."""
        inputs = [merged.get(v, v) for v in node.inputs] if merged else node.inputs
        outputs = node.outputs
        if len(outputs) == 1:
            (output,) = outputs
            marks = () if node._tag is None and output._tag is None else _node_marks(node)
            return (number, *inputs, output.type.exact, marks)
        return (number, *inputs, *[output.type.exact for output in outputs], _node_marks(node))

    def _merge_node(
        self,
        fgraph: FunctionGraph,
        node: Apply,
        key: Hashable,
        profile: RewriteProfile,
        trace: RewriteTrace | None,
        handler: DestroyHandler | None,
    ) -> None:
        if node in self._key_of:
            self._forget(node)
        try:
            original = self._node_of.setdefault(key, node)
        except TypeError:
            if _is_hashable(key):
                raise
            return  # types of users that compare and do not hash
        if original is node:
            self._key_of[node] = key
            return
        # Two values of which one is overwritten later have to stay apart.
        if handler is not None and _stay_apart(fgraph, handler, node, original):
            return
        pairs = [(old, new) for old, new in zip(node.outputs, original.outputs, strict=True) if fgraph.has_clients(old)]
        if trace is not None:
            text = expression_text(node.outputs[0], trace.depth)
            trace.fired(RewriteInfo(MERGE_NODES), describe(node.outputs[0]), text, f"{text}, computed once", 0.0)
        for old, new in ((node, original), *pairs):
            _hand_over(old, new)
            if isinstance(new, Variable) and new.name is None:
                new.name = old.name
        for output, other in pairs:
            fgraph.replace(output, other, reason=MERGE_NODES)
        profile.count(MERGE_NODES)


@contextmanager
def _overwriting_known(fgraph: FunctionGraph, is_needed: bool) -> Iterator[DestroyHandler | None]:
    """Give the handler of a graph, one for the time being where there is none, or None where nothing is overwritten."""
    if not is_needed:
        yield None
        return
    current = find_handler(fgraph)
    if current is not None:
        yield current
        return
    temporary = DestroyHandler()
    fgraph.attach_feature(temporary)
    try:
        yield temporary
    finally:
        fgraph.remove_feature(temporary)


def _stay_apart(fgraph: FunctionGraph, handler: DestroyHandler, node: Apply, original: Apply) -> bool:
    """Tell whether one of two equal nodes makes a value that is overwritten later."""
    for one, other in zip(node.outputs, original.outputs, strict=True):
        # Views of the same are overwritten together.
        same = handler.root_of(fgraph, one) is handler.root_of(fgraph, other)
        if not same and handler.has_destroyers(fgraph, (one, other)):
            return True
    return False


def _marks(thing: Variable | Apply) -> Hashable:
    """Return the content of the tag beyond notes: variables that are marked differently stay apart."""
    if not thing.has_tag():
        return ()
    marks = [(name, value) for name, value in vars(thing.tag).items() if name not in NOTES]
    return frozenset((name, value if _is_hashable(value) else id(value)) for name, value in marks) if marks else ()


def _node_marks(node: Apply) -> Hashable:
    if node._tag is None:
        for output in node.outputs:
            if output._tag is not None:
                break
        else:
            return ()
    marks = (_marks(node), *map(_marks, node.outputs))
    return marks if any(marks) else ()


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _hand_over(old: Variable | Apply, new: Variable | Apply) -> None:
    """Give `new` the notes and the origin of `old` where it has none of its own."""
    if new.origin is None:
        new.origin = old.origin
    if not old.has_tag():
        return
    for name, value in vars(old.tag).items():
        if name in NOTES and name not in vars(new.tag):
            setattr(new.tag, name, value)


class MergeRewriter(GraphRewriter):
    """Compute repeated expressions once: equal ops on the same inputs, and equal constants.

    Constants are equal if their types and their ``signature()`` are; nodes if their ops are equal, their inputs are
    the same variables and the types of their outputs agree. Ops with a `destroy_map`, ops with an attribute
    ``mergeable = False``, values of which one is overwritten by a node of the graph, and variables that the attributes
    of tags mark differently stay apart. Test values and traces are no marks: they go to the remaining node, like names
    and origins. Graphs inside ops (attribute `fgraph` of an op) are merged as well.

    Linear in the number of edges at first; run again on the same graph, it looks only at the changes in between.

    Examples
    --------
    >>> from theano_graph import FunctionGraph, Generic, Op
    >>> class Neg(Op):
    ...     __props__ = ()
    ...     itypes = otypes = (Generic(),)
    >>> x = Generic()("x")
    >>> fgraph = FunctionGraph([x], [Neg()(x), Neg()(x)])
    >>> MergeRewriter().rewrite(fgraph).nodes_after
    1
    """

    def __init__(self, name: str = "merge", *, info: RewriteInfo | None = None) -> None:
        super().__init__(name, info=info)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        _table_of(fgraph)

    def run(self, fgraph: FunctionGraph, options: RewriteOptions) -> RewriteProfile:
        profile = RewriteProfile(self.name)
        _table_of(fgraph).merge(fgraph, profile, options.trace)
        return profile


def _table_of(fgraph: FunctionGraph) -> MergeTable:
    """Return the table of a graph, attached if there is none."""
    for feature in fgraph.features:
        if isinstance(feature, MergeTable):
            return feature
    table = MergeTable()
    fgraph.attach_feature(table)
    return table
