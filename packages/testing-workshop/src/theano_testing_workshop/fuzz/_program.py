"""Random programs as data: their items, the expression they build, and their value in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from theano_graph import TheanoError
from theano_linker_c import shared
from theano_tensor import TensorType, as_tensor_variable, grad

Options = Mapping[str, Any]

#: How the elements of an argument lie in memory.
LAYOUTS = ("c", "fortran", "flipped", "stepped", "fixed", "swapped", "broadcast")

#: How one array can be a part of another one.
OVERLAPS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "same": lambda a: a,
        "head": lambda a: a[:-1],
        "tail": lambda a: a[1:],
        "flipped": lambda a: a[::-1],
        "transposed": lambda a: a.T,
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """Something that programs may do: the expression it builds, and the same in NumPy.

    Parameters
    ----------
    name : str
    build : callable
        Takes variables and options, returns a variable.
    reference : callable
        Takes arrays and the same options, returns an array: the truth, computed by something else.
    draw : callable
        Takes a :class:`~theano_testing_workshop.fuzz.Draw`, returns the numbers of the operands and the options; raises
        :class:`~theano_testing_workshop.fuzz.NoOperands` where nothing in the program suits.
    text : callable, optional
        Takes the names of the operands and the options, returns Python source; ``tt.name(a, b, option=...)`` by
        default.
    weight : float
        How often it is drawn.
    promotes : bool
        Whether NumPy is given the operands in the dtype of the result.
    ulp : float
        How far NumPy's result may be off, in units in the last place.
    imports : str
        Source lines that `text` needs.
    """

    name: str
    build: Callable[..., Any]
    reference: Callable[..., Any]
    draw: Callable[[Any], tuple[Sequence[int], Options]]
    text: Callable[[Sequence[str], Options], str] | None = None
    weight: float = 1.0
    promotes: bool = False
    ulp: float = 16.0
    imports: str = ""

    def source(self, names: Sequence[str], options: Options) -> str:
        """Return Python source that applies the operation to operands of these names."""
        if self.text is not None:
            return self.text(names, options)
        operands = [*names, *(f"{key}={value!r}" for key, value in options.items())]
        return f"tt.{self.name}({', '.join(operands)})"


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """An argument, a constant or a shared variable, with its value.

    Attributes
    ----------
    value : array
        Contiguous.
    shape : tuple of int or None
        The lengths of the type.
    kind : {"input", "constant", "shared"}
    layout : str
        One of :data:`LAYOUTS`.
    """

    value: Any
    shape: tuple[int | None, ...]
    kind: str = "input"
    layout: str = "c"

    @property
    def type(self) -> TensorType:
        """Type of the variable."""
        return TensorType(self.value.dtype.name, shape=self.shape)

    def array(self) -> Any:
        """Return the value, laid out in memory as `layout` says."""
        return arrange(self.value, self.layout)

    def variable(self, name: str) -> Any:
        """Return a new variable."""
        if self.kind == "constant":
            return as_tensor_variable(self.value)
        if self.kind == "shared":
            return shared(self.value.copy(), name=name, broadcastable=tuple(n == 1 for n in self.shape))
        return self.type(name)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operation on earlier items of a program."""

    operation: Operation
    operands: tuple[int, ...]
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory that a compiled program may use, with its owner, and which parts of it are the same.

    Attributes
    ----------
    donated : tuple of int
        Arguments that may be overwritten.
    overlaps : tuple of (int, int, str)
        A leaf, the leaf of whose array its own is a part, and how: one of :data:`OVERLAPS`.
    borrowed : bool
        Whether results may lie in memory of the machine.
    """

    donated: tuple[int, ...] = ()
    overlaps: tuple[tuple[int, int, str], ...] = ()
    borrowed: bool = False

    def renumbered(self, moved: Mapping[int, int]) -> Memory:
        """Return the same for leaves under other numbers."""
        return Memory(
            tuple(moved[i] for i in self.donated if i in moved),
            tuple((moved[a], moved[b], how) for a, b, how in self.overlaps if a in moved and b in moved),
            self.borrowed,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A graph: items of which each uses earlier ones, and the requested results.

    Attributes
    ----------
    items : tuple of Leaf or Node
    outputs : tuple of int
        Numbers of the items that are computed.
    gradients : tuple of (int, tuple of int)
        The sum of an item is differentiated by leaves.
    updates : tuple of (int, int)
        A shared leaf, and the item that becomes its value after a call.
    seed : int
        From which the program was drawn.
    memory : Memory
    """

    items: tuple[Leaf | Node, ...]
    outputs: tuple[int, ...]
    gradients: tuple[tuple[int, tuple[int, ...]], ...] = ()
    updates: tuple[tuple[int, int], ...] = ()
    seed: int = 0
    memory: Memory = Memory()

    def __len__(self) -> int:
        return sum(isinstance(item, Node) for item in self.items)

    def wanted(self) -> set[int]:
        """Return the numbers of the items that something outside of `items` refers to."""
        matches = set(self.outputs)
        for cost, leaves in self.gradients:
            matches |= {cost, *leaves}
        for pair in self.updates:
            matches |= set(pair)
        return matches

    def pruned(self) -> Program:
        """Return the program without the items that nothing needs."""
        needed = self.wanted()
        for number in range(len(self.items) - 1, -1, -1):
            item = self.items[number]
            if number in needed and isinstance(item, Node):
                needed |= set(item.operands)
        moved = {old: new for new, old in enumerate(sorted(needed))}
        return self.renumbered(moved)

    def renumbered(self, moved: Mapping[int, int]) -> Program:
        """Return the program with items under other numbers; items that `moved` does not name are left out."""
        items: list[Leaf | Node] = [self.items[old] for old in sorted(moved, key=lambda old: moved[old])]
        for i, item in enumerate(items):
            if isinstance(item, Node):
                items[i] = replace(item, operands=tuple(moved[k] for k in item.operands))
        return replace(
            self,
            items=tuple(items),
            outputs=tuple(moved[k] for k in self.outputs),
            gradients=tuple((moved[cost], tuple(moved[k] for k in wrt)) for cost, wrt in self.gradients),
            updates=tuple((moved[a], moved[b]) for a, b in self.updates),
            memory=self.memory.renumbered(moved),
        )


