"""Calls of one function for many arguments, from several threads, with the results in the order of the arguments."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np

from theano_graph import format_error

from ..program import Machine
from ..runtime._thunks import BUFFER_LIMIT
from ._binding import describe_value
from ._io import ArgumentError

#: Seconds that a batch should take: long against handing it over, short against a user's patience.
BATCH_SECONDS = 0.002
#: Elements that are taken ahead for each thread at most, and batches that these make.
AHEAD = 512
BATCHES = 3
#: How many times more calls the next batch may have.
GROWTH = 64
#: Of so many batches with the largest number of calls one is timed.
TIMED = 8
#: Calls that a batch has at least where more could be in it, but threads would be without one.
FEWEST = 16
#: Batches that take longer are left to the threads: who asks for results should not wait for later ones.
HELP_SECONDS = 0.02
#: How long an iterator that is closed waits for its threads: the collector may close it in a thread for whose lock a
#: call of theirs waits.
CLOSING_SECONDS = 1.0
#: How many milliseconds a thread may take from the call that starts it.
START_TRIES = 20


class Bind(Protocol):
    """Makes the values of all inputs from the arguments; raises where they do not fit."""

    def __call__(self, args: Sequence[Any], kwargs: dict[str, Any], /) -> tuple[Any, ...]: ...


class Batch:
    """Elements of calls that one thread makes, and their results."""

    __slots__ = ("done", "elements", "error", "first", "found", "seconds", "timed")

    def __init__(self, first: int, elements: Sequence[Any], timed: bool) -> None:
        self.first = first
        self.elements = elements
        self.timed = timed
        self.found: list[Any] = []
        self.error: BaseException | None = None
        self.seconds = 0.0
        self.done = threading.Lock()
        self.done.acquire()


def check_elements(elements: Any) -> None:
    """Refuse arguments that are no iterable."""
    single = isinstance(elements, (str, bytes, Mapping)) or not isinstance(elements, Iterable)
    if single or getattr(elements, "ndim", 1) == 0:
        raise TypeError(
            format_error(
                f"map: elements is an iterable of arguments, got {describe_value(elements)}",
                hint="pass a list or a generator with one element a call.",
            )
        )


def thread_count(threads: int | None) -> int:
    """Return how many threads are asked for: by default as many as there are cores for this process."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        what = "threads is a number of at least 1, or None for as many as there are cores"
        hint = "pass threads=1 to make all calls in the calling thread."
        count: Any = threads
        if isinstance(count, Iterable) and not isinstance(count, str):
            hint = "the arguments of one call are one element: f.map(zip(xs, ys))."
        raise ValueError(format_error(f"map: {what}; got {describe_value(threads)}", hint=hint))
    return int(threads)


def ahead_count(ahead: int | None, threads: int) -> int:
    """Return how many elements may be taken before their results are asked for."""
    if ahead is None:
        return AHEAD * threads
    if isinstance(ahead, bool) or not isinstance(ahead, (int, np.integer)) or ahead < 1:
        raise ValueError(
            format_error(
                f"map: ahead is a number of elements, at least 1; got {ahead!r}",
                hint="leave it out, or pass how many elements may be taken before their results are asked for.",
            )
        )
    return int(ahead)


