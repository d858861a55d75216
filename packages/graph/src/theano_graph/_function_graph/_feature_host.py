"""Features of a graph: their protocol, and the graph that calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from .._errors import AlreadyThere, GraphError, format_error
from ._clients import timed

# ---- The protocol of features, without graphs and nodes


class FeatureProtocol(Protocol):
    """An object with some of the callbacks of :class:`theano_graph.Feature`, which documents their arguments.

    These three stand for all: a graph looks each of the others up by its name, and calls the existing ones.
    """

    @property
    def on_attach(self) -> Callable[..., Any]:
        """Called with the graph when the feature is attached."""

    @property
    def on_detach(self) -> Callable[..., Any]:
        """Called with the graph after the feature was removed."""

    @property
    def orderings(self) -> Callable[..., Any]:
        """Called with the graph for the nodes that must come before others."""


# ---- The features of a graph: attachment, callbacks, methods lent to the graph

#: One of these makes an object a feature.
_CALLBACKS = ("on_attach", "on_detach", "on_import", "on_prune", "on_change_input", "orderings", "validate")
#: The callbacks that changes call; looked up once.
_INDEXED = ("on_import", "on_prune", "on_change_input", "orderings")


class FeatureHost:
    """Base of function graphs: the part that knows features."""

    def __init__(self) -> None:
        self._features: list[FeatureProtocol] = []
        self._lent: dict[str, Callable[..., Any]] = {}
        # Callbacks by name with their features, in order of attachment: the lists are short and walked at each change.
        self._callbacks: dict[str, list[tuple[FeatureProtocol, Any]]] = {}
        self._seconds: dict[str, float] | None = None

    @property
    def features(self) -> tuple[FeatureProtocol, ...]:
        """The attached features, in order."""
        return tuple(self._features)

    def attach_feature(self, feature: FeatureProtocol) -> None:
        """Attach a feature: its callbacks run for all changes from now on.

        A feature may raise :class:`AlreadyThere` in `on_attach` when an equivalent one is there; nothing is attached.

        Raises
        ------
        TypeError
            If it has none of the methods of a :class:`Feature`.
        GraphError
            If it lends the graph a method of a name that is taken.
        """
        if feature in self._features:
            return
        if isinstance(feature, type) or not any(hasattr(feature, name) for name in _CALLBACKS):
            raise TypeError(
                format_error(
                    f"{feature!r} is no feature", hint="pass an instance of a subclass of theano_graph.Feature"
                )
            )
        attach = getattr(feature, "on_attach", None)
        if attach is not None:
            try:
                attach(self)
            except AlreadyThere:
                return
        try:
            self._check_lent(feature)
        except GraphError:
            detach = getattr(feature, "on_detach", None)
            if detach is not None:
                detach(self)
            raise
        self._features.append(feature)
        self._index_callbacks()

    def remove_feature(self, feature: FeatureProtocol) -> None:
        """Detach a feature.

        Raises
        ------
        GraphError
            If it is not attached.
        """
        if feature not in self._features:
            raise GraphError(
                format_error(f"feature {feature} is not attached to this graph", hint="pass one of `fgraph.features`")
            )
        self._features.remove(feature)
        self._index_callbacks()
        detach = getattr(feature, "on_detach", None)
        if detach is not None:
            detach(self)

    def execute_callbacks(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Call the method `name` of each feature that has one, with this graph and the other arguments."""
        for feature in self.features:
            callback = getattr(feature, name, None)
            if callback is not None:
                callback(self, *args, **kwargs)

    def collect_callbacks(self, name: str, *args: Any) -> dict[FeatureProtocol, Any]:
        """Call the method `name` of each feature that has one; return the results."""
        return {f: getattr(f, name)(self, *args) for f in self.features if hasattr(f, name)}

    @contextlib.contextmanager
    def timed_callbacks(self) -> Iterator[dict[str, float]]:
        """Measure the callbacks of the features meanwhile.

        Yields
        ------
        dict
            Seconds by the name of the feature's class, filled as time goes by. ``"validate"`` counts the checks that a
            :class:`Validator` makes.
        """
        outer = self._seconds
        if outer is None:
            self._seconds = {}
            self._index_callbacks()
        try:
            yield self._seconds if self._seconds is not None else {}
        finally:
            if outer is None:
                self._seconds = None
                self._index_callbacks()

    @property
    def callback_seconds(self) -> dict[str, float] | None:
        """The time of callbacks by the name of the feature's class; None unless they are measured."""
        return self._seconds

    def _index_callbacks(self) -> None:
        self._callbacks = {}
        self._lent = {}
        for feature in self._features:
            for name, method in getattr(feature, "provides", {}).items():
                self._lent[name] = getattr(feature, method)
        for name in _INDEXED:
            items = [(f, getattr(f, name)) for f in self._features if _overrides(f, name)]
            if self._seconds is not None:
                items = [(f, timed(self._seconds, type(f).__name__, callback)) for f, callback in items]
            if items:
                self._callbacks[name] = items

    def _check_lent(self, feature: FeatureProtocol) -> None:
        for name, method in getattr(feature, "provides", {}).items():
            if not callable(getattr(feature, method, None)):
                raise GraphError(
                    format_error(
                        f"{type(feature).__name__} lends the graph `{name}` but has no method `{method}`",
                        hint=f"define {type(feature).__name__}.{method}, or correct `provides`",
                    )
                )
            if name not in self._lent and not hasattr(type(self), name):
                continue
            lender = getattr(self._lent.get(name), "__self__", self)
            raise GraphError(
                format_error(
                    f"{type(feature).__name__} lends the graph `{name}`, which {type(lender).__name__} offers already",
                    hint="remove that feature first, or do without this one",
                )
            )

    if not TYPE_CHECKING:  # so that a name that no feature lends is still found by the type checker

        def __getattr__(self, name: str) -> Any:
            lent = self.__dict__.get("_lent", {}).get(name)
            if lent is None:
                raise AttributeError(
                    format_error(
                        f"a function graph has no attribute `{name}`",
                        hint="attach the feature that lends it, if there is one: History, ReplaceValidate, NodeFinder",
                    )
                )
            return partial(lent, self)


def _overrides(feature: FeatureProtocol, name: str) -> bool:
    return name in vars(feature) or name in _overridden(cast(Hashable, type(feature)))


@lru_cache(maxsize=256)
def _overridden(kind: Any) -> frozenset[str]:
    """Return which of the callbacks that changes call a class of features has of its own."""
    methods = {name: getattr(kind, name, None) for name in _INDEXED}
    return frozenset(n for n, m in methods.items() if m is not None and not getattr(m, "__is_default__", False))
