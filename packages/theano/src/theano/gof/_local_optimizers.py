"""Rules for single nodes in the forms that programs for Theano 1.0 use: they are asked with the node alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from theano_graph import (
    Apply,
    Constant,
    FunctionGraph,
    Op,
    Variable,
    call_with_graph,
    format_error,
    graph_inputs,
    takes_graph,
)
from theano_optimize import (
    NodeRewriter,
    PatternRewriter,
    RemoveOp,
    RewriterGroup,
    SubstituteOp,
    Tracks,
    TransformResult,
)

from ._optimizers import AlsoBelow, attach_destroy_handler


class LocalOptimizer(NodeRewriter, metaclass=AlsoBelow):
    """A rule that looks at one node.

    Subclasses define `transform(node)`, which returns False (or None) for no change, a list with a replacement for each
    output, or a dict from variables of the graph to their replacements; `tracks()`, which lists the ops and op classes
    of interest (None, or an empty list, for all); and `add_requirements(fgraph)` for the features it needs.
    """

    __module__ = "theano.gof.opt"
    below: ClassVar[type | None] = NodeRewriter

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        tracked = cls.__dict__.get("tracks")
        if tracked is not None:
            # An empty list says nothing about the ops of interest.
            def tracks(self: Any) -> Any:
                return tracked(self) or None

            tracks.__doc__ = tracked.__doc__
            cls.tracks = tracks  # type: ignore[method-assign]  # the same method with a smaller result

    def transform(self, node: Apply) -> Any:  # type: ignore[override]  # the documented form has no graph
        """Return replacements of the outputs of `node`, or False."""
        raise TypeError(
            format_error(
                f"{type(self).__name__} has no `transform`", hint=f"define {type(self).__qualname__}.transform(node)"
            )
        )

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the rule and its answer; engines call this."""
        result = call_with_graph(self.transform, fgraph, node)
        if isinstance(result, Mapping) and "remove" in result:
            # Programs list there the nodes that go; nodes without use go by themselves.
            result = {old: new for old, new in result.items() if old != "remove"}
        return self, result

    def __repr__(self) -> str:
        return object.__repr__(self)


