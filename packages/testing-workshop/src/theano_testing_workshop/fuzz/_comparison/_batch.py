"""Many programs compiled as one function, in several modes, and their results compared."""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theano_linker_c import In, Mode, Out, capture_after, function
from theano_linker_c.modes import FAST_RUN
from theano_linker_c.scalar import ScalarOp, special
from theano_linker_c.straight import NoStraightForm
from theano_tensor import (
    BatchError,
    TensorType,
    vectorize_graph,
)
from theano_testing.device import placed_on

from ...exported import Exported
from .._operations._memory import arrays_of, may_spoil
from .._program import Built, Leaf, Node, Operation, Program, Unbuildable, build, evaluate, leaves_of
from ._judge import ROUNDINGS, SPECIALS, Difference, Tally, judge, wrong_slope
from ._perturb import Perturbed

# ---- Modes

#: Functions that devices compute by formulas of their own, less exactly than SciPy: they have tests of their own.
SPECIAL = frozenset(op.name for op in vars(special).values() if isinstance(op, ScalarOp))


@dataclass(frozen=True, slots=True, eq=False)
class Configuration:
    """A mode under test.

    Attributes
    ----------
    name : str
    make : callable
        Returns the mode.
    text : str
        Source of the mode.
    capture : int or None
        After how many calls the machine captures its kernel calls; None: never.
    exported : bool
        Whether functions are exported as C, each by itself, which is compiled and called.
    vectorized : bool
        Whether each graph is applied to a batch, of whose entries one is compared.
    device : str or None
        The device where all arguments and shared variables go, so that ops with a form for devices run there.
    """

    name: str
    make: Callable[[], Mode]
    text: str
    capture: int | None = None
    exported: bool = False
    vectorized: bool = False
    device: str | None = None


#: The graph as written, computed in Python: the reference for all others.
PLAIN = Configuration("plain", lambda: Mode("py", None), 'Mode("py", None)')
#: Rewritten and compiled.
NATIVE = Configuration("FAST_RUN", lambda: Mode("cvm", "fast_run"), 'Mode("cvm", "fast_run")')
#: The same; the kernel calls of the first call are captured, and made again in the later ones.
CAPTURED = Configuration("FAST_RUN, captured", NATIVE.make, NATIVE.text, 0)

#: Rewritten, and exported as C that stands alone.
EXPORTED = Configuration("exported", lambda: Mode("py", "fast_run"), 'Mode("py", "fast_run")', exported=True)

#: Rewritten, and applied to a batch.
VECTORIZED = Configuration("vectorized", lambda: Mode("py", "fast_run"), 'Mode("py", "fast_run")', vectorized=True)


def on_device(devname: str) -> Configuration:
    """Return the configuration of a device, as "opencl0:0"."""
    return Configuration(f"FAST_RUN on {devname}", NATIVE.make, NATIVE.text, device=devname)


