"""One value cell that compiled functions read and write."""

from __future__ import annotations

import copy
from typing import Any

from theano_graph import Type, Variable, filter_options

from ._locks import update_lock_if_used


class Container:
    """A typed cell holding the value of one input of compiled functions.

    The cell is ``storage``, a list of length one. Machines keep that very list and read ``storage[0]`` at each call,
    so a container can be shared by any number of functions; assigning :attr:`value` is seen by all of them.

    Parameters
    ----------
    type_or_variable : Type or Variable
        The type of the values.
    storage : list, optional
        An existing cell to use; its first element is filtered. By default a new cell holding None.
    readonly : bool
        True forbids assignment.
    strict : bool
        True refuses values that need any conversion.
    allow_downcast : bool or None
        Passed to :meth:`Type.filter`.
    name : str, optional
        Used in messages; by default the variable's name.

    Examples
    --------
    >>> from theano_linker_c import Container, generic
    >>> cell = Container(generic, name="state")
    >>> cell.value = {"step": 1}
    >>> cell.value
    {'step': 1}
    """

    __slots__ = ("__weakref__", "allow_downcast", "name", "readonly", "storage", "strict", "type")

    def __init__(
        self,
        type_or_variable: Type | Variable,
        storage: list[Any] | None = None,
        *,
        readonly: bool = False,
        strict: bool = False,
        allow_downcast: bool | None = None,
        name: str | None = None,
    ) -> None:
        if isinstance(type_or_variable, Variable):
            self.type = type_or_variable.type
            name = type_or_variable.name if name is None else name
        else:
            self.type = type_or_variable
        self.name = name
        self.readonly = readonly
        self.strict = strict
        self.allow_downcast = allow_downcast
        self.storage: list[Any] = [None] if storage is None else storage
        if self.storage[0] is not None:
            self.storage[0] = self.filter(self.storage[0])

    def filter(self, value: object) -> Any:
        """Return `value` converted to this container's type.

        Raises
        ------
        TypeError, ValueError
            As :meth:`Type.filter`, with the container's name added.
        """
        try:
            return self.type.filter(value, **filter_options(self.strict, self.allow_downcast))
        except (TypeError, ValueError) as error:
            label = f"`{self.name}`" if self.name else "an unnamed container"
            error.add_note(f"The value was meant for {label} of type {self.type.describe()}.")
            raise

    @property
    def value(self) -> Any:
        """The present value (the very object that is stored), or None where there is none."""
        return self.storage[0]

    @value.setter
    def value(self, value: object) -> None:
        if self.readonly:
            label = f"`{self.name}`" if self.name else f"of type {self.type.describe()}"
            raise TypeError(f"Container {label} is read-only.\n  Hint: assign to the container it was taken from.")
        filtered = None if value is None else self.filter(value)
        # A function that updates the variable has read its value already and would store over this one.
        with update_lock_if_used(self.storage):
            self.storage[0] = filtered

    @property
    def data(self) -> Any:
        """Historical name of :attr:`value`."""
        return self.value

    @data.setter
    def data(self, value: object) -> None:
        self.value = value

    def duplicate(self) -> Container:
        """Return a new container with a copy of the value."""
        twin = Container(
            self.type,
            readonly=self.readonly,
            strict=self.strict,
            allow_downcast=self.allow_downcast,
            name=self.name,
        )
        twin.storage[0] = copy.deepcopy(self.storage[0])
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "__weakref__"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<{self.storage[0]!r}>"
