"""Buffer donation: which results of a program lie in the memory of which operands, and where registers die."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from theano_graph import Apply, Constant, Feature, FunctionGraph, Variable
from theano_optimize import GraphRewriter, Phase, RewriteInfo, RewriteProfile

from ..kernels import Donors, Overwriting
from ._instructions import Instruction, Program

# ---- Which operations may put their result into the memory of an operand that dies there
#
# There are no in-place forms of native operations: the machine sees who else refers to an array. Whether it may use
# that
# at all is a matter of the mode. A rewriter for each kind of operation says yes, and so the documented names of
# in-place
# rewrites include and exclude it.

#: Every kind: for graphs that no mode has a say in.
ALL_KINDS = frozenset(Overwriting)


class _Allowed(Feature):
    """The kinds of operations that may overwrite in a graph."""

    def __init__(self) -> None:
        self.kinds: set[Overwriting] = set()


class AllowOverwriting(GraphRewriter):
    """Let operations of one kind reuse the memory of their operands. The graph stays as it is.

    Parameters
    ----------
    name : str
    kind : Overwriting

    Examples
    --------
    >>> from theano_graph import FunctionGraph
    >>> fgraph = FunctionGraph([], [])
    >>> _ = AllowOverwriting("inplace_setsubtensor", Overwriting.INDEX_WRITE).rewrite(fgraph)
    >>> [str(kind) for kind in overwriting_of(fgraph)]
    ['index_write']
    """

    def __init__(self, name: str, kind: Overwriting) -> None:
        super().__init__(info=RewriteInfo(name, Phase.INPLACE, ("inplace",)))
        self.kind = kind

    def apply(self, fgraph: FunctionGraph) -> RewriteProfile:
        """Note the kind at the graph."""
        allowed = next((f for f in fgraph.features if isinstance(f, _Allowed)), None)
        if allowed is None:
            allowed = _Allowed()
            fgraph.attach_feature(allowed)
        allowed.kinds.add(self.kind)
        return RewriteProfile(self.name)


def overwriting_of(fgraph: FunctionGraph) -> frozenset[Overwriting]:
    """Return the kinds of operations that rewriting has let overwrite."""
    return frozenset(kind for f in fgraph.features if isinstance(f, _Allowed) for kind in f.kinds)


# ---- In whose memory the value of each register may lie, and who reads that memory last

#: Later than every instruction.
NEVER = 1 << 62


class Lifetimes:
    """The memory of registers, from the maps of views and of destroyed inputs.

    A root is a register whose memory is its own as far as these maps know: an argument, a shared value, a constant, or
    the result of an instruction that makes it anew. A value in the memory of another register has that one's roots,
    of which there are several where a call chooses. Memory is read until the last register with this root is.

    Parameters
    ----------
    program : Program
    times : sequence of int, optional
        For each instruction, when it runs; in their own order by default.
    waiting : collection of int
        Instructions whose operands are read at the end of the call.
    """

    def __init__(self, program: Program, times: Sequence[int] | None = None, waiting: Collection[int] = ()) -> None:
        self._instructions = program.instructions
        self._times = range(len(program.instructions)) if times is None else times
        self._roots: dict[int, tuple[int, ...]] = {}
        self._sources: dict[int, tuple[int, tuple[int, ...]]] = {}
        self._last: dict[int, int] = {}
        self._fresh: set[int] = set()
        constants = (register for register, _ in program.constants)
        self.kept = {*program.outputs, *(register for register, _ in program.updates), *constants}
        for i, instruction in enumerate(program.instructions):
            self._enter(i, instruction, NEVER if i in waiting else self._times[i])
        for register in self.kept:
            for root in self.roots(register):
                self._last[root] = NEVER

    def _enter(self, i: int, instruction: Instruction, time: int) -> None:
        for register in instruction.inputs:
            for root in self.roots(register):
                self._last[root] = max(self._last.get(root, -1), time)
        op = instruction.node.op
        if not op.view_map and not op.destroy_map:
            self._fresh.update(instruction.outputs)
            return
        for k, register in enumerate(instruction.outputs):
            viewed, destroyed = (
                tuple(instruction.inputs[s] for s in source.get(k, ())) for source in (op.view_map, op.destroy_map)
            )
            if viewed or destroyed:
                self._sources[register] = i, (*viewed, *destroyed)
                self._roots[register] = tuple(dict.fromkeys(r for s in (*viewed, *destroyed) for r in self.roots(s)))
            if not viewed and all(source in self._fresh for source in destroyed):
                self._fresh.add(register)

    def roots(self, register: int) -> tuple[int, ...]:
        """Return the registers in whose memory a value may lie."""
        return self._roots.get(register, (register,))

    def is_fresh(self, register: int) -> bool:
        """Tell whether an instruction of this program has made the memory, and the register is no view of it."""
        return register in self._fresh

    def ends(self, i: int, register: int) -> bool:
        """Tell whether nothing but an instruction reads the memory of one of its inputs, by this input alone."""
        if any(self._last[root] > self._times[i] for root in self.roots(register)):
            return False
        return not self._others_share(i, register)

    def _others_share(self, i: int, register: int) -> bool:
        roots = self.roots(register)
        others = (other for other in self._instructions[i].inputs if other != register)
        return any(root in roots for other in others for root in self.roots(other))

    def ends_in_any_order(self, i: int, register: int) -> bool:
        """Tell the same where only the needs of instructions give an order."""
        if self._others_share(i, register):
            return False
        before = set(self._makers(register))
        sharing = {other for root in self.roots(register) for other in self._sharing.get(root, (root,))}
        return all(
            other not in self.kept and all(reader in before for reader in self._readers.get(other, ()))
            for other in sharing
            if other != register
        )

    def _makers(self, register: int) -> Iterator[int]:
        """Yield the instructions by which a value came into a register from its roots: all run before it is there."""
        waiting = [register]
        while waiting:
            source = self._sources.get(waiting.pop())
            if source is not None:
                yield source[0]
                waiting.extend(source[1])

    @cached_property
    def _sharing(self) -> dict[int, list[int]]:
        sharing: dict[int, list[int]] = {}
        for register, roots in self._roots.items():
            for root in roots:
                sharing.setdefault(root, [root]).append(register)
        return sharing

    @cached_property
    def _readers(self) -> dict[int, list[int]]:
        readers: dict[int, list[int]] = {}
        for i, instruction in enumerate(self._instructions):
            for register in instruction.inputs:
                readers.setdefault(register, []).append(i)
        return readers


# ---- Where registers die: after which instruction nothing reads them any more


def deaths_in_order(
    fgraph: FunctionGraph, order: Sequence[Apply], registers: Mapping[Variable, int]
) -> list[tuple[int, ...]]:
    """Return, for each node, the registers that die there: read for the last time, or never read at all."""
    needed = set(fgraph.outputs)
    last: dict[Variable, int] = {}
    for i, node in enumerate(order):
        for variables in (node.inputs, node.outputs):
            for variable in variables:
                if variable not in needed and (variable.owner is not None or not isinstance(variable, Constant)):
                    last[variable] = i
    dying: list[list[int]] = [[] for _ in order]
    for variable, i in last.items():
        dying[i].append(registers[variable])
    return [tuple(found) for found in dying]


def deaths_by_counting(
    fgraph: FunctionGraph, order: Sequence[Apply], registers: Mapping[Variable, int]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return when registers die where the order is not known: after how many readings, or after which node.

    Returns
    -------
    readers : tuple of int
        For each register with several readers, how many times it is read; 0 for the others.
    release : list of tuple of int
        For each node, the other registers that die there.
    """
    needed = set(fgraph.outputs)
    edges: dict[Variable, list[int]] = {v: [] for v in registers}
    made: dict[Variable, int] = {}
    for i, node in enumerate(order):
        made.update((v, i) for v in node.outputs)
        for v in node.inputs:
            edges[v].append(i)
    readers, release = [0] * len(registers), [list[int]() for _ in order]
    for v, register in registers.items():
        if v in needed or isinstance(v, Constant):
            continue
        distinct = set(edges[v])
        if len(distinct) > 1:
            readers[register] = len(edges[v])
        elif distinct:
            release[distinct.pop()].append(register)
        elif v in made:
            release[made[v]].append(register)
    return tuple(readers), [tuple(variable) for variable in release]