class FromFunctionLocalOptimizer(LocalOptimizer):
    """A local optimizer made of a function of the node.

    Parameters
    ----------
    fn : callable
        ``fn(node)``, or ``fn(fgraph, node)`` as in Theano 1.1.
    tracks : sequence of Op and op classes, optional
    requirements : iterable of callables
        Each is called with the graph before.
    """

    __module__ = "theano.gof.opt"

    def __init__(
        self,
        fn: Callable[[Apply], Any],
        tracks: Sequence[Op | type[Op]] | None = None,
        requirements: Iterable[Callable[[FunctionGraph], Any]] = (),
    ) -> None:
        super().__init__(getattr(fn, "__name__", None))
        self.fn: Callable[..., Any] = fn
        self._takes_graph = takes_graph(fn, 1)
        self._tracks = tracks
        self.requirements = tuple(requirements)
        self.__doc__ = fn.__doc__
        self.__name__ = self.name

    def transform(self, node: Apply) -> Any:  # type: ignore[override]  # the documented form has no graph
        """Return the result of the function."""
        return self.fn(node.fgraph, node) if self._takes_graph else self.fn(node)

    def tracks(self) -> Tracks:
        """Return the ops and op classes of interest."""
        return self._tracks

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Call the requirements."""
        for requirement in self.requirements:
            requirement(fgraph)

    def __str__(self) -> str:
        return self.name


def local_optimizer(
    tracks: Sequence[Op | type[Op]] | None,
    inplace: bool = False,
    requirements: Iterable[Callable[[FunctionGraph], Any]] = (),
) -> Callable[[Callable[[Apply], Any]], FromFunctionLocalOptimizer]:
    """Make a local optimizer of a function of the node; to be called as a decorator.

    Parameters
    ----------
    tracks : sequence of Op and op classes, or None
        The nodes that it wants to see; None for all.
    inplace : bool
        Whether it puts in-place ops in: the graph gets a destroy handler first.
    requirements : iterable of callables
        Each is called with the graph before.

    Raises
    ------
    ValueError
        If `tracks` is empty, or has something else than ops and op classes in it.
    """
    if tracks is not None:
        if len(tracks) == 0:
            raise ValueError(
                format_error("local_optimizer got an empty list of ops", hint="pass None to see every node")
            )
        for tracked in tracks:
            if not isinstance(tracked, Op) and not (isinstance(tracked, type) and issubclass(tracked, Op)):
                raise ValueError(
                    format_error(f"local_optimizer cannot track {tracked!r}", hint="list ops and classes of ops")
                )

    def decorate(fn: Callable[[Apply], Any]) -> FromFunctionLocalOptimizer:
        needed = (attach_destroy_handler, *requirements) if inplace else tuple(requirements)
        return FromFunctionLocalOptimizer(fn, tracks, needed)

    return decorate


class Wrapped(LocalOptimizer):
    """Base of the local optimizers that stand for a rule of the layer below."""

    def __init__(self, rewriter: NodeRewriter) -> None:
        super().__init__(info=rewriter.info, reach=rewriter.reach)
        self.rewriter = rewriter

    def tracks(self) -> Tracks:
        """Return the ops and op classes of interest."""
        return self.rewriter.tracks()

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the features that the rule needs."""
        self.rewriter.add_requirements(fgraph)

    def attempt(self, fgraph: FunctionGraph, node: Apply) -> tuple[NodeRewriter, TransformResult]:
        """Return the rule that answered and its answer; engines call this."""
        rule, result = self.rewriter.attempt(fgraph, node)
        return (self if rule is self.rewriter else rule), result

    def transform(self, node: Apply) -> Any:  # type: ignore[override]  # the documented form has no graph
        """Return replacements of the outputs of `node`, or False."""
        with graph_of(node) as fgraph:
            result = self.rewriter.attempt(fgraph, node)[1]
        return False if result is None else result

    def summary_lines(self) -> list[str]:
        return self.rewriter.summary_lines()

    def __str__(self) -> str:
        return self.name


@contextlib.contextmanager
def graph_of(node: Apply) -> Iterator[FunctionGraph]:
    """Give the graph that a node is in, or for as long as it is needed a graph of its own."""
    if node.fgraph is not None:
        yield node.fgraph
        return
    leaves = [v for v in graph_inputs(node.outputs) if not isinstance(v, Constant)]
    fgraph = FunctionGraph(leaves, list(node.outputs), clone=False)
    try:
        yield fgraph
    finally:
        fgraph.disown()


class LocalOptGroup(Wrapped):
    """Local optimizers of which the first that changes a node is used.

    Parameters
    ----------
    *optimizers : LocalOptimizer
    apply_all_opts : bool
        Go on with the node that an answer consists of, until none of them changes it.
    profile : bool
        Accepted; profiles name the members of a group in any case.
    """

    __module__ = "theano.gof.opt"
    below = RewriterGroup

    def __init__(
        self, *optimizers: NodeRewriter, apply_all_opts: bool = False, profile: bool = False, name: str | None = None
    ) -> None:
        opts: Any = optimizers[0] if len(optimizers) == 1 and isinstance(optimizers[0], (list, tuple)) else optimizers
        group_name = name or f"{type(self).__name__}({','.join(opt.name for opt in opts)})"
        super().__init__(RewriterGroup(opts, group_name, apply_all=apply_all_opts))
        self.opts = tuple(opts)
        self.apply_all_opts = apply_all_opts


class LocalSeqOptGroup(LocalOptGroup):
    """Local optimizers that are applied in turn: each sees the result of the one before."""

    __module__ = "theano.gof.opt"

    def __init__(self, *optimizers: NodeRewriter, profile: bool = False, name: str | None = None) -> None:
        super().__init__(*optimizers, apply_all_opts=True, profile=profile, name=name)


