"""Where the values of variables live: cells, shared variables, and locks that serialise calls which update them."""

from __future__ import annotations

import copy
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from theano_graph import Apply, Type, Variable, describe, filter_options, format_error, generic, toposort, warn_user

# ---- Locks that serialise calls which update a shared variable


class PlainUpdateLock:
    """A reentrant lock, which is free in the child after a fork.

    Parameters
    ----------
    storage : list, optional
        The one-element list whose updates the lock serialises.

    Attributes
    ----------
    number : int
        Locks with lower numbers are acquired first.

    Examples
    --------
    >>> locks = PlainUpdateLock()
    >>> with locks, locks:
    ...     print("in")
    in
    """

    _numbers = itertools.count()

    def __init__(self, storage: list[Any] | None = None) -> None:
        self._storage = storage
        self._lock = threading.RLock()
        self._process = os.getpid()
        self.number = next(self._numbers)

    def __enter__(self) -> PlainUpdateLock:
        if self._process != os.getpid():
            # The thread that held it exists in the parent alone.
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


if TYPE_CHECKING:
    from theano_linker_c._runtime import UpdateLock
else:
    try:
        from theano_linker_c._runtime import UpdateLock
    except ImportError:
        # Without the runtime all machines are in Python, and so are their locks.
        UpdateLock = PlainUpdateLock

#: Locks in use, by the address of the storage, which they keep alive.
_of_storage: WeakValueDictionary[int, UpdateLock] = WeakValueDictionary()
_making = threading.Lock()


def update_lock_of(storage: list[Any]) -> UpdateLock:
    """Return the lock of the storage of a variable: the same one for all functions that update it.

    Parameters
    ----------
    storage : list
        Its one-element list.
    """
    with _making:
        lock = _of_storage.get(id(storage))
        if lock is None:
            lock = _of_storage[id(storage)] = UpdateLock(storage)
        return lock


def update_lock_if_used(storage: list[Any]) -> AbstractContextManager[Any]:
    """Return the lock of a storage that some function updates, or else a context that does nothing."""
    return _of_storage.get(id(storage)) or nullcontext()


class UpdateLocks:
    """Several locks, acquired in the order of their numbers, which rules out deadlocks between them.

    Parameters
    ----------
    locks : sequence of UpdateLock
    """

    def __init__(self, locks: Sequence[UpdateLock]) -> None:
        self._locks = sorted(locks, key=lambda each: each.number)

    def __enter__(self) -> None:
        with ExitStack() as stack:
            for each in self._locks:
                stack.enter_context(each)
            stack.pop_all()

    def __exit__(self, *_: object) -> None:
        for each in reversed(self._locks):
            each.__exit__(None, None, None)


# ---- One value cell that compiled functions read and write


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


# ---- Shared variables: variables that carry a value, seen by every function that uses them


