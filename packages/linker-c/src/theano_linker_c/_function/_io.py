"""The caller's description of inputs and outputs, and errors raised while a function is made or called.

:class:`In`, :class:`Out` and the shortcuts for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theano_graph import Constant, TheanoError, Variable, describe, format_error, warn_of_comparison

from ..runtime._storage import Container, SharedVariable

# ---- Errors raised while a function is made or called


class FunctionInputError(TheanoError, TypeError):
    """The inputs, outputs or updates given to `function` are not of the kind that it takes."""


class OutputKeyError(FunctionInputError, AssertionError):
    """The keys of a dictionary of outputs are not strings."""


class UnusedInputError(TheanoError, ValueError):
    """An input is not used by any output or update."""


class DuplicateInputError(FunctionInputError, UnusedInputError):
    """A variable is given twice among the inputs."""


class GivensError(TheanoError, TypeError, RuntimeError):
    """A substitution asked for with `givens` is not possible."""


class UpdateError(TheanoError, TypeError):
    """An update is not for a shared variable, or its type differs, or there are two for one variable."""


class ArgumentError(TheanoError, TypeError):
    """The arguments of a call do not match the function's inputs."""


class ArgumentValueError(TheanoError, ValueError):
    """An argument is of the right kind, but its value does not fit (a shape that conflicts with the static shape)."""


class DuplicateUpdateError(UpdateError, ValueError):
    """Two update expressions were given for one shared variable."""


class SwapError(TheanoError, ValueError):
    """`Function.copy` cannot exchange the shared variables as asked."""


# ---- The caller's description of inputs and outputs: :class:`In`, :class:`Out` and the shortcuts for them


class In:
    """An input of a compiled function, with its name, value and rights.

    Parameters
    ----------
    variable : Variable
        The variable that the caller gives a value for; it need not be a leaf.
    name : str, optional
        Keyword of the argument. By default the variable's name, if `autoname`.
    value : object or Container, optional
        Default value. With a container, the value is looked up there at call time.
    update : Variable, optional
        Expression that replaces the default value after each call.
    mutable : bool, optional
        True permits the function to overwrite the value that is passed. Implies `borrow`.
    strict : bool
        True: a value must have exactly the right type.
    allow_downcast : bool or None
        True: a value may be cast to a less precise dtype. None: only Python floats, to ``floatX``.
    autoname : bool
        Whether the variable's name serves when `name` is None.
    implicit : bool, optional
        True: the caller may not pass a value. By default True where `value` is a container.
    borrow : bool, optional
        True: outputs may be aliases of this input. By default the value of `mutable`.
    shared : bool
        True marks the inputs that `function` adds for shared variables.

    Raises
    ------
    TypeError
        For an update of another type, `mutable` without `borrow`, or `implicit` without a value.

    Examples
    --------
    >>> from theano_linker_c import In, generic
    >>> x = generic("x")
    >>> In(x, value=3)
    In(x, value=3)
    """

    name: str | None
    value: Any
    borrow: bool

    def __init__(
        self,
        variable: Variable,
        name: str | None = None,
        value: Any = None,
        update: Variable | None = None,
        mutable: bool | None = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        autoname: bool = True,
        implicit: bool | None = None,
        borrow: bool | None = None,
        shared: bool = False,
    ) -> None:
        if not isinstance(variable, Variable):
            raise FunctionInputError(
                format_error(
                    f"In: {variable!r} is a {type(variable).__name__}, not a variable",
                    hint="make a variable for the input, with its type's constructor, and pass that.",
                )
            )
        if not (name is None or isinstance(name, str)):
            raise FunctionInputError(
                format_error(
                    f"In: the name of an input is a string, not {name!r}", hint="pass a string, or leave it out."
                )
            )
        self.variable = variable
        self.name = variable.name if name is None and autoname else name
        self.value = value.container if isinstance(value, SharedVariable) else value
        self.update = None if update is None else _filter_update(variable, update)
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.autoname = autoname
        self.mutable = bool(mutable)
        self.borrow = self.mutable if borrow is None else borrow
        self.implicit = isinstance(self.value, Container) if implicit is None else implicit
        self.shared = shared
        if self.mutable and not self.borrow:
            raise FunctionInputError(
                format_error(
                    "In: mutable=True with borrow=False is contradictory",
                    context=[describe(variable)],
                    hint="leave out borrow: an input that may be overwritten may be aliased too.",
                )
            )
        if self.implicit and value is None:
            raise FunctionInputError(
                format_error(
                    "In: implicit=True needs a value, since the caller cannot pass one",
                    context=[describe(variable)],
                    hint="give `value=`, a plain value or a container.",
                )
            )

    def __repr__(self) -> str:
        parts = [str(self.variable)]
        if self.name != self.variable.name:
            parts.append(f"name={self.name!r}")
        if self.value is not None:
            parts.append(f"value={self.value!r}")
        if self.update is not None:
            parts.append(f"update={self.update}")
        return f"In({', '.join(parts)})"


