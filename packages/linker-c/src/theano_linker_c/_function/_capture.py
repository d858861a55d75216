"""From the arguments of `function` to one graph of inputs, outputs and updates; a file from which that is repeated."""

from __future__ import annotations

import os
import pickle
from collections.abc import Collection as AbstractCollection, Container, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from theano_graph import Apply, FunctionGraph, Tag, Variable, ancestors, describe, format_error, record, warn_user

from ..modes import Mode
from ..runtime._inplace import Boundary
from ..runtime._storage import SharedVariable, left_behind
from ._givens import Rebuilder, as_givens, as_pairs, as_updates, check_update
from ._io import FunctionInputError, In, Out, UnusedInputError

# ---- A file from which the compilation of a function can be repeated elsewhere


def function_dump(
    filename: str | os.PathLike[str],
    inputs: Sequence[Any],
    outputs: Any = None,
    mode: str | Mode | None = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool | Sequence[Variable] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    extra_tag_to_remove: Sequence[str] = (),
) -> None:
    """Write the arguments of :func:`function` to a file instead of compiling, values of shared variables included.

    The file is a pickle of a dictionary `d`; ``function(**d)`` does the compilation. Set shared variables to zeros
    first if their values are not to be given away.

    Parameters
    ----------
    filename : path
    extra_tag_to_remove : sequence of str
        Attributes of tags that are left out of the file, besides test values.
    others
        As for :func:`function`.

    Examples
    --------
    >>> import theano
    >>> import pickle, tempfile, os
    >>> x = theano.generic("x")
    >>> path = os.path.join(tempfile.mkdtemp(), "dump.pkl")
    >>> theano.function_dump(path, [x], x)
    >>> with open(path, "rb") as file:
    ...     arguments = pickle.load(file)
    >>> theano.function(**arguments)(1)
    1
    """
    arguments = {
        "inputs": inputs,
        "outputs": outputs,
        "mode": mode,
        "updates": updates,
        "givens": givens,
        "no_default_updates": no_default_updates,
        "accept_inplace": accept_inplace,
        "name": name,
        "rebuild_strict": rebuild_strict,
        "allow_input_downcast": allow_input_downcast,
        "profile": profile,
        "on_unused_input": on_unused_input,
    }
    with open(filename, "wb") as file:
        _StripPickler(file, {"test_value", *(extra_tag_to_remove or ())}).dump(arguments)


