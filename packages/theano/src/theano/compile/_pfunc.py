"""Names of `theano.compile.pfunc` besides those of other layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from theano_graph import Apply, Constant, Variable, describe, format_error
from theano_linker_c import Function, In, Out, SharedVariable, function, shared

__all__ = ["Param", "iter_over_pairs", "pfunc", "rebuild_collect_shared"]


def Param(variable: Variable, default: Any = None, name: str | None = None, **options: Any) -> In:
    """Return an input of a function: `In` under an older name, where the value was called `default`.

    Parameters
    ----------
    variable : Variable
    default : object, optional
        Value of the argument where the caller gives none.
    name : str, optional
    **options
        As for `In`: mutable, strict, allow_downcast, borrow, ...

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> import theano, theano.tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> float(theano.function([x, theano.Param(y, default=2.0)], x * y)(3.0))
    6.0
    """
    return In(variable, name=name, value=default, **options)


def pfunc(
    params: Any,
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: Any = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: str | None = None,
    output_keys: Any = None,
) -> Function:
    """Compile expressions into a callable: `theano.function` under an older name.

    Parameters
    ----------
    params : list
        The inputs.
    output_keys : sequence of str, optional
        Keys of the list `outputs`; a call then returns a dictionary.
    others
        As for `theano.function`.

    Examples
    --------
    >>> import theano.tensor as T
    >>> from theano.compile.pfunc import pfunc
    >>> x = T.dscalar("x")
    >>> float(pfunc(params=[x], outputs=2 * x)(3.0))
    6.0
    """
    if output_keys is not None:
        outputs = dict(zip(output_keys, outputs, strict=True))
    return function(
        params,
        outputs,
        mode,
        updates,
        givens,
        no_default_updates,
        accept_inplace,
        name,
        rebuild_strict,
        allow_input_downcast,
        profile,
        on_unused_input,
    )


def iter_over_pairs(pairs: Any) -> Iterable[tuple[Any, Any]]:
    """Return the pairs of a mapping, or the iterable of pairs itself.

    Parameters
    ----------
    pairs : mapping or iterable of pairs
    """
    pairs_iterable: Iterable[tuple[Any, Any]] = pairs.items() if isinstance(pairs, Mapping) else pairs
    return pairs_iterable


def rebuild_collect_shared(
    outputs: Any,
    inputs: Any = None,
    replace: Any = None,
    updates: Any = None,
    rebuild_strict: bool = True,
    copy_inputs_over: bool = True,
    no_default_updates: Any = False,
) -> tuple[list[Variable], Any, list[Any]]:
    """Copy expressions with substitutions, and collect the shared variables and the updates that they lead to.

    Parameters
    ----------
    outputs : Variable, Out, or list of them, or None
    inputs : list of Variable, optional
    replace : mapping or iterable of pairs, optional
        Variable -> its replacement.
    updates : mapping or iterable of pairs, optional
        Shared variable -> its new value.
    rebuild_strict : bool
        Whether types must stay as they are.
    copy_inputs_over : bool
        Whether variables without an owner stay themselves; they are cloned otherwise.
    no_default_updates : bool or list of Variable
        Whether, or for which variables, `default_update` is left out.

    Returns
    -------
    tuple
        The inputs, the copies in the form of `outputs`, and a list: all copies by their originals; the copied new
        values by shared variable; the pairs of shared variables and original new values; the shared variables.

    Raises
    ------
    TypeError
        If an input is no variable, or is a shared variable, or an update has another type.
    ValueError
        If a variable has two updates.

    Examples
    --------
    >>> import theano
    >>> import theano.tensor as T
    >>> import theano, theano.tensor as T
    >>> from theano.compile.pfunc import rebuild_collect_shared
    >>> s, x = theano.shared(1.0, name="s"), T.dscalar("x")
    >>> inputs, copy, (copies, new_values, pairs, found) = rebuild_collect_shared(s + x, [x], updates={s: 2 * s})
    >>> found
    [s]
    """
    collector = _Collector(rebuild_strict, copy_inputs_over, no_default_updates)
    for old, new in iter_over_pairs(replace or ()):
        if not isinstance(old, Variable):
            raise TypeError(format_error(f"replace: {old!r} is no variable", hint="give variables as keys"))
        if old in collector.copies:
            raise AssertionError(
                format_error(
                    "replace: a substitute depends on a variable that is replaced",
                    context=[describe(old)],
                    hint="write the substitute without it",
                )
            )
        collector.copies[old] = collector.copy(new if isinstance(new, Variable) else shared(new))
    copied_inputs = [collector.input(v) for v in inputs or ()]
    for target, value in iter_over_pairs(updates or ()):
        collector.update(target, value)
    copied_outputs = collector.outputs(outputs)
    # The list grows: the new value of one shared variable may lead to others.
    for target, value in collector.pairs:
        collector.new_values[target] = collector.copy(value)
        collector.find(target)
    return copied_inputs, copied_outputs, [collector.copies, collector.new_values, collector.pairs, collector.shared]


class _Collector:
    """The copies, with the shared variables and updates on the way; see :func:`rebuild_collect_shared`."""

    def __init__(self, strict: bool, keep_inputs: bool, no_default_updates: Any) -> None:
        self._strict = strict
        self._keep_inputs = keep_inputs
        self._without = no_default_updates
        self.copies: dict[Variable | Apply, Any] = {}
        self.new_values: dict[SharedVariable, Variable] = {}
        self.pairs: list[tuple[SharedVariable, Variable]] = []
        self.shared: list[SharedVariable] = []

    def input(self, variable: Variable) -> Variable:
        """Return the copy of an input."""
        if isinstance(variable, SharedVariable):
            raise TypeError(
                format_error(
                    "an input is a shared variable",
                    context=[describe(variable)],
                    hint="leave it out, or substitute a plain variable for it with `givens`",
                )
            )
        copy: Variable = self.copies.setdefault(variable, variable if self._keep_inputs else variable.clone())
        return copy

    def update(self, target: Any, value: Any) -> None:
        """Note a new value of a shared variable."""
        if not isinstance(target, SharedVariable):
            raise TypeError(format_error(f"the target of an update, {target!r}, is no shared variable"))
        if target in self.new_values:
            raise ValueError(format_error("a shared variable has two updates", context=[describe(target)]))
        new: Variable = target.type.filter_variable(value, allow_convert=False)
        if new.type != target.type:
            raise TypeError(
                format_error(
                    f"an update of type {new.type} for a shared variable of type {target.type}",
                    context=[describe(target), describe(new)],
                    hint="cast it, or use `unbroadcast` where an axis of length 1 is known",
                )
            )
        self.new_values[target] = new
        self.pairs.append((target, new))

    def outputs(self, outputs: Any) -> Any:
        """Return copies in the form of `outputs`."""
        if outputs is None:
            return []
        if isinstance(outputs, (list, tuple)):
            return [self.outputs(output) for output in outputs]
        if isinstance(outputs, Out):
            return Out(self.copy(outputs.variable), borrow=outputs.borrow)
        if isinstance(outputs, Variable):
            return self.copy(outputs)
        raise TypeError(
            format_error(f"an output, {outputs!r}, is no variable", hint="pass variables, or Out(variable)")
        )

    def copy(self, root: Variable) -> Variable:
        """Return the copy of a variable; leaves are met in the order of the operands."""
        work: list[tuple[Variable, bool]] = [(root, False)]
        while work:
            variable, ready = work.pop()
            node = variable.owner
            if variable in self.copies:
                continue
            if node is None:
                self._leaf(variable)
            elif not ready:
                work.append((variable, True))
                work.extend((v, False) for v in reversed(node.inputs))
            else:
                twin = node.clone_with_new_inputs([self.copies[v] for v in node.inputs], strict=self._strict)
                self.copies[node] = twin
                for old, new in zip(node.outputs, twin.outputs, strict=True):
                    self.copies.setdefault(old, new)
        copy: Variable = self.copies[root]
        return copy

    def find(self, variable: SharedVariable) -> None:
        """Note a shared variable."""
        if variable not in self.shared:
            self.shared.append(variable)

    def _leaf(self, variable: Variable) -> None:
        if isinstance(variable, SharedVariable):
            self.find(variable)
            replaceable = self._without is False or (isinstance(self._without, list) and variable not in self._without)
            if replaceable and variable.default_update is not None and variable not in self.new_values:
                self.update(variable, variable.default_update)
        keeps = self._keep_inputs or isinstance(variable, Constant)
        self.copies[variable] = variable if keeps else variable.clone()
