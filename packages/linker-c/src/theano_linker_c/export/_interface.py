"""The arguments and results of an exported function: names, dtypes and shapes in C."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from theano_graph import Variable, format_error, record

from .._function import Function
from .._lazy import import_straight_rules
from ..kernels import memory_type
from ..runtime._instructions import ArraySpec, array_spec_of
from ..straight import NoStraightForm, straight_value
from ._words import is_taken

__all__ = ["Parameter", "Names", "ExportError", "check_function", "check_shapes", "spec_of", "state_array"]

#: The largest number of the type of lengths in C.
_LONGEST = 2**63 - 1
_GENERATED = re.compile(r"[a-z]+\d+(_\w+)?")

ExportError = NoStraightForm


@record
class Parameter:
    """An argument, a result, or a variable that keeps its value between calls.

    Attributes
    ----------
    name : str
        In C.
    label : str
        As the user calls it.
    dtype : str
    shape : tuple of (int or None)
        None for lengths that a call tells.
    value : ndarray or None
        The first value of a state or constant.
    """

    name: str
    label: str
    dtype: str
    shape: tuple[int | None, ...]
    value: Any = None

    @property
    def fixed(self) -> bool:
        """Whether all lengths are known."""
        return None not in self.shape

    @property
    def size(self) -> int:
        """Number of elements, where all lengths are known."""
        return int(np.prod([length or 0 for length in self.shape], dtype=np.int64)) if self.shape else 1

    @property
    def c_type(self) -> str:
        """Type of an element."""
        return memory_type(self.dtype)

    def as_argument(self) -> list[str]:
        """Return the declarations by which a call gets a value."""
        if not self.shape:
            return [f"{self.c_type} {self.name}"]
        parameters = [f"const {self.c_type} *{self.name}"]
        if not self.fixed:
            parameters.append(f"const int64_t {self.name}_shape[{len(self.shape)}]")
        return parameters

    def as_result(self) -> list[str]:
        """Return the declarations by which a call gives a value."""
        if self.fixed:
            return [f"{self.c_type} *{self.name}"]
        return [f"const {self.c_type} **{self.name}", f"int64_t {self.name}_shape[{len(self.shape)}]"]

    def described(self) -> str:
        """Return a description for a comment."""
        if not self.shape:
            return f"{self.label}: {self.dtype}"
        lengths = " x ".join("?" if length is None else str(length) for length in self.shape)
        return f"{self.label}: {self.dtype}, {lengths}"

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the description for programs."""
        return {"name": self.name, "label": self.label, "dtype": self.dtype, "shape": list(self.shape)}


class Names:
    """Gives each variable a name in C that no other one has."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._used = set(reserved)

    def of(self, label: str | None, otherwise: str) -> str:
        """Return a name that is like a label.

        Examples
        --------
        >>> names = Names()
        >>> names.of("x", "input0"), names.of("x", "input1"), names.of("my weight", "w"), names.of("for", "a")
        ('x', 'x_', 'my_weight', 'for_')
        """
        name = re.sub(r"\W", "_", label or otherwise, flags=re.ASCII)
        if not name or name[0].isdigit() or name.startswith("_"):
            name = f"x{name}"
        while name in self._used or is_taken(name) or _GENERATED.fullmatch(name) or name.endswith("_shape"):
            # With more behind it, it would look like a generated name, or one of the headers, still.
            name = f"v_{name}" if is_taken(f"{name}_") or re.match(r"[a-z]+\d+_", name) else f"{name}_"
        self._used.add(name)
        return name


def spec_of(variable: Variable, what: str) -> ArraySpec:
    """Return dtype and static shape of a variable.

    Raises
    ------
    NoStraightForm
        If its values are no arrays of numbers.
    """
    spec = array_spec_of(variable)
    if spec is None or np.dtype(spec.dtype).kind not in "biuf":
        raise ExportError(
            format_error(
                f"{what} `{variable}` is of type {variable.type}, which has no form in C",
                hint="use arrays of real numbers, integers or truth values",
            )
        )
    return spec


def state_array(variable: Variable, value: Any) -> Any:
    """Return a copy of the value of a shared variable as an array: that of its type, where it is none.

    Raises
    ------
    NoStraightForm
        If its values have no form in C.
    """
    import_straight_rules()
    convert = straight_value.get(variable.type)
    if convert is not None:
        return np.array(convert(value))
    spec_of(variable, "shared variable")
    return value.copy()


def check_function(fn: Any, where: str) -> None:
    """Refuse an object that is no compiled function.

    Raises
    ------
    TypeError
    """
    if not isinstance(fn, Function):
        raise TypeError(
            format_error(
                f"{where}: a compiled function is exported, and an object of type {type(fn).__name__} was given",
                hint="pass a result of theano.function",
            )
        )


def check_shapes(shapes: Any) -> Mapping[Any, tuple[int, ...]]:
    """Return the shapes that the caller gives for inputs, with lengths that are integers.

    Raises
    ------
    TypeError, ValueError
        If they are no mapping to tuples of lengths, or lengths of no array.
    """
    if shapes is None:
        return {}
    if not isinstance(shapes, Mapping):
        raise TypeError(format_error(f"shapes: expected a dict, got {shapes!r}", hint="write {input: (lengths, ...)}"))
    return {key: _lengths_of(key, shape) for key, shape in shapes.items()}


def _lengths_of(key: Any, shape: Any) -> tuple[int, ...]:
    hint = "a shape is a tuple of integers from 0 on, such as (200, 5)"
    if not isinstance(shape, Iterable) or isinstance(shape, str | Variable):
        raise TypeError(format_error(f"shapes: {shape!r}, given for `{key}`, is no shape", hint=hint))
    lengths = tuple(shape)
    for length in lengths:
        if isinstance(length, bool | np.bool_) or not isinstance(length, SupportsIndex):
            raise TypeError(format_error(f"shapes: {length!r}, given for `{key}`, is no length", hint=hint))
        if not 0 <= index(length) <= _LONGEST:
            raise ValueError(format_error(f"shapes: no array has the length {length!r}, given for `{key}`", hint=hint))
    return tuple(index(length) for length in lengths)


def fixed_shape(
    variable: Variable, shape: Sequence[int | None], shapes: Mapping[Any, Sequence[int]], what: str
) -> tuple[int | None, ...]:
    """Return the static shape of a variable, with the lengths that the caller has given for it.

    Raises
    ------
    ValueError
        If the given lengths do not fit the type.
    """
    wanted = shapes.get(variable, shapes.get(variable.name))
    if wanted is None:
        return tuple(shape)
    fits = len(wanted) == len(shape) and all(a is None or a == b for a, b in zip(shape, wanted, strict=True))
    if not fits:
        raise ValueError(
            format_error(
                f"shapes: {what} `{variable}` of type {variable.type} cannot have the shape {tuple(wanted)}",
                hint="give one length for each dimension, 1 where it broadcasts",
            )
        )
    return tuple(wanted)