def drawn_for(devname: str | None, operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations of which graphs are made that run on a device, or not on one."""
    return [operation for operation in operations if devname is None or operation.name not in SPECIAL]


def _made(linker: str, optimizer: str | None) -> Configuration:
    text = f"Mode({linker!r}, {optimizer!r})"
    return Configuration(f"{linker}/{optimizer}", lambda: Mode(linker, optimizer), text)


def _without(tag: str) -> Configuration:
    text = f'Mode("cvm", "fast_run").excluding({tag!r})'
    return Configuration(f"FAST_RUN without {tag}", lambda: FAST_RUN.excluding(tag), text)


#: Each of these is tried on a part of the graphs.
VARIANTS: tuple[Configuration, ...] = (
    _made("cvm", "fast_compile"),
    _made("py", "fast_run"),
    _made("cvm", None),
    _made("vm", "fast_run"),
    _made("c|py_nogc", "o3"),
    _made("cvm", "o2"),
    _made("cvm", "merge"),
    _made("cvm", "stabilize"),
    _made("cvm", "unsafe"),
    *map(
        _without, ("fusion", "inplace", "canonicalize", "stabilize", "specialize", "BlasOpt", "local_subtensor_merge")
    ),
)


# ---- Batches of programs

CALLS = 2
#: The share of arguments that differ between the entries of a batch.
STACKED = 0.7
#: Stands for the values of a perturbed graph that raises: of a shape that nothing else has.
RAISED = np.empty((0,) * 20)


@dataclass(frozen=True, slots=True)
class Failure:
    """A program on which a configuration is wrong.

    Attributes
    ----------
    program : Program
    configuration : Configuration
    kind : str
        ``"values"``, ``"reference"`` (the graph as written differs from NumPy), ``"gradient"`` (its gradient differs
        from the slope of NumPy's values), ``"state"`` (shared variables after a call), ``"error"`` or ``"crash"``.
    what : str
        How it differs, or the error.
    """

    program: Program
    configuration: Configuration
    kind: str
    what: str


@dataclass(slots=True)
class Run:
    """The results of a function's calls: for each call the outputs of each program, and the states after it."""

    outputs: list[list[list[Any]]] = field(default_factory=list)
    states: list[list[list[Any]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunOfOne:
    """The part of a run that belongs to one program: for each call its outputs, and its states after it."""

    outputs: list[list[Any]]
    states: list[list[Any]]


class RunError(Exception):
    """Compiling or calling failed; `error` says how, `stage` when."""

    def __init__(self, stage: str, error: Exception) -> None:
        super().__init__(f"{stage}: {type(error).__name__}: {error}")
        self.stage = stage
        self.error = error


class TookTooLong(BaseException):
    """A function was not compiled and called in time; rewriting that has no end, mostly."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise RunError where a block takes more processor time; only in the main thread of a process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except TookTooLong:
        raise RunError("time", TimeoutError(f"more than {seconds:.0f} s of processor time")) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


class Refused(RunError):
    """A program has no form in the target, and an error says so."""


class Overwritten(Exception):
    """A function changed an argument."""


def run(built: Sequence[Built], configuration: Configuration) -> Run:
    """Compile programs as one function, call it twice, and return everything.

    Raises
    ------
    RunError
        If compiling or a call fails, or changes an argument.
    """
    for b in built:
        arrays = arrays_of(b.program, "shared", overlap=configuration is not PLAIN)
        for variable, array in zip(b.shared, arrays, strict=True):
            variable.set_value(array, borrow=True)
    # Compilers of devices take longer, a call for each kernel.
    seconds = 4.0 + 0.08 * len(built) if configuration.device is None else 60.0 + 8.0 * len(built)
    with time_limit(seconds), capture_after(configuration.capture):
        if configuration.exported:
            (one,) = built
            return _exported_and_called(one, configuration)
        if configuration.vectorized:
            (one,) = built
            return _vectorized_and_called(one, configuration)
        with placed_on(configuration.device, [v for b in built for v in (*b.inputs, *b.shared)]):
            return _compiled_and_called(built, configuration)


def _compiled_and_called(built: Sequence[Built], configuration: Configuration) -> Run:
    tests = configuration is not PLAIN
    donated = [tests and i in b.program.memory.donated for b in built for i in leaves_of(b.program, "input")]
    spoiled = [may_spoil(b.program) for b in built for _ in b.inputs]
    borrowed = [tests and b.program.memory.borrowed for b in built for _ in b.outputs]
    try:
        compiled: Any = function(
            [In(x, mutable=mutable) for x, mutable in zip((x for b in built for x in b.inputs), donated, strict=True)],
            [Out(y, borrow=borrow) for y, borrow in zip((y for b in built for y in b.outputs), borrowed, strict=True)],
            updates=[pair for b in built for pair in b.updates],
            mode=configuration.make(),
            on_unused_input="ignore",
            accept_inplace=True,
        )
    except Exception as error:  # any error is a finding
        raise RunError("compile", error) from error
    result, held = Run(), list[tuple[Any, Any]]()
    for call in range(CALLS):
        arrays = [a for b in built for a in _arguments(b, tests, call)]
        before = [a.copy() for a in arrays]
        try:
            raw = compiled(*arrays)
        except Exception as error:  # as above
            raise RunError("call", error) from error
        values = [np.array(y) for y in raw]
        held += [(y, value) for y, value, borrow in zip(raw, values, borrowed, strict=True) if not borrow]
        match = iter(values)
        result.outputs.append([[next(match) for _ in b.outputs] for b in built])
        result.states.append([[v.get_value() for v in b.shared] for b in built])
        for a, keeps, free in zip(arrays, before, (x or y for x, y in zip(donated, spoiled, strict=True)), strict=True):
            if not free and a.tobytes() != keeps.tobytes():
                raise RunError("call", Overwritten("an argument was overwritten"))
    if any(np.asarray(y).tobytes() != value.tobytes() for y, value in held):
        raise RunError("call", Overwritten("the result of an earlier call was overwritten"))
    return result


def _exported_and_called(built: Built, configuration: Configuration) -> Run:
    """Export a program as C, call it with lengths that are known at run time, and compare with known lengths."""
    fn: Any = function(
        list(built.inputs),
        built.outputs,
        updates=built.updates,
        mode=configuration.make(),
        on_unused_input="ignore",
        accept_inplace=True,
    )
    arrays = [np.array(a) for a in _arguments(built, False, 0)]
    shapes = {variable: np.shape(array) for variable, array in zip(built.inputs, arrays, strict=True)}
    stored = [item.variable for i, item in enumerate(fn.maker.inputs) if i in fn.wiring.cells]
    runs = []
    for known in (None, shapes):
        result = Run()
        try:
            exported = Exported(fn, known)
        except NoStraightForm as error:
            raise Refused("compile", error) from error
        except Exception as error:  # any error is a finding
            raise RunError("compile", error) from error
        for _ in range(CALLS):
            try:
                result.outputs.append([exported(*arrays)])
            except ValueError as error:
                raise RunError("call", error) from error
            new = dict(zip(stored, exported.states(), strict=True))
            result.states.append([[new.get(v, v.get_value()) for v in built.shared]])
        exported.free()
        runs.append(result)
    return _same_runs(*runs)


def _vectorized_and_called(built: Built, configuration: Configuration) -> Run:
    """Apply a program to a batch, in the middle of which its arguments are; return the results of that entry."""
    if may_spoil(built.program):
        raise Refused("batch", TypeError("loops take no op that overwrites its operand"))
    rng = np.random.default_rng(built.program.seed)
    arguments = [np.array(a) for a in _arguments(built, False, 0)]
    flags = [rng.random() < STACKED for _ in arguments]
    entries = [[rng.permutation(a.ravel()).reshape(a.shape) for a in arguments], arguments]
    entries.append([rng.permutation(a.ravel()).reshape(a.shape) for a in arguments])
    batches = {
        x: TensorType(x.type.dtype, shape=(None, *x.type.shape))()
        for x, flag in zip(built.inputs, flags, strict=True)
        if flag
    }
    stacks = [
        np.stack([entry[k] for entry in entries]) if flag else a
        for k, (a, flag) in enumerate(zip(arguments, flags, strict=True))
    ]
    mode = configuration.make()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ops that run in a loop
            outputs = vectorize_graph(built.outputs, batches)
        call: Any = function([batches.get(x, x) for x in built.inputs], outputs, mode=mode, on_unused_input="ignore")
        raw = call(*stacks)
    except Exception as error:  # a finding, unless the entries have results of several shapes
        if isinstance(error, BatchError) or not _have_one_shape(built, entries, flags):
            raise Refused("batch", error) from error
        raise RunError("call", error) from error
    is_stacked = [y.type.ndim > x.type.ndim for x, y in zip(built.outputs, outputs, strict=True)]
    results = [np.array(y[1] if flag else y) for y, flag in zip(raw, is_stacked, strict=True)]
    states = [v.get_value() for v in built.shared]
    return Run([[results]] * CALLS, [[states]] * CALLS)


def _have_one_shape(built: Built, entries: Sequence[Sequence[Any]], flags: Sequence[bool]) -> bool:
    """Tell whether the graph as written has results of equal shapes for all entries of a batch."""
    plain: Any = function(built.inputs, built.outputs, mode=PLAIN.make(), on_unused_input="ignore")
    shapes = set()
    for entry in entries:
        arrays = [a if flag else b for a, b, flag in zip(entry, entries[1], flags, strict=True)]
        try:
            shapes.add(tuple(np.shape(y) for y in plain(*arrays)))
        except Exception:  # noqa: BLE001  # values that an op refuses
            return False
    return len(shapes) == 1


def _same_runs(first: Run, second: Run) -> Run:
    """Return the second of two runs, whose results may be rounded differently but are of the same shapes."""
    for a, b in zip(first.outputs, second.outputs, strict=True):
        shapes = [[np.shape(x) for x in part] for part in (*a, *b)]
        if shapes[0] != shapes[1]:
            raise RunError("call", ValueError(f"shapes {shapes[1]} with known lengths, and {shapes[0]} without"))
    return second


def _arguments(built: Built, tests: bool, call: int) -> list[Any]:
    """Return the arguments of a call; those of the first one may overlap with the storage of shared variables."""
    stored = zip(leaves_of(built.program, "shared"), built.shared, strict=True)
    storage = {i: variable.get_value(borrow=True) for i, variable in stored} if tests and not call else {}
    return arrays_of(built.program, "input", storage, overlap=tests)


def compare_batch(
    programs: Sequence[Program], configurations: Sequence[Configuration], tally: Tally, *, reference: bool = True
) -> list[Failure]:
    """Run programs together on the plain machine, in NumPy and on other configurations; return the differences.

    Programs that make a function fail are found by halving the batch.

    Parameters
    ----------
    programs : sequence of Program
    configurations : sequence of Configuration
        The configurations to compare with the plain machine.
    tally : Tally
        Counts comparisons.
    reference : bool
        Whether the plain machine is compared with NumPy.
    """
    failures: list[Failure] = []
    built = []
    for program in programs:
        try:
            built.append(build(program))
        except Unbuildable as error:
            failures.append(Failure(program, PLAIN, "error", f"build: {error}"))
    plain = _runs(built, PLAIN, failures)
    judges = {id(b): _Judge(b, plain[id(b)], tally) for b in built if id(b) in plain}
    healthy = [b for b in built if id(b) in judges]
    if reference:
        for b in healthy:
            failures += judges[id(b)].against_numpy() or judges[id(b)].against_differences()
    for configuration in configurations:
        wrong: list[Failure] = []
        runs = _runs(healthy, configuration, wrong)
        failures += _not_by_roundings(wrong, judges, healthy, tally)
        for b in healthy:
            if id(b) in runs:
                failures += judges[id(b)].against(runs[id(b)], configuration)
                tally.counts[f"graphs, {configuration.name}"] += 1
    tally.counts["graphs"] += len(programs)
    return failures


def _runs(built: Sequence[Built], configuration: Configuration, failures: list[Failure]) -> dict[int, RunOfOne]:
    """Return the run of each program; failed ones are added to `failures`."""
    matches: dict[int, RunOfOne] = {}
    pending: list[Sequence[Built]] = [built] if built else []
    if configuration.exported or configuration.vectorized:
        pending = [[b] for b in built]
    while pending:
        group = pending.pop()
        try:
            full = run(group, configuration)
        except RunError as error:
            if len(group) == 1:
                kind = "refused" if isinstance(error, Refused) else "error"
                failures.append(Failure(group[0].program, configuration, kind, str(error)))
            else:
                middle = len(group) // 2
                pending += [group[:middle], group[middle:]]
            continue
        for k, b in enumerate(group):
            matches[id(b)] = RunOfOne([call[k] for call in full.outputs], [call[k] for call in full.states])
    return matches


def _not_by_roundings(
    failures: Sequence[Failure], judges: Mapping[int, _Judge], healthy: Sequence[Built], tally: Tally
) -> list[Failure]:
    """Return failures without errors of calls that roundings decide about, as where an index is computed."""
    matches = []
    for failure in failures:
        built = next(b for b in healthy if b.program is failure.program)
        if failure.kind == "refused":
            tally.counts[f"refused: {_reason(failure.what)}"] += 1
        elif failure.what.startswith("call: ") and judges[id(built)].may_raise():
            tally.counts["errors unjudged"] += 1
        else:
            matches.append(failure)
    return matches


def _reason(refusal: str) -> str:
    """Return the first line of a refusal, without names and shapes of variables."""
    line = refusal.splitlines()[0].removeprefix("compile: NoStraightForm: ")
    match = re.search(r"of type \w+\((\w+), .*?\), (which .*)", line)
    return f"{match[1]}, {match[2]}" if match else re.sub(r"\{.*\}", "", line)[:120]


class _Judge:
    """Compares with the run of one program on the plain machine; perturbed results are made when asked for."""

    def __init__(self, built: Built, plain: RunOfOne, tally: Tally) -> None:
        self.built = built
        self.plain = plain
        self.tally = tally
        self.ulp = max(
            [64.0, *(4 * item.operation.ulp for item in built.program.items if isinstance(item, Node))],
        )
        self._samples: dict[tuple[int, str], list[list[Any]]] = {}
        self._values: dict[int, dict[Any, Any]] = {}
        self._perturbed: Perturbed | None = None

    def _leaf_values(self, call: int) -> dict[int, Any]:
        """Return the values of the leaves at the beginning of a call."""
        program = self.built.program
        values = {i: item.value for i, item in enumerate(program.items) if isinstance(item, Leaf)}
        if call:
            values.update(zip(leaves_of(program, "shared"), self.plain.states[call - 1], strict=True))
        return values

    def _of(self, call: int, number: int) -> Callable[[str], Iterable[Any]]:
        return lambda kind: (sample[number] for sample in self._all(call, kind))

    def _all(self, call: int, kind: str) -> Iterator[list[Any]]:
        """Yield perturbed results, which are made when they are asked for and then kept."""
        match = self._samples.setdefault((call, kind), [])
        if self._perturbed is None:
            updates = [new for _, new in self.built.updates]
            rng = np.random.default_rng(self.built.program.seed)
            self._perturbed = Perturbed([*self.built.outputs, *updates], rng)
        values = self._values.get(call)
        if values is None:
            leaves = self._leaf_values(call)
            values = self._values[call] = {self.built.variables[i]: v for i, v in leaves.items()}
        for number in range(ROUNDINGS if kind == "rounding" else SPECIALS):
            if number == len(match):
                match.append(self._sample(self._perturbed, values, kind))
            yield match[number]

    def _sample(self, perturbed: Perturbed, values: Mapping[Any, Any], kind: str) -> list[Any]:
        try:
            return perturbed.sample(values, kind)
        except Exception:  # noqa: BLE001  # indices that hang on roundings, for instance
            return [RAISED] * (len(self.built.outputs) + len(self.built.updates))

    def may_raise(self) -> bool:
        """Tell whether the graph as written raises for some roundings or special values."""
        every = (
            sample for call in range(CALLS) for kind in ("rounding", "special") for sample in self._all(call, kind)
        )
        return any(value is RAISED for sample in every for value in sample)

    def against_numpy(self) -> list[Failure]:
        """Compare the plain machine with NumPy."""
        program = self.built.program
        for call in range(CALLS if program.updates else 1):
            try:
                values = evaluate(self.built, self._leaf_values(call))
            except Unbuildable as error:
                # The second call has other values, which NumPy may refuse: the drawn ones it took.
                if call:
                    self.tally.counts["second call refused by NumPy"] += 1
                    return []
                return [Failure(program, PLAIN, "reference", str(error))]
            requested = [values[i] for i in program.outputs]
            for k, (value, item) in enumerate(zip(requested, self.plain.outputs[call], strict=False)):
                # Perturbations move the plain machine's value, so NumPy's is held against it.
                wrong = judge(value, item, self._of(call, k), self.tally, ulp=self.ulp, lenient=False)
                if wrong is not None:
                    return [Failure(program, PLAIN, "reference", f"call {call}, output {k}, NumPy gives {wrong}")]
        return []

    def against_differences(self) -> list[Failure]:
        """Compare the gradients of the plain machine with differences of NumPy's values."""
        program = self.built.program
        if not program.gradients:
            return []
        try:
            wrong = wrong_slope(self.built, self.plain.outputs[0][len(program.outputs) :])
        except Unbuildable:
            return []  # Told already by the comparison with NumPy.
        self.tally.counts["slopes"] += 1
        return [] if wrong is None else [Failure(program, PLAIN, "gradient", wrong)]

    def against(self, other: RunOfOne, configuration: Configuration) -> list[Failure]:
        """Compare another run with the plain machine."""
        for call in range(CALLS):
            pairs = zip(other.outputs[call], self.plain.outputs[call], strict=True)
            for k, (item, requested) in enumerate(pairs):
                wrong = self._judged(item, requested, call, k)
                if wrong is not None:
                    return [Failure(self.built.program, configuration, "values", f"call {call}, output {k}: {wrong}")]
            wrong = self._judged_states(other.states[call], call)
            if wrong is not None:
                return [Failure(self.built.program, configuration, "state", f"call {call}: {wrong}")]
            if call == 0 and not _equal_states(other.states[0], self.plain.states[0]):
                # The next call begins elsewhere, by roundings; its results cannot be compared.
                self.tally.counts["second call begins elsewhere"] += 1
                return []
        return []

    def _judged(self, match: Any, requested: Any, call: int, number: int) -> Difference | None:
        return judge(match, requested, self._of(call, number), self.tally, ulp=self.ulp)

    def _judged_states(self, states: Sequence[Any], call: int) -> Difference | None:
        numbers = leaves_of(self.built.program, "shared")
        targets = {leaf: k for k, (leaf, _) in enumerate(self.built.program.updates)}
        count = len(self.built.outputs)
        for leaf, item, requested in zip(numbers, states, self.plain.states[call], strict=True):
            if leaf in targets:
                wrong = self._judged(item, requested, call, count + targets[leaf])
            else:
                wrong = judge(item, requested, lambda _: [], self.tally, ulp=0.0)
            if wrong is not None:
                return wrong
        return None


def _equal_states(states: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in zip(states, others, strict=True))