# ---- Which results of a program may lie in the memory of which operands, and which writes wait for the end of a call
#
# A decision is a permission. Whether somebody sees the memory whom no program can know (the caller, an op of the user
# that has kept an array) is found out in the call, and then other memory is taken.


def decide(program: Program, kinds: Collection[Overwriting] = ALL_KINDS) -> Program:
    """Return a program whose instructions list the operands they may overwrite in `donors` and `waits`.

    Cost is linear in the length of the program.

    Parameters
    ----------
    program : Program
    kinds : collection of Overwriting
        Kinds of operations that may overwrite anything at all.

    Returns
    -------
    Program
    """
    able = [i for i, x in enumerate(program.instructions) if (kernel := x.kernel) and kernel.overwriting in kinds]
    if not able:
        return program
    waiting = waiting_writes(program, able)
    donors = _donations(program, able, waiting)
    changed = donors.keys() | waiting.keys()
    return replace(
        program,
        instructions=tuple(
            replace(x, donors=donors.get(i, ()), waits=waiting.get(i)) if i in changed else x
            for i, x in enumerate(program.instructions)
        ),
    )


def _donations(program: Program, able: Sequence[int], waiting: Collection[int]) -> dict[int, Donors]:
    """Return the inputs whose memory each of the results may take, for the instructions that have such inputs."""
    candidates = {i: donations for i in able if any(donations := _candidates(program.instructions[i]))}
    if not candidates:
        return {}
    lifetimes = Lifetimes(program, waiting=waiting)
    ends: Callable[[int, int], bool] = lifetimes.ends if program.schedule is None else lifetimes.ends_in_any_order
    donated = {parameter.register for parameter in program.inputs if parameter.accepts.overwrite}
    update_memory = _memory_of_updates(program, lifetimes) if donated else set[int]()
    decided: dict[int, Donors] = {}
    for i, instruction in enumerate(program.instructions):
        if i in candidates:
            decided[i] = tuple(
                tuple(
                    position
                    for position in positions
                    if ends(i, instruction.inputs[position])
                    and not (instruction.outputs[k] in update_memory and instruction.inputs[position] in donated)
                )
                for k, positions in enumerate(candidates[i])
            )
        if donated:
            _follow(instruction, decided.get(i, ()), donated, lifetimes)
    return {i: donors for i, donors in decided.items() if any(donors)}


