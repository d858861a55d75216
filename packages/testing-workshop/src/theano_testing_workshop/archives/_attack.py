"""Loading many archives in processes of their own, and watching them: a process that dies is a finding."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import mmap
import multiprocessing
import resource
import signal
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theano_graph import Variable
from theano_graph.safe_loading import ClassWord, UnsafeArchiveError, Value, vocabulary
from theano_linker_c.archive import load

from ._mutate import Mutator, samples

#: Events that Python reports and loading may cause: literals of headers are parsed, frames looked at.
_HARMLESS = frozenset(
    {"builtins.id", "compile", "object.__getattr__", "object.__setattr__", "object.__delattr__", "sys._getframe"}
)
#: An input that takes longer is a finding, and so is one that takes more memory than this.
_SECONDS = 20
_MOST_MEMORY = 3 << 30
_PLACE = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Finding:
    """An input with a forbidden effect."""

    seed: int
    what: str


@dataclass(slots=True)
class Outcome:
    """The outcome of some inputs."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0


class _Watch:
    """Notes the events in the process while an input is loaded."""

    def __init__(self) -> None:
        self.events: list[str] | None = None
        sys.addaudithook(self._note)

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.events is not None and event not in _HARMLESS and len(self.events) < 10:
            self.events.append(f"{event}{arguments!r:.200}")


class _TookTooLong(BaseException):
    """An input takes too long."""


def _stop(*_: Any) -> None:
    raise _TookTooLong


def _prepare() -> None:
    """Import all modules that the library's own words name: an input asked for any later import."""
    for word in vocabulary():
        if isinstance(word, ClassWord):
            with contextlib.suppress(ImportError, AttributeError):
                # Records have their methods written by `dataclasses` when one is first used.
                getattr(word.target, "__dataclass_fields__", None)
        elif isinstance(word, Value):
            word.resolve()


def _look(thing: Any) -> None:
    """Use the loaded object: memory that is not its own shows."""
    if isinstance(thing, (list, tuple)):
        for item in thing[:20]:
            _look(item)
    elif isinstance(thing, dict):
        _look(list(thing.values()))
    elif isinstance(thing, np.ndarray):
        thing.tobytes()
        repr(thing[:2] if thing.ndim else thing)
    elif isinstance(thing, Variable):
        str(thing)
        str(thing.type)
        if hasattr(thing, "get_value"):
            _look(thing.get_value())
    elif isinstance(thing, np.random.RandomState):
        thing.random_sample(3)
    elif isinstance(thing, np.random.Generator):
        thing.random(3)


def _judged(data: bytes, watch: _Watch) -> tuple[str, str | None]:
    """Load one input; return how it ended, and its fault."""
    watch.events = []
    try:
        match = load(io.BytesIO(data), safe=True)
        how = "loaded"
    except UnsafeArchiveError as error:
        match, how = None, "damaged" if "is damaged" in str(error) else "refused"
        if "Hint" not in str(error):
            return how, f"an error that does not say how to correct it: {error}"
    except _TookTooLong:
        return "slow", f"it takes longer than {_SECONDS} s"
    except BaseException:  # noqa: BLE001  # any other error is a finding
        return "error", traceback.format_exc(limit=-4)
    finally:
        events, watch.events = watch.events, None
    if events:
        return how, f"events: {'; '.join(events)}"
    if match is not None:
        try:
            _look(match)
        except _TookTooLong:
            return "slow", f"using it takes longer than {_SECONDS} s"
        except Exception as error:  # noqa: BLE001  # a graph may say anything to being printed; it must not end it
            return f"loaded, then {type(error).__name__}", None
    return how, None


def _work(archives: Sequence[bytes], start: int, count: int, position: Any, sender: Any) -> None:
    faulthandler.enable()
    soft = _MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
    signal.signal(signal.SIGALRM, _stop)
    mutator = Mutator(archives)
    _prepare()
    watch = _Watch()
    for data in mutator.originals:
        how, problem = _judged(data, watch)
        if how != "loaded" and not how.startswith("loaded, then"):
            sender.send(("finding", Finding(-1, f"a right archive is {how}: {problem}")))
    counts: Counter[str] = Counter()
    for seed in range(start, start + count):
        _PLACE.pack_into(position, 0, seed)
        signal.alarm(_SECONDS)
        how, problem = _judged(mutator.archive(seed), watch)
        signal.alarm(0)
        counts[how] += 1
        if problem is not None:
            sender.send(("finding", Finding(seed, problem)))
        if seed % 1000 == 999:
            sender.send(("counts", counts))
            counts = Counter()
    sender.send(("counts", counts))
    sender.send(("end", None))


def _messages(receiver: Any, process: Any) -> Iterator[tuple[str, Any]]:
    while True:
        try:
            if receiver.poll(1.0):
                yield receiver.recv()
            elif not process.is_alive() and not receiver.poll(0):
                return
        except EOFError:
            return


def attack(
    inputs: int,
    seed: int = 0,
    *,
    progress: Callable[[Outcome], None] | None = None,
    seconds: float | None = None,
    archives: Sequence[bytes] | None = None,
) -> Outcome:
    """Load archives that are nearly right, in another process.

    Parameters
    ----------
    inputs : int
        How many.
    seed : int
        Of the first one; the others count on.
    progress : callable, optional
        Called now and then with the outcomes so far.
    seconds : float, optional
        No more are begun after this time.
    archives : sequence of bytes, optional
        The archives to change; by default :func:`samples`.

    Returns
    -------
    Outcome
        With a finding for each input that ended a process, imported something, opened a file, ran code, took too long
        or raised another error than :class:`theano_graph.UnsafeArchiveError`.
    """
    outcome, begun = Outcome(), time.monotonic()
    originals = samples() if archives is None else archives
    # A child has the modules that its parent has imported; platforms without fork import them again.
    known = multiprocessing.get_all_start_methods()
    methods: Any = multiprocessing.get_context("fork" if "fork" in known else known[0])
    following, end = seed, seed + inputs
    while following < end:
        position = mmap.mmap(-1, _PLACE.size)
        _PLACE.pack_into(position, 0, following - 1)
        receiver, sender = methods.Pipe(duplex=False)
        process = methods.Process(target=_work, args=(originals, following, end - following, position, sender))
        process.start()
        sender.close()
        ended = False
        for kind, message in _messages(receiver, process):
            if kind == "counts":
                outcome.counts.update(message)
                outcome.seconds = time.monotonic() - begun
                if progress is not None:
                    progress(outcome)
                if seconds is not None and outcome.seconds > seconds:
                    process.terminate()
                    process.join()
                    return outcome
            elif kind == "finding":
                outcome.findings.append(message)
            else:
                ended = True
        process.join()
        if ended:
            break
        (last,) = _PLACE.unpack_from(position, 0)
        outcome.findings.append(Finding(last, f"the process ended with status {process.exitcode}"))
        outcome.counts["crashed"] += 1
        following = last + 1
    outcome.seconds = time.monotonic() - begun
    return outcome