class _StripPickler(pickle.Pickler):
    """A pickler that leaves some attributes of tags out."""

    def __init__(self, file: Any, removed: set[str]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._removed = removed

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is Tag:
            state = {k: v for k, v in vars(obj).items() if k not in self._removed}
            return Tag, (), state
        return NotImplemented


# ---- From the arguments of `function` to one graph: inputs, outputs and updates, with shared variables found and added


@record(frozen=False)
class Signature:
    """The caller's view of a compiled function, and how it maps to the function's graph.

    Attributes
    ----------
    inputs : list of In
        In the order of the graph's inputs: the explicit ones, then those for shared variables.
    outputs : list of Out
        In the order of the graph's first outputs.
    update_targets : list of int
        For each further output of the graph, the index of the input that it becomes the new value of.
    keys : list of str or None
        Keys of a dictionary of outputs.
    single : bool
        Whether a call returns the one output itself.
    name : str or None
        Name of the function, where it was given one.
    line : str or None
        File and line of the call that made it.
    """

    inputs: list[In]
    outputs: list[Out]
    update_targets: list[int] = field(default_factory=list)
    keys: list[str] | None = None
    single: bool = False
    name: str | None = None
    line: str | None = None

    @property
    def label(self) -> str:
        """How messages call the function."""
        return f"function `{self.name}`" if self.name else "function"

    def boundary(self) -> Boundary:
        """Return the facts that alias analysis needs."""
        n_outputs = len(self.outputs)
        return Boundary(
            frozenset(i for i, item in enumerate(self.inputs) if item.borrow),
            frozenset(i for i, item in enumerate(self.inputs) if item.shared),
            frozenset(i for i, item in enumerate(self.inputs) if item.mutable and not item.shared),
            frozenset(i for i, item in enumerate(self.outputs) if item.borrow),
            {n_outputs + k: target for k, target in enumerate(self.update_targets)},
        )


class Collection:
    """The graph of a function: a part of the caller's graph at once, and a copy when one is needed.

    Parameters
    ----------
    signature : Signature
        It is completed by shared variables and updates.
    updates, givens, no_default_updates, rebuild_strict
        As for :func:`function`.

    Attributes
    ----------
    is_plain : bool
        Whether the function computes the caller's graph as it is: nothing is substituted, and no default update
        is added. Then `signature` is complete before anything has been copied.

    Raises
    ------
    UpdateError, GivensError, MissingInputError
        If the arguments contradict each other or the graph needs an input that there is not.
    """

    def __init__(
        self,
        signature: Signature,
        updates: Any,
        givens: Any,
        no_default_updates: bool | Sequence[Variable],
        rebuild_strict: bool,
    ) -> None:
        self.signature = signature
        self._where = where = signature.label
        explicit = [item.variable for item in signature.inputs]
        substitutes = as_givens(givens, explicit, rebuild_strict, where)
        self._rebuilder = rebuilder = Rebuilder(explicit, substitutes, rebuild_strict, where)
        self._wanted = as_updates(updates, where)
        self._kept = [(i, item.update) for i, item in enumerate(signature.inputs) if item.update is not None]
        self._explicit = explicit
        outputs = [*(out.variable for out in signature.outputs), *(e for _, e in self._kept)]
        rebuilder.meet_shared(outputs)
        for target, expression in self._wanted.items():
            rebuilder.meet_shared([expression])
            rebuilder.shared_copy(target)
        self.outputs: list[Variable] = [*outputs, *self._wanted.values()]
        self._without = _without_default(no_default_updates, where)
        self.is_plain = not substitutes and not _due(rebuilder.shared, self._wanted, self._without)
        if self.is_plain:
            self._complete(self._wanted)
        elif not substitutes:
            _warn_of_states(_due(rebuilder.shared, self._wanted, self._without), self.outputs, where)

    @property
    def inputs(self) -> list[Variable]:
        """The explicit inputs, then the shared variables, in the caller's graph."""
        return [*self._explicit, *self._rebuilder.shared]

    @property
    def nodes(self) -> AbstractCollection[Apply]:
        """The nodes of the caller's graph, in an order that depends on the graph alone."""
        return self._rebuilder.met

    def leaf(self, variable: Variable) -> Variable:
        """Return the copy of an input, a shared variable or a constant that :meth:`copy` uses."""
        return self._rebuilder.leaf(variable)

    def copy(self) -> FunctionGraph:
        """Copy the caller's graph into a function graph.

        Raises
        ------
        MissingInputError
            If a leaf is neither an input nor a constant nor a shared variable.
        """
        rebuilder, signature = self._rebuilder, self.signature
        copies = rebuilder.copy(self.outputs)
        n_results = len(self.outputs) - len(self._wanted)
        new_values = dict(zip(self._wanted, copies[n_results:], strict=True))
        if not self.is_plain:
            _add_default_updates(rebuilder, new_values, self._without, self._where)
            self._complete(new_values)
            _check_kept_types(rebuilder, signature, new_values, self._where)
        _forget_originals(signature, copies, [i for i, _ in self._kept])
        return FunctionGraph(
            [*rebuilder.inputs, *rebuilder.shared.values()],
            [*copies[:n_results], *new_values.values()],
            clone=False,
        )

    def _complete(self, new_values: Mapping[SharedVariable, Variable]) -> None:
        signature, shared = self.signature, self._rebuilder.shared
        positions = {target: len(self._explicit) + i for i, target in enumerate(shared)}
        signature.inputs += [In(s, value=s.container, borrow=True, shared=True) for s in shared]
        signature.update_targets = [i for i, _ in self._kept] + [positions[target] for target in new_values]


def _forget_originals(signature: Signature, copies: Sequence[Variable], kept: Sequence[int]) -> None:
    """Let the signature name the copies, so that a function does not keep the caller's expressions alive."""
    n_outputs = len(signature.outputs)
    originals = signature.outputs
    signature.outputs = []
    for out, copy in zip(originals, copies, strict=False):
        signature.outputs.append(Out(copy, out.borrow, out.return_internal_type))
    for index, copy in zip(kept, copies[n_outputs:], strict=False):
        signature.inputs[index].update = copy


def _check_kept_types(
    rebuilder: Rebuilder, signature: Signature, new_values: dict[SharedVariable, Variable], where: str
) -> None:
    # Only with rebuild_strict=False can substitution have changed the type of an update.
    for target, value in new_values.items():
        if not target.type.is_super(value.type):
            check_update(target, value, where)


def _without_default(no_default_updates: bool | Sequence[Variable], where: str) -> bool | frozenset[Variable]:
    if isinstance(no_default_updates, bool):
        return no_default_updates
    if isinstance(no_default_updates, (list, tuple, set, frozenset)) and all(
        isinstance(v, Variable) for v in no_default_updates
    ):
        return frozenset(no_default_updates)
    raise FunctionInputError(
        format_error(
            f"{where}: no_default_updates is {no_default_updates!r}",
            hint="pass True, False, or the list of shared variables without default update.",
        )
    )


def _add_default_updates(
    rebuilder: Rebuilder,
    new_values: dict[SharedVariable, Variable],
    without: bool | frozenset[Variable],
    where: str,
) -> None:
    """Add the default updates of all shared variables that were met; their expressions may lead to more variables."""
    seen: set[SharedVariable] = set()
    while True:
        fresh = [s for s in rebuilder.shared if s not in seen]
        if not fresh:
            return
        seen.update(fresh)
        due = _due(fresh, new_values, without)
        expressions = [check_update(s, s.default_update, f"{where}: default update") for s in due]
        new_values.update(zip(due, rebuilder.copy(expressions), strict=True))


def _warn_of_states(due: Sequence[SharedVariable], expressions: Sequence[Variable], where: str) -> None:
    """Warn of random states that a loop moves on and the function does not: its default update is that of one draw."""
    for state, node in left_behind(due, expressions):
        warn_user(
            format_error(
                f"{where}: a loop draws random numbers, and the updates that `scan` returned for it are not passed on: "
                "the state moves on by one draw, so that the next call draws nearly the same numbers again",
                context=[describe(state), f"the loop {node}" + (f" made at {node.origin}" if node.origin else "")],
                hint="pass updates=updates, from the result of scan; or no_default_updates=True for equal numbers",
            )
        )


def _due(
    shared: Iterable[SharedVariable], arguments: Container[SharedVariable], without: bool | frozenset[Variable]
) -> list[SharedVariable]:
    """Return which of some shared variables have a default update that applies."""
    if without is True:
        return []
    excluded: frozenset[Variable] = frozenset() if without is False else without
    return [
        s for s in shared if getattr(s, "default_update", None) is not None and s not in arguments and s not in excluded
    ]


def check_used(
    signature: Signature, fgraph: FunctionGraph, expressions: Sequence[Variable], on_unused_input: str
) -> None:
    """Report explicit inputs that no output or update depends on.

    Parameters
    ----------
    expressions : sequence of Variable
        Outputs and updates before they were copied: an input is used, too, if they have its lengths as numbers.
    on_unused_input : {"raise", "warn", "ignore"}

    Raises
    ------
    UnusedInputError
        If `on_unused_input` is "raise".
    """
    if on_unused_input == "ignore":
        return
    measured: set[Variable] | None = None
    for index, (item, variable) in enumerate(zip(signature.inputs, fgraph.inputs, strict=True)):
        if item.shared or item.update is not None or fgraph.has_clients(variable):
            continue
        measured = _measured(expressions) if measured is None else measured
        if item.variable in measured:
            continue
        text = _unused(signature, index)
        if on_unused_input == "raise":
            raise UnusedInputError(text)
        warn_user(text)


def _measured(expressions: Sequence[Variable]) -> set[Variable]:
    """Return the variables of which expressions have lengths that were known beforehand, and what these depend on."""
    sources = [getattr(v.tag, "length_source", None) for v in ancestors(expressions)]
    return set(ancestors([v for source in sources if source is not None and (v := source()) is not None]))


def check_related(signature: Signature, updates: Any, givens: Any, on_unused_input: str) -> None:
    """Report explicit inputs that nothing depends on, for a graph that cannot be collected.

    Which input is superfluous says more than that another one is missing.

    Raises
    ------
    UnusedInputError
        If `on_unused_input` is "raise".
    """
    if on_unused_input != "raise":
        return
    news = [v for pairs in (updates, givens) for _, v in as_pairs(pairs, signature.label)]
    roots = [*(out.variable for out in signature.outputs), *(v for v in news if isinstance(v, Variable))]
    used = set(ancestors([*roots, *(item.update for item in signature.inputs if item.update is not None)]))
    for index, item in enumerate(signature.inputs):
        if item.update is None and item.variable not in used:
            raise UnusedInputError(_unused(signature, index))


def _unused(signature: Signature, index: int) -> str:
    return format_error(
        f"{signature.label}: the input variable at index {index} is not part of the computational graph needed to "
        "compute the outputs",
        context=[describe(signature.inputs[index].variable)],
        hint="leave it out of the inputs, or pass on_unused_input='ignore' (or 'warn').",
    )


def as_unused_choice(choice: Any, default: str, where: str) -> str:
    """Return the `on_unused_input` argument, checked; None gives `default`.

    Raises
    ------
    ValueError
        If it is none of the three words.
    """
    if choice is None:
        return default
    if choice not in ("raise", "warn", "ignore"):
        raise ValueError(
            format_error(f"{where}: on_unused_input is {choice!r}", hint="pass 'raise', 'warn', 'ignore' or None.")
        )
    return str(choice)
