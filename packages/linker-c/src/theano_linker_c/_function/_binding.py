"""The bindings of a compiled function: arguments of a call to inputs, names to containers, and its machine."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from theano_graph import Variable, config, describe, filter_options, format_error

from .._lazy import loop_code
from ..program import Machine
from ..runtime._storage import Container
from ._capture import Signature
from ._io import ArgumentError, ArgumentValueError, In

# ---- The arguments of a call: bound to inputs, filtered by type, and clear errors about wrong ones


class Arguments:
    """Binds the arguments of calls to the inputs of one function.

    The machine takes one value for each of :attr:`inputs`, in that order; it does the common case (positional
    arguments of the right type) itself and leaves all other calls to :meth:`bind` and :meth:`filter`.

    Parameters
    ----------
    signature : Signature
    containers : sequence of Container
        One for each input of the signature.
    """

    def __init__(self, signature: Signature, containers: Sequence[Container]) -> None:
        self._label = signature.label
        chosen = [(item, box) for item, box in zip(signature.inputs, containers, strict=True) if not item.implicit]
        self.inputs: list[In] = [item for item, _ in chosen]
        self.containers: list[Container] = [box for _, box in chosen]
        self._names: dict[str, int | None] = {}
        for index, item in enumerate(self.inputs):
            if isinstance(item.name, str):
                self._names[item.name] = None if item.name in self._names else index
        # A value of None in the container means that there is no default.
        self._filters = [(item.variable.type, filter_options(item.strict, item.allow_downcast)) for item in self.inputs]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the value of each input; the machine has unknown ones filtered.

        Raises
        ------
        ArgumentError
            For too many, unknown, doubled or missing arguments.
        """
        n_inputs = len(self.inputs)
        if len(args) > n_inputs:
            raise ArgumentError(self._too_many(len(args)))
        values: list[Any] = [*args, *[_MISSING] * (n_inputs - len(args))]
        for name, value in kwargs.items():
            index = self._index_of(name)
            if values[index] is not _MISSING:
                raise ArgumentError(
                    format_error(
                        f"Multiple values for input: {name}",
                        context=[f"{self._label}, input {index}: {describe(self.inputs[index].variable)}"],
                        hint=f"pass {name} either by position or by keyword.",
                    )
                )
            values[index] = value
        for index in range(len(args), n_inputs):
            if values[index] is _MISSING:
                values[index] = self._default(index)
        return tuple(values)

    def _default(self, index: int) -> Any:
        value = self.containers[index].storage[0]
        if value is None and self.inputs[index].value is None:
            item = self.inputs[index]
            label = item.name or str(item.variable)
            raise ArgumentError(
                format_error(
                    f"Missing required input: {label}",
                    context=[f"{self._label}, input {index}: {describe(item.variable)}"],
                    hint="pass a value for it; to make it optional, declare it with `In(x, value=...)`.",
                )
            )
        return value

    def filter(self, index: int, value: Any) -> Any:
        """Return `value` as a value of input `index`.

        Raises
        ------
        ArgumentError, ArgumentValueError
            If its type refuses it; the message names the input and where it was made.
        """
        type_filter, options = self._filters[index]
        try:
            return type_filter.filter(value, **options)
        except (TypeError, ValueError) as error:
            text = self._bad_value(index, value, error)
            raise (ArgumentError(text) if isinstance(error, TypeError) else ArgumentValueError(text)) from error

    def _bad_value(self, index: int, value: Any, error: Exception) -> str:
        item = self.inputs[index]
        reason, hints = _first_line_and_hint(error)
        label = f"`{item.name or item.variable}`"
        return format_error(
            f"Bad input argument to theano {self._label} at index {index} (0-based), {label}: {reason}",
            context=[f"expected {describe(item.variable)}", f"got {describe_value(value)}"],
            hint=hints or _hint(item, value),
        )

    def _index_of(self, name: str) -> int:
        index = self._names.get(name, _MISSING)
        if index is _MISSING:
            raise ArgumentError(self._unknown(name))
        if index is None:
            raise ArgumentError(
                format_error(
                    f"Ambiguous name: {name}; several inputs are called so",
                    context=[f"{self._label}: {describe(i.variable)}" for i in self.inputs if i.name == name],
                    hint="give the inputs different names with `In(x, name=...)`, or pass them by position.",
                )
            )
        assert isinstance(index, int), "names map to positions"
        return index

    def _unknown(self, name: str) -> str:
        named = [item.name for item in self.inputs if item.name is not None]
        n_unnamed = len(self.inputs) - len(named)
        text = f"Unknown input or state: {name}. The function has {_count(len(named), 'named input')}"
        if named:
            text += f" ({', '.join(named)})"
        if n_unnamed:
            text += (
                f", and {_count(n_unnamed, 'unnamed input')} which thus cannot be accessed through keyword argument"
                " (use 'name=...' in a variable's constructor to give it a name)"
            )
        return format_error(f"{text}.", hint="use one of the names, or pass the value by position.")

    def _too_many(self, n_given: int) -> str:
        inputs = ", ".join(str(item.name or item.variable) for item in self.inputs)
        return format_error(
            f"{self._label} takes {_count(len(self.inputs), 'argument')}, got {n_given}",
            context=[f"inputs: {inputs}"] if inputs else [],
            hint="leave out the others; shared variables are not passed but set with `set_value`.",
        )


class _Missing:
    """Marks an argument that was not given."""


_MISSING: Any = _Missing()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _first_line_and_hint(error: Exception) -> tuple[str, str | None]:
    lines = str(error).splitlines() or [type(error).__name__]
    hints = [line.strip().removeprefix("Hint:").strip() for line in lines if line.strip().startswith("Hint:")]
    return lines[0], hints[0] if hints else None