def _filter_update(variable: Variable, update: Any) -> Variable:
    try:
        return variable.type.narrow_variable(update, allow_convert=False)
    except TypeError as error:
        description = describe(update) if isinstance(update, Variable) else repr(update)
        raise FunctionInputError(
            format_error(
                f"In: the update's type differs from the input's type {variable.type.describe()}",
                context=[f"input {describe(variable)}", f"update {description}"],
                hint=f"cast the update to {variable.type.describe()}.",
            )
        ) from error


class Out:
    """An output of a compiled function.

    Parameters
    ----------
    variable : Variable
        The expression to compute.
    borrow : bool
        True: the result may be an alias of storage that the function owns, or of a borrowed input or another borrowed
        output; a later call may overwrite it. False: it shares memory with nothing but mutable inputs.

    Examples
    --------
    >>> from theano_linker_c import Out, generic
    >>> Out(generic("x"), borrow=True)
    Out(x, borrow=True)
    """

    borrow: bool
    return_internal_type: bool

    def __init__(self, variable: Variable, borrow: bool = False, return_internal_type: bool = False) -> None:
        if not isinstance(variable, Variable):
            raise FunctionInputError(
                format_error(
                    f"Out: {variable!r} is a {type(variable).__name__}, not a variable",
                    hint="pass the expression to compute; make a constant of a plain value first.",
                )
            )
        self.variable = variable
        self.borrow = borrow
        # On the CPU a value is always of the type that is used inside; the flag is a hint for devices.
        self.return_internal_type = return_internal_type

    def __repr__(self) -> str:
        return f"Out({self.variable}, borrow={self.borrow})"


def as_inputs(inputs: Any, allow_input_downcast: bool | None, where: str) -> list[In]:
    """Return the `inputs` argument of `function` as a list of :class:`In`.

    Parameters
    ----------
    inputs : Sequence
        Elements: a variable, an :class:`In`, or one of the shortcuts ``(name, r)``, ``(r, value)``,
        ``((r, update), value)``, ``(name, r, value)``, ``(name, (r, update), value)``.
    allow_input_downcast : bool or None
        Used for elements that do not say themselves.
    where : str
        Name of the function, for messages.
    """
    if not isinstance(inputs, (list, tuple)):
        what = f"{where}: the inputs are not a list but a {type(inputs).__name__}"
        hint = "write a list of variables: `function([x], ...)`."
        where_lines = [describe(inputs)] if isinstance(inputs, Variable) else []
        raise FunctionInputError(format_error(what, context=where_lines, hint=hint))
    items = [_as_input(item, index, where) for index, item in enumerate(inputs)]
    for index, item in enumerate(items):
        _check_input(item, index, where)
        if isinstance(item.value, Container) and not item.implicit and item.update is None:
            # A container that the caller handed in keeps the value that a call passes.
            item.update = item.variable
    _check_distinct(items, where)
    if allow_input_downcast is not None:
        for item in items:
            if item.allow_downcast is None:
                item.allow_downcast = allow_input_downcast
    return items