def _follow(instruction: Instruction, donors: Donors, donated: set[int], lifetimes: Lifetimes) -> None:
    """Add the results that may lie in memory of the caller to those registers."""
    for k, register in enumerate(instruction.outputs):
        taken = (instruction.inputs[position] for position in (donors[k] if k < len(donors) else ()))
        if any(other in donated for other in (*lifetimes.roots(register), *taken)):
            donated.add(register)


def _memory_of_updates(program: Program, lifetimes: Lifetimes) -> set[int]:
    """Return the registers whose memory becomes that of new values of shared variables."""
    return {root for register, _ in program.updates for root in (register, *lifetimes.roots(register))}


def _candidates(instruction: Instruction) -> Donors:
    """Return the inputs that die in an instruction and are such as its results are."""
    kernel = instruction.kernel
    return () if kernel is None or not instruction.release else kernel.donors(instruction)


def waiting_writes(program: Program, able: Sequence[int]) -> dict[int, int]:
    """Return the instructions that may write into the storage of a shared variable when the call has succeeded.

    Such a write changes the present value of a shared variable, and its result is nothing but the new value of the
    same variable, or an operand of the next such write. Nothing in the program reads the result, so the write can wait;
    but not where an op overwrites, in the meantime, an operand or the target of the write.

    Parameters
    ----------
    program : Program
    able : sequence of int
        Instructions that may overwrite.

    Returns
    -------
    dict
        Instruction -> number of the update.
    """
    candidates = _last_writes(program, [i for i in able if _writes(program.instructions[i])]) if program.updates else {}
    if not candidates:
        return {}
    writes = _from_storage(program, candidates)
    destroyers = [i for i, x in enumerate(program.instructions) if x.node.op.destroy_map]
    if not destroyers or not writes:
        return writes
    lifetimes = Lifetimes(program)
    storage = {id(cell): register for register, cell in program.cells}
    while True:
        destroyed = {root for i in destroyers if i not in writes for root in _destroyed(program, i, lifetimes)}
        spoiled = {
            i
            for i, target in writes.items()
            if not destroyed.isdisjoint(
                root
                for register in (storage[id(program.updates[target][1])], *program.instructions[i].inputs)
                for root in lifetimes.roots(register)
            )
        }
        if not spoiled:
            return writes
        writes = _from_storage(program, {i: target for i, target in writes.items() if i not in spoiled})