def _hint(item: In, value: Any) -> str:
    input_dtype = getattr(item.variable.type, "dtype", None)
    dtype = getattr(value, "dtype", None)
    if input_dtype is not None and dtype is not None and str(dtype) != str(input_dtype):
        return f"pass `value.astype({str(input_dtype)!r})`, or make the function with allow_input_downcast=True."
    return f"pass a value of type {item.variable.type.describe()}."


def describe_value(value: Any) -> str:
    """Return a short text for a value: class, dtype and shape of an array, and its beginning otherwise."""
    if isinstance(value, Variable):
        return f"the symbolic variable {describe(value)}; functions take values, `eval()` computes one"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is not None and shape is not None:
        return f"{type(value).__name__} of {dtype} with shape {tuple(shape)}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


# ---- Functions that are called often get code of their own: they tell of calls that their machine has timed

#: Calls before the first that is timed.
_CALLS = 64


def watch_calls(fn: Any, machine: Any) -> None:
    """Let the machine in C of a function tell of calls, as the flag says."""
    when = str(config.vm.function_code)
    watch = getattr(machine, "on_busy", None)
    if when != "none" and watch is not None:
        at_once = when == "all"
        watch(partial(_told, weakref.ref(fn), at_once), 1 if at_once else _CALLS)


def _told(reference: weakref.ref[Any], at_once: bool, seconds: float, operands: tuple[Any, ...]) -> int:
    """Make the codes of a function at the first call that is timed; they take note of all others."""
    fn = reference()
    if fn is None:
        return 0
    codes = loop_code().FunctionCodes(fn, at_once)
    fn.machine.on_busy(codes.told, 1)
    return int(codes.told(seconds, operands))


# ---- The attribute `fn` of compiled functions: a machine whose calls leave the results in containers, too


class FunctionMachine:
    """The machine of a function, for programs that call it themselves and look for the results in `output_storage`.

    A call does the work of a call of the function, and returns the same. Everything else is asked of the machine.

    Parameters
    ----------
    machine : Machine
    results : sequence of Container
        Where the outputs of a call go.
    new_values : sequence of (Container, Container)
        Where the new values of inputs go, and the containers of these inputs.
    position_of : callable
        The position of the output that a call has named in `output_subset`.
    """

    __slots__ = ("_machine", "_new_values", "_position_of", "_results")

    def __init__(
        self,
        machine: Machine,
        results: Sequence[Container],
        new_values: Sequence[tuple[Container, Container]],
        position_of: Callable[[Any], int],
    ) -> None:
        values = (("_machine", machine), ("_results", results), ("_new_values", new_values))
        for name, value in (*values, ("_position_of", position_of)):
            object.__setattr__(self, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and leave its results in the containers."""
        subset = kwargs.get("output_subset")
        results = self._machine(*args, **kwargs)
        boxes = self._results if subset is None else [self._results[self._position_of(key)] for key in subset]
        values = results.values() if isinstance(results, dict) else results if isinstance(results, list) else [results]
        for box, value in zip(boxes, values, strict=True):
            box.storage[0] = value
        for box, held in self._new_values:
            box.storage[0] = held.storage[0]
        return results

    def replace(self, machine: Machine) -> None:
        """Call another machine from now on."""
        object.__setattr__(self, "_machine", machine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._machine, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._machine)

    def __repr__(self) -> str:
        return repr(self._machine)


# ---- Dictionary-like views of a function's containers and of the values in them


class Finder:
    """Finds the container of an input by position, name or variable.

    Parameters
    ----------
    signature : Signature
    containers : list of Container
    """

    def __init__(self, signature: Signature, containers: list[Container]) -> None:
        self._label = signature.label
        self._inputs = signature.inputs
        self._containers = containers
        self._by_key: dict[Any, Container | None] = {}
        for index, (item, box) in enumerate(zip(signature.inputs, containers, strict=True)):
            self._by_key[index] = box
            self._by_key[item.variable] = box
            if isinstance(item.name, str):
                self._by_key[item.name] = None if item.name in self._by_key else box

    def find(self, key: int | str | Variable) -> Container:
        """Return the container.

        Raises
        ------
        ArgumentError
            If no input, or more than one, goes by `key`.
        """
        try:
            box = self._by_key[key]
        except (KeyError, TypeError):
            raise ArgumentError(
                format_error(
                    f"Unknown input or state: {key}",
                    context=[
                        f"{self._label} has {', '.join(str(i.name or i.variable) for i in self._inputs) or 'none'}"
                    ],
                    hint="use the position, the name or the variable of one of these.",
                )
            ) from None
        if box is None:
            raise ArgumentError(
                format_error(
                    f"Ambiguous name: {key}; several inputs of {self._label} are called so",
                    hint="use the variable itself, or its position.",
                )
            )
        return box

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Any]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._containers)


class ContainerView:
    """The containers of a function's inputs: ``fn.container[key]``, read only.

    Keys are positions, names or variables.
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def __getitem__(self, key: int | str | Variable) -> Container:
        return self._finder.find(key)

    def __contains__(self, key: object) -> bool:
        return key in self._finder

    def __len__(self) -> int:
        return len(self._finder)


class ValueView:
    """The present values of a function's inputs: ``fn.value[key]``, readable and writable.

    Keys are positions, names or variables. Assignment may convert the value to the input's type.
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder

    def __getitem__(self, key: int | str | Variable) -> Any:
        return self._finder.find(key).value

    def __setitem__(self, key: int | str | Variable, value: Any) -> None:
        self._finder.find(key).value = value

    def __contains__(self, key: object) -> bool:
        return key in self._finder

    def __len__(self) -> int:
        return len(self._finder)