class SharedVariable(Variable):
    """A variable whose value lives in a container shared by all functions that it appears in.

    Made by :func:`shared`; used in expressions like any other variable.

    Parameters
    ----------
    type : Type
        Type of the variable.
    value : object
        First value. Excludes `container`.
    name : str, optional
        Name of the variable.
    strict : bool
        True: values must be of the right type already; nothing is cast or copied.
    allow_downcast : bool or None
        Passed to :meth:`Type.filter` when a value is set.
    container : Container, optional
        An existing container to use. Excludes `value`.

    Raises
    ------
    TypeError
        If both `value` and `container` are given, or the value does not fit the type.

    Notes
    -----
    Positional arguments in the manual's order ``(name, type, value, strict)`` are understood too.

    Threads: calls of functions that update the variable come one after the other, each from reading the value to
    storing the new one, so that no update is lost. :meth:`set_value` waits for a call in progress. :meth:`get_value`
    and functions that only read the variable wait for nobody: they see the old value or the new one, never a part of
    each. To change a value by hand that depends on the old one, let a function with ``updates`` do it.

    Examples
    --------
    >>> from theano_linker_c import shared
    >>> state = shared({"step": 0}, name="state")
    >>> state.get_value()
    {'step': 0}
    """

    __slots__ = ("_default_update", "container")

    def __init__(
        self,
        type: Any,
        value: Any = None,
        name: Any = None,
        strict: bool = False,
        allow_downcast: bool | None = None,
        container: Container | None = None,
    ) -> None:
        if not isinstance(type, Type) and isinstance(value, Type):
            # The manual's order of positional arguments: name, type, value.
            type, value, name = value, name, type
        super().__init__(type, None, None, name)
        self._default_update: Any = None
        if container is None:
            container = Container(type, [value], strict=strict, allow_downcast=allow_downcast, name=name)
        elif value is not None:
            raise TypeError(
                format_error(
                    "SharedVariable: `value` and `container` were both given",
                    context=[f"name: {name!r}, type: {type}"],
                    hint="give only one of them; a container already holds a value.",
                )
            )
        self.container = container

    def get_value(self, borrow: bool = False, return_internal_type: bool = False) -> Any:
        """Return the value.

        Parameters
        ----------
        borrow : bool
            False (default): a copy. True: the result may be the stored object itself; do not modify it. Updates that
            come later leave it as it is.
        return_internal_type : bool
            True permits the type that is used for storage, which may differ from the type that was put in.
        """
        value = self.container.value
        return value if borrow else copy.deepcopy(value)

    def set_value(self, new_value: Any, borrow: bool = False) -> None:
        """Replace the value, for all functions that use this variable.

        Parameters
        ----------
        new_value : object
            A value of this variable's type, or one that can be converted to it. It is stored when no function of
            another thread is in a call that updates the variable.
        borrow : bool
            False (default): a copy is stored. True: `new_value` itself may be stored; do not modify it afterwards.

        Raises
        ------
        TypeError, ValueError
            If the value does not fit the type; the old value stays.
        """
        try:
            if new_value is None:
                self.type.filter(None)  # an empty container is no value, but None may be one
            self.container.value = new_value if borrow else copy.deepcopy(new_value)
        except (TypeError, ValueError) as error:
            error.add_note(f"  new value of the shared variable {describe(self)}")
            raise

    def zero(self, borrow: bool = False) -> None:
        """Set the value to zeros of the same shape and dtype.

        Parameters
        ----------
        borrow : bool
            True permits to overwrite the stored array itself, which whoever borrowed it will see.

        Raises
        ------
        TypeError
            If the value is no array.
        """
        with update_lock_if_used(self.container.storage):
            stored = self.container.value
            zeros = stored if borrow else copy.copy(stored)
            zeros[...] = 0
            self.container.value = zeros

    @property
    def default_update(self) -> Any:
        """Expression that becomes the new value in each function that has no explicit update for this variable."""
        return self._default_update

    @default_update.setter
    def default_update(self, expression: Any) -> None:
        if expression is not None and not isinstance(expression, Variable):
            expression = self.type.narrow_variable(expression)
        self._default_update = expression

    @default_update.deleter
    def default_update(self) -> None:
        self._default_update = None

    def clone(self, name: str | None = None) -> Any:
        """Return another variable on the same container; it has no default update."""
        twin = self.__class__.__new__(self.__class__)
        SharedVariable.__init__(twin, self.type, name=self.name if name is None else name, container=self.container)
        twin.origin = self.origin
        if self.has_tag():
            twin.tag = self.tag.copy()
        return twin


_ConstructorT = TypeVar("_ConstructorT", bound=Callable[..., SharedVariable])

constructors: list[Callable[..., SharedVariable]] = []
"""The registered constructors; :func:`shared` tries the last one first."""


def register_shared_constructor(constructor: _ConstructorT, remove: bool = False) -> _ConstructorT:
    """Append `constructor` to those of :func:`shared` (the last registered is tried first), or remove it.

    The constructor is called ``constructor(value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs)``
    and raises TypeError for a value or a keyword that is not its own.

    Examples
    --------
    >>> from theano_linker_c import register_shared_constructor  # doctest: +SKIP
    >>> @register_shared_constructor  # doctest: +SKIP
    ... def shared_fraction(value, name=None, strict=False, allow_downcast=None): ...
    """
    if remove:
        constructors.remove(constructor)
    else:
        constructors.append(constructor)
    return constructor