class OpSub(Wrapped):
    """Replaces every use of `op1` by `op2` on the same inputs.

    Parameters
    ----------
    op1, op2 : Op
    transfer_tags : bool
        Copy the scratchpads of the outputs.
    """

    __module__ = "theano.gof.opt"
    below = SubstituteOp

    def __init__(self, op1: Op, op2: Op, transfer_tags: bool = True) -> None:
        super().__init__(SubstituteOp(op1, op2, transfer_tags=transfer_tags))
        self.op1, self.op2, self.transfer_tags = op1, op2, transfer_tags

    def op_key(self) -> Op:
        """Return the op that is replaced."""
        return self.op1

    def __str__(self) -> str:
        return f"{self.op1} -> {self.op2}"


class OpRemove(Wrapped):
    """Replaces each output of `op` by the input at the same place.

    Parameters
    ----------
    op : Op
        With as many outputs as inputs.
    """

    __module__ = "theano.gof.opt"
    below = RemoveOp
    reentrant = False

    def __init__(self, op: Op) -> None:
        super().__init__(RemoveOp(op))
        self.op = op

    def op_key(self) -> Op:
        """Return the op that is removed."""
        return self.op

    def __str__(self) -> str:
        return f"{self.op}(x) -> x"


class PatternSub(Wrapped):
    """Replaces matches of one pattern by another pattern.

    Parameters
    ----------
    in_pattern : tuple
        ``(op, part, ...)``, where a part is a pattern again, a string (fits anything; the same thing wherever it
        stands), a number or variable (fits constants equal to it), or ``{"pattern": part, "constraint": fn}``.
    out_pattern : tuple or str
        The replacement; a string stands for the same variable as in `in_pattern`.
    allow_multiple_clients : bool
        Whether nodes below the root may be used elsewhere too.
    skip_identities_fn : callable, optional
        Returns the variable behind an identity, or None: parts of the pattern then fit there as well.
    name : str, optional
    tracks : sequence of Op and op classes
        With `get_nodes`: a rarer op inside of the pattern, at which the rule is asked instead of at the root.
    get_nodes : callable, optional
        Gives, for a node with one of the ops in `tracks`, the nodes that may be the root.
    values_eq_approx : callable, optional
        How DebugMode compares values of the replacement with those of the original.
    pdb : bool
        Enter the debugger where the op at the root fits.
    """

    __module__ = "theano.gof.opt"
    below = PatternRewriter

    def __init__(
        self,
        in_pattern: Any,
        out_pattern: Any,
        allow_multiple_clients: bool = False,
        skip_identities_fn: Callable[[Variable], Variable | None] | None = None,
        name: str | None = None,
        pdb: bool = False,
        tracks: Sequence[Op | type[Op]] = (),
        get_nodes: Callable[[Apply], Iterable[object]] | None = None,
        values_eq_approx: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(
            PatternRewriter(
                _tuples(in_pattern),
                _tuples(out_pattern),
                name,
                allow_multiple_clients=allow_multiple_clients,
                see_through=skip_identities_fn,
                tracks=tracks or None,
                candidates=get_nodes,
                values_eq_approx=values_eq_approx,
                debug=pdb,
            )
        )
        self.in_pattern = in_pattern
        self.out_pattern = out_pattern

    def op_key(self) -> Any:
        """Return the op at the root of the pattern."""
        pattern = self.in_pattern
        while isinstance(pattern, Mapping):
            pattern = pattern["pattern"]
        return pattern[0]

    def __str__(self) -> str:
        return self.name


def _tuples(pattern: Any) -> Any:
    """Return a pattern with its lists, which programs for Theano 1.0 may use, as tuples."""
    if isinstance(pattern, (list, tuple)):
        return tuple(map(_tuples, pattern))
    if isinstance(pattern, Mapping):
        return {key: _tuples(value) if key == "pattern" else value for key, value in pattern.items()}
    return pattern


def transform_alone(opt: Any, node: Apply) -> Any:
    """Return the answer of a local optimizer, or of a rule of the library, for a node that is in no graph."""
    if LocalOptimizer in type(opt).__mro__:  # not `isinstance`, which takes the rules of the library for such, too
        return opt.transform(node)
    twin = node.clone_with_new_inputs(node.inputs, strict=False)
    values = dict.fromkeys(v for v in twin.inputs if not isinstance(v, Constant))
    return opt.transform(FunctionGraph(list(values), twin.outputs, clone=False), twin)