def split(element: Any) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments that an element stands for, by position and by keyword."""
    if isinstance(element, (tuple, list)):
        return element, {}
    if isinstance(element, dict):
        return (), element
    return (element,), {}


def note(error: BaseException, index: int, elements: Sequence[Any] = ()) -> BaseException:
    """Say in an error of which element it is, the first of these; of one that does not fit, too, how it was read."""
    if isinstance(error, Exception):
        read = ""
        if isinstance(error, ArgumentError) and len(elements) > 0 and not isinstance(elements[0], dict):
            args, _ = split(elements[0])
            kind = type(elements[0]).__name__
            read = (
                f": its {len(args)} items ({kind}) are taken for the arguments of the call"
                if args is elements[0]
                else f": it ({kind}) is taken for the one argument of the call"
            )
        error.add_note(f"  in element {index} of what was passed to map, counted from 0{read}")
    return error


def one_after_another(call: Callable[..., Any], elements: Iterable[Any]) -> Iterator[Any]:
    """Make the calls in this thread, each when its result is asked for."""
    for index, element in enumerate(elements):
        try:
            if isinstance(element, (tuple, list)):
                result = call(*element)
            elif isinstance(element, dict):
                result = call(**element)
            else:
                result = call(element)
        except Exception as error:
            note(error, index, [element])
            raise
        yield result
        del result  # else its memory is in use while the next call is made


class Results(Iterator[Any]):
    """The results of calls in order: those in the lists that a generator makes, without a frame for each one."""

    __slots__ = ("_lists", "_results")

    def __init__(self, lists: Generator[list[Any], None, None]) -> None:
        self._lists = lists
        self._results = chain.from_iterable(lists)

    def __iter__(self) -> Iterator[Any]:
        return self._results

    def __next__(self) -> Any:
        return next(self._results)

    def close(self) -> None:
        """Give no more results; threads that make calls end when they can."""
        self._lists.close()
        self._results = chain()


class Workers:
    """Threads that make calls in batches.

    Parameters
    ----------
    runners : sequence of callable
        For each thread, a function that makes the calls of a batch of elements: it returns their results and None, or
        those before the first call that failed, and its exception.
    elements : iterable
        Of a list or an array, batches are parts of it: of an array, no object is made for each row.
    ahead : int
        Elements that may be taken before their results are asked for.
    helps : bool
        While batches are short, the thread that asks for results makes calls, too, instead of waiting for them, and one
        thread less is there: to be woken up for each batch costs as much as some calls, on a core that another thread
        has just used. The first call is always its own.
    """

    def __init__(
        self,
        runners: Sequence[Callable[..., Any]],
        elements: Iterable[Any],
        ahead: int,
        helps: bool,
    ) -> None:
        sliced = type(elements) is list or (type(elements) is np.ndarray and elements.ndim > 0)
        self._sliced: Any = elements if sliced else None
        self._elements = iter(elements)
        self._count = len(elements) if isinstance(elements, (list, tuple, np.ndarray)) else None
        self._ahead = ahead
        self._taken = self._batches = 0
        self._most = max(1, ahead // (BATCHES * len(runners)))
        self._size = 1
        self._most_batches = BATCHES * len(runners)
        #: Where fewer elements than this are left, batches become smaller.
        self._plenty = self._most * self._most_batches
        self._ended = False
        self._dismissed = False
        self._error: BaseException | None = None
        self._stop = False
        self._waiting: SimpleQueue[Batch | None] = SimpleQueue()
        self._process = os.getpid()
        self._runners = list(runners)
        self._helps = helps
        #: Whether a batch that was not timed has seemed to take long, so that the next one is timed.
        self._doubt = False
        # Other processes on the same cores do not make calls longer; but code in Python may wait for something.
        self._clock = time.thread_time if helps else time.perf_counter
        self._threads: list[threading.Thread] = []

    def _start(self, count: int) -> None:
        """Start so many of the threads that are not there yet."""
        for k in range(len(self._threads), len(self._threads) + count):
            thread = threading.Thread(target=self._work, args=(self._runners[k],), name=f"theano-map-{k}", daemon=True)
            self._threads.append(thread)
            thread.start()
            if self._dismissed:
                self._waiting.put(None)

    def _dismiss(self) -> None:
        """Let the threads end after the waiting batches."""
        if not self._dismissed:
            self._dismissed = True
            self._tell_to_end()

    def _tell_to_end(self) -> None:
        for _ in self._threads:
            self._waiting.put(None)

    def _work(self, run: Callable[..., Any]) -> None:
        while (batch := self._waiting.get()) is not None:
            try:
                self._make(batch, run)
            except BaseException as error:  # noqa: BLE001  (raised again where the results are asked for)
                batch.error = error
                batch.done.release()

    def _make(self, batch: Batch, run: Callable[..., Any]) -> None:
        clock = self._clock if batch.timed else time.perf_counter
        begin = clock()
        try:
            if not self._stop:
                batch.found, batch.error = run(batch.elements)
        except Exception as error:  # noqa: BLE001  (the same)
            batch.error = error
        batch.seconds = clock() - begin
        batch.done.release()

    def _wait(self, batch: Batch) -> None:
        """Wait until a batch is done; where calls are short, make batches meanwhile that no thread has begun.

        Raises
        ------
        RuntimeError
            In a process that was made of the one that began: the threads stayed behind.
        """
        if self._process != os.getpid():
            raise RuntimeError(
                format_error(
                    "map: the iterator was begun before this process was forked, and its threads are not here",
                    hint="call map after the fork, or with threads=1",
                )
            )
        if self._helps and batch.first == 0:
            self._make(batch, self._runners[-1])
        while not batch.done.acquire(blocking=not self._helps):
            try:
                other = self._waiting.get_nowait()
            except Empty:
                batch.done.acquire()
                return
            if other is None:
                self._waiting.put(None)  # for the thread that it lets end: no batch is left
                batch.done.acquire()
                return
            self._make(other, self._runners[-1])
            self._judge(other)

    def _leave_to_threads(self) -> None:
        """Make no more batches here."""
        if self._helps:
            self._helps = False
            self._start(1)

    def _fill(self, most: int) -> Batch | None:
        """Take elements for the next batch; None at the end of them, which an error of theirs is too."""
        elements: Any = []
        if self._sliced is not None:
            elements = self._sliced[self._taken : self._taken + most]
        else:
            try:
                elements.extend(islice(self._elements, most))
            except BaseException as error:  # noqa: BLE001  (raised after the results of the elements before)
                self._error = error
        self._ended = len(elements) < most
        if len(elements) == 0:
            return None
        # Reading the time of a thread takes as long as all other work for a batch here.
        timed = self._doubt or self._size < self._most or len(elements) < most or self._batches % TIMED == 0
        self._doubt = False
        batch = Batch(self._taken, elements, timed)
        self._taken += len(elements)
        self._batches += 1
        return batch

    def _feed(self, pending: deque[Batch], elements: int) -> None:
        """Give the threads batches, as far as there is room for them."""
        if pending and self._ahead - (self._taken - elements) < self._size:
            return  # there will be room for a whole batch: the work for each takes as long for a part
        self._add(pending, elements)
        if self._ended:
            self._dismiss()  # threads that are at their end by then need not be waited for

    def _add(self, pending: deque[Batch], element: int) -> None:
        while len(pending) < self._most_batches and not self._ended:
            room = self._ahead - (self._taken - element)
            if room < self._size and pending:
                return
            batch = self._fill(min(self._size, room, self._share())) if room > 0 else None
            if batch is None:
                return
            pending.append(batch)
            if batch.first > 0 or not self._helps:
                self._waiting.put(batch)

    def _share(self) -> int:
        """Return how many calls a batch may have, so that towards the end all threads have some."""
        left = self._plenty if self._count is None else self._count - self._taken
        return self._most if left >= self._plenty else max(FEWEST, left // self._most_batches)

    def _learn(self, batch: Batch) -> None:
        """Choose how many calls the next batches have."""
        if batch.timed:
            size = len(batch.elements) * BATCH_SECONDS / max(batch.seconds, 1e-7)
            self._size = max(1, min(self._most, GROWTH * self._size, int(size)))
        self._judge(batch)

    def _judge(self, batch: Batch) -> None:
        """Make no more batches here where they take long; one that seemed to may have waited for a core meanwhile."""
        if batch.seconds > HELP_SECONDS and not batch.timed:
            self._doubt = True
        elif batch.seconds > HELP_SECONDS:
            self._leave_to_threads()

    @property
    def ended(self) -> bool:
        """Whether all threads are at their end, and not where they were in the process that this one was made of."""
        return self._process == os.getpid() and not any(thread.is_alive() for thread in self._threads)

    def leave(self, seconds: float | None) -> None:
        """Let the threads end, and wait for the others than this one, at most so long; again after an interrupt."""
        self._stop = self._dismissed = True
        self._tell_to_end()  # again: an interrupt may have come before all of them were told
        end = None if seconds is None else time.monotonic() + seconds
        for thread in self._threads:
            if thread is not threading.current_thread() and has_started(thread):
                thread.join(None if end is None else max(0.0, end - time.monotonic()))

    def results(self) -> Generator[list[Any], None, None]:
        """Give the results in order, in lists; the threads end when this does, or when they can."""
        pending: deque[Batch] = deque()
        count = 0
        seconds = None
        results: list[Any] = []
        try:
            self._start(len(self._runners) - self._helps)
            self._feed(pending, count)
            while pending:
                batch = pending.popleft()
                self._wait(batch)
                self._learn(batch)
                self._feed(pending, count)
                results = batch.found
                count = batch.first + len(results)
                yield results
                if batch.error is not None:
                    raise note(batch.error, count, batch.elements[count - batch.first :])
                self._feed(pending, count)
            if self._error is not None:
                raise self._error
        except (GeneratorExit, KeyboardInterrupt):
            seconds = CLOSING_SECONDS
            results.clear()  # whoever goes through it is at the end, too
            raise
        finally:
            self.leave(seconds)


def has_started(thread: threading.Thread) -> bool:
    """Tell whether a thread has started; one that is on its way after an interrupted `start` is given a moment."""
    for _ in range(START_TRIES):
        try:
            thread.join(0)
        except RuntimeError:
            time.sleep(0.001)
        else:
            return True
    return False


def call_each(call: Callable[..., Any], regular: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
    """Return a function that makes the calls of a batch one by one."""

    def run(elements: Iterable[Any]) -> tuple[list[Any], BaseException | None]:
        results: list[Any] = []
        for element in elements:
            try:
                results.append(call(*regular(element)))
            except Exception as error:  # noqa: BLE001  (raised in its turn)
                return results, error
        return results, None

    return run


def batches_of(machine: Any, regular: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
    """Return a function that makes the calls of a batch on a thread's own machine."""
    run_batch = machine.run_batch
    return lambda elements: run_batch(elements, regular)


