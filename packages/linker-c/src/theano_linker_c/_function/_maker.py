"""The maker of a function: rewritten graph, signature and mode; functions made of it, and their copies."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    clone_graph,
    config,
    describe,
    format_error,
    toposort,
)
from theano_optimize import Supervisor, destroyed_inputs

from ..kernels import Overwriting
from ..modes import Linker, Mode
from ..runtime._buffer_donation import overwriting_of
from ..runtime._errors import annotate_node
from ..runtime._inplace import Decisions, alias_roots, protect_outputs, protect_overwritten, supervise
from ..runtime._instructions import certain_failure
from ..runtime._storage import Container, SharedVariable
from ._capture import Signature
from ._io import FunctionInputError, In, Out, SwapError
from ._link import Prepared

# ---- The graph of a function as it was before it was rewritten


class SourceGraph:
    """The original of a function graph, remembered without a copy.

    Rewriting changes the inputs of nodes, and a machine's overwriting is written into the graph as in-place forms of
    ops (`Decisions`); nothing else changes.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph, before it changes.
    order : sequence of Apply, optional
        Its nodes in topological order, where they are known.
    changes : bool
        False: it will not change, so that there is time to look at it.
    """

    def __init__(
        self,
        inputs: Sequence[Variable],
        outputs: Sequence[Variable],
        order: Sequence[Apply] | None = None,
        *,
        changes: bool = True,
    ) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._known: list[tuple[Apply, Op, tuple[Variable, ...]]] | None = None
        if changes:
            self._known = self._noted(toposort(inputs, outputs) if order is None else order)

    @staticmethod
    def _noted(order: Iterable[Apply]) -> list[tuple[Apply, Op, tuple[Variable, ...]]]:
        return [(node, node.op, tuple(node.inputs)) for node in order]

    @property
    def _steps(self) -> list[tuple[Apply, Op, tuple[Variable, ...]]]:
        if self._known is None:
            self._known = self._noted(toposort(self.inputs, self.outputs))
        return self._known

    def build(self) -> FunctionGraph:
        """Return the graph, made of new nodes."""
        inputs, outputs = self._copy()
        return FunctionGraph(inputs, outputs, clone=False)

    def without_updates(self, n_outputs: int) -> SourceGraph:
        """Return the graph with its first outputs only."""
        twin = SourceGraph.__new__(SourceGraph)
        twin.inputs, twin.outputs, twin._known = self.inputs, self.outputs[:n_outputs], self._steps
        return twin

    def twin(self) -> tuple[list[Variable], list[Variable]]:
        """Return the inputs, and the outputs made of new nodes: the original, with the same leaves."""
        return list(self.inputs), self._copied({v: v for v in self.inputs}, lambda leaf: leaf)

    def _copy(self) -> tuple[list[Variable], list[Variable]]:
        memo: dict[Variable, Variable] = {v: v.clone() for v in self.inputs}
        outputs = self._copied(memo, lambda leaf: leaf.clone() if isinstance(leaf, Constant) else leaf)
        return [memo[v] for v in self.inputs], outputs

    def _copied(self, memo: dict[Variable, Variable], leaf_of: Callable[[Variable], Variable]) -> list[Variable]:
        def copy_of(variable: Variable) -> Variable:
            if variable not in memo:
                memo[variable] = leaf_of(variable)
            return memo[variable]

        for node, op, inputs in self._steps:
            twin = node.clone_with_new_inputs([copy_of(v) for v in inputs], strict=False)
            twin.op = op
            for old, new in zip(node.outputs, twin.outputs, strict=True):
                memo.setdefault(old, new)
        return [copy_of(v) for v in self.outputs]

    def __reduce__(self) -> tuple[Any, ...]:
        # The nodes have other inputs and ops by now: the saved form is a copy of the original.
        return SourceGraph, self._copy()


# ---- The maker of a function: rewritten graph, signature and mode; makes functions and their copies


class FunctionMaker:
    """The parts that a compiled function was made of; shared by its copies.

    Parameters
    ----------
    signature : Signature
        Inputs, outputs and updates as the caller sees them.
    fgraph : FunctionGraph or Prepared
        The graph, rewritten in place by :meth:`optimize`; or a graph that was rewritten elsewhere.
    mode : Mode
    function_builder : callable
        Makes a function of this maker and a list of containers.
    accept_inplace : bool
        Whether the caller's graph was allowed to overwrite its inputs.
    source : SourceGraph, optional
        The graph before it was rewritten, where `fgraph` has been rewritten already.

    Attributes
    ----------
    fgraph : FunctionGraph
        The rewritten graph.
    source : SourceGraph
        The graph before it was rewritten.
    overwriting : frozenset of Overwriting
        Which operations may use the memory of operands that nobody needs any more, as the mode says.
    decisions : Decisions
        Which of them do, as far as that is known before a call: their nodes have in-place forms of ops.
    """

    def __init__(
        self,
        signature: Signature,
        fgraph: FunctionGraph | Prepared,
        mode: Mode,
        function_builder: Callable[[FunctionMaker, list[Container]], Any],
        accept_inplace: bool = False,
        source: SourceGraph | None = None,
    ) -> None:
        self.signature = signature
        #: A function rewritten elsewhere, until its program is the machine of the first function.
        self.prepared: Prepared | None = None
        if isinstance(fgraph, FunctionGraph):
            fgraph.name = self.name
            self.fgraph, self.decisions = fgraph, Decisions()
            source = source or SourceGraph(fgraph.inputs, fgraph.outputs, fgraph.data_order())
        else:
            assert source is not None, "a graph that was rewritten elsewhere knows its origin"
            self.prepared = self._elsewhere = fgraph
        self.mode = mode
        self.function_builder = function_builder
        self.accept_inplace = accept_inplace
        self.source: SourceGraph = source
        self.profile: Any = None
        self.overwriting: frozenset[Overwriting] = frozenset()
        #: The inputs that the user's own graph overwrites, where that is accepted.
        self.given_up: frozenset[int] = frozenset()
        self._linker: Linker | None = None

    @cached_property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph."""
        graph, _ = self._elsewhere.graph()
        graph.name = self.name
        return graph

    @cached_property
    def decisions(self) -> Decisions:
        """The overwriting of the program, as written into the graph."""
        _, decisions = self._elsewhere.graph()
        return decisions

    def __getstate__(self) -> dict[str, Any]:
        # How the rewriting went is of no use elsewhere, and much text.
        state = {**vars(self), "profile": None, "_linker": None, "prepared": None}
        state.pop("_elsewhere", None)
        return {**state, "fgraph": self.fgraph, "decisions": self.decisions}

    @property
    def n_nodes(self) -> int:
        """How many nodes the graph has."""
        return len(self.fgraph.apply_nodes) if self.prepared is None else self.prepared.n_nodes

    @property
    def name(self) -> str | None:
        """Name of the function: where it was given none, the file and line that made it."""
        return self.signature.name or self.signature.line

    @property
    def unpack_single(self) -> bool:
        """Whether a call returns the one output itself."""
        return self.signature.single

    @property
    def linker(self) -> Linker:
        """The linker that runs the graph: one like that of the mode, which has accepted the rewritten graph."""
        if self._linker is None:
            # The linker of the mode serves many functions, so that it cannot be bound to the graph of one.
            self._linker = self.mode.linker.clone()
            self._linker.accept(self.fgraph)
        return self._linker

    def create(self, input_storage: Sequence[Any] | None = None) -> Any:
        """Return a new function of the rewritten graph; nothing is rewritten again.

        Parameters
        ----------
        input_storage : sequence, optional
            For each of `inputs`, a :class:`Container`, a value, or None for the default value. Shared variables keep
            their containers where None stands.

        Returns
        -------
        Function
        """
        storage = [None] * len(self.inputs) if input_storage is None else list(input_storage)
        boxes = self.containers()
        for index, item in enumerate(storage):
            if isinstance(item, Container):
                boxes[index] = item
            elif item is not None:
                boxes[index] = boxes[index].duplicate()
                boxes[index].value = item
        return self.function_builder(self, boxes)

    def reoptimize(self) -> None:
        """Rewrite the graph again, from its beginning."""
        self.fgraph = self.source.build()
        self._linker = None
        self.decisions = Decisions()
        self.optimize()

    @property
    def inputs(self) -> list[In]:
        """The inputs, those for shared variables included, in the order of ``fgraph.inputs``."""
        return self.signature.inputs

    @property
    def expanded_inputs(self) -> list[In]:
        """The inputs, those for shared variables included: `inputs` under an older name."""
        return self.signature.inputs

    @property
    def outputs(self) -> list[Out]:
        """The outputs that a call returns."""
        return self.signature.outputs

    @property
    def output_keys(self) -> list[str] | None:
        """Keys where the outputs are a dictionary."""
        return self.signature.keys

    def optimize(self) -> None:
        """Rewrite the graph by the mode, then insert the copies that keep outputs from sharing memory."""
        with config.change_flags(compute_test_value=config.compute_test_value_opt):
            if self.accept_inplace:
                self._give_up()
            failure = certain_failure(self.fgraph)
            if failure is not None:
                node, error = failure
                raise annotate_node(error, node)
            supervise(self.fgraph, self._mutable())
            # Before rewriting too: only a graph that is legal can be sorted once readers have to come first.
            protect_overwritten(self.fgraph, self._mutable())
            self.profile = self.mode.rewrite(self.fgraph)
            self.overwriting = overwriting_of(self.fgraph)
            self.protect()

    def _give_up(self) -> None:
        """Find the inputs that the user's graph overwrites; one that it reads afterwards, too, is copied and stays."""
        self.given_up = _overwritten_inputs(self.fgraph)
        if not self.given_up:
            return
        protect_overwritten(self.fgraph, self._mutable())
        overwritten = _overwritten_inputs(self.fgraph)
        if overwritten != self.given_up:
            self.given_up = overwritten
            for feature in [f for f in self.fgraph.features if isinstance(f, Supervisor)]:
                self.fgraph.remove_feature(feature)

    def protect(self) -> None:
        """Insert the copies without which memory of the caller or of shared variables could be seen or overwritten."""
        protect_overwritten(self.fgraph, self._mutable())
        protect_outputs(self.fgraph, self.signature.boundary())

    def graph_of(self, indices: Sequence[int], updates: bool = True) -> FunctionGraph:
        """Return a copy of the graph with some of the outputs.

        Parameters
        ----------
        indices : sequence of int
            Outputs to keep, in the order wanted.
        updates : bool
            Whether the new values of shared variables stay.
        """
        with self.decisions.withdrawn():
            inputs, outputs = clone_graph(self.fgraph.inputs, self.fgraph.outputs)
        outputs_of_updates = outputs[len(self.outputs) :] if updates else []
        part = FunctionGraph(inputs, [*(outputs[i] for i in indices), *outputs_of_updates], clone=False)
        protect_overwritten(part, self._mutable())
        return part

    def _mutable(self) -> set[int]:
        mutable = {i for i, item in enumerate(self.inputs) if item.mutable and not item.shared}
        return mutable | self.given_up

    def containers(self, values: Sequence[Any] | None = None) -> list[Container]:
        """Return a container for each input: the given ones where the inputs name them, new ones otherwise.

        Parameters
        ----------
        values : sequence, optional
            For the new ones; by default the default values of the inputs.
        """
        containers = []
        for index, item in enumerate(self.inputs):
            if isinstance(item.value, Container):
                containers.append(item.value)
                continue
            value = item.value if values is None else values[index]
            box = Container(item.variable.type, strict=item.strict, allow_downcast=item.allow_downcast, name=item.name)
            box.value = value
            containers.append(box)
        return containers

    def find(self, variable: Variable) -> int | None:
        """Return the position of the input for `variable`, or None."""
        for index, item in enumerate(self.inputs):
            if item.variable is variable:
                return index
        return None