def _writes(instruction: Instruction) -> bool:
    """Tell whether the result is the first input with something written into it or added to it."""
    kernel = instruction.kernel
    return kernel is not None and kernel.changes_first(len(instruction.inputs))


def _last_writes(program: Program, writes: Sequence[int]) -> dict[int, int]:
    """Return the writes whose result is read by nothing but the next one of them, and the update it ends in."""
    reads: dict[int, list[tuple[int, int]]] = {}
    for i, instruction in enumerate(program.instructions):
        for position, register in enumerate(instruction.inputs):
            reads.setdefault(register, []).append((i, position))
    targets: dict[int, list[int]] = {}
    for number, (register, _) in enumerate(program.updates):
        targets.setdefault(register, []).append(number)
    returned = set(program.outputs)
    wanted: dict[int, int] = {}
    for i in reversed(writes):
        output = program.instructions[i].outputs[0]
        if output in returned:
            continue
        readers, numbers = reads.get(output, []), targets.get(output, [])
        if not readers and len(numbers) == 1:
            wanted[i] = numbers[0]
        elif len(readers) == 1 and not numbers and readers[0][1] == 0 and readers[0][0] in wanted:
            wanted[i] = wanted[readers[0][0]]
    return wanted


def _from_storage(program: Program, candidates: dict[int, int]) -> dict[int, int]:
    """Return those of the writes that change the storage of their own variable, directly or one after the other."""
    holds = {register: id(cell) for register, cell in program.cells}
    sources: dict[int, int] = {}
    for i in sorted(candidates):
        instruction, cell = program.instructions[i], id(program.updates[candidates[i]][1])
        if holds.get(instruction.inputs[0]) == cell:
            sources[i] = candidates[i]
            holds[instruction.outputs[0]] = cell
    # One that has to be carried out reads the results of those before it.
    read_now = {r for i, x in enumerate(program.instructions) if i not in sources for r in x.inputs}
    settled = {i for i in sources if program.instructions[i].outputs[0] in read_now}
    return _from_storage(program, {i: t for i, t in sources.items() if i not in settled}) if settled else sources


def _destroyed(program: Program, i: int, lifetimes: Lifetimes) -> Sequence[int]:
    instruction = program.instructions[i]
    positions = {s for sources in instruction.node.op.destroy_map.values() for s in sources}
    return [root for s in positions for root in lifetimes.roots(instruction.inputs[s])]
