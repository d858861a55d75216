"""Rewriters of one node: the contract, the decorator for functions, their index by op, and substitutions of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from theano_graph import Apply, FunctionGraph, Op, Variable, format_error

from .._info import Exactness, Phase, RewriteInfo, make_info

# ---- The contract, and rules from functions

#: Targets of a rule: ops (compared with ``==``) and classes of ops (subclasses included); None is every op.
Tracks: TypeAlias = Sequence[Op | type[Op]] | None

#: The result of :meth:`NodeRewriter.transform`: None or False for "no change"; a replacement for each output (None
#: where an output is not used); or a mapping from any variables of the graph to their replacements.
TransformResult: TypeAlias = Sequence[Variable | None] | Mapping[Variable, Variable] | Literal[False] | None

#: How many levels of nodes below the inputs' owners a plain function is assumed to look at.
DEFAULT_REACH = 2


class NodeRewriter:
    """A rule that looks at one node and may offer replacements for its outputs.

    Subclasses define :meth:`transform` and, so that they are asked only where it can matter, :meth:`tracks`.

    Parameters
    ----------
    name : str, optional
        Shown in traces and errors; the class name by default.
    info : RewriteInfo, optional
        Name, phase, tags, exactness and reference; takes precedence over `name`.
    reach : int
        How far below the node the rule looks: 0 if only at the op and the inputs themselves, 1 if at the nodes that
        make the inputs, and so on. A change that far below a node makes it worth asking the rule again.

    Notes
    -----
    An answer is carried out whole or not at all. New nodes have the origin of the node, and outputs keep the
    names that users gave them. A rule that raises, or whose answer does not fit the node, is a :class:`RewriteError`
    that names both, or a warning where errors are warnings; the graph is as it was then. Rules that undo each other
    end in a :class:`RewriteCycleError`.

    Engines call :meth:`attempt`, never :meth:`transform`: rules of Theano 1.0's form take the node alone.

    Examples
    --------
    >>> class DropIdentity(NodeRewriter):
    ...     def transform(self, fgraph, node):
    ...         return [node.inputs[0]] if str(node.op) == "identity" else None
    >>> DropIdentity().name
    'DropIdentity'
    """

    # Defaults, so that a subclass whose constructor does not call this one works too.
    _info: RewriteInfo | None = None
    reach: int = DEFAULT_REACH
    #: The name that others know it by, shown in summaries before its own.
    label: str | None = None
    #: A function that replaces :meth:`attempt`, for a rule that answers for itself: it spares a call.
    direct: TransformFunction | None = None

    def __init__(self, name: str | None = None, *, info: RewriteInfo | None = None, reach: int = DEFAULT_REACH) -> None:
        self._info = RewriteInfo(name) if info is None and name else info
        self.reach = reach

    @property
    def info(self) -> RewriteInfo:
        """Name, phase, tags, exactness and reference of the rule."""
        if self._info is None:
            self._info = RewriteInfo(type(self).__name__)
        return self._info

    @property
    def name(self) -> str:
        """Name of the rule."""
        return self.info.name

    @name.setter
    def name(self, name: str) -> None:
        self._info = replace(self.info, name=name)

    def tracks(self) -> Tracks:
        """Return the ops and op classes whose nodes the rule wants to see; None means all."""
        return None

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Offer replacements for the outputs of `node`.

        Parameters
        ----------
        fgraph : FunctionGraph
            To ask about clients and features; a rule does not change it.
        node : Apply
            A node of `fgraph`.

        Returns
        -------
        None or False
            No change.
        sequence of Variable or None
            A replacement for each output, None for one that has no clients.
        mapping
            From variables of `fgraph` to their replacements.
        """
        raise TypeError(
            format_error(
                f"rewriter {self.name} has no `transform`",
                hint=f"define {type(self).__qualname__}.transform(fgraph, node)",
            )
        )

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the result of :meth:`transform` and the rule that it is due to: in a group, not the group itself."""
        return self, self.transform(fgraph, node)

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach to `fgraph` the features that the rule needs."""

    def statement(self) -> str | None:
        """Return the equation that gave the last answer, as text; None for rules that are no equations."""
        return None

    def summary_lines(self) -> list[str]:
        """Return the lines that describe the rule in the summary of a database or rewriter."""
        exactness = "" if self.info.exactness is Exactness.EXACT else f" ({self.info.exactness.value})"
        label = "" if self.label in (None, self.name) else f"{self.label}: "
        return [f"{label}{self.name}{exactness}"]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


TransformFunction: TypeAlias = Callable[[FunctionGraph, Apply], TransformResult]


