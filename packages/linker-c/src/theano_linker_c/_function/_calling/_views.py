"""Dictionary-like views of a function's containers and of the values in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from theano_graph import Variable, format_error

from ...runtime._storage import Container
from .._signature._collect import Signature
from .._signature._errors import ArgumentError


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