def _overwritten_inputs(fgraph: FunctionGraph) -> frozenset[int]:
    """Return which inputs the user's own graph overwrites: its effect then is the user's wish.

    One of several inputs that a node chooses from in a call is not given up by this: the chosen one is copied.
    """
    roots = {
        root
        for node in fgraph.apply_nodes
        for i in destroyed_inputs(node)
        for root in alias_roots(node.inputs[i], choices=False)
    }
    return frozenset(i for i, v in enumerate(fgraph.inputs) if v in roots)


# ---- Copies of functions: the rewritten graph again, with other shared variables or without updates


def copy_maker(
    maker: FunctionMaker, swap: Mapping[SharedVariable, SharedVariable], delete_updates: bool, name: str
) -> FunctionMaker:
    """Return a maker for a copy of the function; see :meth:`Function.copy`."""
    source = maker.signature
    _check_swap(source, swap)
    signature = Signature(
        [_swapped(item, swap) for item in source.inputs],
        list(source.outputs),
        [] if delete_updates else list(source.update_targets),
        source.keys,
        single=False,
        name=name,
    )
    if delete_updates:
        for item in signature.inputs:
            item.update = None
    fgraph = maker.graph_of(range(len(source.outputs)), updates=not delete_updates)
    _check_targets(signature)
    twin = FunctionMaker(signature, fgraph, maker.mode, maker.function_builder, maker.accept_inplace)
    twin.source = maker.source.without_updates(len(source.outputs)) if delete_updates else maker.source
    twin.given_up = maker.given_up
    # Without its update, a shared variable keeps memory that an output could share until now.
    twin.protect()
    twin.profile, twin.overwriting = maker.profile, maker.overwriting
    return twin


