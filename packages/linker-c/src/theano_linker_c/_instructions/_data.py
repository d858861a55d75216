"""Programs of machines: a flat list of instructions over numbered registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

from theano_graph import Apply, Variable, record

from .._perform import OwnThunk
from ..cop import CThunk
from ..kernels import Kernel
from ._forms import PERFORM, Form, KernelForm
from ._schedule import Branch, Schedule


@record
class ArraySpec:
    """The criteria of a native check of an array: dtype and static shape (None where it is known at run time)."""

    dtype: str
    shape: tuple[int | None, ...]


@runtime_checkable
class HasArraySpec(Protocol):
    """A type whose values are NumPy arrays that a native check can tell from others."""

    def array_spec(self) -> ArraySpec:
        """Return dtype and static shape of the values."""


def array_spec_of(variable: Variable) -> ArraySpec | None:
    """Return dtype and static shape of the values of `variable`, or None where its type has no native check."""
    # An instance check of a protocol would take longer than everything else that is done with a variable.
    ask: Callable[[], ArraySpec] | None = getattr(variable.type, "array_spec", None)
    return None if ask is None else ask()


def argument_spec_of(variable: Variable) -> ArraySpec | None:
    """Return dtype and static shape of the arguments for `variable`, or None where only its type can tell which fit."""
    kind: Any = type(variable.type)
    return array_spec_of(variable) if _fits_natively(kind) else None


@lru_cache(maxsize=256)
def _fits_natively(kind: Any) -> bool:
    """Tell whether the class with a native check also defines the filter: subclasses may refuse or change values."""
    owner = next((base for base in kind.__mro__ if "array_spec" in vars(base)), None)
    return owner is not None and getattr(kind, "filter", None) is getattr(owner, "filter", None)


@record
class Instruction:
    """One node, with the registers that it reads, writes, and lets go of.

    Attributes
    ----------
    node : Apply
    inputs, outputs : tuple of int
    release : tuple of int
        Registers that nothing reads afterwards.
    form : Form
        The form that runs.
    donors : tuple of tuple of int
        For each of the first outputs, the inputs in whose memory it may lie if nobody else sees that in a call.
    waits : int or None
        The number of the update for which this instruction may write into the storage of a shared variable when the
        call has succeeded.
    unread : tuple of int
        Registers of results that nothing reads: the op may leave them out.
    """

    node: Apply
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    release: tuple[int, ...]
    form: Form = PERFORM
    donors: tuple[tuple[int, ...], ...] = ()
    waits: int | None = None
    unread: tuple[int, ...] = ()

    @property
    def lazy(self) -> bool:
        """Whether the instruction can ask for its inputs."""
        return isinstance(self.form, Branch) or (isinstance(self.form, OwnThunk) and self.form.lazy)

    @property
    def native(self) -> bool:
        """Whether it runs without Python code of the op."""
        return isinstance(self.form, (KernelForm, CThunk))

    @property
    def kernel(self) -> Kernel | None:
        """The kernel, where it runs one."""
        return self.form.kernel if isinstance(self.form, KernelForm) else None


@record
class Accepts:
    """The values that a machine may accept for an argument without asking the variable's type.

    Attributes
    ----------
    floats : bool
        Take any Python float where a float without dimensions is wanted.
    ints : bool
        Take, where a number without dimensions is wanted, a Python int that the dtype holds exactly, and a NumPy scalar
        of the dtype.
    overwrite : bool
        Use the array that the caller passes as memory for results.
    """

    floats: bool = False
    ints: bool = False
    overwrite: bool = False


@record
class ProgramInput:
    """An argument of a call: its register, its variable, and the values that the machine may accept for it."""

    register: int
    variable: Variable
    accepts: Accepts


@record
class Program:
    """An ordered graph, ready to be run.

    Attributes
    ----------
    instructions : tuple of Instruction
    n_registers : int
    inputs : tuple of ProgramInput
        The arguments of a call, in order.
    cells : tuple of (int, list)
        Registers that each call reads from one-element lists.
    constants : tuple of (int, object)
    outputs : tuple of int
    updates : tuple of (int, list)
        Registers that are stored in one-element lists when everything has succeeded.
    schedule : Schedule or None
        Of a program with instructions that ask for their inputs; without one, all instructions run in their order.
    shown : tuple of int
        The position of each instruction in the order in which nodes are shown; empty where that is their own order.
    loops : mapping
        For each :class:`LoopSpec` for which there is such code, the code of all steps of the loop.
    """

    instructions: tuple[Instruction, ...]
    n_registers: int
    inputs: tuple[ProgramInput, ...]
    cells: tuple[tuple[int, list[Any]], ...]
    constants: tuple[tuple[int, Any], ...]
    outputs: tuple[int, ...]
    updates: tuple[tuple[int, list[Any]], ...]
    schedule: Schedule | None = None
    shown: tuple[int, ...] = ()
    loops: Mapping[Any, KernelForm] = field(default_factory=dict)

    def encoded(self) -> tuple[Any, ...] | None:
        """Return the instructions as the machine in C takes them; None where it is to make them itself."""
        return None

    def position_of(self, index: int) -> int:
        """Return where an instruction is in the order in which nodes are shown."""
        return self.shown[index] if self.shown and index >= 0 else index

    def in_shown_order(self, values: Sequence[Any]) -> list[Any]:
        """Return values, one for each instruction, in the order in which nodes are shown."""
        indices = sorted(range(len(values)), key=self.position_of)
        return [values[i] for i in indices]


@record
class Hooks:
    """How a machine is connected to the function around it.

    Attributes
    ----------
    on_irregular : callable
        Called ``(args, kwargs)`` for calls with keywords or another number of arguments. A tuple that it returns
        holds a value for each input, to go on with; anything else is the result of the call.
    on_input : callable
        ``(position, value) -> filtered value`` for a value that the fast check does not know; raises the caller's
        shall see.
    finish : callable or None
        Turns the list of outputs into the result of the call.
    single : bool
        Whether a call returns its one output itself.
    """

    on_irregular: Callable[[tuple[Any, ...], dict[str, Any]], Any]
    on_input: Callable[[int, Any], Any]
    finish: Callable[[list[Any]], Any] | None = None
    single: bool = False