class FunctionNodeRewriter(NodeRewriter):
    """A rule made of a function ``fn(fgraph, node)``; see :func:`node_rewriter`. Calling it calls the function."""

    def __init__(
        self, function: TransformFunction, tracks: Tracks, *, info: RewriteInfo, reach: int = DEFAULT_REACH
    ) -> None:
        super().__init__(info=info, reach=reach)
        self._tracks = tracks
        self._function = function if info.guard is None else _guarded(function, info.guard)
        if type(self).attempt is FunctionNodeRewriter.attempt:
            self.direct = self._function
        self.__doc__ = function.__doc__

    def tracks(self) -> Tracks:
        return self._tracks

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Return the function's result."""
        return self._function(fgraph, node)

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the function's result, and this rule."""
        return self, self._function(fgraph, node)

    def __call__(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        """Return the function's result."""
        return self._function(fgraph, node)


def _guarded(function: TransformFunction, guard: Callable[..., object]) -> TransformFunction:
    """Return a function that asks `guard` first."""

    def ask(fgraph: FunctionGraph, node: Apply) -> TransformResult:
        return function(fgraph, node) if guard(fgraph, node) else None

    return ask


def check_tracks(tracks: Iterable[object] | None, rule: str) -> Tracks:
    """Return `tracks` as a tuple of ops and op classes, or None.

    Raises
    ------
    TypeError
        If something else is among them.
    """
    if tracks is None:
        return None
    if isinstance(tracks, (Op, type)):
        tracks = (tracks,)
    checked: list[Op | type[Op]] = []
    for tracked in tracks:
        if isinstance(tracked, Op) or (isinstance(tracked, type) and issubclass(tracked, Op)):
            checked.append(tracked)
        else:
            raise TypeError(
                format_error(
                    f"rewriter {rule} is to track {tracked!r}, which is neither an op nor a class of ops",
                    hint="list ops and op classes, or pass None to see every node",
                )
            )
    return tuple(checked)


def node_rewriter(
    tracks: Iterable[Op | type[Op]] | None,
    *,
    name: str | None = None,
    phase: Phase | str | None = None,
    tags: Iterable[str] = (),
    exactness: Exactness | str = Exactness.EXACT,
    reference: str | None = None,
    guard: Callable[[FunctionGraph, Apply], object] | None = None,
    reach: int = DEFAULT_REACH,
) -> Callable[[TransformFunction], FunctionNodeRewriter]:
    """Make a :class:`NodeRewriter` of a function ``fn(fgraph, node)``.

    Parameters
    ----------
    tracks : iterable of Op and op classes, or None
        Where the rule is asked: nodes whose op equals one of the ops or is an instance of one of the classes; None
        for all.
    name : str, optional
        The function's name by default.
    phase, tags, exactness, reference
        See :class:`RewriteInfo`.
    guard : callable, optional
        ``guard(fgraph, node)``; where it is false, the function is not called.
    reach : int
        See :class:`NodeRewriter`.

    Raises
    ------
    TypeError
        If `tracks` has something else than ops and op classes in it.

    Examples
    --------
    >>> from theano_graph import Op
    >>> class Identity(Op):
    ...     __props__ = ()
    >>> @node_rewriter([Identity], tags=["fast_compile"])
    ... def drop_identity(fgraph, node):
    ...     return [node.inputs[0]]
    >>> drop_identity.name
    'drop_identity'
    """

    def decorate(function: TransformFunction) -> FunctionNodeRewriter:
        rule: str = name or getattr(function, "__name__", "") or type(function).__name__
        info = make_info(rule, phase=phase, tags=tags, exactness=exactness, reference=reference, guard=guard)
        return FunctionNodeRewriter(function, check_tracks(tracks, rule), info=info, reach=reach)

    return decorate


# ---- The index of rules by op


class _Found:
    """The rules that track an op, and those of them that look as far as a distance."""

    __slots__ = ("_near", "every", "reach")

    def __init__(self, every: tuple[NodeRewriter, ...]) -> None:
        self.every = every
        self.reach = max((rewriter.reach for rewriter in every), default=0)
        self._near: dict[int, tuple[NodeRewriter, ...]] = {}

    def within(self, distance: int) -> tuple[NodeRewriter, ...]:
        """Return the rules whose `reach` is not below `distance`, in order."""
        entry = self._near.get(distance)
        if entry is None:
            entry = self._near[distance] = tuple(r for r in self.every if r.reach >= distance)
        return entry


class RewriterIndex:
    """Rules by the ops and op classes that they track.

    The rules for an op are found once for each op class (once for each op where a rule tracks an instance of that
    class) and kept, so that a look-up is one or two dictionary accesses however many rules there are.

    Parameters
    ----------
    rewriters : iterable of NodeRewriter
        In order of priority; :meth:`for_op` keeps this order.
    """

    def __init__(self, rewriters: Iterable[NodeRewriter]) -> None:
        self.rewriters = tuple(rewriters)
        self._everywhere: list[int] = []
        self._by_class: dict[type[Op], list[int]] = {}
        self._by_instance: dict[Op, list[int]] = {}
        self._classes_of_instances: set[type[Op]] = set()
        self._found_for_class: dict[type[Op], _Found] = {}
        self._found_for_op: dict[Op, _Found] = {}
        self._found_by_identity: dict[int, tuple[Op, _Found]] = {}
        for number, rewriter in enumerate(self.rewriters):
            self._enter(number, check_tracks(rewriter.tracks(), rewriter.name))

    def _enter(self, number: int, tracks: Sequence[Op | type[Op]] | None) -> None:
        if tracks is None:
            self._everywhere.append(number)
            return
        for tracked in tracks:
            if isinstance(tracked, type):
                self._by_class.setdefault(tracked, []).append(number)
            else:
                self._by_instance.setdefault(tracked, []).append(number)
                self._classes_of_instances.add(type(tracked))

    def any_for(self, nodes: Iterable[Apply]) -> bool:
        """Tell whether a rule wants to see one of some nodes."""
        # This loop is run over whole graphs, whose nodes share most of their ops.
        asked = set[int]()
        for node in nodes:
            op = node.op
            if id(op) not in asked:
                if self.for_op(op):
                    return True
                asked.add(id(op))
        return False

    def for_op(self, op: Op, distance: int = 0) -> tuple[NodeRewriter, ...]:
        """Return the rules that track `op`, its class or a base of its class, and the rules that track everything.

        Parameters
        ----------
        op : Op
        distance : int
            Only rules whose `reach` is not below it.
        """
        op_class = type(op)
        if op_class in self._classes_of_instances:
            # The same op is asked about again and again, and its hash is worked out in Python.
            cached = self._found_by_identity.get(id(op))
            result = self._find_for_op(op) if cached is None else cached[1]
        else:
            result = self._found_for_class.get(op_class) or self._find_for_class(op_class)
        if distance <= 0:
            return result.every
        return result.within(distance) if distance <= result.reach else ()

    def _find_for_class(self, op_class: type[Op]) -> _Found:
        result = self._found_for_class[op_class] = self._collect(op_class, ())
        return result

    def _find_for_op(self, op: Op) -> _Found:
        # Bounded, because ops with many different parameters would otherwise stay alive here for ever.
        if len(self._found_by_identity) > 4096:
            self._found_by_identity.clear()
            self._found_for_op.clear()
        entry = self._found_for_op.get(op)
        if entry is None:
            entry = self._found_for_op[op] = self._collect(type(op), self._by_instance.get(op, ()))
        self._found_by_identity[id(op)] = (op, entry)
        return entry

    def _collect(self, op_class: type[Op], indices: Iterable[int]) -> _Found:
        numbers = {*self._everywhere, *indices}
        for base in op_class.__mro__:
            numbers.update(self._by_class.get(base, ()))
        return _Found(tuple(self.rewriters[number] for number in sorted(numbers)))


# ---- Rules that exchange or drop an op


class SubstituteOp(NodeRewriter):
    """Replace each application of one op by another op on the same inputs.

    Parameters
    ----------
    old, new : Op
    transfer_tags : bool
        Copy the scratchpads of the old outputs to the new ones.
    name : str, optional

    Raises
    ------
    TypeError
        If `old` or `new` is no op.

    Examples
    --------
    >>> from theano_graph import Op
    >>> class Add(Op):
    ...     __props__ = ()
    >>> class Mul(Op):
    ...     __props__ = ()
    >>> SubstituteOp(Add(), Mul()).name
    'Add -> Mul'
    """

    def __init__(
        self, old: Op, new: Op, *, transfer_tags: bool = True, name: str | None = None, info: RewriteInfo | None = None
    ) -> None:
        _require_op(old)
        _require_op(new)
        super().__init__(name or f"{old} -> {new}", info=info, reach=0)
        self.old = old
        self.new = new
        self.transfer_tags = transfer_tags

    def tracks(self) -> Tracks:
        return (self.old,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        if node.op != self.old:
            return None
        new = self.new.make_node(*node.inputs)
        if self.transfer_tags:
            for before, after in zip(node.outputs, new.outputs, strict=False):
                if before.has_tag():
                    after.tag = before.tag.copy()
        return new.outputs


class RemoveOp(NodeRewriter):
    """Replace each output of an op by the input at the same place.

    Parameters
    ----------
    op : Op
        With as many outputs as inputs.
    name : str, optional

    Raises
    ------
    TypeError
        If `op` is no op.

    Examples
    --------
    >>> from theano_graph import Op
    >>> class Identity(Op):
    ...     __props__ = ()
    >>> RemoveOp(Identity()).name
    'remove Identity'
    """

    def __init__(self, op: Op, *, name: str | None = None, info: RewriteInfo | None = None) -> None:
        _require_op(op)
        super().__init__(name or f"remove {op}", info=info, reach=0)
        self.op = op

    def tracks(self) -> Tracks:
        return (self.op,)

    def transform(self, fgraph: FunctionGraph, node: Apply) -> TransformResult:
        return list(node.inputs) if node.op == self.op else None


def _require_op(op: object) -> None:
    if not isinstance(op, Op):
        raise TypeError(format_error(f"{op!r} is no op", hint="pass an instance of a subclass of Op"))
