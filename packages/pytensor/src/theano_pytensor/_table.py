"""The table of rules: the expressions of ours that compute the same as nodes of PyTensor.

A rule is found by the class of the node's op, under the name of the class and the package that it comes from
(``"tensor.Reshape"``, ``"scalar.Exp"``, ``"sparse.Dot"``): PyTensor moves classes between modules from version to
version, and no module of it has to be imported for an op that a graph does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from ._translation import Translation


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
