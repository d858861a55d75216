"""Programs as data: instructions over numbered registers, the forms of nodes, and the needs of lazy ones."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, runtime_checkable

from theano_graph import Apply, FunctionGraph, RuleTable, Variable, has_own_thunk, record

from .._perform import OwnThunk
from ..cop import CThunk
from ..kernels import Kernel

# ---- Lazy programs: the needs of each instruction, when some instructions ask for their inputs themselves
#
# An op says that it is lazy in one of two ways. A rule in :data:`lazy_form` describes it as a :class:`Branch`, which
# both
# machines run themselves; or the thunk that its `make_thunk` returns has the attribute ``lazy = True``, and answers
# each
# call with the list of the inputs that it wants next, or with nothing when its outputs are there.


@record
class Branch:
    """A node whose outputs are one of two groups of its inputs, as another input says.

    The op's `view_map` has to say that output k may be a view of ``chosen[k]`` and of ``otherwise[k]``.

    Attributes
    ----------
    condition : int
        Number of the input that decides; anything that has a truth value.
    chosen : tuple of int
        For each output, the input that it is where the condition is true.
    otherwise : tuple of int
        The same where it is false.
    """

    condition: int
    chosen: tuple[int, ...]
    otherwise: tuple[int, ...]

    def attempt(self, values: Sequence[Any], values_known: Sequence[bool]) -> list[int] | tuple[Any, ...]:
        """Return the outputs as a tuple, or the list of the inputs that are needed for them and not known."""
        if not values_known[self.condition]:
            return [self.condition]
        branch = self.chosen if values[self.condition] else self.otherwise
        missing = [i for i in branch if not values_known[i]]
        return missing or tuple(values[i] for i in branch)


lazy_form: RuleTable[Callable[[Apply], Branch | None]] = RuleTable("lazy_form")
"""Op class -> its form as a :class:`Branch`, or None for a node that is to run with all of its inputs."""


def branch_of(node: Apply) -> Branch | None:
    """Return a node as a choice between its inputs; None where it is none."""
    rule = lazy_form.get(node.op)
    return None if rule is None else rule(node)


@record
class Schedule:
    """In which order a lazy program may run, and when its registers die.

    Attributes
    ----------
    roots : tuple of int
        Instructions that every call needs, in order.
    needs : tuple of tuple of int
        For each instruction, earlier ones that have to run before it. The requests of a lazy instruction are not here.
    readers : tuple of int
        For each register, how many times instructions read it; 0 where nothing is to be counted, because the register
        is kept or one instruction alone lets go of it.
    """

    roots: tuple[int, ...]
    needs: tuple[tuple[int, ...], ...]
    readers: tuple[int, ...]


def make_schedule(
    fgraph: FunctionGraph,
    order: Sequence[Apply],
    readers: tuple[int, ...],
    lazy: Mapping[int, Branch | None],
    inside: Mapping[Apply, Apply] | None = None,
) -> Schedule:
    """Return the schedule of a program.

    Parameters
    ----------
    fgraph : FunctionGraph
    order : sequence of Apply
        The nodes, one an instruction.
    readers : tuple of int
        For each register that dies by counting, how many times it is read; 0 for the others.
    lazy : mapping of int to Branch or None
        The lazy instructions; None for instructions that run by a thunk.
    inside : mapping of Apply to Apply, optional
        Nodes that have become part of another one, which is in `order`.
    """
    position = {node: i for i, node in enumerate(order)}
    members: dict[Apply, list[Apply]] = {}
    for node, group in (inside or {}).items():
        position[node] = position[group]
        members.setdefault(group, []).append(node)
    before = fgraph.orderings()
    needs = []
    for i, node in enumerate(order):
        earlier = [other for part in members.get(node, (node,)) for other in before.get(part, ())]
        predecessors = {position[other] for other in earlier if other in position}
        predecessors.update(position[v.owner] for v in _strict_inputs(node, i, lazy) if v.owner in position)
        needs.append(tuple(sorted(predecessors - {i})))
    return Schedule(_always_needed(fgraph, position, needs), tuple(needs), readers)


def _strict_inputs(node: Apply, index: int, lazy: Mapping[int, Branch | None]) -> Sequence[Variable]:
    if index not in lazy:
        return node.inputs
    branch = lazy[index]
    return [] if branch is None else [node.inputs[branch.condition]]


def _always_needed(
    fgraph: FunctionGraph, position: Mapping[Apply, int], needs: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    stack = [position[v.owner] for v in fgraph.outputs if v.owner in position]
    needed: set[int] = set()
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(needs[i])
    return tuple(sorted(needed))


# ---- In which forms a node can run: each instruction has one of them


@record
class KernelForm:
    """A kernel, and its target's build of it.

    Attributes
    ----------
    kernel : Kernel
    code : object
        Machine code: of the target in C a :class:`LoadedKernel`, or None where the machine needs no code besides its
        own; other targets keep their launches here.
    """

    kernel: Kernel
    code: Any = None


@record
class PerformForm:
    """The Python code of the op."""


#: A kernel; the op's own C code, compiled; the thunk of the op's own `make_thunk`; a choice between inputs, which the
#: machine makes itself; or the op's Python code.
Form: TypeAlias = KernelForm | CThunk | OwnThunk | Branch | PerformForm

PERFORM = PerformForm()


# ---- Programs of machines: a flat list of instructions over numbered registers


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


# ---- Which nodes are needed in the same calls, where some nodes leave branches out

#: The number of nodes that every call needs.
ALWAYS = 0

certain_error: RuleTable[Callable[[Apply], Exception | None]] = RuleTable("certain_error")
"""Op class -> the error that a node raises whenever it runs; None where the graph itself may never run."""


class Calls:
    """In which calls each node of a graph is needed: sets of calls by number.

    A set is all calls (:data:`ALWAYS`), those of another set in which a condition is true, or is false, or a union.

    Attributes
    ----------
    numbers : dict of Apply to int
        The nodes that not every call needs.
    branches : dict of int to (int, Variable, bool)
        Number -> the set of which it is a part, the condition, and whether that is true there.
    unions : dict of int to frozenset of int
        Number -> the sets that it is the union of. All have smaller numbers.
    """

    def __init__(self) -> None:
        self.numbers: dict[Apply, int] = {}
        self.branches: dict[int, tuple[int, Variable, bool]] = {}
        self.unions: dict[int, frozenset[int]] = {}
        self._numbers: dict[Hashable, int] = {}

    def of(self, variable: Variable) -> int:
        """Return the number of the calls in which a variable is computed."""
        return ALWAYS if variable.owner is None else self.numbers.get(variable.owner, ALWAYS)

    def of_inputs(self, node: Apply) -> list[int]:
        """Return for each input of a node the number of the calls in which the node reads it."""
        number = self.numbers.get(node, ALWAYS)
        conditions = [number] * len(node.inputs)
        branch = branch_of(node)
        if branch is not None:
            condition = node.inputs[branch.condition]
            chosen, otherwise = {*branch.chosen} - {branch.condition}, {*branch.otherwise} - {branch.condition}
            for taken, positions in ((True, chosen - otherwise), (False, otherwise - chosen)):
                part = self.of_branch(number, condition, taken)
                for i in positions:
                    conditions[i] = part
        return conditions

    def of_branch(self, calls: int, condition: Variable, taken: bool) -> int:
        """Return the number of those of some calls in which a condition is true, or false."""
        branch = (calls, condition, taken)
        number = self._number(branch)
        self.branches[number] = branch
        return number

    def number_of_branch(self, calls: int, condition: Variable, taken: bool) -> int | None:
        """Return the number that :meth:`of_branch` has given; None where nobody has asked."""
        return self._numbers.get((calls, condition, taken))

    def of_all(self, parts: set[int]) -> int:
        """Return the number of the calls that are in one of several sets."""
        left = set(parts)
        needed = []
        # A branch has a greater number than the calls that it is a part of.
        waiting = [-number for number in parts]
        heapq.heapify(waiting)
        while waiting and ALWAYS not in left:
            number = -heapq.heappop(waiting)
            if number not in left:
                continue
            branch = self.branches.get(number)
            if branch is not None:
                calls, condition, taken = branch
                if calls in left:
                    continue
                other = self.number_of_branch(calls, condition, not taken)
                if other in left:
                    left -= {number, other}
                    left.add(calls)
                    heapq.heappush(waiting, -calls)
                    continue
            needed.append(number)
        if ALWAYS in left:
            return ALWAYS
        if len(needed) == 1:
            return needed[0]
        everything = frozenset(needed)
        number = self._number(everything)
        self.unions[number] = everything
        return number

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def when_needed(order: Sequence[Apply], outputs: Sequence[Variable]) -> Mapping[Apply, int]:
    """Return a number for each node that not every call needs; nodes of one number are needed in the same calls.

    A node joined with one of another number would be computed where nobody asks for it, and could fail there. Ops
    that are lazy by their thunks alone are taken to need all of their inputs.

    Parameters
    ----------
    order : sequence of Apply
        The nodes of a graph, in topological order.
    outputs : sequence of Variable
        The outputs that every call computes.
    """
    return calls_of(order, outputs).numbers


def calls_of(order: Sequence[Apply], outputs: Sequence[Variable]) -> Calls:
    """Return in which calls each node is needed; see :func:`when_needed`."""
    calls = Calls()
    if all(lazy_form.get(op) is None for op in {type(node.op): node.op for node in order}.values()):
        return calls
    parts: dict[Apply, set[int]] = {node: set() for node in order}
    for variable in outputs:
        if variable.owner in parts:
            parts[variable.owner].add(ALWAYS)
    for node in reversed(order):
        number = calls.of_all(parts.pop(node))
        if number != ALWAYS:
            calls.numbers[node] = number
        for v, part in zip(node.inputs, calls.of_inputs(node), strict=True):
            if v.owner in parts:
                parts[v.owner].add(part)
    return calls


def certain_failure(fgraph: FunctionGraph) -> tuple[Apply, Exception] | None:
    """Return a node that every call runs and that always fails, with its error; None where there is none."""
    ops = {type(node.op): node.op for node in fgraph.apply_nodes}.values()
    if all(certain_error.get(op) is None for op in ops) or any(map(has_own_thunk, ops)):
        return None  # a thunk may be lazy
    order = fgraph.toposort()
    needed = when_needed(order, fgraph.outputs)
    for node in order:
        rule = certain_error.get(node.op)
        error = None if rule is None or needed.get(node, ALWAYS) != ALWAYS else rule(node)
        if error is not None:
            return node, error
    return None