def own_machine(machine: Machine, spare: list[Any], threads: int) -> Any | None:
    """Return a machine for one thread, of those left by an earlier map; None where that gains nothing."""
    try:
        return spare.pop()
    except IndexError:
        again = getattr(machine, "again", None)
    if again is None or not getattr(machine, "nogil", False):
        return None
    made = again()
    made.buffer_limit = BUFFER_LIMIT // threads
    return made


def lists_of_results(
    machine: Machine,
    bind: Bind,
    n_inputs: int,
    elements: Iterable[Any],
    threads: int,
    ahead: int,
    spare: list[Any],
) -> Generator[list[Any], None, None]:
    """Make the calls from threads, each with a machine of its own where calls of that run without the interpreter."""

    def regular(element: Any) -> tuple[Any, ...]:
        return element if type(element) is tuple and len(element) == n_inputs else bind(*split(element))

    machines = [own_machine(machine, spare, threads) for _ in range(threads)]
    runners = [call_each(machine, regular) if twin is None else batches_of(twin, regular) for twin in machines]
    workers = Workers(runners, elements, ahead, helps=all(twin is not None for twin in machines))
    try:
        yield from workers.results()
    except BaseException:
        if not workers.ended:
            workers.leave(CLOSING_SECONDS)  # an interrupt may have come while they were left
        raise
    finally:
        if workers.ended:
            spare.extend(twin for twin in machines if twin is not None)
            del spare[max(threads, 1) :]