def _as_input(item: Any, index: int, where: str) -> In:
    match item:
        case In():
            # The compiled function keeps its own record, so that the caller may use his for another function.
            twin = In.__new__(In)
            twin.__dict__.update(item.__dict__)
            return twin
        case Variable():
            return In(item)
        case (str(name), Variable() as variable):
            return In(variable, name=name)
        case (Variable() as variable, value):
            return In(variable, value=value)
        case ((Variable() as variable, update), value):
            return In(variable, value=value, update=update)
        case (str(name), Variable() as variable, value):
            return In(variable, name=name, value=value)
        case (str(name), (Variable() as variable, update), value):
            return In(variable, name=name, value=value, update=update)
    raise FunctionInputError(
        format_error(
            f"{where}: the input at position {index} is not a variable but {item!r} ({type(item).__name__})",
            hint="pass a variable, an In, or one of the tuples (name, x), (x, value), ((x, update), value).",
        )
    )


def _check_input(item: In, index: int, where: str) -> None:
    variable = item.variable
    if isinstance(variable, SharedVariable):
        name = f"`{variable.name}`" if variable.name else "this shared variable"
        raise FunctionInputError(
            format_error(
                f"{where}: Cannot use a shared variable ({variable}) as explicit input (at position {index}); "
                "shared variables are implicit inputs",
                context=[describe(variable)],
                hint=f"leave it out of the inputs. To compute with another value than that of {name}, make a plain "
                "variable of its type for the input and substitute it: `givens={shared: variable}`.",
            )
        )
    if isinstance(variable, Constant):
        raise FunctionInputError(
            format_error(
                f"{where}: the input at position {index} is a constant",
                context=[describe(variable)],
                hint="leave it out of the inputs; to vary it, substitute a variable: `givens={constant: variable}`.",
            )
        )


def _check_distinct(inputs: Sequence[In], where: str) -> None:
    positions: dict[Variable, int] = {}
    for index, item in enumerate(inputs):
        first = positions.setdefault(item.variable, index)
        if first != index:
            raise DuplicateInputError(
                format_error(
                    f"{where}: `{item.variable}` is used twice in inputs: "
                    f"the same variable is the input at positions {first} and {index}",
                    context=[describe(item.variable)],
                    hint="list each input once; pass the value to both uses, or make a second variable.",
                )
            )


def as_outputs(outputs: Any, where: str) -> tuple[list[Out], list[str] | None, bool]:
    """Return the `outputs` argument of `function` as (outputs, keys of a dictionary or None, whether it was single)."""
    if outputs is None:
        return [], None, False
    if isinstance(outputs, dict):
        wrong = [key for key in outputs if not isinstance(key, str)]
        if wrong:
            raise OutputKeyError(
                format_error(
                    f"{where}: the keys of an output dictionary must be strings, not {wrong[0]!r}",
                    hint="name each output with a string.",
                )
            )
        keys = sorted(outputs)
        return [_as_output(outputs[key], f"{key!r}", where) for key in keys], keys, False
    if isinstance(outputs, (list, tuple)):
        return [_as_output(item, f"at position {i}", where) for i, item in enumerate(outputs)], None, False
    return [_as_output(outputs, "", where)], None, True


def _as_output(item: Any, label: str, where: str) -> Out:
    if isinstance(item, Out):
        return item
    if isinstance(item, Variable):
        return Out(item)
    label = f"the output {label}" if label else "the output"
    warn_of_comparison(item)
    raise FunctionInputError(
        format_error(
            f"{where}: {label} is not a variable but {item!r} ({type(item).__name__})",
            hint="pass an expression, an Out, a list or dictionary of these, or None for updates only.",
        )
    )