shared_constructor = register_shared_constructor


def shared(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None, **kwargs: Any
) -> Any:
    """Return a shared variable that starts with (a copy of) `value`.

    Parameters
    ----------
    value : object
        The first value; a copy of it is stored unless a constructor's `borrow` keyword says otherwise.
    name : str, optional
        Name of the variable.
    strict : bool
        True: later values must be of the right type already.
    allow_downcast : bool or None
        Whether later values may be cast to a less precise dtype.
    **kwargs
        Passed on; only constructors that know these keywords are candidates (`borrow`, `broadcastable`, ...).

    Returns
    -------
    SharedVariable
        Made by the last registered constructor that accepts the value.

    Raises
    ------
    TypeError
        If no constructor accepts the value with these keywords, or the value is itself a variable.

    Examples
    --------
    >>> import theano
    >>> theano.shared("text", name="s").get_value()
    'text'
    """
    if isinstance(value, Variable):
        raise TypeError(
            format_error(
                "shared: a Shared variable constructor needs numeric values and not symbolic variables",
                context=[f"`{value.name or value}`: {value.type.describe()}"],
                hint="pass a number, an array or another plain object; `v.eval()` computes one from a variable.",
            )
        )
    refusals: list[str] = []
    for constructor in reversed(constructors):
        try:
            return constructor(value, name=name, strict=strict, allow_downcast=allow_downcast, **kwargs)
        except TypeError as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            refusals.append(f"{getattr(constructor, '__name__', constructor)}: {reason}")
    keywords = f" and keywords {', '.join(sorted(kwargs))}" if kwargs else ""
    raise TypeError(
        format_error(
            "No suitable SharedVariable constructor could be found: "
            f"no constructor accepts a value of type {type(value).__name__}{keywords}",
            context=refusals,
            hint="leave out keywords that do not belong to this kind of value, or register a constructor for it.",
        )
    )


def _holds_numbers(values: Any) -> bool:
    """Tell whether a list or tuple, or the first of those in it, begins with a number."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    return isinstance(values, (bool, int, float, complex, np.number))


@register_shared_constructor
def generic_shared_constructor(
    value: Any, name: str | None = None, strict: bool = False, allow_downcast: bool | None = None
) -> SharedVariable:
    """Share any Python object, as it is (copied)."""
    if isinstance(value, (list, tuple)) and _holds_numbers(value):
        kind = type(value).__name__
        warn_user(
            format_error(
                f"shared: a {kind} of numbers is held as the Python object that it is, and is no tensor",
                context=[f"name: {name!r}"] if name else [],
                hint="share an array for a vector or a matrix: shared(numpy.asarray(numbers, dtype='float64'))",
            )
        )
    return SharedVariable(generic, copy.deepcopy(value), name, strict, allow_downcast)


# ---- Which nodes move random states on, for functions that are made without the updates that do it

_nodes: weakref.WeakKeyDictionary[SharedVariable, list[weakref.ref[Apply]]] = weakref.WeakKeyDictionary()


def note_advance(shared: SharedVariable, node: Apply) -> None:
    """Note that a node, such as a loop, works out the state that a shared variable has after it.

    Parameters
    ----------
    shared : SharedVariable
        One with a default update, which is that of a single draw.
    node : Apply
        Not kept alive.
    """
    advances = _nodes.get(shared, [])
    _nodes[shared] = [*(ref for ref in advances if ref() is not None), weakref.ref(node)]


def left_behind(
    states: Iterable[SharedVariable], expressions: Iterable[Variable]
) -> list[tuple[SharedVariable, Apply]]:
    """Return which of some shared variables a node of some expressions moves on, with that node."""
    noted = [(s, node) for s in states for ref in _nodes.get(s, ()) if (node := ref()) is not None]
    if not noted:
        return []
    there = set(toposort([], list(expressions)))
    return [(s, node) for s, node in noted if node in there]