def _check_swap(signature: Signature, swap: Mapping[Any, Any]) -> None:
    shared_variables = {item.variable for item in signature.inputs if item.shared}
    for old, new in swap.items():
        if old not in shared_variables:
            raise SwapError(
                format_error(
                    f"{signature.label}.copy: swap names a variable that the function does not use: {old}",
                    context=[describe(old)] if isinstance(old, Variable) else [],
                    hint=f"its shared variables are {', '.join(str(v) for v in shared_variables) or 'none'}.",
                )
            )
        if not isinstance(new, SharedVariable) or not old.type.is_super(new.type):
            description = describe(new) if isinstance(new, Variable) else repr(new)
            raise FunctionInputError(
                format_error(
                    f"{signature.label}.copy: `{old}` can only be swapped for a shared variable of its type "
                    f"{old.type.describe()}",
                    context=[describe(old), f"to be swapped for {description}"],
                    hint="make a shared variable of the same type.",
                )
            )


def _check_targets(signature: Signature) -> None:
    seen: dict[int, Variable] = {}
    for target in signature.update_targets:
        item = signature.inputs[target]
        if item.shared and id(item.value) in seen:
            raise SwapError(
                format_error(
                    f"{signature.label}: after the swap, one shared variable would have two updates",
                    context=[describe(item.variable), describe(seen[id(item.value)])],
                    hint="swap for different variables, or pass delete_updates=True.",
                )
            )
        seen[id(item.value)] = item.variable


def _swapped(item: In, swap: Mapping[Any, Any]) -> In:
    new = swap.get(item.variable) if item.shared else None
    if new is not None:
        return In(new, value=new.container, borrow=True, shared=True)
    return copy.copy(item)