class Unbuildable(Exception):
    """An item of a program has no expression, or no value in NumPy."""

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__(f"{what}: {type(error).__name__}: {str(error).partition(chr(10))[0]}")
        self.what = what
        self.error = error


#: Errors of expressions and NumPy for operands that they do not take.
REFUSALS = (TheanoError, TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError, np.linalg.LinAlgError)


def arrange(value: Any, layout: str) -> Any:
    """Return an equal array, in memory of its own, that lies there as `layout` says."""
    if not value.ndim:
        return np.array(value)
    if layout == "fortran":
        return np.array(value, order="F")
    if layout == "flipped":
        return np.flip(np.array(np.flip(value), order="C"))
    if layout == "stepped":
        return np.repeat(value, 2, axis=-1)[..., ::2]
    if layout == "swapped":
        return value.astype(value.dtype.newbyteorder())
    if layout == "fixed":
        fixed = np.array(value, order="C")
        fixed.flags.writeable = False
        return fixed
    if layout == "broadcast" and len(value) and all(row.tobytes() == value[0].tobytes() for row in value):
        return np.broadcast_to(np.array(value[:1]), value.shape)
    return np.array(value, order="C")


def apply_reference(node: Node, dtype: str, operands: Sequence[Any]) -> Any:
    """Return NumPy's value of a node, in the dtype of its variable.

    Raises
    ------
    Unbuildable
        If NumPy refuses, or its result is of another kind of numbers than the variable.
    """
    given = list(operands)
    wide = np.dtype(dtype)
    if (
        node.operation.promotes
        and wide.kind != "b"
        and not (wide.kind != "c" and any(a.dtype.kind == "c" for a in given))
    ):
        given = [a.astype(wide) for a in given]
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(node.operation.reference(*given, **node.options))
            if value.dtype != wide and (value.dtype.kind, wide.kind) not in _SAME_KINDS:
                raise TypeError(f"NumPy gives {value.dtype}, the variable has {dtype}")
            return np.array(value.astype(wide), order="C")
    except REFUSALS as error:
        raise Unbuildable(f"NumPy's {node.operation.name}", error) from error


_SAME_KINDS = {(a, b) for group in ("iu", "f", "c") for a in group for b in group} | {("f", "c")}


def apply_build(node: Node, variables: Sequence[Any]) -> Any:
    """Return the variable of a node; Unbuildable if the operation refuses its operands."""
    try:
        return as_tensor_variable(node.operation.build(*variables, **node.options))
    except REFUSALS as error:
        raise Unbuildable(node.operation.name, error) from error


@dataclass(slots=True)
class Built:
    """The expressions of a program.

    Attributes
    ----------
    program : Program
    variables : list
        One for each item.
    outputs : list
        The outputs, then the gradients.
    """

    program: Program
    variables: list[Any]
    outputs: list[Any]

    @property
    def inputs(self) -> list[Any]:
        """Variables of the arguments."""
        return [self.variables[i] for i in leaves_of(self.program, "input")]

    @property
    def shared(self) -> list[Any]:
        """Shared variables."""
        return [self.variables[i] for i in leaves_of(self.program, "shared")]

    @property
    def updates(self) -> list[tuple[Any, Any]]:
        """Shared variables and their new values."""
        return [(self.variables[a], self.variables[b]) for a, b in self.program.updates]


def leaves_of(program: Program, kind: str) -> list[int]:
    """Return the numbers of the leaves of a kind."""
    return [i for i, item in enumerate(program.items) if isinstance(item, Leaf) and item.kind == kind]


def build(program: Program) -> Built:
    """Make the expressions of a program.

    Raises
    ------
    Unbuildable
        If an operation refuses its operands, or there is no gradient.
    """
    variables: list[Any] = []
    for i, item in enumerate(program.items):
        if isinstance(item, Leaf):
            variables.append(item.variable(f"x{i}"))
        else:
            variables.append(apply_build(item, [variables[k] for k in item.operands]))
    outputs = [variables[i] for i in program.outputs]
    for cost, wrt in program.gradients:
        try:
            outputs += grad(variables[cost].sum(), [variables[i] for i in wrt], disconnected_inputs="ignore")
        except REFUSALS as error:
            raise Unbuildable("gradient", error) from error
    return Built(program, variables, outputs)


def evaluate(built: Built, leaves: Mapping[int, Any] | None = None) -> list[Any]:
    """Return NumPy's values of all items; `leaves` may give other values for some leaves.

    Raises
    ------
    Unbuildable
        If NumPy refuses.
    """
    values: list[Any] = []
    for i, item in enumerate(built.program.items):
        if isinstance(item, Leaf):
            values.append(item.value if leaves is None else leaves.get(i, item.value))
        else:
            values.append(apply_reference(item, built.variables[i].type.dtype, [values[k] for k in item.operands]))
    return values
